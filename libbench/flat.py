"""A model's method with its inputs and outputs as flat lists of tensors, whatever their structure is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any

import torch

from libbench.errors import UnsupportedError
from libbench.methods import method_of
from libbench.skeleton import require_plain
from libbench.tree import map_tensors, numbers, tensors

Rebuild = Callable[[Sequence[torch.Tensor], Sequence[torch.Tensor]], Any]


class Flat(torch.nn.Module):
    """One method of a model, for arguments of one form: takes their tensors, gives those of its outputs.

    The method is run once to see what it gives. What it changes in place of its inputs it changes in copies, which are
    further outputs; outputs that are inputs are none of the graph's.

    Args:
        args, kwargs: of a call of the method.
        examples: tensors that stand for those of the arguments, in the order of `skeleton_of`.
        carry: dtypes that the compiler does not exchange, with those that stand in for them.

    Attributes:
        names: of the tensors, by the method's signature.
        mutated: positions of the tensors that a call changes in place.
        results: dtypes of the tensors that `forward` gives, before they are carried.
        changed: names of the parameters and buffers that a call changes.
        numbers: whether the outputs hold numbers, which a graph gives as they were when it was recorded.

    Raises:
        UnsupportedError: what the method gives has no tensor, or holds one where no graph can put it.
    """

    def __init__(
        self,
        model: Any,
        method: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        examples: Sequence[torch.Tensor],
        carry: Mapping[torch.dtype, torch.dtype],
    ) -> None:
        super().__init__()
        self.model, self._method, self._carry = model, method, dict(carry)
        self.training = bool(getattr(model, "training", False))
        self._dtypes = [example.dtype for example in examples]
        self._template, self._places = _template((tuple(args), dict(kwargs)))
        self.names = self._named(args, kwargs)
        self.mutated: list[int] = []
        with self.state_put_back():
            self._look(examples)

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Give the tensors of the outputs, then the inputs that were changed."""
        given = [self._restored(tensor, dtype) for tensor, dtype in zip(tensors, self._dtypes, strict=True)]
        for place in self.mutated:
            given[place] = given[place].clone()
        found = _unique(self._call(given))
        known = {id(tensor) for tensor in given}
        results = [tensor for tensor in found if id(tensor) not in known]
        return tuple(self._carried(tensor) for tensor in (*results, *(given[place] for place in self.mutated)))

    def border(self, leaves: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Give the tensors of a call as `forward` and its graphs take them."""
        return [self._carried(leaf) for leaf in leaves] if self._carry else leaves

    def outputs(self, leaves: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> Any:
        """Give what the method gives, from the tensors of its call and those that a graph gave; change the former."""
        values = list(results)
        if self._carry:
            values = [value.to(dtype) for value, dtype in zip(values, self.results, strict=True)]
        if self.mutated:
            own = len(values) - len(self.mutated)
            with torch.no_grad():
                for place, value in zip(self.mutated, values[own:], strict=True):
                    leaves[place].copy_(value)
        return self._rebuild(leaves, values)

    @contextmanager
    def state_put_back(self) -> Iterator[None]:
        """Put back the values of the model's buffers."""
        if not isinstance(self.model, torch.nn.Module):
            yield
            return
        kept = [(buffer, buffer.clone(), buffer._version) for buffer in self.model.buffers()]
        try:
            yield
        finally:
            with torch.no_grad():
                for buffer, values, version in kept:
                    if buffer._version != version:
                        buffer.copy_(values)

    def _look(self, examples: Sequence[torch.Tensor]) -> None:
        """Run the method once."""
        given = [example.clone() for example in examples]
        versions = [tensor._version for tensor in given]
        state = self._versions()
        outputs = self._call(given)
        self.mutated = [i for i, tensor in enumerate(given) if tensor._version != versions[i]]
        self.changed = tuple(name for name, version in self._versions().items() if state.get(name) != version)
        plain = map_tensors(lambda tensor: "tensor", outputs)
        require_plain(plain, "gives")
        self.numbers = numbers(plain)
        template, places = _template(outputs)
        found = _unique(outputs)
        if not found:
            raise UnsupportedError("what the model gives has no tensor")
        known = {id(tensor): place for place, tensor in enumerate(given)}
        own = [tensor for tensor in found if id(tensor) not in known]
        order = {id(tensor): position for position, tensor in enumerate(own)}
        where = [("input", known[id(t)]) if id(t) in known else ("result", order[id(t)]) for t in found]
        self._rebuild = _rebuilder(template, {key: where[position] for key, position in places.items()})
        self.results = [tensor.dtype for tensor in own] + [self._dtypes[place] for place in self.mutated]

    def _call(self, given: Sequence[torch.Tensor]) -> Any:
        args, kwargs = map_tensors(lambda tensor: given[self._places[id(tensor)]], self._template)
        return method_of(self.model, self._method)(*args, **kwargs)

    def _versions(self) -> dict[str, tuple[int, int]]:
        if not isinstance(self.model, torch.nn.Module):
            return {}
        state = [*self.model.named_parameters(), *self.model.named_buffers()]
        return {name: (id(tensor), tensor._version) for name, tensor in state}

    def _carried(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self._carry.get(tensor.dtype, tensor.dtype))

    def _restored(self, tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return tensor.to(dtype) if dtype in self._carry else tensor

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
        """Name each tensor by its parameter, and by its path in it where it is nested."""
        call = method_of(self.model, self._method)
        if isinstance(self.model, torch.nn.Module) and self._method == "forward":
            call = self.model.forward
        try:
            bound = signature(call).bind(*args, **kwargs).arguments
        except (TypeError, ValueError):  # a callable without a signature
            bound = {"args": args, **kwargs}
        places: dict[int, str] = {}
        for path, tensor in tensors(dict(bound)):
            places.setdefault(id(tensor), path.replace(".", "_"))
        found = _unique((tuple(args), dict(kwargs)))
        names: list[str] = []
        for number, tensor in enumerate(found):
            name = places.get(id(tensor), f"input_{number}")
            names.append(name if name not in names else f"{name}_{number}")
        return names


def _rebuilder(template: Any, places: Mapping[int, tuple[str, int]]) -> Rebuild:
    """Give what makes a call's outputs, quickly where they are dicts, lists and tuples: it is a part of timed calls.

    Args:
        places: for each tensor of the template, by identity, whether it is an "input" or a "result", and which.
    """
    if isinstance(template, torch.Tensor):
        source, position = places[id(template)]
        return (lambda leaves, _: leaves[position]) if source == "input" else (lambda _, values: values[position])
    if type(template) is dict:
        named = [(key, _rebuilder(value, places)) for key, value in template.items()]
        return lambda leaves, values: {key: part(leaves, values) for key, part in named}
    if type(template) in (list, tuple) or hasattr(template, "_make"):
        make, parts = getattr(template, "_make", type(template)), [_rebuilder(value, places) for value in template]
        return lambda leaves, values: make([part(leaves, values) for part in parts])
    if not any(tensors(template)):
        return lambda leaves, values: template

    def rebuild(leaves: Sequence[torch.Tensor], values: Sequence[torch.Tensor]) -> Any:
        given = {"input": leaves, "result": values}
        return map_tensors(lambda tensor: given[places[id(tensor)][0]][places[id(tensor)][1]], template)

    return rebuild


def _template(tree: Any) -> tuple[Any, dict[int, int]]:
    """Give a tree with an empty tensor in place of each, and the positions of these by identity."""
    places: dict[int, int] = {}

    def stand_in(tensor: torch.Tensor) -> torch.Tensor:
        empty = torch.empty(0, device="meta")
        places[id(empty)] = len(places)
        return empty

    return map_tensors(stand_in, tree), places


def _unique(tree: Any) -> list[torch.Tensor]:
    """Give the tensors of a tree, each once, in the order of `map_tensors`."""
    found: list[torch.Tensor] = []

    def take(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor)
        return tensor

    map_tensors(take, tree)
    return found
