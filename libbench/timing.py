"""Timing two jobs against each other in fresh processes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from libbench.config import digest
from libbench.interfaces import Event, Runner, Session
from libbench.job import Job
from libbench.measure import MOST_PAIRS, ROUND, least
from libbench.measured import STRAYED, Measurement, Timing
from libbench.reruns import compare_runs
from libbench.result import SIDES, Failure, Preparation, Result, SideFailed
from libbench.settings import Timer
from libbench.side import first_outputs
from libbench.speed import LEAST_PAIRS, speedups
from libbench.tree import load_snapshot

Watch = Callable[[str, Event], None]

LONGEST_ROUND = 32 * ROUND
"""Pairs of a round at most where two sides take turns: in a longer one the machine may drift."""
AROUND = 2.0
"""How many times the budget the rounds may take with all that goes by around the calls."""


def runner_of(job: Job) -> Runner:
    """Build a job's runner."""
    runner: Runner = job.build("runner")["runner"]
    return runner


def one_runner(jobs: Sequence[Job]) -> bool:
    """Tell whether all sides name the same runner, so that one process can time them."""
    return _alike(jobs, "runner")


def one_op_lib(jobs: Sequence[Job]) -> bool:
    """Tell whether all sides have the same kernels: those of one operator library would be those of the other, too."""
    return _alike(jobs, "op_lib")


def _alike(jobs: Sequence[Job], part: str) -> bool:
    return len({digest({part: job.config[part]}) for job in jobs}) == 1


def measurements(
    jobs: Sequence[Job],
    timer: Timer,
    folder: Path,
    watch: Watch,
    alone: Sequence[Path | None] = (),
    processes: int | None = None,
    call: float = 0.0,
) -> Iterator[Measurement]:
    """Time one side, or two against each other, in one fresh process after another.

    Two sides share a process where they name one runner and one operator library, or none, and are there what they
    were alone: modules of one name or a global switch of the other side may make something else of them, which shows
    in the outputs of the first call.
    A second copy of the reference is timed beside them, as long as there is room for it.

    Args:
        jobs: one, or the reference and the target.
        timer: its budget is shared among the processes.
        alone: for each job, the folder of the session that evaluated it; None leaves the side unchecked.
        processes: at most so many; None leaves it to the runner.
        call: seconds of the slowest side's, as far as it is known. Where the budget has no room for the pairs that an
            interval needs in every process, there are fewer of these, and no second copy.

    Raises:
        SideFailed: a side failed; its `side` is the job's position, None when it cannot be told.
    """
    jobs = [replace(job, timed=True) for job in jobs]
    runner = runner_of(jobs[0])
    wanted = min(runner.processes, processes or runner.processes)
    affordable = _affordable(wanted, timer, len(jobs) * call)
    count = max(1, affordable)
    share = replace(timer, budget=timer.budget / count)
    together = one_runner(jobs) and one_op_lib(jobs)
    copies = jobs[:1] if len(jobs) > 1 and affordable == wanted else []
    done: list[Measurement] = []
    for number in range(1, count + 1):
        place, begin = folder / f"timing-{number}", time.monotonic()
        tell = partial(watch, f"timing, process {number} of {count}{_so_far(done)}")
        found: Measurement | None = None
        if together:
            try:
                found = _shared(runner, [*jobs, *copies], share, place, tell, alone)
            except SideFailed as error:
                if not copies or not _crowded(error, len(jobs)):
                    raise
                # The copy is a luxury: where there is no room for all three, the two are timed without.
                copies, place = [], folder / f"timing-{number}-again"
                found = _shared(runner, jobs, share, place, tell, alone)
            together = found is not None
        if found is None:
            found = replace(_alternating(jobs, share, place, tell), together=False)
        done.append(replace(found, took=time.monotonic() - begin))
        yield done[-1]


def _affordable(processes: int, timer: Timer, pair: float) -> int:
    """Give how many processes have time for the pairs that an interval needs.

    Args:
        pair: seconds that one takes; 0 where that is not known.
    """
    if timer.pairs is not None or pair <= 0:
        return processes
    return min(processes, int(timer.budget / (LEAST_PAIRS * pair)))


def timed_alone(
    result: Result, job: Job, timer: Timer, folder: Path, watch: Watch, processes: int | None
) -> Iterator[Result]:
    """Time one side by itself; give its result with more timings each time, and with the failure when there is one."""
    try:
        for measurement in measurements([job], timer, folder, watch, processes=processes, call=call_of(result)):
            if any(measurement.strayed):
                raise SideFailed(Failure("measure", "exception", f"{STRAYED}: {measurement.strayed[0]}"))
            result = replace(result, timings=(*result.timings, measurement.clocks[0]))
            yield result
    except SideFailed as error:
        yield replace(result, failure=error.failure)


def call_of(result: Result) -> float:
    """Give the seconds of a call as the evaluation saw it; 0 where it did not come to one."""
    return result.preparation.seconds.get("second", 0.0) if result.preparation is not None else 0.0


def _crowded(error: SideFailed, copy: int) -> bool:
    """Tell whether the copy may be to blame: it failed, or there was no room, for whichever came last."""
    failure = error.failure
    return error.side == copy or failure.stage != "measure" or failure.kind in ("memory", "signal")


def _shared(
    runner: Runner,
    jobs: Sequence[Job],
    timer: Timer,
    folder: Path,
    watch: Callable[[Event], None],
    alone: Sequence[Path | None],
) -> Measurement | None:
    """Time all sides in one process; None where one of them is not there what it was alone."""
    folder.mkdir(parents=True)
    with closing(runner.open(*jobs, folder=folder, watch=watch)) as session:
        prepared = session.prepare()[:2]
        if not all(_unchanged(folder, i, known) for i, known in enumerate(alone)):
            return None
        return _with_first_calls(session.measure(timer), prepared)


