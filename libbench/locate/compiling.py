"""Piece by piece: which operators of a compiled side do not give what they give without its compiler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch

from libbench.errors import LibbenchError, in_one_line
from libbench.interfaces import Adjustable, Batch
from libbench.locate.capture import How, Runnable, capture
from libbench.locate.deviation import error_of, errors_of, worst
from libbench.locate.pieces import Limits, Pieces
from libbench.locate.recording import given_of
from libbench.locate.segments import Piece, Segment, cuts_of
from libbench.locate.standing import as_much, gone, rated, rounds, row_of, stands_out, usual_beside
from libbench.located import SegmentRow, SegmentsReport, SettingRow
from libbench.result import SIDES
from libbench.settings import Tolerance
from libbench.side import Side
from libbench.tree import snapshot

PARTS = 8
"""So many pieces, at most, take the place of one."""


class BySegment:
    """The call of one side, cut into pieces that are compiled by themselves.

    Each piece is fed what it is fed without the compiler. Beside its own error, the error that it alone makes in
    what the model gives is found, and that which all pieces of a cut make in a row. Where that is gone, the
    difference needs operators that were cut apart; else the piece that makes most of it is cut in turn.

    Args:
        sides: reference and target, prepared.
        plain: their calls without their compilers, which agree.
        batch: on which the sides differ.
        tolerance: by which what a piece gives differs.
        how: as for `libbench.locate.capture.capture`.
        limits: of the compiling.

    Attributes:
        piece: the culprit; None where there is none.
        notes: what else is to be known.
        reason: what the verdict stands on.
        side: whose compiler it is.

    Raises:
        LibbenchError: no graph is found that gives what the model gives.
    """

    def __init__(
        self,
        sides: Sequence[Side],
        plain: Sequence[Runnable],
        batch: Batch,
        tolerance: Tolerance,
        how: How = "export",
        limits: Limits | None = None,
    ) -> None:
        self.piece: Piece | None = None
        self.notes: list[str] = []
        self.reason = ""
        self._batch = batch
        at = self._worse(sides, plain)
        self.side, self._plain, self._name = sides[at], plain[at], at
        self._together = False
        self._take(how, tolerance, limits or Limits())

    def _take(self, how: How, tolerance: Tolerance, limits: Limits) -> None:
        """Find a graph that gives what the model gives."""
        ways: list[How] = [how, "record"]
        for way in dict.fromkeys(ways):
            try:
                (self._graph,) = capture([self._plain], way)
                given = given_of(self._plain.inputs())
                self._pieces = Pieces(self.side, self._graph, given, tolerance, limits)
                self._cuts = cuts_of(self._graph)
                self._check()
                return
            except Exception as error:
                self.notes.append(f"the operators ({way}) could not be run one by one: {in_one_line(error)}")
        raise LibbenchError(f"what comes with compiling cannot be taken apart: {self.notes[-1]}")

    @property
    def compiles(self) -> int:
        """How often something was compiled."""
        return self._pieces.compiles

    def report(self) -> SegmentsReport:
        """Cut and compile, and say which operators are the culprit."""
        whole = self._piece(0, len(self._graph.ops))
        try:
            found, reason = self._search(whole)
            usual = usual_beside(self._pieces.rows, found) if found is not None else 0.0
            rows = tuple(rated(row, usual) for row in self._pieces.rows)
            culprit, reason = (None, reason) if found is None else self._judged(rows, found)
            self.piece = found if culprit is not None else None
            settings = tuple(self._settings(self.piece or (whole if found is not None else None)))
        finally:
            self._pieces.release()
        helping = [row.setting for row in settings if row.gone]
        self.reason = reason + (f"; the difference goes away with {helping[0]}" if reason and helping else "")
        return SegmentsReport(
            verdict="no single culprit" if culprit is None else "located",
            side="target" if self._name else "reference",
            compiler=self.side.compiled.version,
            graph="export" if self._graph.how == "export" else "record",
            why_recorded=self._graph.why,
            operators=len(self._graph.ops),
            error=self._error,
            usual=usual,
            rows=rows,
            culprit=culprit,
            alike=as_much(rows, found) if culprit is not None and found is not None else 0,
            together=self._together and culprit is not None,
            settings=settings,
        )

    def _worse(self, sides: Sequence[Side], plain: Sequence[Runnable]) -> int:
        """Give which side's compiler is further off, and keep how far."""
        errors, told = [], list[str]()
        for side, without, name in zip(sides, plain, SIDES, strict=True):
            args, kwargs = without.inputs()
            wanted = snapshot(without.call(*args, **kwargs)).leaves
            error = 0.0
            if side.compiled.facts is not None:
                outputs = snapshot(side.call(side.fresh(self._batch)), copy=False).leaves
                error = worst(list(errors_of(wanted, outputs).values()))
                told.append(f"the {name}'s compiler makes an error of {error:.3g} in the outputs")
            errors.append((error, wanted))
        self.notes += told if len(told) > 1 else []
        at = max((0, 1), key=lambda i: errors[i][0])
        self._error, self._wanted = errors[at]
        return at

    def _check(self) -> None:
        """Make sure that the graph gives what the model gives."""
        found = [each for each in self._pieces.plain if isinstance(each, torch.Tensor)]
        wanted = list(self._wanted.values())
        # An output that stands in two places is in the graph twice.
        if len(found) == len(wanted):
            error = worst([error_of(one, two) for one, two in zip(wanted, found, strict=True)])
            if not gone(error, self._error):
                raise LibbenchError("the graph of the call does not give what the model gives")

    def _search(self, whole: Piece) -> tuple[Piece | None, str]:
        """Give the smallest piece that shows the difference, or why there is none."""
        (row,) = self._pieces.measure([whole], 0)
        total = row.deviation.total
        if total is None:
            self.notes.append(f"the graph of the call {row.note}")
        elif gone(total, self._error):
            return None, "the graph of the call gives the same when it is compiled: it comes with how the model is read"
        return self._innermost(whole, self._error if total is None else total), ""

    def _innermost(self, piece: Piece, total: float) -> Piece:
        depth = 0
        while True:
            parts, depth = self._split(piece.segment), depth + 1
            if not parts or self._stopped():
                return piece
            rows = self._pieces.measure(parts, depth)
            chained = self._pieces.total([part for part in parts if part.call is not None])
            self._pieces.release()
            if gone(chained, total):
                failed = [row for row in rows if row.deviation.total is None]
                if failed:
                    self.notes.append(f"from {failed[0].first} to {failed[0].last}: {failed[0].note}")
                    return piece
                self._together = True
                return self._smallest(piece, total, depth + 1)
            totals = [row.deviation.total or 0.0 for row in rows]
            at = max(range(len(parts)), key=lambda i: totals[i])
            if not totals[at]:
                return piece
            piece, total = parts[at], totals[at]

    def _smallest(self, piece: Piece, total: float, depth: int) -> Piece:
        """Drop operators from either end, fewer and fewer at a time, while the error that is left is no smaller.

        In what is left, no operator at an end can be spared. A search by halves would not do: an error comes and goes
        as operators are added.
        """
        places = self._places(piece.segment)
        step = (len(places) - 1) // 2
        while step and not self._stopped():
            for some in (places[step:], places[:-step]):
                shorter = self._piece(some[0], some[-1])
                (row,) = self._pieces.measure([shorter], depth)
                self._pieces.release()
                if row.deviation.total is not None and not gone(row.deviation.total, total):
                    piece, places = shorter, some
                    step = min(step, len(places) - 2)
                    break
            else:
                step //= 2
        return piece

    def _places(self, segment: Segment) -> list[int]:
        return [cut for cut in self._cuts if segment.start <= cut <= segment.stop]

    def _split(self, segment: Segment) -> list[Piece]:
        """Cut a segment into pieces of about as many operators each; none where it cannot be cut."""
        places = self._places(segment)
        count = min(PARTS, len(places) - 1)
        if count < 2:
            return []
        ends = [places[(len(places) - 1) * i // count] for i in range(count + 1)]
        return [self._piece(*both) for both in pairwise(ends)]

    def _stopped(self) -> bool:
        note = f"nothing more was compiled after {self._pieces.spent}"
        if self._pieces.spent and note not in self.notes:
            self.notes.append(note)
        return bool(self._pieces.spent)

    def _judged(self, rows: Sequence[SegmentRow], found: Piece) -> tuple[SegmentRow | None, str]:
        """Give the row of a piece if it is the culprit, or why it is none."""
        row, others = row_of(rows, found), as_much(rows, found)
        uncut = row.depth == 0 and len(self._cuts) > 2 and not self._together
        if uncut or not stands_out(row, found):
            return None, "no piece stands out by itself"
        if others and rounds(row, found):
            names = ", ".join(dict.fromkeys(row.names))
            return (
                None,
                f"{names} is off in {others + 1} pieces that have it, by what rounding to a lower precision makes",
            )
        return row, ""

    def _settings(self, piece: Piece | None) -> Iterator[SettingRow]:
        """Leave out some of the compiler's work, in a piece, or in the model itself, until the difference goes away."""
        compiler = self.side.parts.compiler
        known = None if piece is None else row_of(self._pieces.rows, piece).deviation.local
        before = self._error if known is None else known
        for setting, milder in compiler.milder() if isinstance(compiler, Adjustable) else ():
            if self._stopped():
                return
            if piece is None or known is None:
                left, note = self._pieces.of_model(milder, self._batch, self._wanted)
            else:
                left, note = self._pieces.of_piece(milder, piece)
            self._pieces.release()
            helps = left is not None and gone(left, before)
            yield SettingRow(setting=setting, local=left, gone=helps, note=note)
            if helps:
                return

    def _piece(self, start: int, stop: int) -> Piece:
        return Piece(Segment(self._graph, start, stop, self._pieces.training))
