"""What it costs: time per call, the first call, and memory."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from libbench.comparability import no_speedup, not_compiled, not_swapped
from libbench.measure import least
from libbench.measured import Measurement, NullArm, Speedup, Timing
from libbench.report.headline import SPEED_TONES, wall
from libbench.report.page import Cell, Column, Page
from libbench.report.words import Tone, listed, nbytes, one_line, plural, ratio, rounded_up, seconds, span
from libbench.result import SIDES as SIDE_NAMES
from libbench.result import Comparison, CompileFacts, KernelFacts, Preparation, Result

SIDES = (
    Column(least=13, wide=13),
    Column("reference", right=True, wide=10),
    Column("target", right=True, wide=10),
    Column(least=30),
)
"""Of a table with a figure for each side."""


def write_speed(page: Page, comparison: Comparison) -> None:
    """Write the time per call by every clock, the machine's own noise, and the time of the first call."""
    none = no_speedup(comparison)
    rows = [_speed_row(speedup, none) for speedup in comparison.speedups]
    page.entry("speed", _how_measured(comparison))
    rows += [row for row in (_null_row(comparison.null), _first_row(comparison), _warm_row(comparison)) if row]
    if rows:
        page.table(SIDES, rows)
    for note in dict.fromkeys(one_line(speedup.note) for speedup in comparison.speedups if speedup.note):
        page.item(f"note: {note}", "dim")
    undecided = wall(comparison)
    if undecided is not None and undecided.further is not None and comparison.measurements:
        page.item(_decide(undecided, comparison.measurements), "warn")
    profit = pays_off(comparison)
    if profit is not None:
        page.item(f"the target's first call pays off after {rounded_up(profit)} calls")


def _decide(speedup: Speedup, measurements: Sequence[Measurement]) -> str:
    """Say what it would take to decide an inconclusive ratio."""
    further = speedup.further or 0
    spent = further * statistics.fmean(m.took for m in measurements)
    more = plural(further, "more process", "more processes")
    return f"about {more} ({seconds(spent)}) would decide: --set runner.processes={len(measurements) + further}"


def _null_row(null: NullArm | None) -> list[Cell] | None:
    if null is None:
        return None
    words = f"{null.ratio:.3f}x  +- {null.half_width:.1%}  the reference against a copy of itself"
    return ["own noise", "", "", (words, "dim")]


def _warm_row(comparison: Comparison) -> list[Cell] | None:
    """Give the first call of a process that finds its compilers' caches filled."""
    warm = [m for m in comparison.measurements if len(m.first) == 2 and any(cold is False for cold in m.cold)]
    if not warm:
        return None
    first = [statistics.median(m.first[side] for m in warm) for side in range(2)]
    return ["warm first call", *map(seconds, first), ("median of the timing's processes", "dim")]


def _how_measured(comparison: Comparison) -> str:
    speedup = wall(comparison)
    if speedup is None:
        return "not measured"
    if not speedup.pairs:
        counts = [len(side.timings) for side in (comparison.reference, comparison.target)]
        return f"{counts[0]:,} and {plural(counts[1], 'process', 'processes')}, each side by itself"
    how = [f"{plural(len(speedup.pairs), 'process', 'processes')} x {span(speedup.pairs)} pairs"]
    environment = comparison.reference.environment
    threads = [side.environment.get("threads") for side in (comparison.reference, comparison.target)]
    if None not in threads:
        ours, theirs = threads
        how.append(f"threads {ours}" if ours == theirs else f"threads {ours} (reference) and {theirs} (target)")
    if "cores" in environment:
        others = [m.others for m in comparison.measurements if m.others is not None]
        busy = f", {statistics.fmean(others):.1f} of them busy with others" if others else ""
        how.append(plural(int(environment["cores"]), "core") + busy)
    return ", ".join(how)


