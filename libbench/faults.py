"""What of a model a compiler cannot take: records made of plain values, so that they can be written as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

FaultKind = Literal["operator", "branch", "code"]
_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?:: (?P<code>.*))?$")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing in a model that a compiler cannot take.

    Attributes:
        kind: an "operator"; a "branch": code that needs a value of a tensor before there is one; or other "code".
        what: the operator's name, as `aten.cdist`, or what is wrong with the code, in one line.
        source: `file:line: code` of the model's own line; empty where it is not known.
        module: path of the innermost module that it is called in, from the model; may be empty.
        count: how often it stands in the graph, at least 1.
        why: what the compiler says of it, in one line; may be empty.
    """

    kind: FaultKind
    what: str
    source: str = ""
    module: str = ""
    count: int = 1
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Smallest:
    """The smallest module that a compiler cannot take by itself, given the inputs that it gets in the model's call.

    Attributes:
        path: from the model; empty for the model itself.
        kind: its class.
        source: `file:line` of its `forward`; empty where there is no Python source.
        message: how it fails alone, in one line; empty for the model itself.
        children: modules called in it that compile alone.
        attempts: how many modules were compiled alone.
        complete: False where time was up, or the search itself failed, so that a smaller one may be there.
        seconds: what the search has taken.
    """

    path: str
    kind: str
    source: str = ""
    message: str = ""
    children: int = 0
    attempts: int = 0
    complete: bool = True
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Called:
    """A module that is called in another, with nothing but modules that are called in it between.

    Attributes:
        path: from the model.
        kind: its class.
        source: as in `Smallest`.
        like: path of one before it that is written alike and gets inputs of the same form; empty where there is none.
    """

    path: str
    kind: str
    source: str = ""
    like: str = ""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What came of compiling a module alone.

    Attributes:
        message: how it failed, in one line; empty where it did not.
        alike: whether it failed as the whole model has.
    """

    message: str = ""
    alike: bool = False


def faults_text(faults: Sequence[Fault]) -> str:
    """Say in one line what the faults are, and at which lines; empty for none."""
    by_name: dict[str, list[Fault]] = {}
    for fault in faults:
        by_name.setdefault(fault.what, []).append(fault)
    said = ", ".join(f"{what}{_places(each)}" for what, each in by_name.items())
    place = _PLACE.match(faults[0].source) if len(faults) == 1 else None
    return f"{said}: {place['code'].rstrip(':')}" if place and place["code"] else said


def smallest_text(smallest: Smallest) -> str:
    """Say in one line what the search for the smallest module has found; empty where that is nothing."""
    if smallest.path:
        at = f", {short_place(smallest.source)}" if smallest.source else ""
        more = "" if smallest.complete else ", and perhaps a smaller one in it"
        return f"{smallest.path} ({smallest.kind}{at}) fails alone, too{more}"
    if not smallest.complete:
        return f"no smaller module that fails was found in {smallest.seconds:.0f} s"
    if smallest.children > 1:
        return f"each of the {smallest.children} modules called in it compiles alone"
    return "the module called in it compiles alone" if smallest.children else ""


def short_place(source: str) -> str:
    """Give the `file:line` of a source with the file's name only, without the code."""
    place = _PLACE.match(source)
    return f"{PurePath(place['file']).name}:{place['line']}" if place else source


def _places(faults: Sequence[Fault]) -> str:
    count = sum(fault.count for fault in faults)
    places = dict.fromkeys(short_place(fault.source) or fault.module for fault in faults)
    known = " and ".join(place for place in places if place)
    return (f" at {known}" if known else "") + (f" ({count} times)" if count > len(places) else "")
