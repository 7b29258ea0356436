"""A compiler asked again: what of a model it does not take, and which of its modules it does not take alone."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from libbench.codelines import place_of
from libbench.errors import LibbenchError
from libbench.explaining import explanation, root_of
from libbench.faults import Attempt, Called
from libbench.interfaces import Batch, feed
from libbench.methods import method_of
from libbench.result import Failure, SideFailed
from libbench.side import Side
from libbench.tree import form_of, own_copy

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Attempts:
    """What is asked of a side that could not be compiled, or of one that is built only to try its modules.

    Nothing else is to be done with the side afterwards.
    """

    def __init__(self, side: Side) -> None:
        self._side = side
        self._whole: BaseException | None = None
        self._inputs: dict[str, dict[str, Arguments]] = {}

    def explained(self, seconds: float) -> Failure:
        """Give the side's failure with all that can be found out of its causes.

        Args:
            seconds: that it may take, half of them for asking the compiler.
        """
        self._whole = self._side.failed
        if self._whole is None:
            raise LibbenchError("the side has not failed")
        # What is begun in the first half may well end in the second.
        return Failure.of("compile", explanation(self._whole, seconds / 2))

    def called(self, inside: str) -> tuple[Called, ...]:
        """Give the modules that a call of a module calls itself, in order, by calling the model as it is.

        Args:
            inside: path of that module; empty for the model. Where it is no module, and where it is not the compiler
                that refuses the model, none is given.
        """
        found, known = [], dict[str, str]()
        if isinstance(self._whole, LibbenchError) and not getattr(self._whole, "by", ""):
            return ()
        for path, arguments in self._recorded(inside).items():
            module = self._side.parts.model.get_submodule(path)
            like = known.setdefault(f"{type(module)} {module} {form_of(arguments)}", path)
            kind = type(module).__qualname__
            found.append(Called(path=path, kind=kind, source=place_of(module), like="" if like == path else like))
        return tuple(found)

    def attempt(self, path: str, inside: str) -> Attempt:
        """Compile one of the modules that `called` gives, and call it with the inputs that it gets in the model.

        Args:
            path: of the module.
            inside: of the one that calls it.
        """
        args, kwargs = self._recorded(inside)[path]
        side = self._side
        module = side.parts.model.get_submodule(path)
        try:
            with side.during("compile"), side.kernels(counted=False):
                self._compile(module, replace(side.first(), inputs=_as_inputs(module, args, kwargs)))
        except SideFailed as error:
            cause = error.__cause__ or error
            alike = self._whole is not None and root_of(cause) == root_of(self._whole)
            return Attempt(message=error.failure.message, alike=alike)
        return Attempt()

    def _compile(self, module: torch.nn.Module, example: Batch) -> None:
        parts = self._side.parts
        compiled = parts.compiler.compile(module, self._side.fresh(example), "forward")
        try:
            with parts.workload.mode():
                feed(compiled.call, self._side.fresh(example).inputs)
        finally:
            if compiled.release is not None:
                compiled.release()

    def _recorded(self, inside: str) -> Mapping[str, Arguments]:
        """Give the arguments of the first call of each module that is called in another, by path."""
        if inside not in self._inputs:
            side, batch = self._side, self._side.first()
            model, workload = side.parts.model, side.parts.workload
            self._inputs[inside] = {}
            if isinstance(model, torch.nn.Module):
                side.restart()
                with (
                    side.during("compile", announce=False),
                    side.kernels(counted=False),
                    workload.mode(),
                    _watched(model, inside) as found,
                ):
                    workload.step(method_of(model, str(workload.method)), batch)
                self._inputs[inside] = found
        return self._inputs[inside]


@contextmanager
def _watched(model: torch.nn.Module, inside: str) -> Iterator[dict[str, Arguments]]:
    """Give what calls of a model's modules get, where no other module of the same one is being called around them."""
    found: dict[str, Arguments] = {}
    around: list[str] = []
    handles = []

    def watch(path: str, module: torch.nn.Module) -> None:
        def enter(_: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not around and path not in found:
                found[path] = own_copy((args, kwargs))
            around.append(path)

        def leave(*_: Any) -> None:
            around.pop()

        handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
        handles.append(module.register_forward_hook(leave, always_call=True))

    outer = model.get_submodule(inside)
    for name, module in outer.named_modules(prefix=inside):
        if module is not outer:
            watch(name, module)
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def _as_inputs(module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Give arguments as the inputs of a batch, which are either positional or named."""
    if not kwargs:
        return args
    bound = inspect.signature(module.forward).bind(*args, **kwargs)
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL):
            raise LibbenchError(f"{name!r} of a {type(module).__qualname__} cannot be given by name")
        named |= value if kind is inspect.Parameter.VAR_KEYWORD else {name: value}
    return named
