"""Why a compiler cannot take a model: which operators and lines of it, all of them."""

from __future__ import annotations

import operator
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from libbench.codelines import line_in, line_in_stack, line_of
from libbench.errors import UnsupportedError
from libbench.faults import Fault, faults_text, short_place

Convert = Callable[[torch.export.ExportedProgram], Any]

_VALUES = (
    "data-dependent",
    "data dependent",
    "control flow",
    "proxy",
    "tensor.item()",
    "aten._local_scalar_dense",
)
"""What stands, in small letters, in errors about code that needs a value before there is one."""
_DYNAMO = ("torch._dynamo", "torch._inductor")
_ZEROS: Any = torch.ops.aten.full.default
"""What is put in the place of operators, and taken for granted."""


class NotConverted(Exception):
    """An exported program that a compiler does not take; the compiler's own error is the cause.

    Attributes:
        program: what was exported.
        convert: what has raised.
    """

    def __init__(self, program: torch.export.ExportedProgram, convert: Convert) -> None:
        super().__init__()
        self.program = program
        self.convert = convert


def not_compiled(name: str, error: BaseException) -> UnsupportedError:
    """Give the one line that stands for what a compiler has raised, whose own errors wrap it in advice.

    Args:
        name: of the compiler.
    """
    return _told(name, error, faults_of(error), complete=True)


def explanation(error: BaseException, seconds: float) -> BaseException:
    """Give an error that names all that is at fault, in place of one that a compiler has raised.

    Args:
        seconds: that may be spent on asking the compiler what else it does not take.

    Returns:
        The error itself where it is not about what a compiler takes.
    """
    failed = next((each for each in _chain(error) if isinstance(each, NotConverted)), None)
    if isinstance(error, UnsupportedError) and failed is not None:
        faults, complete = _operators(failed, time.monotonic() + seconds)
        return _told(error.by, error, faults or error.faults, complete)
    if type(error).__module__.startswith(_DYNAMO):
        return not_compiled("torch.compile", error)
    return error


class GraphEnds:
    """Where torch has had to end a graph since this was made, and why."""

    def __init__(self) -> None:
        from torch._dynamo.utils import graph_break_reasons

        self._all = graph_break_reasons
        self._before = len(self._all)
        self._told: tuple[int, tuple[str, ...]] = (self._before, ())

    def told(self) -> tuple[str, ...]:
        """Give one sentence for each place. This is asked between timed calls: where none came, it takes no time."""
        if len(self._all) != self._told[0]:
            # When torch forgets its graphs, it forgets these.
            self._before = min(self._before, len(self._all))
            since = self._all[self._before :]
            places: dict[str, str] = {}
            for each in since:
                # Of one that was given twice, the first reason is in words.
                places.setdefault(line_in_stack(each.user_stack), _first_line(each.reason))
            told = (f"a graph ends at {short_place(line) or 'no known line'}: {why}" for line, why in places.items())
            self._told = len(self._all), tuple(told)
        return self._told[1]


def root_of(error: BaseException) -> str:
    """Give the class of an error's deepest cause, by which two failures are known to be of one kind."""
    return type([*_chain(error)][-1]).__qualname__


def faults_of(error: BaseException) -> tuple[Fault, ...]:
    """Give what of a model an error is about, as far as it tells by itself."""
    chain = [*_chain(error)]
    failed = next((each for each in chain if isinstance(each, NotConverted)), None)
    if failed is not None:
        return _faults(_named(failed.program.graph, failed))
    cause = chain[-1]
    said = _first_line(str(cause)) or type(cause).__name__
    place = next((place for each in reversed(chain) if (place := line_of(each))), "")
    if any(word in f"{type(cause).__name__} {cause}".lower() for word in _VALUES):
        return (Fault(kind="branch", what=said, source=place),)
    return (Fault(kind="code", what=said, source=place),) if place else ()


