"""A model's method as a function of a plain list of tensors, with one graph for each form of its inputs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from libbench.creation import told_of_python
from libbench.errors import LibbenchError, UnsupportedError
from libbench.explaining import not_compiled
from libbench.flat import Flat
from libbench.interfaces import Batch, Compiled
from libbench.lacking import Convert, NotConverted
from libbench.result import CompileFacts
from libbench.skeleton import Skeleton, arguments_of, skeleton_of
from libbench.state import modes_put_back

Run = Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor]]
Sizes = tuple[tuple[int | str | None, ...], ...]
"""For each tensor its sizes: an int is fixed, sizes of one name are equal, None is any size."""


@dataclass(frozen=True)
class Built:
    """One graph that a compiler has made.

    Attributes:
        run: takes the tensors of the inputs and gives those of the outputs, in memory of their own.
        sizes: for which sizes it serves; None: only for those that it was made with.
        fallbacks, artefact_bytes, notes, baked: as in `CompileFacts`.
    """

    run: Run
    sizes: Sizes | None = None
    fallbacks: tuple[str, ...] = ()
    artefact_bytes: int | None = None
    notes: tuple[str, ...] = ()
    baked: tuple[str, ...] = ()


Build = Callable[[Flat, Sequence[torch.Tensor], bool], Built]
"""Compiles a flat method for example tensors, whose sizes may be another in later calls where the last is True."""


class Traced:
    """What is called in place of a model's method: it looks for the graph that serves the inputs, or makes one.

    Args:
        name: of the compiler, for its errors.
        build: makes a graph.
        dynamic: False makes a graph for each shape, True lets sizes vary from the first graph on, None from the
            second.
        carry: dtypes that the compiler does not exchange, with those that stand in for them at its border.
        stateful: whether its graphs keep what a call changes in the model's buffers.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        method: str,
        build: Build,
        *,
        dynamic: bool | None = None,
        carry: Mapping[torch.dtype, torch.dtype] | None = None,
        stateful: bool = False,
    ) -> None:
        self._name, self._model, self._method, self._build = name, model, method, build
        self._dynamic, self._carry, self._stateful = dynamic, carry or {}, stateful
        self._graphs: list[tuple[Skeleton, Sizes, Flat, Built]] = []
        self._known: dict[Any, tuple[Flat, Built]] = {}
        self._calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        skeleton, leaves = skeleton_of(args, kwargs)
        key = skeleton, tuple([leaf.shape for leaf in leaves])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._find(skeleton, leaves) or self._make(skeleton, leaves, args, kwargs)
        flat, built = found
        outputs = flat.outputs(leaves, built.run(flat.border(leaves)))
        self._calls += 1
        return outputs

    def compiled(self, example: Batch, version: str, cold: bool | None = None) -> Compiled:
        """Compile for an example, and give this as what a compiler gives."""
        args, kwargs = arguments_of(example.inputs)
        skeleton, leaves = skeleton_of(args, kwargs)
        self._known[skeleton, tuple([leaf.shape for leaf in leaves])] = self._make(skeleton, leaves, args, kwargs)
        return Compiled(self, version, self.facts, cold=cold, release=self.release)

    def facts(self) -> CompileFacts:
        """Say what was made so far, and how often it was called."""
        built = [each for _, _, _, each in self._graphs]
        sizes = [each.artefact_bytes for each in built]
        known = [size for size in sizes if size is not None]
        return CompileFacts(
            graphs=len(built),
            recompiles=max(0, len(built) - 1),
            fallbacks=tuple(dict.fromkeys(name for each in built for name in each.fallbacks)),
            artefact_bytes=sum(known) if len(known) == len(sizes) else None,
            calls=self._calls,
            notes=tuple(dict.fromkeys(note for each in built for note in each.notes)),
            baked=tuple(dict.fromkeys(what for each in built for what in each.baked)),
        )

    def release(self) -> None:
        """Forget the graphs."""
        self._graphs.clear()
        self._known.clear()

    def _find(self, skeleton: Skeleton, leaves: Sequence[torch.Tensor]) -> tuple[Flat, Built] | None:
        for known, sizes, flat, built in self._graphs:
            if known == skeleton and _serves(sizes, leaves):
                return flat, built
        return None

    def _make(
        self, skeleton: Skeleton, leaves: Sequence[torch.Tensor], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Flat, Built]:
        # A call may come under inference mode, whose tensors no tracer takes.
        with torch.inference_mode(False), torch.no_grad(), modes_put_back(self._model):
            examples = [leaf.detach().clone() for leaf in leaves]
            flat = Flat(self._model, self._method, args, kwargs, examples, self._carry)
            if flat.changed and not self._stateful:
                what = ", ".join(flat.changed)
                raise UnsupportedError(f"{self._name} does not keep what a call changes in the model: {what}")
            first = not self._graphs
            dynamic = not flat.numbers and (self._dynamic or (self._dynamic is None and not first))
            given, baked = flat.border(examples), list[str]()
            with flat.state_put_back(), explained(self._name), told_of_python(baked, lambda: flat(*given)):
                built = self._build(flat, given, dynamic)
            built = replace(built, baked=(*built.baked, *baked))
        fixed = tuple(tuple(leaf.shape) for leaf in leaves)
        self._graphs.append((skeleton, built.sizes or fixed, flat, built))
        return flat, built


