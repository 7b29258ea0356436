"""The search itself, where both sides are built: the first batch that differs, then modules, then operators."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from libbench.compare import compare
from libbench.errors import LibbenchError, in_one_line
from libbench.findings import OutputsReport
from libbench.interfaces import Batch, Stepping
from libbench.locate.capture import How, Runnable
from libbench.locate.compiling import BySegment
from libbench.locate.configs import config_path
from libbench.locate.inside import inside
from libbench.locate.judging import differences, verdict_of_both, weights
from libbench.locate.modules import ByModule
from libbench.locate.operators import ByOperator
from libbench.locate.reproducing import write_module, write_operator, write_segment
from libbench.locate.scripts import SCRIPT, NotWritten
from libbench.locate.taking import runnable
from libbench.located import Cost, Located, ModuleRow, ModulesReport, OpsReport
from libbench.settings import Tolerance
from libbench.side import Side
from libbench.state import Kept
from libbench.tree import fingerprint

KEPT = 2 * 2**30
"""Bytes of the target's outputs that the search by module keeps in memory; what is beyond goes to disk."""


class Search:
    """Looks for where two sides of a worker part.

    Args:
        sides: reference and target, prepared.
        folder: where outputs are put that there is no room for.
        tolerance: by which outputs differ.
        how: as for `libbench.locate.capture.capture`.
        whole: whether the operators of the whole model are looked at, and not those of the worst module alone.
    """

    def __init__(
        self, sides: Sequence[Side], folder: Path, tolerance: Tolerance, how: How = "export", whole: bool = False
    ) -> None:
        self._sides = sides
        self._folder = folder
        self._tolerance = tolerance
        self._how: How = how
        self._whole = whole
        self._cost = Cost()
        self._notes: list[str] = []
        self._runnable: tuple[Runnable, Runnable] | None = None
        self._search: ByOperator | None = None
        self._segments: BySegment | None = None

    def located(self) -> Located:
        """Give what is found; the names of the sides and the seconds are for the caller to add."""
        _check(self._sides)
        found = self._first_difference()
        if found is None:
            return Located(reference="", target="", verdict="same", reason="the outputs of all batches agree")
        batch, outputs = found
        base = Located(
            reference="", target="", verdict="unjudged", batch=batch.number, indices=batch.indices,
            outputs=tuple(differences(outputs)),
        )  # fmt: skip
        with _modes(self._sides), _states(self._sides):
            sides = self._runnables(batch)
            if self._runnable is None:
                return self._by_segment(base, sides, batch)
            modules = self._by_module(sides)
            operators = self._by_operator(sides, modules)
        verdict, reason = verdict_of_both(modules, operators)
        return replace(
            base,
            verdict=verdict,
            reason=reason,
            modules=modules,
            operators=operators,
            weights=tuple(weights(*(side.parts.model for side in self._sides))),
            notes=tuple(self._notes),
            cost=self._cost,
        )

    def reproduce(self, found: Located, folder: Path) -> Iterator[str]:
        """Leave in a folder what shows the finding again, and say what it is, or why there is none."""
        if any(side.parts.op_lib is not None for side in self._sides):
            yield "nothing was written to reproduce it: a script would run by torch's kernels, without any op_lib"
            return
        with _modes(self._sides), _states(self._sides):
            written = list(self._writers(found, folder))
            for name, write in written:
                try:
                    write()
                    yield f"{name} can be seen again: python {folder / SCRIPT}"
                    return
                except NotWritten as error:
                    yield f"{name} cannot be written down: {error}"
        if not written:
            yield "nothing to reproduce: nothing stands out by itself"

    def _writers(self, found: Located, folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
        """Give what can be shown again, the best first, each with what writes it."""
        operator = found.operators.culprit if found.operators else None
        module = found.modules.culprit if found.modules else None
        jobs = self._sides[0].job, self._sides[1].job
        if operator is not None and self._search is not None:
            graphs, pairs, given = self._search.graphs, self._search.pairs, self._search.given
            yield operator.operator, lambda: write_operator(folder, operator, graphs, pairs, given, jobs)
        if module is not None and self._runnable is not None:
            sides, key = self._runnable, (module.path, module.call)
            yield module.path or "the model", lambda: write_module(folder, module, inside(sides, key), jobs)
        search = self._segments
        if found.segments is not None and search is not None and search.piece is not None:
            piece, side = search.piece, found.segments.side
            yield "the compiled piece", lambda: write_segment(folder, piece, side, jobs)

    def _first_difference(self) -> tuple[Batch, OutputsReport] | None:
        """Give the first batch whose outputs differ, and how."""
        judged = False
        for batches in zip(*(side.data() for side in self._sides), strict=False):
            reference, target = batches
            _check_alike(reference, target)
            outputs = []
            for side, batch in zip(self._sides, batches, strict=True):
                with side.during("evaluate"):
                    outputs.append(side.call(side.fresh(batch)))
            report = compare(outputs[0], outputs[1], self._tolerance)
            judged = judged or bool(report.leaves)
            if report.verdict == "different":
                return reference, report
        if not judged:
            raise LibbenchError("no output was compared")
        return None

    def _runnables(self, batch: Batch) -> tuple[Runnable, Runnable]:
        """Give both calls on a batch, of compiled sides as they are without; they are kept where these differ."""
        compiled = [side.compiled.facts is not None for side in self._sides]
        one, two = (runnable(side, batch, plain) for side, plain in zip(self._sides, compiled, strict=True))
        if any(compiled):
            outputs = [side.call(*args, **kwargs) for side in (one, two) for args, kwargs in [side.inputs()]]
            if compare(outputs[0], outputs[1], self._tolerance).verdict != "different":
                self._notes.append("without their compilers both sides give the same outputs")
                return one, two
            self._notes.append("what is compiled is looked at as it is written, where the sides differ, too")
        self._runnable = one, two
        return one, two

    def _by_segment(self, base: Located, sides: tuple[Runnable, Runnable], batch: Batch) -> Located:
        """Look for what comes with compiling."""
        begin = time.perf_counter()
        search = BySegment(self._sides, sides, batch, self._tolerance, self._how)
        self._segments, report = search, search.report()
        cost = Cost(segments=time.perf_counter() - begin, compiles=search.compiles)
        notes = (*self._notes, *search.notes)
        return replace(base, verdict=report.verdict, reason=search.reason, segments=report, notes=notes, cost=cost)

    def _by_module(self, sides: tuple[Runnable, Runnable]) -> ModulesReport | None:
        if not all(isinstance(side.model, torch.nn.Module) for side in sides):
            self._notes.append("a model that is no module is looked at by operator only")
            return None
        if self._sides[0].parts.op_lib is not None:
            # The target's modules are called while the reference's are at work, and would run by its kernels.
            self._notes.append("a reference with an op_lib is looked at by operator only")
            return None
        begin = time.perf_counter()
        args, kwargs = sides[0].inputs()
        sides[0].call(*args, **kwargs)
        forward = time.perf_counter() - begin
        begin = time.perf_counter()
        report = ByModule(sides, self._folder / "modules", KEPT).report()
        self._cost = replace(self._cost, forward=forward, modules=time.perf_counter() - begin)
        configs = self._sides[1].job.config.model
        rows = tuple(replace(row, config=config_path(configs, row.path)) for row in report.rows)
        culprit = report.culprit and replace(report.culprit, config=config_path(configs, report.culprit.path))
        return replace(report, rows=rows, culprit=culprit)

    def _by_operator(self, sides: tuple[Runnable, Runnable], modules: ModulesReport | None) -> OpsReport | None:
        worst = None if modules is None or self._whole else modules.culprit
        tried = [worst, None] if worst is not None and worst.path else [None]
        for row in tried:
            try:
                return self._operators(sides, row)
            except Exception as error:
                where = f"the operators of {row.path}" if row else "the operators"
                self._notes.append(f"{where} could not be run one by one: {in_one_line(error)}")
        return None

    def _operators(self, sides: tuple[Runnable, Runnable], row: ModuleRow | None) -> OpsReport:
        inner = sides if row is None else inside(sides, (row.path, row.call))
        begin = time.perf_counter()
        search = ByOperator(inner, how=self._how, inside="" if row is None else row.path)
        captured = time.perf_counter()
        report = search.report(0 if row is None else row.call)
        self._cost = replace(self._cost, capture=captured - begin, operators=time.perf_counter() - captured)
        self._search = search
        return report


def _check(sides: Sequence[Side]) -> None:
    for side, name in zip(sides, ("reference", "target"), strict=True):
        if isinstance(side.parts.workload, Stepping):
            kind = type(side.parts.workload).__qualname__
            raise LibbenchError(f"calls of a model are located, not steps that change it: the {name} has a {kind}")


def _check_alike(reference: Batch, target: Batch) -> None:
    """Check that a batch is the same on both sides."""
    what = f"batch {reference.number} of the target has other"
    if reference.indices != target.indices:
        raise LibbenchError(f"{what} samples than the reference's; give both the same data.batch_size and order")
    if fingerprint(reference.inputs) != fingerprint(target.inputs):
        raise LibbenchError(
            f"{what} inputs than the reference's, so its outputs may well differ; give both the same data"
        )


@contextmanager
def _modes(sides: Sequence[Side]) -> Iterator[None]:
    with sides[0].parts.workload.mode(), sides[1].parts.workload.mode():
        yield


@contextmanager
def _states(sides: Sequence[Side]) -> Iterator[None]:
    """Put back what both models hold."""
    kept = [Kept(side.parts.model) for side in sides if isinstance(side.parts.model, torch.nn.Module)]
    try:
        yield
    finally:
        for each in kept:
            each.put_back()


def located(
    sides: Sequence[Side], folder: Path, tolerance: Tolerance, how: How, whole: bool, reproduce: str | None
) -> Located:
    """Look for where two prepared sides part, as `Search` does; called by the worker.

    Args:
        reproduce: a folder in which what is found is left to be shown again; None for none.
    """
    search = Search(sides, folder, tolerance, how, whole)
    found = search.located()
    if reproduce is not None:
        found = replace(found, notes=(*found.notes, *search.reproduce(found, Path(reproduce))))
    return found
