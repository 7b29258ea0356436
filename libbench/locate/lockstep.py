"""Both sides' operators run side by side, once, each on its own inputs and on the reference's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from libbench.locate.deviation import error_of, level_of, rounding_of, worst
from libbench.locate.found import Found, Kept
from libbench.locate.graph import Given, Graph, Held, Link, Made, Op, links
from libbench.locate.values import Run, dtype_of, has_nan, in_dtype_of, narrower, not_finite, without_leftovers
from libbench.tree import own_copy


class Lockstep:
    """One pass over two graphs.

    What an operator of the target gives is found twice: on its own inputs, and on those that the reference has in
    the same place, cast to the dtype that the target has there. What the target holds, such as weights, it keeps. An
    operator without a counterpart passes on what it makes of the reference's values. Where the target's inputs are
    narrower, its operator is judged by the reference's on the same rounded inputs: what rounding has done before is
    no fault of its own. Values are let go at their last use.

    Args:
        sides: the graphs of reference and target.
        pairs: counterparts, as `libbench.locate.aligning.align` gives them.
        given: the inputs of both calls; they are not changed.
        keep: an operator of the target whose inputs are kept.

    Attributes:
        kept: those inputs.
    """

    def __init__(
        self,
        sides: tuple[Graph, Graph],
        pairs: Mapping[int, int],
        given: tuple[Sequence[Any], Sequence[Any]],
        keep: int | None = None,
    ) -> None:
        self._keep = keep
        self.kept: Kept | None = None
        self._pairs = pairs
        self._back = {r: t for t, r in pairs.items()}
        self._graphs = sides
        self._reference, self._target = (Run.of(graph, inputs) for graph, inputs in zip(sides, given, strict=True))
        self._entered = [error_of(one, two) for one, two in zip(*given, strict=True)]
        self._local: dict[int, list[Any]] = {}
        self._local_left = list(sides[1].uses)
        self._done = 0
        self._needs = self._needed()
        for needs in self._needs:
            self._reference.keep(needs)
        self._totals: dict[int, float] = {}
        self.found: dict[int, Found] = {}
        self._read = {*links(sides[1].outputs), *(link for op in sides[1].ops for link in op.links)}

    def run(self) -> list[Found]:
        """Do it; give what is found, in the order of the target's operators."""
        for position in range(len(self._graphs[1].ops)):
            self._step(position)
        self._finish_reference(len(self._graphs[0].ops))
        self._outputs()
        return [self.found[position] for position in sorted(self.found)]

    def _needed(self) -> list[list[Link]]:
        """Give, for each operator of the target, what of the reference's is read for it."""
        needed = []
        for position, op in enumerate(self._graphs[1].ops):
            found = [self._partner(link) for link in op.links]
            partner = self._pairs.get(position)
            if partner is not None:
                found += [Made(partner, 0), *self._graphs[0].ops[partner].links]
            needed.append([link for link in found if link is not None])
        return needed

    def _partner(self, link: Link) -> Link | None:
        """Give what the reference has where the target has a link; None for what is the target's own."""
        if isinstance(link, Made):
            partner = self._pairs.get(link.op)
            return None if partner is None else Made(partner, link.leaf)
        return link if isinstance(link, Given) else None

    def _step(self, position: int) -> None:
        op, partner = self._graphs[1].ops[position], self._pairs.get(position)
        taken = [self._partner(link) for link in op.links]
        ready = max((link.op + 1 for link in taken if isinstance(link, Made)), default=0)
        self._finish_reference(max(ready, partner or 0))
        found = self.found[position] = Found(position, partner)
        local, fed = self._locally(op, found)
        judged = self._judged(op, partner, fed) if partner is not None and local is not None else None
        if partner is not None:
            self._finish_reference(partner + 1)
        found.incoming = worst([self._total(link) for link in op.links])
        clean = partner is None and not any(has_nan(self._target.get(link)) for link in op.links)
        own = self._target.do(position)
        if partner is not None:
            reference = self._reference.values[partner]
            self._compare(found, (reference, judged or reference), local, own)
            self._edges(position, op, self._graphs[0].ops[partner])
        else:
            self._alone(found, own, clean)
        if local is not None:
            self._local[position] = local
        self._let_go(position, op)

    def _finish_reference(self, end: int) -> None:
        """Run the reference's operators up to one."""
        while self._done < end:
            self._reference.do(self._done)
            self._reference.release(self._graphs[0].ops[self._done].links)
            self._reference.drop(self._done)
            self._done += 1

    def _locally(self, op: Op, found: Found) -> tuple[list[Any] | None, dict[Link, Any]]:
        """Run an operator of the target on the reference's values; give what comes out, and what it was fed."""
        instead = self._charged(op, None if found.partner is None else self._graphs[0].ops[found.partner])
        fed = {link: self._fed(link, instead.get(link)) for link in op.links}
        # What the target alone has made of the reference's values is its own to change, through views of it, too.
        changed = {link for link in op.changed if not (isinstance(link, Made) and link.op in self._local)}
        if found.op == self._keep:
            self.kept = Kept(own_copy(fed))
        try:
            with self._graphs[1].kernels():
                outputs = op.run(lambda link: fed[link].clone() if link in changed else fed[link])
        except Exception as error:
            found.note = f"cannot run on the reference's values: {type(error).__name__}: {error}".split("\n")[0]
            return None, fed
        return without_leftovers(outputs, op), fed

    def _charged(self, op: Op, partner: Op | None) -> dict[Link, Link]:
        """Give the inputs without a counterpart, each with what the reference has there.

        What lies between the two is charged to the operators that made them, and not to this one once more.
        """
        if partner is None or len(op.links) != len(partner.links):
            return {}
        both = zip(op.links, partner.links, strict=True)
        alone = {link: wanted for link, wanted in both if isinstance(link, Made) and link.op not in self._pairs}
        return {link: wanted for link, wanted in alone.items() if not isinstance(wanted, Held)}

    def _fed(self, link: Link, instead: Link | None = None) -> Any:
        own = self._target.get(link)
        partner = instead or self._partner(link)
        if partner is not None:
            value = self._reference.get(partner)
            return in_dtype_of(value, own)
        if isinstance(link, Made) and link.op in self._local:
            return self._local[link.op][link.leaf]
        return own

    def _judged(self, op: Op, partner: int, fed: Mapping[Link, Any]) -> list[Any] | None:
        """Give what the reference's operator makes of the target's rounded inputs; None where they are not rounded."""
        other = self._graphs[0].ops[partner]
        kept = self.kept if self._back.get(partner) == self._keep else None
        if kept is not None:
            kept.judged = own_copy({link: self._reference.get(link) for link in other.links})
        if other.name != op.name or len(other.links) != len(op.links):
            return None
        rounded: dict[Link, Any] = {}
        instead = self._charged(op, other)
        for link, wanted in zip(op.links, other.links, strict=True):
            value, exact = fed[link], self._reference.get(wanted)
            if wanted in (self._partner(link), instead.get(link)) and narrower(value, exact):
                rounded[wanted] = value.to(exact.dtype)
        if not rounded:
            return None
        if kept is not None:
            kept.judged |= own_copy(rounded)
        changed = set(other.changed)

        def value_of(link: Link) -> Any:
            value = rounded[link] if link in rounded else self._reference.get(link)
            return value.clone() if link in changed else value

        with self._graphs[0].kernels():
            outputs = other.run(value_of)
        return without_leftovers(outputs, other)

    def _compare(
        self, found: Found, wanted: tuple[list[Any], list[Any]], local: list[Any] | None, own: list[Any]
    ) -> None:
        """Note how far apart both sides are, in the outputs that something reads."""
        reference, judged = wanted
        read = [leaf for leaf in range(len(own)) if Made(found.op, leaf) in self._read and leaf < len(reference)]
        first = next((i for i in read if isinstance(own[i], torch.Tensor)), None)
        if first is not None and isinstance(reference[first], torch.Tensor):
            found.dtypes = dtype_of(reference[first]), dtype_of(own[first])
            found.shape = tuple(own[first].shape)
            found.rounding = rounding_of(reference[first].dtype)
        found.total = worst([error_of(reference[i], own[i]) for i in read])
        self._totals[found.op] = found.total
        if found.total == math.inf:
            found.not_finite = any(not_finite(own[i]) and not not_finite(reference[i]) for i in read)
        if local is None or len(local) != len(own):
            return
        errors = {i: error_of(judged[i], local[i]) for i in read}
        found.local = worst(list(errors.values()))
        if found.local == 0 and judged is reference:
            # What it makes of the reference's inputs is what the reference has, so all of the error came in.
            found.inherited = found.total
        else:
            found.inherited = worst([error_of(local[i], own[i]) for i in read])
        if found.local:
            at = max(errors, key=lambda i: errors[i])
            found.level = level_of(judged[at], local[at])

    def _alone(self, found: Found, own: list[Any], clean: bool) -> None:
        """Note of an operator without a counterpart what can be told by itself."""
        first = next((each for each in own if isinstance(each, torch.Tensor)), None)
        if first is not None:
            found.dtypes, found.shape = ("", dtype_of(first)), tuple(first.shape)
        # An infinity may be meant, as that of a mask; a NaN out of none is not.
        found.not_finite = clean and any(map(has_nan, own))
        if found.not_finite:
            found.local = math.inf
        if found.op == self._keep and self.kept is not None and first is not None:
            # Until it is known what the reference has there: what it has been fed.
            fed = self.kept.fed.values()
            same = (each for each in fed if isinstance(each, torch.Tensor) and each.shape == first.shape)
            self.kept.wanted = next((each for each in same if each.dtype == first.dtype), None)
        self._totals[found.op] = 0.0

    def _edges(self, position: int, op: Op, partner: Op) -> None:
        """Judge the operators without a counterpart that stand before one that has one."""
        for link, wanted in self._charged(op, partner).items():
            if isinstance(link, Made):
                self._edge(link, wanted, self._local.get(link.op, self._target.values[link.op])[link.leaf], position)

    def _edge(self, link: Made, wanted: Link, value: Any, before: int | None) -> None:
        found = self.found[link.op]
        if found.before is None:
            found.before = before
        if found.local is not None:
            return
        reference = self._reference.get(wanted)
        found.dtypes = dtype_of(reference), found.dtypes[1]
        if link.op == self._keep and self.kept is not None:
            self.kept.wanted, self.kept.leaf = own_copy(reference), link.leaf
        found.rounding = rounding_of(reference.dtype if isinstance(reference, torch.Tensor) else None)
        found.local = error_of(reference, value)
        own = self._target.values.get(link.op)
        if own is not None:
            found.total = self._totals[link.op] = error_of(reference, own[link.leaf])
            found.inherited = error_of(value, own[link.leaf])
        if found.local:
            found.level = level_of(reference, value)

    def _outputs(self) -> None:
        """Judge what stands before the outputs of the call, as if they were an operator's inputs."""
        reference, target = (graph.outputs for graph in self._graphs)
        for link, wanted in zip(target, reference, strict=False):
            if isinstance(link, Made) and link.op not in self._pairs and isinstance(wanted, Made | Given):
                self._edge(link, wanted, self._local.get(link.op, self._target.values[link.op])[link.leaf], None)

    def _let_go(self, position: int, op: Op) -> None:
        self._reference.release(self._needs[position])
        self._target.release(op.links)
        self._target.drop(position)
        for link in op.links:
            if isinstance(link, Made):
                self._local_left[link.op] -= 1
                if self._local_left[link.op] <= 0:
                    self._local.pop(link.op, None)
        if position in self._pairs or self._local_left[position] <= 0:
            # What has a counterpart is fed from the reference; its local value is of no more use.
            self._local.pop(position, None)

    def _total(self, link: Link) -> float:
        if isinstance(link, Given):
            return self._entered[link.position]
        return self._totals.get(link.op, 0.0) if isinstance(link, Made) else 0.0
