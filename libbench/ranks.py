"""Several conversations that are one session: all ranks are asked at once, and what they answer is put together."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from libbench.alignment import Found, Probe, alignment
from libbench.conversation import Conversation
from libbench.curves import LOSS
from libbench.drawn import Draws
from libbench.drift import step_of
from libbench.findings import Rerun
from libbench.group import Split
from libbench.measured import Measurement
from libbench.merging import merged, merged_measurement, merged_step
from libbench.records import decode
from libbench.reruns import compare_runs
from libbench.result import Evaluation, Output, Preparation, SideFailed
from libbench.settings import Timer
from libbench.side import FILES, first_outputs
from libbench.tree import load_snapshot, move_snapshot, remove_snapshot, save_snapshot

T = TypeVar("T")
_GRACE = 0.5
"""Seconds in which it shows whether a rank has failed since another one has died."""


class Ranks:
    """A session with all ranks of a group.

    Args:
        ranks: one conversation for each, in the order of the ranks.
        folder: where the snapshots go in the end; each rank has `rank-R` in it for its own.
        split: what of the data a rank runs.
        store: what the ranks need for as long as they are a group.
    """

    def __init__(self, ranks: Sequence[Conversation], folder: Path, split: Split, store: Any) -> None:
        self._ranks = list(ranks)
        self._folder = folder
        self._split = split
        self._store = store
        self._pool = ThreadPoolExecutor(len(ranks), thread_name_prefix="rank")
        self._count = 0
        self._odd: dict[int, str] = {}
        self._ran: dict[int, set[int]] = {rank: set() for rank in range(len(ranks))}

    def environment(self) -> Mapping[str, Any]:
        """Describe rank 0's machine and device, and the group."""
        return self._ranks[0].environment()

    def prepare(self) -> tuple[Preparation, ...]:
        """Build the sides on all ranks."""
        found = self._all(lambda rank: rank.prepare())
        for index in range(len(found[0])):
            source = first_outputs(self._place(0), index)
            shutil.copytree(source, first_outputs(self._folder, index), dirs_exist_ok=True)
        return tuple(merged(sides) for sides in zip(*found, strict=True))

    def batches(self) -> Iterator[Output]:
        """Run the batches, one on each rank at a time; the outputs come in the order of the data."""
        sources = {id(rank): rank.batches() for rank in self._ranks}
        while any(turn := self._all(lambda rank: next(sources[id(rank)], None))):
            yield from self._same(turn) if self._split == "same" else self._one_after_another(turn)

    def metrics(self) -> Evaluation:
        """Let rank 0 judge the records of all."""
        count = 1 if self._split == "same" else len(self._ranks)
        others = [str(self._place(rank)) for rank in range(1, count)]
        request = {"do": "judge", "with": {"others": others, "folder": str(self._folder)}}
        found = self._all(lambda rank: decode(Evaluation, rank.ask(request)))
        evaluation: Evaluation = merged(found)
        if self._split == "same":
            evaluation = replace(evaluation, missing=found[0].missing, disputed=found[0].disputed)
        for rank in range(len(self._ranks)):
            self._take_files(self._place(rank) / FILES)
        return replace(evaluation, odd_ranks=tuple(self._found_odd()))

    def rerun(self) -> Rerun:
        """Give what rank 0 found; all make the call."""
        return self._all(lambda rank: rank.rerun())[0]

    def draws(self, seeds: Sequence[int], wanted: Sequence[str]) -> Draws:
        """Give what rank 0 drew; all make the calls."""
        return self._all(lambda rank: rank.draws(seeds, wanted))[0]

    def measure(self, timer: Timer) -> Measurement:
        """Time the sides on all ranks."""
        return merged_measurement(self._all(lambda rank: rank.measure(timer)))

    def probe(self) -> tuple[Found, ...]:
        """Say of each rank what it reads, after `prepare` of one job."""
        return alignment(self._all(lambda rank: decode(Probe, rank.ask({"do": "probe"}))), self._split)

    def close(self) -> None:
        """End all ranks."""
        # At the same time: leaving a group may wait for the others to leave.
        for done in [self._pool.submit(rank.close) for rank in self._ranks]:
            done.result()
        self._pool.shutdown()
        self._store = None

    def _all(self, ask: Callable[[Conversation], T]) -> list[T]:
        """Ask all ranks at once; give their answers. When one fails, the others are ended: they might wait for it."""
        asked = [self._pool.submit(ask, rank) for rank in self._ranks]
        try:
            wait(asked, return_when=FIRST_EXCEPTION)
            failed = _failed(asked)
            if failed:
                wait(asked, timeout=_GRACE)
                raise self._culprit(asked)
        except BaseException:
            # An interruption, too: nobody may be left who waits for an answer.
            for rank in self._ranks:
                rank.kill()
            wait(asked)
            raise
        return [each.result() for each in asked]

    def _place(self, rank: int) -> Path:
        return self._folder / f"rank-{rank}"

    def _culprit(self, asked: Sequence[Future[Any]]) -> BaseException:
        """Give the failure that the others followed from: of a rank that died, before one that missed it."""
        failed = _failed(asked)
        strange = next((error for error in failed.values() if not isinstance(error, SideFailed)), None)
        if strange is not None:
            return strange
        known = {rank: error for rank, error in failed.items() if isinstance(error, SideFailed)}
        late = {rank: error for rank, error in known.items() if error.failure.kind == "timeout"}
        if late == known:
            return _late(late, [rank for rank, each in enumerate(asked) if each.done() and rank not in late])
        rank = min(known.keys() - late.keys(), key=lambda rank: (not self._ranks[rank].died, rank))
        failure = known[rank].failure
        return SideFailed(replace(failure, message=f"rank {rank}: {failure.message}"), known[rank].side)

    def _one_after_another(self, turn: Sequence[Output | None]) -> Iterator[Output]:
        """Give the outputs of a turn, rank by rank, but for those that are padding alone; a training's step is one."""
        steps = [output for output in turn if output is not None and output.losses]
        if steps:
            whole = self._moved(0, merged_step(steps, by_turns=self._split == "samples"))
            for rank, step in enumerate(steps[1:], start=1):
                remove_snapshot(self._place(rank), step.number)
            if len(steps) > 1:
                self._keep_loss(whole)
            yield whole
            return
        for rank, output in enumerate(turn):
            if output is not None and (output.unpadded or not output.padding):
                self._ran[rank].update(output.unpadded)
                yield self._moved(rank, output)

    def _keep_loss(self, step: Output) -> None:
        """Put the loss of all ranks in place of rank 0's in the snapshot of a step."""
        taken = load_snapshot(self._folder, step.number)
        if LOSS in taken.leaves:
            loss = torch.full_like(taken.leaves[LOSS], step_of(step).loss)
            save_snapshot(replace(taken, leaves={**taken.leaves, LOSS: loss}), self._folder, step.number)

    def _same(self, turn: Sequence[Output | None]) -> Iterator[Output]:
        """Give rank 0's output of a turn, and note who gave another."""
        kept = turn[0]
        for rank, output in enumerate(turn[1:], start=1):
            odd = self._unlike(kept, rank, output)
            if odd and rank not in self._odd:
                self._odd[rank] = f"rank {rank} {odd}"
            if output is not None:
                remove_snapshot(self._place(rank), output.number)
        if kept is not None:
            yield self._moved(0, kept)

    def _unlike(self, kept: Output | None, rank: int, output: Output | None) -> str:
        """Say what a rank did other than rank 0 in a turn; nothing where it did the same."""
        if kept is None or output is None:
            return f"had {'fewer' if output is None else 'more'} batches than rank 0"
        if (kept.indices, kept.inputs) != (output.indices, output.inputs):
            return f"was fed other data than rank 0 in batch {kept.number}"
        sides = load_snapshot(self._place(0), kept.number), load_snapshot(self._place(rank), output.number)
        found = compare_runs("", *sides)
        return f"gave other outputs than rank 0 in batch {kept.number}: {found.note}" * (found.verdict == "different")

    def _take_files(self, source: Path) -> None:
        """Move what an evaluator has written to where it is kept; of files of one name, the first rank's stays."""
        for path in [each for each in source.rglob("*") if each.is_file()]:
            target = self._folder / FILES / path.relative_to(source)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)

    def _moved(self, rank: int, output: Output) -> Output:
        number, self._count = self._count, self._count + 1
        move_snapshot(self._place(rank), output.number, self._folder, number)
        return replace(output, number=number)

    def _found_odd(self) -> Iterator[str]:
        """Say which ranks did not do what they should, one sentence for each."""
        yield from (text for _, text in sorted(self._odd.items()))
        for rank, ran in self._ran.items():
            twin = next((other for other in range(rank) if ran and self._ran[other] == ran), None)
            if twin is not None:
                yield f"rank {rank} reads the data of rank {twin}: the data do not split themselves"


def _failed(asked: Sequence[Future[Any]]) -> dict[int, BaseException]:
    found = {rank: each.exception() for rank, each in enumerate(asked) if each.done()}
    return {rank: error for rank, error in found.items() if error is not None}


def _late(late: Mapping[int, SideFailed], done: Sequence[int]) -> SideFailed:
    """Give the failure of a stage that did not end; a rank that is still at work may wait for one that is not."""
    failure = next(iter(late.values())).failure
    still = f"{_named(list(late))} still at work" + (f", {_named(done)} done with it" if done else "")
    traceback = "\n".join(f"rank {rank}:\n{error.failure.traceback}" for rank, error in late.items())
    return SideFailed(replace(failure, message=f"{failure.message}: {still}", traceback=traceback), None)


def _named(ranks: Sequence[int]) -> str:
    plural = len(ranks) > 1
    return f"rank{'s' * plural} {', '.join(map(str, ranks))} {'are' if plural else 'is'}"
