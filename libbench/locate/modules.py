"""Module by module: which one of the target does not do what the reference's does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from libbench.codelines import place_of
from libbench.locate.autocasting import Autocast
from libbench.locate.capture import Runnable
from libbench.locate.deviation import errors_of, level_of, ratio_of, rounding_of, usual, verdict_of, worst
from libbench.locate.spilling import Spill
from libbench.locate.values import dtype_of, not_finite
from libbench.locate.watching import Call, paths_of, watched
from libbench.located import Deviation, ModuleRow, ModulesReport
from libbench.state import Kept
from libbench.tree import fingerprint, map_tensors, own_copy, snapshot, tensors

Key = tuple[str, int]
MOST_ROWS = 50
"""So many rows are kept, the worst of them."""
_EXPLAINED = 3.0
"""A module whose local error is at most so many times that of one called in it has none of its own."""
_FIRST = "input"


class ByModule:
    """Two passes: the target as it is, and the reference, in each of whose calls the target's module is called.

    Args:
        sides: the calls of reference and target, of modules.
        folder: where outputs are put that there is no room for.
        limit: bytes of the target's outputs that are kept in memory.
    """

    def __init__(self, sides: tuple[Runnable, Runnable], folder: Path, limit: int) -> None:
        self._sides = sides
        self._spill = Spill(folder, limit)
        self._modules: dict[str, torch.nn.Module] = {
            path: module for module in sides[1].model.modules() for path in [paths_of(sides[1].model)[id(module)]]
        }
        self._dtypes: dict[Key, list[torch.dtype]] = {}
        self._autocast: dict[Key, Autocast] = {}
        self._kinds: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self._calls = Counter[str](), Counter[str]()
        self._errors: dict[Key, float] = {}
        self._above: dict[Key, float] = {}
        self._leaves: set[Key] = set()
        self._rows: dict[Key, ModuleRow] = {}
        self._rounding = 0.0
        self._lost = False

    def report(self) -> ModulesReport:
        """Do both passes and give what they have found."""
        with watched(self._sides[1].model, self._see, self._keep):
            _run(self._sides[1])
        with watched(self._sides[0].model, self._hold, self._judge) as self._seen:
            _run(self._sides[0])
        errors = {key: self._errors[key] for key in self._rows if self._counts(key)}
        places: dict[str, float] = {}
        for (path, _), error in errors.items():
            places[path] = max(places.get(path, 0.0), error)
        common = usual(list(places.values()), self._rounding)
        rows = [self._placed(key, common) for key in self._rows]
        # Modules that hold a culprit stand below it, however close their errors are.
        rows.sort(key=lambda row: (not row.own, -(row.deviation.ratio or 0.0)) if row.deviation.local else (True, 0.0))
        largest = max((row for row in rows if row.own), key=lambda row: row.deviation.local or 0.0, default=None)
        verdict = verdict_of(largest.deviation.local or 0.0 if largest else 0.0, common, self._rounding)
        return ModulesReport(
            verdict=verdict if rows else "unjudged",
            calls=(self._calls[0].total(), self._calls[1].total()),
            usual=common,
            rows=tuple(rows[:MOST_ROWS]),
            culprit=largest if rows and verdict == "located" else None,
            structure=tuple(self._structure()),
        )

    def _see(self, call: Call) -> None:
        """Note how the target's module is called."""
        self._dtypes[call.key] = [tensor.dtype for _, tensor in tensors((call.args, call.kwargs))]
        self._autocast[call.key] = Autocast.now()
        self._kinds[1][call.path] = type(call.module).__qualname__
        self._calls[1][call.path] += 1

    def _keep(self, call: Call) -> None:
        self._spill.put(call.key, snapshot(call.outputs))

    def _hold(self, call: Call) -> None:
        """Keep what the reference's module is given, as it is before the call."""
        call.kept = own_copy((call.args, call.kwargs))
        self._leaves.add(call.key)
        if call.above is not None:
            self._leaves.discard(call.above.key)
        self._kinds[0][call.path] = type(call.module).__qualname__
        self._calls[0][call.path] += 1

    def _judge(self, call: Call) -> None:
        """Feed the target's module what the reference's was given, and compare."""
        module, own = self._modules.get(call.path), self._spill.take(call.key)
        if module is None or own is None:
            return
        reference = snapshot(call.outputs, copy=False).leaves
        total = worst(list(errors_of(reference, own.leaves).values()))
        lost = any(map(not_finite, own.leaves.values())) and not any(map(not_finite, reference.values()))
        local, level, note, changed = self._locally(call, module, reference)
        self._errors[call.key] = local or 0.0
        if call.above is not None:
            above = call.above.key
            self._above[above] = max(self._above.get(above, 0.0), self._above.get(call.key, 0.0), local or 0.0)
        first = next(iter(reference), None)
        shapes = _shape(reference.get(first or "")), _shape(own.leaves.get(first or ""))
        dtypes = _dtype(reference.get(first or "")), _dtype(own.leaves.get(first or ""))
        if first is not None:
            self._rounding = max(self._rounding, rounding_of(reference[first].dtype))
        self._rows[call.key] = ModuleRow(
            path=call.path,
            call=call.number,
            kind=(type(call.module).__qualname__, type(module).__qualname__),
            source=place_of(module),
            dtypes=dtypes,
            shapes=shapes,
            deviation=Deviation(local=local, total=total, level=level),
            not_finite=lost and not self._lost,
            changed=changed,
            note=note,
        )
        self._lost |= lost

    def _locally(
        self, call: Call, module: torch.nn.Module, reference: Mapping[str, torch.Tensor]
    ) -> tuple[float | None, float | None, str, tuple[str, ...]]:
        """Give the local error of a call, its level, what is to be said, and the inputs that one side alone changes."""
        fed, rounded = self._cast(call)
        before = own_copy(fed)
        try:
            with self._sides[1].kernels(), self._autocast[call.key].entered(), state_put_back(module):
                outputs = module(*fed[0], **fed[1])
        except Exception as error:
            return None, None, f"cannot be fed the reference's inputs: {type(error).__name__}: {error}", ()
        wanted: Any = call.outputs
        if rounded:
            # What rounding has done to the inputs is no fault of the module's.
            inputs = own_copy(before)
            exact = [tensor.dtype for _, tensor in tensors(call.kept)]
            args, kwargs = in_dtypes(inputs, exact)
            with self._seen.pause(), state_put_back(call.module):
                wanted = call.module(*args, **kwargs)
            reference = snapshot(wanted, copy=False).leaves
        local = worst(list(errors_of(reference, snapshot(outputs, copy=False).leaves).values()))
        changes = _changes(before, fed) ^ _changes(call.kept, (call.args, call.kwargs))
        return local, level_of(wanted, outputs) if local else None, "", tuple(sorted(changes))

    def _cast(self, call: Call) -> tuple[Any, bool]:
        """Give what the reference's module was given, in the dtypes of the target, and whether that has rounded it."""
        given = [tensor for _, tensor in tensors(call.kept)]
        wanted = self._dtypes[call.key]
        if len(wanted) != len(given):
            return own_copy(call.kept), False
        both = list(zip(given, wanted, strict=True))
        rounded = any(rounding_of(dtype) > rounding_of(tensor.dtype) > 0 for tensor, dtype in both)
        return in_dtypes(own_copy(call.kept), wanted), rounded

    def _counts(self, key: Key) -> bool:
        """Tell whether a call counts by itself: no other module is called in it, or none accounts for its error."""
        return key in self._leaves or (self._errors[key] > 0 and self._owns(key))

    def _owns(self, key: Key) -> bool:
        inside = self._above.get(key, 0.0)
        return inside == 0 or self._errors[key] > _EXPLAINED * inside

    def _placed(self, key: Key, common: float) -> ModuleRow:
        row = self._rows[key]
        local = row.deviation.local
        ratio = None if local is None else ratio_of(local, common)
        return replace(row, deviation=replace(row.deviation, ratio=ratio), own=self._owns(key))

    def _structure(self) -> Iterator[str]:
        """Say what one side alone calls, or calls more often, or has of another class."""
        for path in dict.fromkeys([*self._calls[0], *self._calls[1]]):
            one, two = (calls[path] for calls in self._calls)
            kinds = [kinds.get(path) for kinds in self._kinds]
            name = path or "the model"
            if not one or not two:
                who = "reference" if one else "target"
                yield f"the {who} alone calls {name}, a {kinds[0] or kinds[1]}"
            elif kinds[0] != kinds[1]:
                yield f"{name} is a {kinds[0]} in the reference, a {kinds[1]} in the target"
            if one and two and one != two:
                yield f"{name} is called {one:,} times in the reference, {two:,} times in the target"