class Counted:
    """A compiled call that counts how often it ran.

    Attributes:
        calls: so far.
    """

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        outputs = self._call(*args, **kwargs)
        self.calls += 1
        return outputs


def exported(flat: Flat, examples: Sequence[torch.Tensor], dynamic: bool) -> torch.export.ExportedProgram:
    """Give the graph that `torch.export` records of a flat method."""
    with quiet():
        if not dynamic:
            return torch.export.export(flat, tuple(examples))
        specs = tuple({i: torch.export.Dim.AUTO for i, size in enumerate(t.shape) if size > 1} for t in examples)
        return torch.export.export(flat, tuple(examples), dynamic_shapes={"tensors": specs})


def sizes_of(program: torch.export.ExportedProgram) -> Sizes:
    """Give the sizes that an exported program serves, input by input."""
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    return tuple(
        tuple(size if isinstance(size, int) else _name(size) for size in nodes[name].meta["val"].shape)
        for name in program.graph_signature.user_inputs
        if isinstance(name, str)
    )


def _name(size: torch.SymInt) -> str | None:
    expression = size.node.expr
    return str(expression) if expression.is_Symbol else None


def _serves(sizes: Sizes, leaves: Sequence[torch.Tensor]) -> bool:
    """Tell whether a graph takes these; where sizes vary, it is not trusted with 0 and 1, which tracers treat apart."""
    bound: dict[str, int] = {}
    for wanted, leaf in zip(sizes, leaves, strict=True):
        for want, size in zip(wanted, leaf.shape, strict=True):
            if isinstance(want, int):
                fits = want == size
            else:
                fits = size > 1 and (want is None or bound.setdefault(want, size) == size)
            if not fits:
                return False
    return True


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the warnings of tracers, which speak to those who write models, from whoever compares two."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def converted(program: torch.export.ExportedProgram, convert: Convert) -> Any:
    """Give what a compiler makes of an exported program, and keep its warnings from whoever compares.

    Raises:
        NotConverted: it does not take it; what it does not take is then found out by `explanation`.
    """

    def quietly(program: torch.export.ExportedProgram) -> Any:
        with quiet():
            return convert(program)

    try:
        return quietly(program)
    except Exception as error:
        raise NotConverted(program, quietly) from error


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what a compiler raises into one line, as `not_compiled` does."""
    try:
        yield
    except LibbenchError:
        raise
    except Exception as error:
        raise not_compiled(name, error) from error