def _told(name: str, error: BaseException, faults: tuple[Fault, ...], complete: bool) -> UnsupportedError:
    if faults and all(fault.kind != "code" for fault in faults):
        more = "" if complete else ", and perhaps others"
        return UnsupportedError(f"{name} cannot take {faults_text(faults)}{more}", name, faults)
    cause = [*_chain(error)][-1]
    said = f"{name} cannot compile it: {': '.join(filter(None, (type(cause).__name__, _first_line(str(cause)))))}"
    place = faults_text([Fault(kind="code", what="", source=faults[0].source)]) if faults else ""
    return UnsupportedError(f"{said},{place}" if place else said, name, faults)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Give an error, and what has caused it, to the last cause."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        # torch drops the cause of what a backend raises, but keeps the error.
        seen = seen.__cause__ or getattr(seen, "inner_exception", None)


def _operators(failed: NotConverted, end: float) -> tuple[tuple[Fault, ...], bool]:
    """Give all operators that a compiler does not take, and whether that is sure.

    Compilers stop at the first, or the first kind: what they name is taken out of the program, and they are asked
    again.
    """
    program, error, found = failed.program, failed.__cause__, list[torch.fx.Node]()
    decomposed, took = False, 0.0
    while isinstance(error, Exception):
        named = _named(program.graph, error)
        if not named and not decomposed:
            # Compilers take a program apart before they look at its operators.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program, decomposed = program.run_decompositions(), True
            named = _named(program.graph, error)
        if not named:
            return _faults(found), not found
        found += named
        # Another try takes about as long as the last one; the first, which has imported the compiler, tells nothing.
        begin = time.monotonic()
        if begin + took > end or not all(_taken_out(program.graph, node) for node in named):
            return _faults(found), False
        program.graph_module.recompile()
        error = _error_of(failed.convert, program)
        took = time.monotonic() - begin
    return _faults(found), True


def _error_of(convert: Convert, program: torch.export.ExportedProgram) -> Exception | None:
    try:
        convert(program)
    except Exception as error:
        return error
    return None


def _named(graph: torch.fx.Graph, error: BaseException) -> list[torch.fx.Node]:
    """Give the nodes of the operators that an error names, its deepest cause first."""
    nodes = [node for node in graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
    nodes = [node for node in nodes if node.target is not _ZEROS]
    for each in reversed([*_chain(error)]):
        text = str(each)
        meant = {target for target in {node.target for node in nodes} if _names(target).search(text)}
        if meant:
            return [node for node in nodes if node.target in meant]
    return []


def _names(target: Any) -> re.Pattern[str]:
    """Give what finds an operator in a text: `aten.add`, `aten::add`, `add.Tensor`, and no longer name."""
    name, overload = re.escape(target._opname), re.escape(target._overloadname)
    return re.compile(rf"(?<!\w)(?:{re.escape(target.namespace)}(?:\.|::){name}|{name}\.{overload})(?!\w)")


def _faults(nodes: Iterable[torch.fx.Node]) -> tuple[Fault, ...]:
    places = Counter((_name(node), line_in(node.meta.get("stack_trace") or ""), _module(node)) for node in nodes)
    return tuple(
        Fault(kind="operator", what=name, source=source, module=module, count=count)
        for (name, source, module), count in places.items()
    )


def _name(node: torch.fx.Node) -> str:
    target: Any = node.target
    return f"{target.namespace}.{target._opname}"


def _module(node: torch.fx.Node) -> str:
    """Give the path of the innermost module in which a node of an exported `Flat` stands."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(stack[-1][0]).partition("@")[0] if stack else ""
    return path.removeprefix("model").removeprefix(".")


def _taken_out(graph: torch.fx.Graph, node: torch.fx.Node) -> bool:
    """Put zeros in the place of what a node gives; False where that is not known beforehand."""
    made, places = node.meta.get("val"), [node]
    if isinstance(made, tuple | list):
        places = list(node.users)
        if any(user.target is not operator.getitem for user in places):
            return False
    given = [place.meta.get("val") for place in places]
    if not all(isinstance(each, torch.Tensor) and _fixed(each.shape) for each in given):
        return False
    for place in places:
        value = place.meta["val"]
        with graph.inserting_before(node):
            options = {"dtype": value.dtype, "device": value.device, "pin_memory": False}
            zeros = graph.call_function(_ZEROS, (list(value.shape), 0), options)
            zeros.meta["val"] = value
        place.replace_all_uses_with(zeros)
        if place is not node:
            graph.erase_node(place)
    graph.erase_node(node)
    return True


def _fixed(shape: Sequence[Any]) -> bool:
    return all(type(size) is int for size in shape)