def _speed_row(speedup: Speedup, none: str) -> list[Cell]:
    ours, theirs = seconds(speedup.reference), seconds(speedup.target)
    return [f"{speedup.clock} per call", ours, theirs, ratio_cell(speedup, none)]


def ratio_cell(speedup: Speedup, none: str) -> Cell:
    """Give a ratio with its interval and its verdict; in its place why it is no speedup, where there is a reason."""
    value, low, high = ratio(speedup.ratio, speedup.low, speedup.high)
    interval = "no interval" if speedup.low is None else f"[{low}, {high}]"
    if none:
        return f"{value}x {interval} {none}", "warn"
    return f"{value}x {interval} {speedup.verdict}", SPEED_TONES[speedup.verdict]


def _first_row(comparison: Comparison) -> list[Cell] | None:
    sides = comparison.reference.preparation, comparison.target.preparation
    if sides == (None, None):
        return None
    caches = [
        f"{name} with a {'cold' if side.cold else 'warm'} cache"
        for name, side in zip(("reference", "target"), sides, strict=True)
        if side and side.cold is not None
    ]
    compiled = any(side is not None and side.facts is not None for side in sides)
    words = "; ".join([*(["compilation included"] if compiled else []), *caches])
    return ["first call", seconds(first_call(sides[0])), seconds(first_call(sides[1])), (words, "dim")]


def first_call(preparation: Preparation | None) -> float | None:
    """Give the seconds of compiling and of the first call together; None where neither is known."""
    return None if preparation is None or "first" not in preparation.seconds else preparation.first_call


def call_seconds(timings: Sequence[Mapping[str, Timing]]) -> float | None:
    """Give the seconds per call of one side: the median over processes, by the wall clock or the first there is.

    Returns:
        None where nothing was timed.
    """
    if not timings:
        return None
    clock = "wall" if "wall" in timings[0] else next(iter(timings[0]), "")
    medians = [timing[clock].median for timing in timings if clock in timing]
    return statistics.median(medians) if medians else None


def pays_off(comparison: Comparison) -> float | None:
    """Give the number of calls after which the target has won back its slower first call.

    Returns:
        None where there is no speedup or the target is not faster, or its first call is not slower.
    """
    speedup = wall(comparison)
    first = first_call(comparison.reference.preparation), first_call(comparison.target.preparation)
    if no_speedup(comparison):
        return None
    if speedup is None or speedup.verdict != "faster" or first[0] is None or first[1] is None or first[1] <= first[0]:
        return None
    saved = speedup.reference * (1 - 1 / speedup.ratio)
    return 1 + math.ceil((first[1] - first[0]) / saved) if saved > 0 else None


def write_compiled(page: Page, comparison: Comparison) -> None:
    """Write what the compilers did; nothing for a side without one."""
    for index, (name, result) in enumerate(zip(SIDE_NAMES, (comparison.reference, comparison.target), strict=True)):
        if result.facts is None:
            continue
        ran = [m.ran[index] for m in comparison.measurements if len(m.ran) > index]
        text = facts_text(result.facts, least(ran))
        uncompiled = not_compiled(comparison, index)
        if uncompiled and comparison.speedups:
            text += "; the speed above is that of uncompiled code"
        page.entry("compiled", f"{name}: {text}", "warn" if uncompiled else "plain")


def facts_text(facts: CompileFacts, ran: float | None = None) -> str:
    """Say what a compiler did.

    Args:
        ran: how often compiled code ran in a timed call, at least; None where that is not known.
    """
    said = list(facts.notes) or ["the compiler does not tell what it compiled"]
    if facts.graphs is not None:
        said = [_made(facts), *([_ran(facts, ran)] if facts.graphs else []), *facts.notes]
    if facts.fallbacks:
        said.append(f"{plural(len(facts.fallbacks), 'operator')} not compiled: {listed(facts.fallbacks)}")
    if facts.baked:
        said.append(f"fixed by tracing: {listed(facts.baked)}")
    verdict = "NOT COMPILED, " if facts.idle or ran == 0 else "" if facts.graphs is None else "yes, "
    return verdict + "; ".join(said)