def _run(side: Runnable) -> None:
    args, kwargs = side.inputs()
    with state_put_back(side.model):
        side.call(*args, **kwargs)


@contextmanager
def state_put_back(module: torch.nn.Module) -> Iterator[None]:
    """Put back the buffers of a module, which a call may change."""
    kept = Kept(module, parameters=False)
    try:
        yield
    finally:
        kept.put_back()


def in_dtypes(tree: Any, dtypes: list[torch.dtype]) -> Any:
    """Give a tree with its floating tensors cast, in the order in which they stand."""
    wanted = {id(tensor): dtype for (_, tensor), dtype in zip(tensors(tree), dtypes, strict=True)}

    def cast(tensor: torch.Tensor) -> torch.Tensor:
        dtype = wanted.get(id(tensor), tensor.dtype)
        return tensor.to(dtype) if tensor.is_floating_point() and dtype.is_floating_point else tensor

    return map_tensors(cast, tree)


def _changes(before: Any, after: Any) -> set[str]:
    """Give the paths of the inputs that differ now."""
    known = dict(tensors(before))
    return {
        path.partition(".")[2] or path
        for path, tensor in tensors(after)
        if path in known and not (known[path] is tensor or _equal(known[path], tensor))
    }


def _equal(one: torch.Tensor, two: torch.Tensor) -> bool:
    same = one.shape == two.shape and one.dtype == two.dtype
    return same and (torch.equal(one, two) or fingerprint(one) == fingerprint(two))


def _shape(tensor: torch.Tensor | None) -> tuple[int, ...] | None:
    return None if tensor is None else tuple(tensor.shape)


def _dtype(tensor: torch.Tensor | None) -> str:
    return "" if tensor is None else dtype_of(tensor)
