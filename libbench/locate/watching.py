"""Every call of every module of a model, seen from outside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class Call:
    """One call of a module.

    Attributes:
        path: the first path at which the module stands in the model; empty for the model itself.
        number: which of its calls it is, from 0.
        module: the module itself.
        args, kwargs: as the caller gave them.
        above: the call that it is made in.
        outputs: what it returned; None until then.
        kept: room for whoever watches.
    """

    path: str
    number: int
    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    above: Call | None = None
    outputs: Any = None
    kept: Any = field(default=None, repr=False)

    @property
    def key(self) -> tuple[str, int]:
        """What the same call of another model of this structure is known by."""
        return self.path, self.number


def paths_of(model: Any) -> dict[int, str]:
    """Give the first path of every module of a model by its identity; nothing for what is no module."""
    return {id(each): name for name, each in model.named_modules()} if isinstance(model, torch.nn.Module) else {}


class Watched:
    """The calls that are going on while a model runs.

    Attributes:
        stack: the innermost call last.
        paused: whether calls go by unseen.
    """

    def __init__(self) -> None:
        self.stack: list[Call] = []
        self.paused = False
        self._counts: Counter[str] = Counter()

    @property
    def path(self) -> str:
        """The path of the innermost module; empty for the model itself."""
        return self.stack[-1].path if self.stack else ""

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let calls go by unseen for a while."""
        before, self.paused = self.paused, True
        try:
            yield
        finally:
            self.paused = before

    def enter(self, path: str, module: torch.nn.Module, args: Any, kwargs: Any) -> Call:
        number, self._counts[path] = self._counts[path], self._counts[path] + 1
        self.stack.append(Call(path, number, module, args, kwargs, self.stack[-1] if self.stack else None))
        return self.stack[-1]


def ignored(call: Call) -> None:
    """Do nothing with a call."""


@contextmanager
def watched(
    model: Any, before: Callable[[Call], None] = ignored, after: Callable[[Call], None] = ignored
) -> Iterator[Watched]:
    """See the calls of all modules of a model.

    Args:
        model: what is no module has no calls to see.
        before: called ahead of each, when the arguments have not been touched.
        after: called when it has returned, with its outputs.
    """
    seen, paths = Watched(), paths_of(model)

    def enter(module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        if not seen.paused:
            before(seen.enter(paths[id(module)], module, args, kwargs))

    def leave(module: torch.nn.Module, args: Any, kwargs: Any, outputs: Any) -> None:
        if seen.paused or not seen.stack or seen.stack[-1].module is not module:
            return
        call = seen.stack.pop()
        call.outputs = outputs
        # A module that has raised, which the model may have caught, has returned nothing.
        if outputs is not None:
            after(call)

    handles = []
    for module in model.modules() if isinstance(model, torch.nn.Module) else ():
        handles.append(module.register_forward_pre_hook(enter, with_kwargs=True, prepend=True))
        handles.append(module.register_forward_hook(leave, with_kwargs=True, always_call=True))
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