def _made(facts: CompileFacts) -> str:
    """Say how many graphs were made, and how large they are."""
    if not facts.graphs:
        return "no graph was made"
    text = plural(facts.graphs, "graph")
    text += f", {plural(facts.breaks, 'break')}" if facts.breaks is not None else ""
    text += f", compiled again {plural(facts.recompiles, 'time')}" if facts.recompiles else ""
    return text + (f", {nbytes(facts.artefact_bytes)}" if facts.artefact_bytes is not None else "")


def _ran(facts: CompileFacts, ran: float | None) -> str:
    """Say how often compiled code ran."""
    if facts.calls is None:
        return "whether that ran it does not tell"
    if ran == 0:
        return "none of it ran in a timed call"
    if ran is None:
        return f"ran {plural(facts.calls, 'time')}" if facts.calls else "none of it ran"
    return "ran in every timed call" if ran == 1 else f"ran {ran:.3g} times in every timed call"


def write_kernels(page: Page, comparison: Comparison) -> None:
    """Write which kernels were put in place of torch's, and which of them ran; nothing for a side without any."""
    for index, (name, result) in enumerate(zip(SIDE_NAMES, (comparison.reference, comparison.target), strict=True)):
        if result.kernels is not None:
            tone: Tone = "warn" if not_swapped(comparison, index) else "plain"
            page.entry("op_lib", f"{name}: {kernels_text(result.kernels)}", tone)


def kernels_text(kernels: KernelFacts) -> str:
    """Say which operators an operator library has kernels for, and which of them ran."""
    ran = [f"{name} {plural(count, 'time')}" for name, count in kernels.calls.items() if count]
    idle = [name for name, count in kernels.calls.items() if not count]
    text = f"{kernels.version}; {plural(len(kernels.calls), 'kernel')} in place of torch's"
    if kernels.idle:
        return f"{text}, of which NONE RAN: {listed(idle)}"
    return f"{text}; ran: {listed(ran)}" + (f"; did not run: {listed(idle)}" if idle else "")


def write_memory(page: Page, comparison: Comparison) -> None:
    """Write the peak of each kind of memory, and what the model keeps."""
    sides = comparison.reference, comparison.target
    peaks = [side.evaluation.peak if side.evaluation else {} for side in sides]
    resident = [side.preparation.resident if side.preparation else None for side in sides]
    rows: list[list[Cell]] = [
        [f"peak {kind}", nbytes(peaks[0].get(kind)), nbytes(peaks[1].get(kind)), ("in a call", "dim")]
        for kind in dict.fromkeys([*peaks[0], *peaks[1]])
    ]
    if any(value is not None for value in resident):
        rows.append(
            ["resident", nbytes(resident[0]), nbytes(resident[1]), ("model, compiler and their imports", "dim")]
        )
    if rows:
        page.entry("memory", "above what was there before")
        page.table(SIDES, rows)


def write_side(page: Page, result: Result) -> None:
    """Write what one side costs by itself."""
    preparation = result.preparation
    if preparation is not None:
        compiled = ", compilation included" if preparation.facts is not None else ""
        page.entry("first call", seconds(first_call(preparation)) + compiled)
        facts = result.facts
        if facts is not None:
            page.entry("compiled", facts_text(facts), "warn" if facts.idle else "plain")
        if result.kernels is not None:
            page.entry("op_lib", kernels_text(result.kernels), "warn" if result.kernels.idle else "plain")
    peaks = result.evaluation.peak if result.evaluation else {}
    memory = [f"peak {kind} {nbytes(size)}" for kind, size in peaks.items()]
    if preparation is not None and preparation.resident is not None:
        memory.append(f"resident {nbytes(preparation.resident)}")
    if memory:
        page.entry("memory", f"{', '.join(memory)}; above what was there before")
