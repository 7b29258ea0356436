"""A graph recorded while the model runs: whatever it does in Python, the operators that it calls are seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from libbench.codelines import current_line
from libbench.locate.graph import Given, Graph, Held, Link, Made, Op, leaves, replaced, shapes_of
from libbench.locate.watching import Watched, watched
from libbench.tree import tensors


def record(model: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Graph:
    """Give the graph of one call.

    Args:
        model: whose parameters, buffers and modules are named.
        call: what is called.
        args, kwargs: what with; they may be changed by the call.
    """
    held = held_by(model)
    given = given_of((args, kwargs))
    with watched(model) as seen, _Recorder(held, given, seen) as recorder:
        outputs = call(*args, **kwargs)
    found = [recorder.link(tensor) for _, tensor in tensors(outputs)]
    return Graph(recorder.ops, recorder.held, list(found), "record")


def given_of(inputs: Any) -> list[torch.Tensor]:
    """Give the tensors of a call's inputs, each once, in the order by which a graph knows them."""
    found: dict[int, torch.Tensor] = {id(tensor): tensor for _, tensor in tensors(inputs)}
    return list(found.values())


def held_by(model: Any) -> dict[str, torch.Tensor]:
    """Give the parameters and buffers of a model by name; nothing for what is no module."""
    if not isinstance(model, torch.nn.Module):
        return {}
    return dict((*model.named_parameters(), *model.named_buffers()))


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Nothing is compiled here, and keeping the compiler out would import it, which takes seconds.
        return False

    def __init__(self, held: dict[str, torch.Tensor], given: Sequence[torch.Tensor], seen: Watched) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ops: list[Op] = []
        self.held: dict[str, torch.Tensor] = {}
        self._names = {id(tensor): name for name, tensor in held.items()}
        self._known: Any = WeakIdKeyDictionary()
        self._seen = seen
        for position, tensor in enumerate(given):
            self._known[tensor] = Given(position)

    def link(self, tensor: torch.Tensor) -> Link:
        """Give what stands for a tensor; one that nobody has made is a constant, and is kept as it is now."""
        found: Link | None = self._known.get(tensor)
        if found is None:
            name = self._names.get(id(tensor))
            found = Held(name or f"constant {len(self.held)}")
            self._known[tensor] = found
            self.held[found.name] = tensor if name else tensor.detach().clone()
        return found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        taken, named = (replaced(each, torch.Tensor, self.link) for each in (args, kwargs))
        out = func(*args, **kwargs)
        outputs = leaves(out)
        for leaf, tensor in enumerate(outputs):
            if isinstance(tensor, torch.Tensor):
                self._known[tensor] = Made(len(self.ops), leaf)
        self.ops.append(Op(func, taken, named, self._seen.path, current_line(), shapes_of(outputs)))
        return out
