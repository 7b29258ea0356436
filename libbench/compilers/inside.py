"""The parts of a loop, compiled one by one, with the loop around them as it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from libbench.errors import LibbenchError, UnsupportedError
from libbench.interfaces import Batch, Compiled, Compiler
from libbench.methods import method_of
from libbench.result import CompileFacts
from libbench.state import random_state_put_back


class Inside:
    """Compiles methods that the workload's method calls, each by itself, and runs that around them as it is.

    A loop such as `generate` can be neither exported nor traced, but what it calls for every token can. Each method is
    compiled when it is first called, for the arguments of that call; between calls the model is as it was. Of methods
    that call one another, the outer one is compiled as a whole.

    Args:
        compiler: compiles each of the methods; or, by method, what compiles it.
        methods: names of methods of the model, as "step", or of a module in it, as "encoder.forward"; None where
            `compiler` names them.
    """

    def __init__(self, compiler: Compiler | Mapping[str, Compiler], methods: Sequence[str] | None = None) -> None:
        if isinstance(compiler, Mapping):
            if methods is not None:
                raise ValueError(f"methods must be left out where compiler names them, got {methods!r}")
            methods = list(compiler)
        if not isinstance(methods, list | tuple) or not methods or not all(isinstance(name, str) for name in methods):
            raise TypeError(f"methods must be a list of at least one name, got {methods!r}")
        if len(set(methods)) != len(methods):
            raise ValueError(f"methods must be named once each, got {methods!r}")
        self.compilers = dict(compiler) if isinstance(compiler, Mapping) else dict.fromkeys(methods, compiler)
        self.methods = tuple(methods)

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Put the compiled methods in the place of the model's own for as long as a call of the method takes.

        Raises:
            LibbenchError: the model has no such method or module, or the method itself is to be compiled.
        """
        if method in self.methods:
            raise LibbenchError(f"Inside compiles what {method!r} calls, and not itself; name its compiler instead")
        inner: list[_Inner] = []
        inner += [_Inner(self.compilers[path], *_found(model, path), path, example, inner) for path in self.methods]
        call = _Around(method_of(model, method), inner)
        names = dict.fromkeys(type(compiler).__qualname__ for compiler in self.compilers.values())
        version = f"{' and '.join(names)} inside {method}: {', '.join(self.methods)}"
        return Compiled(call, version, call.facts, cold=call.is_cold, release=call.release)


class _Around:
    """A method that finds compiled ones in the place of others while it runs."""

    def __init__(self, method: Callable[..., Any], inner: Sequence[_Inner]) -> None:
        self._method, self._inner = method, inner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        _put(self._inner)
        try:
            return self._method(*args, **kwargs)
        finally:
            _take_away(self._inner)

    def is_cold(self) -> bool | None:
        """Tell whether a cache was empty when it was first needed; None where no compiler keeps one."""
        told = [each.compiled.is_cold() for each in self._inner if each.compiled is not None]
        return any(told) if any(cold is not None for cold in told) else None

    def facts(self) -> CompileFacts:
        """Say of all methods together what was compiled, with the compiler's version and notes."""
        done = [each.facts() for each in self._inner]
        versions = (each.compiled.version for each in self._inner if each.compiled is not None)
        unused = (f"{each.path} was never called" for each in self._inner if each.compiled is None)
        notes = [*versions, *unused, *(note for facts in done for note in facts.notes)]
        return CompileFacts(
            graphs=_total(facts.graphs for facts in done),
            # Torch counts those of a process, so that each method tells of those of all.
            breaks=max((facts.breaks for facts in done if facts.breaks is not None), default=None),
            recompiles=_total(facts.recompiles for facts in done),
            fallbacks=tuple(dict.fromkeys(name for facts in done for name in facts.fallbacks)),
            artefact_bytes=_total(facts.artefact_bytes for facts in done),
            calls=_total(facts.calls for facts in done),
            notes=tuple(dict.fromkeys(notes)),
        )

    def release(self) -> None:
        """Forget what was compiled."""
        for each in self._inner:
            if each.compiled is not None and each.compiled.release is not None:
                each.compiled.release()


class _Inner:
    """One method, compiled when it is first called.

    Attributes:
        path: of the method, from the model.
        compiled: None until then.
    """

    def __init__(
        self, compiler: Compiler, owner: Any, name: str, path: str, example: Batch, everyone: Sequence[_Inner]
    ) -> None:
        self._compiler, self._owner, self._name, self._example = compiler, owner, name, example
        self._everyone = everyone
        # A module that is called runs its hooks, then `forward`; compiled code has both in it.
        hooked = isinstance(owner, torch.nn.Module) and name == "forward"
        self._places = ("_compiled_call_impl", "forward") if hooked else (name,)
        self._names = _names(getattr(owner, name))
        self._before: Mapping[str, Any] = {}
        self.path = path
        self.compiled: Compiled | None = None

    def put(self) -> None:
        """Stand in the method's place."""
        own = vars(self._owner)
        self._before = {place: own[place] for place in self._places if place in own}
        own.update(dict.fromkeys(self._places, self))

    def take_away(self) -> None:
        """Leave the method as it was."""
        own = vars(self._owner)
        for place in self._places:
            own.pop(place, None)
        own.update(self._before)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # A compiler finds the method by its name, now and when it has to compile again, and what that calls, too.
        _take_away(self._everyone)
        try:
            if args and kwargs:
                args, kwargs = (), {**self._by_name(args), **kwargs}
            if self.compiled is None:
                self.compiled = self._compile(kwargs or args)
            return self.compiled.call(*args, **kwargs)
        except Exception as error:
            error.add_note(f"in {self.path}")
            raise
        finally:
            _put(self._everyone)

    def _compile(self, inputs: Any) -> Compiled:
        example = Batch(self._example.indices, inputs, self._example.number)
        # As a compiler is called at other times, and so that what the loop draws does not depend on it.
        with torch.inference_mode(False), random_state_put_back():
            return self._compiler.compile(self._owner, example, self._name)

    def facts(self) -> CompileFacts:
        """Say what was compiled; nothing before the first call."""
        if self.compiled is None:
            return CompileFacts(graphs=0, calls=0)
        return self.compiled.facts() if self.compiled.facts else CompileFacts()

    def _by_name(self, args: tuple[Any, ...]) -> dict[str, Any]:
        # The inputs of a batch are the arguments of a call either by place or by name.
        if len(args) > len(self._names):
            raise UnsupportedError("arguments by place only, together with others by name")
        return dict(zip(self._names, args, strict=False))


def _put(inner: Iterable[_Inner]) -> None:
    for each in inner:
        each.put()


def _take_away(inner: Iterable[_Inner]) -> None:
    for each in inner:
        each.take_away()


def _names(method: Callable[..., Any]) -> list[str]:
    """Give the parameters that may be given by place and by name, in order; none for a method without a signature."""
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in parameters if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]


def _found(model: Any, path: str) -> tuple[Any, str]:
    """Give the owner of a method, which may be a module inside the model, and the method's name."""
    within, _, name = path.rpartition(".")
    owner = model
    for step in within.split(".") if within else ():
        if not hasattr(owner, step):
            raise LibbenchError(f"{type(model).__qualname__} has no module {within!r}, which {path!r} names")
        owner = getattr(owner, step)
    method_of(owner, name)
    if not isinstance(getattr(owner, "__dict__", None), dict):
        raise LibbenchError(f"no compiled method can be put into a {type(owner).__qualname__}, which {path!r} names")
    return owner, name


def _total(counts: Iterable[int | None]) -> int | None:
    """Give the sum of what is known; None where nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
