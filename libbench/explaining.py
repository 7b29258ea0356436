"""Why a compiler cannot take a model: which operators and lines of it, all of them."""

from __future__ import annotations

import time

from libbench.codelines import line_in_stack, line_of
from libbench.errors import UnsupportedError
from libbench.faults import Fault, faults_text, short_place
from libbench.lacking import NotConverted, all_lacking, chain_of, first_line, lacking, unplaced

_VALUES = (
    "data-dependent",
    "data dependent",
    "control flow",
    "proxy",
    "tensor.item()",
    "aten._local_scalar_dense",
)
"""What stands, in small letters, in errors about code that needs a value before there is one."""
_BRANCH = "data-dependent code"
_DYNAMO = ("torch._dynamo", "torch._inductor")


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
    failed = next((each for each in chain_of(error) if isinstance(each, NotConverted)), None)
    if isinstance(error, UnsupportedError) and failed is not None:
        faults, complete = all_lacking(failed, time.monotonic() + seconds)
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
                places.setdefault(line_in_stack(each.user_stack), first_line(each.reason))
            told = (f"a graph ends at {short_place(line) or 'no known line'}: {why}" for line, why in places.items())
            self._told = len(self._all), tuple(told)
        return self._told[1]


def root_of(error: BaseException) -> str:
    """Give the class of an error's deepest cause, by which two failures are known to be of one kind."""
    return type([*chain_of(error)][-1]).__qualname__


def faults_of(error: BaseException) -> tuple[Fault, ...]:
    """Give what of a model an error is about, as far as it tells by itself."""
    chain = [*chain_of(error)]
    failed = next((each for each in chain if isinstance(each, NotConverted)), None)
    if failed is not None:
        return lacking(failed)
    cause = chain[-1]
    said = first_line(str(cause)) or type(cause).__name__
    place = next((place for each in reversed(chain) if (place := line_of(each))), "")
    if any(word in said.lower() for word in _VALUES):
        return (Fault(kind="branch", what=_BRANCH, source=place, why=said),)
    return (Fault(kind="code", what=said.rstrip(":"), source=place),) if place else unplaced(error)


def _told(name: str, error: BaseException, faults: tuple[Fault, ...], complete: bool) -> UnsupportedError:
    if faults and all(fault.kind != "code" for fault in faults):
        more = "" if complete else ", and perhaps others"
        return UnsupportedError(f"{name} cannot take {faults_text(faults)}{more}", name, faults)
    cause = [*chain_of(error)][-1]
    said = f"{name} cannot compile it: {': '.join(filter(None, (type(cause).__name__, first_line(str(cause)))))}"
    place = faults_text([Fault(kind="code", what="", source=faults[0].source)]) if faults else ""
    return UnsupportedError(f"{said},{place}" if place else said, name, faults)
