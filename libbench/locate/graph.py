"""The operators of one call of a model, in the order in which they run, with what each of them takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import UnionType
from typing import Any

import torch

from libbench.errors import LibbenchError


@dataclass(frozen=True)
class Made:
    """Stands for what an operator of the graph gives.

    Attributes:
        op: its position in the graph.
        leaf: which of its outputs, with lists and tuples entered.
    """

    op: int
    leaf: int


@dataclass(frozen=True)
class Given:
    """Stands for a tensor among the inputs of the call, by its position among them."""

    position: int


@dataclass(frozen=True)
class Held:
    """Stands for what the model holds: a parameter, a buffer, or a constant that it brings."""

    name: str


Link = Made | Given | Held


@dataclass
class Op:
    """One operator of the graph.

    Attributes:
        function: what is called.
        args, kwargs: what with; a `Made`, `Given` or `Held` stands for every tensor.
        module: path of the innermost module that it is called in; empty for the model itself, or for no module.
        source: `file:line: code` of the innermost line that is not torch's own; empty where it is not known.
        shapes: of each output, None for what is no tensor.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    module: str = ""
    source: str = ""
    shapes: tuple[tuple[int, ...] | None, ...] = ()

    @property
    def name(self) -> str:
        """The operator's name, as `aten.linear`, without its overload."""
        packet = getattr(self.function, "overloadpacket", self.function)
        return str(getattr(packet, "_qualified_op_name", getattr(packet, "__name__", packet))).replace("::", ".")

    @property
    def links(self) -> tuple[Link, ...]:
        """What it takes, in the order in which it is written."""
        return tuple(links((self.args, self.kwargs)))

    @property
    def changed(self) -> tuple[Link, ...]:
        """Those that it changes in place."""
        return self._marked(lambda alias: bool(alias.is_write))

    @property
    def shared(self) -> tuple[Link, ...]:
        """Those whose memory its outputs may lie in: what it gives a view of, and what it changes in place."""
        return self._marked(lambda alias: True)

    def _marked(self, wanted: Callable[[Any], bool]) -> tuple[Link, ...]:
        """Give what its schema marks so."""
        schema = getattr(self.function, "_schema", None)
        found: list[Link] = []
        for position, argument in enumerate(schema.arguments if schema is not None else ()):
            if argument.alias_info is not None and wanted(argument.alias_info):
                value = self.args[position] if position < len(self.args) else self.kwargs.get(argument.name)
                found += links(value)
        return tuple(found)

    @property
    def gives_one(self) -> bool:
        """Whether it gives one value, and no list or tuple of them.

        Raises:
            LibbenchError: it gives both at once.
        """
        schema = getattr(self.function, "_schema", None)
        returns = () if schema is None else schema.returns
        kinds = [each.type.kind() for each in returns]
        if len(kinds) > 1 and "ListType" in kinds:
            raise LibbenchError(f"{self.name} gives lists beside single values")
        return schema is None or (len(kinds) == 1 and kinds != ["ListType"])

    def said(self, path: str) -> str:
        """Give it as `name in module at file:line`, where `path` is that of the module from the model."""
        line = self.source.split(": ")[0]
        return f"{self.name} in {path or 'the model'}" + (f" at {line}" if line else "")

    def run(self, value: Callable[[Link], Any]) -> list[Any]:
        """Call it and give its outputs, leaf by leaf; `value` gives what stands for a link."""
        args, kwargs = replaced(self.args, Link, value), replaced(self.kwargs, Link, value)
        return leaves(self.function(*args, **kwargs))


@dataclass
class Graph:
    """One call of a model as operators.

    Attributes:
        ops: in the order in which they run.
        held: the values of what the model holds, by name.
        outputs: what the call gave, leaf by leaf: a link, or a value that does not depend on any operator.
        how: "export" or "record".
        why: why it was not exported; empty where it was.
        kernels: holds the kernels that its operators run by, where these are not torch's own.
    """

    ops: list[Op]
    held: dict[str, torch.Tensor]
    outputs: list[Any]
    how: str
    why: str = ""
    uses: list[int] = field(default_factory=list)
    kernels: Callable[[], AbstractContextManager[None]] = nullcontext

    def __post_init__(self) -> None:
        self.uses = [0] * len(self.ops)
        for link in (*(link for op in self.ops for link in op.links), *links(self.outputs)):
            if isinstance(link, Made):
                self.uses[link.op] += 1


def links(value: Any) -> Iterator[Link]:
    """Give the links in a nesting of lists, tuples and dicts."""
    if isinstance(value, Link):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from links(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from links(each)


def replaced(value: Any, kind: type | UnionType, put: Callable[[Any], Any]) -> Any:
    """Give a nesting of lists, tuples and dicts with something in place of everything of a kind."""
    if isinstance(value, kind):
        return put(value)
    if isinstance(value, tuple):
        return tuple(replaced(each, kind, put) for each in value)
    if isinstance(value, list):
        return [replaced(each, kind, put) for each in value]
    if isinstance(value, dict):
        return {key: replaced(each, kind, put) for key, each in value.items()}
    return value


def leaves(value: Any) -> list[Any]:
    """Give what a call returned, with lists and tuples entered."""
    if isinstance(value, tuple | list):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def shapes_of(outputs: Sequence[Any]) -> tuple[tuple[int, ...] | None, ...]:
    """Give the shape of each output, None for what is no tensor."""
    return tuple(tuple(map(int, each.shape)) if isinstance(each, torch.Tensor) else None for each in outputs)
