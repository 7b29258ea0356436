"""Which operator of the target does what which operator of the reference does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from typing import Any

from libbench.locate.graph import Graph, Link, Op, replaced

Token = Callable[[Op], Hashable]


def align(reference: Graph, target: Graph) -> dict[int, int]:
    """Give, for operators of the target, the one of the reference in the same place; both by position.

    Operators are put side by side in the order in which they run, first those that agree in everything (operator,
    module, constants, shapes, and what their inputs are), then, between these, by less and less. What is left is put
    together where it can be told apart wherever it stands, as when branches run in another order. Where an operator
    has no counterpart, it is in the target alone.
    """
    sides = reference.ops, target.ops
    near = [_with_inputs(ops) for ops in sides]
    pairs: dict[int, int] = {}
    gaps = [((0, len(sides[0])), (0, len(sides[1])))]
    exact = [[(_whole(op), near[side][i]) for i, op in enumerate(ops)] for side, ops in enumerate(sides)]
    gaps = _between(exact, gaps, pairs)
    weaker: tuple[Token, ...] = (_whole, _without_constants, _anywhere)
    for token in weaker:
        gaps = _between([[token(op) for op in ops] for ops in sides], gaps, pairs)
    _elsewhere([[_whole(op) for op in ops] for ops in sides], pairs)
    return pairs


def _between(tokens: Sequence[Sequence[Hashable]], gaps: Sequence[Any], pairs: dict[int, int]) -> list[Any]:
    """Match inside the gaps, add what is matched to `pairs`, and give the gaps that are left."""
    left = []
    for (first, last), (start, end) in gaps:
        matcher = SequenceMatcher(None, tokens[0][first:last], tokens[1][start:end], autojunk=False)
        a = b = 0
        for block in matcher.get_matching_blocks():
            left.append(((first + a, first + block.a), (start + b, start + block.b)))
            for i in range(block.size):
                pairs[start + block.b + i] = first + block.a + i
            a, b = block.a + block.size, block.b + block.size
    return [(one, two) for one, two in left if one[0] < one[1] and two[0] < two[1]]


def _elsewhere(tokens: Sequence[Sequence[Hashable]], pairs: dict[int, int]) -> None:
    """Match what is left and stands for itself on both sides, whatever the order."""
    taken = set(pairs.values())
    free = [i for i in range(len(tokens[0])) if i not in taken], [i for i in range(len(tokens[1])) if i not in pairs]
    counts = [Counter(tokens[side][i] for i in free[side]) for side in (0, 1)]
    known = {tokens[0][i]: i for i in free[0]}
    for i in free[1]:
        token = tokens[1][i]
        if counts[0][token] == counts[1][token] == 1:
            pairs[i] = known[token]


def _with_inputs(ops: Sequence[Op]) -> list[int]:
    """Give, for each operator, a number that stands for it and for all that it depends on within three steps."""
    found = [hash(_whole(op)) for op in ops]
    for _ in range(3):
        found = [hash((one, tuple(_of(link, found) for link in op.links))) for one, op in zip(found, ops, strict=True)]
    return found


def _of(link: Any, found: Sequence[int]) -> Hashable:
    return (found[link.op], link.leaf) if hasattr(link, "op") else link


def _whole(op: Op) -> Hashable:
    return op.name, op.module, op.shapes, repr(replaced((op.args, op.kwargs), Link, lambda link: type(link).__name__))


def _without_constants(op: Op) -> Hashable:
    return op.name, op.module, op.shapes


def _anywhere(op: Op) -> Hashable:
    return op.name, op.shapes
