"""What differs between two sides, in their configs and besides, so that it can be said before any ratio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from libbench.config import Change, difference, names_in, read_unimported
from libbench.findings import OutputsReport
from libbench.job import Job
from libbench.result import SIDES, Comparison, Result, Unlike
from libbench.saved import RESULT, AnySide, SavedSide

_ENVIRONMENT = ("node", "machine", "processor", "device", "cores", "threads", "world size", "torch")
_WORK = ("batch size", "inputs", "dtype", "shape", "world size")
"""What a call does: where two sides differ in it, one is not faster than the other, but does something else."""
_FOR_SPEED = (*_WORK, "node", "machine", "processor", "device", "cores", "threads")
"""In what two sides that were not timed together must agree for one to be called faster."""
_MOST = 3


def changes_between(reference: AnySide, target: AnySide) -> tuple[Change, ...]:
    """Give the difference of two sides' configs, importing nothing for one that was saved.

    Raises:
        ConfigError: the config of a saved side is no YAML.
    """
    if isinstance(reference, Job) and isinstance(target, Job):
        return difference(reference.config, target.config)
    sides = reference, target
    digest = reference.record().digest
    if digest and digest == target.record().digest:
        return ()
    live = next((side for side in sides if isinstance(side, Job)), None)
    known = names_in(live.config, live.file) if live is not None else {}
    ours, theirs = (side.config if isinstance(side, Job) else _tree(side, known) for side in sides)
    return difference(ours, theirs)


def comparability(comparison: Comparison, batches: Iterator[Unlike]) -> tuple[Unlike, ...]:
    """List what differs.

    Args:
        comparison: with both environments, and the outputs that were compared.
        batches: what differs in the batches.
    """
    sides = comparison.reference, comparison.target
    return (*batches, *_leaves(comparison.outputs), *_environments(sides), *_load(sides))


def speed_differs(unlike: Sequence[Unlike]) -> str:
    """Name what makes times that were not taken together those of unlike things; empty where nothing does."""
    return ", ".join(each.name for each in unlike if each.name in _FOR_SPEED)


def other_work(unlike: Sequence[Unlike]) -> tuple[Unlike, ...]:
    """Give what makes the calls of two sides unlike, so that no speedup is claimed; none where they do the same."""
    return tuple(each for each in unlike if each.name in _WORK)


def not_compiled(comparison: Comparison, index: int) -> bool:
    """Tell whether a side, 0 or 1, has a compiler of which no compiled code ran, be it in one of its timed trials."""
    facts = (comparison.reference, comparison.target)[index].facts
    if facts is None:
        return False
    ran = [m.ran[index] for m in comparison.measurements if len(m.ran) > index]
    return facts.idle or 0 in ran


def not_swapped(comparison: Comparison, index: int) -> bool:
    """Tell whether a side, 0 or 1, has an operator library of which no kernel ran."""
    kernels = (comparison.reference, comparison.target)[index].kernels
    return kernels is not None and kernels.idle


def no_speedup(comparison: Comparison) -> str:
    """Say why a ratio of times is no speedup; empty where it is one."""
    idle = [f"{name} not compiled" for index, name in enumerate(SIDES) if not_compiled(comparison, index)]
    idle += [f"no kernel of {name}'s op_lib ran" for index, name in enumerate(SIDES) if not_swapped(comparison, index)]
    unlike = ", ".join(each.name for each in other_work(comparison.comparability))
    return "; ".join([*idle, *([f"not alike: {unlike}"] if unlike else [])])


def _leaves(outputs: OutputsReport | None) -> Iterator[Unlike]:
    leaves = outputs.leaves if outputs else ()
    for name, pairs in (("dtype", [leaf.dtypes for leaf in leaves]), ("shape", [leaf.shapes for leaf in leaves])):
        found = dict.fromkeys((str(a), str(b)) for a, b in pairs if a != b and a is not None and b is not None)
        if found:
            ours, theirs = zip(*found, strict=True)
            yield Unlike(name, _listed(ours), _listed(theirs))


def _listed(texts: Sequence[str]) -> str:
    each = list(dict.fromkeys(texts))
    more = f" and {len(each) - _MOST} more" if len(each) > _MOST else ""
    return ", ".join(each[:_MOST]) + more


def _environments(sides: Sequence[Result]) -> Iterator[Unlike]:
    known = [side.environment for side in sides]
    if not all(known):
        return
    for name in _ENVIRONMENT:
        values = [_value(environment, name) for environment in known]
        if values[0] != values[1]:
            yield Unlike(name, *values)


def _value(environment: Mapping[str, Any], name: str) -> str:
    # A side that does not tell ran as one process.
    value = environment.get(name, 1 if name == "world size" else None)
    return "not known" if value is None else str(value)


def _load(sides: Sequence[Result]) -> Iterator[Unlike]:
    """Tell when the machine was busy for one side only, as it can be where one was saved."""
    found = [(side.environment.get("load", 0), side.environment.get("cores", 1)) for side in sides]
    if not all(side.environment for side in sides):
        return
    busy = [load > cores for load, cores in found]
    if busy[0] != busy[1]:
        yield Unlike("load", *(f"{load} on {cores} cores" for load, cores in found))


def _tree(side: SavedSide, known: Mapping[str, Any]) -> Any:
    job = side.result.job
    return read_unimported(job.config, job.file, f"the config in {side.folder / RESULT}", known)
