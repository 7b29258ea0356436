"""Pieces of one side's call, compiled by themselves, and how far off each is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from libbench.compare import compare
from libbench.interfaces import Batch, Compiler
from libbench.locate.deviation import error_of, errors_of, level_of, worst
from libbench.locate.graph import Graph
from libbench.locate.segments import Piece, run
from libbench.located import Deviation, SegmentRow
from libbench.result import SideFailed
from libbench.settings import Tolerance
from libbench.side import Side
from libbench.tree import own_copy, snapshot

_MOST_NAMES = 12


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much compiling may be done; what is under way is finished.

    Attributes:
        seconds: of all of it, above 0.
        compiles: how often, at least 1.
    """

    seconds: float = 240.0
    compiles: int = 120

    def __post_init__(self) -> None:
        if self.seconds <= 0 or self.compiles < 1:
            raise ValueError(f"seconds must be above 0 and compiles at least 1, got {self.seconds} and {self.compiles}")


class Pieces:
    """Compiles pieces of a graph by a side's compiler, and compares them with what they are without.

    Args:
        side: whose compiler it is.
        graph: of its call without the compiler.
        given: the inputs of the call.
        tolerance: by which what a piece gives differs.
        limits: of the compiling.

    Attributes:
        rows: what was found of each piece, in order.
        compiles: how often something was compiled.
        plain: what the call gives without the compiler.
        training: whether the model is in train mode.
    """

    def __init__(
        self, side: Side, graph: Graph, given: Sequence[torch.Tensor], tolerance: Tolerance, limits: Limits
    ) -> None:
        self.rows: list[SegmentRow] = []
        self.compiles = 0
        self._side, self._graph, self._given, self._tolerance = side, graph, given, tolerance
        self._limits, self._begin = limits, time.monotonic()
        self._releases: list[Callable[[], None]] = []
        self.training = bool(getattr(side.parts.model, "training", False))
        self.plain = run(graph, given)

    @property
    def spent(self) -> str:
        """Which limit is reached; empty while none is."""
        if self.compiles >= self._limits.compiles:
            return f"{self._limits.compiles} compilations"
        seconds = self._limits.seconds
        return f"{seconds:.0f} s" if time.monotonic() - self._begin >= seconds else ""

    def measure(self, pieces: Sequence[Piece], depth: int) -> list[SegmentRow]:
        """Compile pieces, which do not overlap, and say how far off each is; they can be called until `release`."""
        run(self._graph, self._given, watched=pieces)
        found = [self._measured(piece, depth) for piece in pieces]
        self.rows += found
        return found

    def _measured(self, piece: Piece, depth: int) -> SegmentRow:
        segment = piece.segment
        row = SegmentRow(
            start=segment.start,
            stop=segment.stop,
            depth=depth,
            names=tuple(op.name for op in segment.ops[:_MOST_NAMES]),
            first=segment.ops[0].said(segment.ops[0].module),
            last=segment.ops[-1].said(segment.ops[-1].module),
        )
        if not segment.outputs:
            return replace(
                row, verdict="same", deviation=Deviation(local=0.0, total=0.0), note="nothing is taken of it"
            )
        outputs = self.compiled(piece, self._side.parts.compiler)
        if outputs is None:
            return replace(row, note=f"cannot be compiled by itself: {piece.note}")
        local = self.local(piece, outputs)
        level = level_of(tuple(piece.wanted), tuple(outputs)) if local else None
        verdict = compare(tuple(piece.wanted), tuple(outputs), self._tolerance, detail="verdict").verdict
        return replace(row, verdict=verdict, deviation=Deviation(local=local, total=self.total([piece]), level=level))

    def compiled(self, piece: Piece, compiler: Compiler) -> Sequence[Any] | None:
        """Compile a piece whose inputs are known, and give what it gives; None, and a note in it, where that fails."""
        self.compiles += 1
        try:
            with self._side.during("compile"), self._side.kernels(counted=False):
                module = piece.segment.module()
                made = compiler.compile(module, Batch((), tuple(own_copy(piece.inputs)), 0), "forward")
                if made.release is not None:
                    self._releases.append(made.release)
                outputs: Sequence[Any] = made.call(*own_copy(piece.inputs))
                self._side.parts.device.synchronize()
        except SideFailed as failed:
            piece.note = failed.failure.message
            return None
        piece.call = made.call
        return list(own_copy(outputs))

    def local(self, piece: Piece, outputs: Sequence[Any]) -> float:
        """Give the error of what a piece gives."""
        return worst([error_of(wanted, found) for wanted, found in zip(piece.wanted, outputs, strict=True)])

    def total(self, pieces: Sequence[Piece]) -> float:
        """Give the error of the call's outputs when these pieces are compiled and all else is not."""
        try:
            outputs = run(self._graph, self._given, called=pieces)
        except Exception:
            # A piece that fails when it is called again, or gives something else, is off without bound.
            return math.inf
        return worst([error_of(wanted, found) for wanted, found in zip(self.plain, outputs, strict=True)])

    def of_piece(self, compiler: Compiler, piece: Piece) -> tuple[float | None, str]:
        """Give the error of a piece by another compiler, or None and why there is none."""
        again = replace(piece, call=None, note="")
        outputs = self.compiled(again, compiler)
        return None if outputs is None else self.local(again, outputs), again.note

    def of_model(
        self, compiler: Compiler, batch: Batch, wanted: Mapping[str, torch.Tensor]
    ) -> tuple[float | None, str]:
        """Give the error of the model's outputs for a batch by another compiler, or None and why there is none."""
        self.compiles += 1
        parts = self._side.parts
        try:
            with self._side.during("compile"), self._side.kernels(counted=False):
                made = compiler.compile(parts.model, self._side.fresh(batch), str(parts.workload.method))
                if made.release is not None:
                    self._releases.append(made.release)
                outputs = snapshot(parts.workload.step(made.call, self._side.fresh(batch))).leaves
        except SideFailed as failed:
            return None, failed.failure.message
        return worst(list(errors_of(wanted, outputs).values())), ""

    def release(self) -> None:
        """Let compilers forget what they keep of pieces; these cannot be called any more."""
        for each in dict.fromkeys(self._releases):
            each()
        self._releases.clear()