def _with_first_calls(found: Measurement, prepared: Sequence[Preparation]) -> Measurement:
    first, cold = tuple(each.first_call for each in prepared), tuple(each.cold for each in prepared)
    return replace(found, first=first, cold=cold)


def _so_far(done: Sequence[Measurement]) -> str:
    """Say what is still undecided, for who watches."""
    wall = next((each for each in speedups(done) if each.clock == "wall"), None) if done and done[0].paired else None
    return f"; so far {wall.ratio:.3f}x, {wall.verdict}" if wall is not None else ""


def _unchanged(folder: Path, index: int, alone: Path | None) -> bool:
    if alone is None:
        return True
    known, now = load_snapshot(first_outputs(alone, 0), 0), load_snapshot(first_outputs(folder, index), 0)
    return compare_runs("beside the other side", known, now).verdict != "different"


def _alternating(jobs: Sequence[Job], timer: Timer, folder: Path, watch: Callable[[Event], None]) -> Measurement:
    """Time two sides that cannot share a process: each has its own, and rounds alternate."""
    with ExitStack() as stack:
        sessions: list[Session] = []
        prepared: list[Preparation] = []
        for side, job in enumerate(jobs):
            place = folder / SIDES[side]
            place.mkdir(parents=True)
            with _as_side(side):
                session = runner_of(job).open(job, folder=place, watch=watch)
                stack.callback(session.close)
                prepared += session.prepare()
            sessions.append(session)
        return _with_first_calls(_joined(_rounds(sessions, timer)), prepared)


def _rounds(sessions: Sequence[Session], timer: Timer) -> list[tuple[Measurement, Measurement]]:
    """Time two sides by turns; a round grows as long as most of its time goes by around its calls."""
    rounds: list[tuple[Measurement, Measurement]] = []
    size, begin = ROUND, time.monotonic()
    while not _enough(rounds, timer, time.monotonic() - begin):
        start = time.monotonic()
        order = (0, 1) if len(rounds) % 2 == 0 else (1, 0)
        warmup = timer.warmup if not rounds else 1
        done: dict[int, Measurement] = {}
        for side in order:
            with _as_side(side):
                done[side] = sessions[side].measure(replace(timer, pairs=size, warmup=warmup))
        rounds.append(_paired(done[0], done[1]))
        if done[0].seconds + done[1].seconds < (time.monotonic() - start) / 2:
            size = min(2 * size, LONGEST_ROUND, max(1, _most(timer) - _pairs(rounds)))
    return rounds


def _paired(reference: Measurement, target: Measurement) -> tuple[Measurement, Measurement]:
    """Cut a round to the trials that both sides had time for."""
    pairs = min(len(side.clocks[0]["wall"].seconds) for side in (reference, target))

    def cut(side: Measurement) -> Measurement:
        return replace(side, clocks=({c: Timing(t.seconds[:pairs]) for c, t in side.clocks[0].items()},))

    return cut(reference), cut(target)


def _enough(rounds: Sequence[tuple[Measurement, Measurement]], timer: Timer, took: float) -> bool:
    """Tell whether to stop, `took` seconds after the first round began, with all that goes by around the calls."""
    spent = sum(side.seconds for pair in rounds for side in pair)
    late = spent > timer.budget or took > AROUND * timer.budget
    return bool(rounds) and (late or _pairs(rounds) >= _most(timer))


def _pairs(rounds: Sequence[tuple[Measurement, Measurement]]) -> int:
    return sum(len(reference.clocks[0]["wall"].seconds) for reference, _ in rounds)


def _most(timer: Timer) -> int:
    return timer.pairs or MOST_PAIRS


def _joined(rounds: list[tuple[Measurement, Measurement]]) -> Measurement:
    """Put the rounds of both sides after one another, as if one process had timed them."""
    sides = list(zip(*rounds, strict=True))
    others = [each.others for side in sides for each in side if each.others is not None]
    return Measurement(
        clocks=tuple(_joined_clocks(side) for side in sides),
        inner=tuple(side[0].inner[0] for side in sides),
        warmup=tuple(side[0].warmup[0] for side in sides),
        seconds=sum(each.seconds for side in sides for each in side),
        redrawn=sum(each.redrawn for side in sides for each in side),
        interrupted=sum(each.interrupted for side in sides for each in side),
        compiled=tuple(sum(each.compiled[0] for each in side) for side in sides),
        ran=tuple(least([each.ran[0] for each in side if each.ran]) for side in sides),
        kept=tuple(_worst(side) for side in sides),
        unmet=tuple(each.unmet[0] for side in sides for each in side if each.unmet),
        one_thread=tuple(each.one_thread[0] for side in sides for each in side if each.one_thread),
        others=statistics.fmean(others) if others else None,
    )


def _worst(rounds: Sequence[Measurement]) -> str:
    """Give what strayed in any of the rounds of one side; "same" where one was looked at and none did."""
    strayed = next((each.strayed[0] for each in rounds if any(each.strayed)), "")
    return strayed or max((each.kept[0] for each in rounds if each.kept), default="")


def _joined_clocks(side: Sequence[Measurement]) -> Mapping[str, Timing]:
    clocks = side[0].clocks[0]
    return {c: Timing(tuple(s for each in side for s in each.clocks[0][c].seconds)) for c in clocks}


@contextmanager
def _as_side(side: int) -> Iterator[None]:
    """Say which of the two a session of one side is."""
    try:
        yield
    except SideFailed as error:
        raise SideFailed(error.failure, side) from error
