"""One record of several ranks' records: each field has its rule, and no field is without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import zip_longest
from typing import Any, TypeVar

from libbench.curves import merge_ranks
from libbench.drift import step_of
from libbench.findings import Rerun
from libbench.measured import Measurement
from libbench.result import Evaluation, KernelFacts, Output, Preparation

Record = TypeVar("Record", Preparation, Evaluation)
Rule = Callable[[Sequence[Any]], Any]


def merged(parts: Sequence[Record]) -> Record:
    """Give the record of a group: the slowest, the largest or rank 0's, as it is right for each field.

    Args:
        parts: one for each rank, in the order of the ranks.
    """
    kind = type(parts[0])
    rules = RULES[kind]
    return kind(**{each.name: rules[each.name]([getattr(part, each.name) for part in parts]) for each in fields(kind)})


def merged_measurement(parts: Sequence[Measurement]) -> Measurement:
    """Give rank 0's measurement, whose clocks waited for all, with what strayed on any rank."""
    kept = []
    for texts in zip(*(part.kept for part in parts), strict=True):
        strayed = [f"rank {rank}: {text}" for rank, text in enumerate(texts) if text not in ("", "same")]
        kept.append(strayed[0] if strayed else texts[0])
    return replace(parts[0], kept=tuple(kept))


def merged_step(outputs: Sequence[Output], by_turns: bool) -> Output:
    """Give one output of a training step of all ranks: rank 0's snapshot, with the samples and losses of all.

    Args:
        outputs: one for each rank, in the order of the ranks.
        by_turns: whether the samples of a batch went to the ranks by turns, and not batch after batch; the samples are
            given in the order that the data have.
    """
    step = merge_ranks([step_of(output) for output in outputs])
    turns = zip_longest(*(output.indices for output in outputs))
    dealt = tuple(index for turn in turns for index in turn if index is not None)
    return replace(outputs[0], indices=dealt if by_turns else step.indices, inputs=step.inputs, losses=step.losses)


def _first(values: Sequence[Any]) -> Any:
    return values[0]


def _largest(values: Sequence[Any]) -> Any:
    return max((value for value in values if value is not None), default=None)


def _largest_each(values: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    names = dict.fromkeys(name for value in values for name in value)
    return {name: max(value[name] for value in values if name in value) for name in names}


def _total(values: Sequence[int]) -> int:
    return sum(values)


def _union(values: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for value in values for name in value))


def _kernels(values: Sequence[KernelFacts | None]) -> KernelFacts | None:
    known = [value for value in values if value is not None]
    names = dict.fromkeys(name for value in known for name in value.calls)
    calls = {name: sum(value.calls.get(name, 0) for value in known) for name in names}
    return replace(known[0], calls=calls) if known else None


def _repeats(values: Sequence[str]) -> str:
    odd = [f"rank {rank}: {text}" for rank, text in enumerate(values) if text != "same"]
    return odd[0] if odd else "same"


def _seeded(values: Sequence[Rerun | None]) -> Rerun | None:
    """Give the rank's that does not repeat itself from one seed, or that of the first that draws at all."""
    known = [value for value in values if value is not None]
    return next((value for value in known if value.verdict != "same"), next(iter(known), None))


RULES: Mapping[type, Mapping[str, Rule]] = {
    Preparation: {
        "seconds": _largest_each,
        "compiler": _first,
        "facts": _first,
        "cold": _first,
        "parameters": _first,
        "samples": _first,
        "batches": _first,
        "repeats": _repeats,
        "mutated": _union,
        "resident": _largest,
        "again": _first,
        "aliases": _union,
        "seeded": _seeded,
        "off_device": _union,
        "kernels": _kernels,
    },
    Evaluation: {
        "metrics": _first,
        "peak": _largest_each,
        "missing": _total,
        "changed": _union,
        "facts": _first,
        "odd_ranks": _union,
        "disputed": _total,
        "allowed": _first,
        "kernels": _kernels,
    },
}
"""By field, what makes one value of the ranks' values. A test holds it against the records."""
