"""Operator by operator: which one of the target does not do what the reference's does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from libbench.errors import LibbenchError
from libbench.locate.aligning import align
from libbench.locate.capture import How, Runnable, capture
from libbench.locate.deviation import ratio_of, usual, verdict_of
from libbench.locate.found import Found
from libbench.locate.graph import Link, Made, Op
from libbench.locate.lockstep import Lockstep
from libbench.locate.recording import given_of
from libbench.located import Deviation, OpRow, OpsReport

MOST_ROWS = 50
"""So many rows are kept, the worst of them."""
MOST_SENTENCES = 20


class ByOperator:
    """Both sides' operators in lock step.

    Args:
        sides: the calls of reference and target.
        how: as for `libbench.locate.capture.capture`.
        inside: path of the module whose call it is; it stands before the paths of the modules in it.

    Attributes:
        graphs: those of both sides.
        pairs: counterparts, as `align` gives them.
        given: the inputs of both sides.

    Raises:
        LibbenchError: the two calls take other numbers of tensors.
    """

    def __init__(self, sides: tuple[Runnable, Runnable], *, how: How = "export", inside: str = "") -> None:
        reference, target = capture(sides, how)
        self.graphs = reference, target
        self.pairs = align(*self.graphs)
        given = [given_of(side.inputs()) for side in sides]
        if len(given[0]) != len(given[1]):
            raise LibbenchError(f"the reference is given {len(given[0])} tensors, the target {len(given[1])}")
        self.given = given[0], given[1]
        self._reference, self._target = (graph.ops for graph in self.graphs)
        self._pairs = self.pairs
        self._inside = inside
        self._found: list[Found] = []

    def report(self, call: int = 0) -> OpsReport:
        """Run the operators, and say which of the target's stands out.

        Args:
            call: which of the module's calls it is, for the record.
        """
        self._found = Lockstep(self.graphs, self.pairs, self.given).run()
        self._settle()
        ordered = sorted(self._found, key=lambda each: (-(each.local or 0.0), each.op))
        rows = [self._row(each) for each in ordered[:MOST_ROWS]]
        worst = ordered[0].local or 0.0 if ordered else 0.0
        verdict = verdict_of(worst, self._usual, self._rounding)
        if not self._found or all(each.local is None for each in self._found):
            verdict = "unjudged"
        return OpsReport(
            verdict=verdict,
            inside=self._inside,
            call=call,
            graph="export" if self.graphs[0].how == "export" else "record",
            why_recorded=self.graphs[0].why,
            operators=(len(self._reference), len(self._target)),
            usual=self._usual,
            rows=tuple(rows),
            culprit=rows[0] if verdict == "located" else None,
            structure=tuple(self._structure()),
            errors=tuple((each.local, each.total) for each in self._found),
        )

    def _settle(self) -> None:
        """Find out what is usual, and what comes first."""
        roundings = Counter(each.rounding for each in self._found if each.rounding)
        self._rounding = max(roundings, key=lambda each: roundings[each], default=0.0)
        self._usual = usual(list(self._by_place().values()), self._rounding)
        names: Counter[str] = Counter()
        self._nth = []
        for op in self._target:
            names[op.name] += 1
            self._nth.append(names[op.name])
        self._first = next((each.op for each in self._found if each.not_finite), None)

    def _by_place(self) -> dict[Any, float]:
        """Give the worst local error at each line of each module, however often it is called.

        An additional operator belongs to the one that it feeds, or follows.
        """
        places: dict[Any, float] = {}
        for found in self._found:
            near = found.op if found.partner is not None else found.before
            op = self._target[found.op] if near is None else self._partner_of(near)
            place = op.name, op.module, op.source
            places[place] = max(places.get(place, 0.0), found.local or 0.0)
        return places

    def _row(self, found: Found) -> OpRow:
        op = self._target[found.op]
        partner = None if found.partner is None else self._reference[found.partner]
        gain = None
        if found.inherited is not None and 0 < found.incoming < float("inf"):
            gain = found.inherited / found.incoming
        deviation = Deviation(
            local=found.local,
            inherited=found.inherited,
            total=found.total,
            ratio=None if found.local is None else ratio_of(found.local, self._usual),
            level=found.level,
            gain=gain,
        )
        return OpRow(
            operator=op.name,
            position=found.op,
            nth=self._nth[found.op],
            module=self._path(op),
            source=(partner or op).source,
            additional=partner is None,
            after=self._after(op) if partner is None else "",
            before="" if found.before is None else self._said(self._partner_of(found.before)),
            dtypes=found.dtypes,
            shape=found.shape,
            deviation=deviation,
            not_finite=found.op == self._first,
            note=found.note,
        )

    def _path(self, op: Op) -> str:
        return ".".join(part for part in (self._inside, op.module) if part)

    def _partner_of(self, position: int) -> Op:
        return self._reference[self._pairs[position]]

    def _after(self, op: Op) -> str:
        """Say which operator with a counterpart an additional one follows, through others of its kind."""
        seen = [op]
        while seen:
            made = [link.op for link in seen.pop().links if isinstance(link, Made)]
            known = next((each for each in made if each in self._pairs), None)
            if known is not None:
                return self._said(self._partner_of(known))
            seen += [self._target[each] for each in made]
        return ""

    def _said(self, op: Op) -> str:
        return op.said(self._path(op))

    def _structure(self) -> Iterator[str]:
        """Say what one side alone has, kind by kind, where there is much of it."""
        matched = set(self._pairs.values())
        lacking = [op for i, op in enumerate(self._reference) if i not in matched]
        more = [op for i, op in enumerate(self._target) if i not in self._pairs]
        for ops, text in ((more, "the target alone has {}"), (lacking, "the target has no counterpart of {}")):
            counts = Counter((op.name, self._path(op), op.source) for op in ops)
            for (name, path, source), count in list(counts.items())[:MOST_SENTENCES]:
                times = f" {count} times" if count > 1 else ""
                yield text.format(f"{name} in {path or 'the model'}{times}") + (f", {source}" if source else "")
            if len(counts) > MOST_SENTENCES:
                yield text.format(f"{len(counts) - MOST_SENTENCES:,} more")
        yield from self._rewired()

    def _rewired(self) -> Iterator[str]:
        """Say which operators take what they have in common with the reference from elsewhere."""
        told = 0
        for position, partner in sorted(self._pairs.items()):
            op, other = self._target[position], self._reference[partner]
            if any(self._elsewhere(*both) for both in zip(op.links, other.links, strict=False)):
                yield f"{self._said(op)} takes its inputs from other operators than in the reference"
                told += 1
            if told == MOST_SENTENCES:
                return

    def _elsewhere(self, link: Link, wanted: Link) -> bool:
        if not isinstance(link, Made) or not isinstance(wanted, Made) or link.op not in self._pairs:
            return False
        return Made(self._pairs[link.op], link.leaf) != wanted
