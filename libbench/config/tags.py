"""What reads each tag of the saved form."""

from __future__ import annotations

import datetime
import functools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import is_dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

import yaml  # type: ignore[import-untyped]

from libbench.config.deriving import derive


class Names(Protocol):
    """Gives the class or function that a text names, if it may be imported."""

    def named(self, text: str, node: yaml.Node) -> Any: ...


def _read_record(reader: Names, content: dict[str, Any], node: yaml.Node) -> Any:
    kind = reader.named(content.pop("_type_"), node)
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise TypeError(f"{kind!r} is not a dataclass")
    made = object.__new__(kind)
    for name, value in content.items():
        object.__setattr__(made, name, value)
    return made


def _read_enum(reader: Names, content: list[str], node: yaml.Node) -> Any:
    kind = reader.named(content[0], node)
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        raise TypeError(f"{kind!r} is not an enum")
    return kind.__members__[content[1]]


def _read_namedtuple(reader: Names, content: list[Any], node: yaml.Node) -> Any:
    kind = reader.named(content[0], node)
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        raise TypeError(f"{kind!r} is not a named tuple")
    return tuple.__new__(kind, content[1:])


def _read_torch(reader: Names, content: str, node: yaml.Node) -> Any:
    import torch

    found = getattr(torch, content, None)
    if not isinstance(found, torch.dtype | torch.layout | torch.memory_format):
        raise TypeError(f"torch.{content} is not a dtype")
    return found


def _read_array(reader: Names, content: dict[str, Any], node: yaml.Node) -> Any:
    import numpy as np

    return np.array(content["values"], _dtype(content["dtype"])).reshape(content["shape"])


def _read_scalar(reader: Names, content: list[Any], node: yaml.Node) -> Any:
    import numpy as np

    return np.array(content[1:], _dtype(content[0]))[0]


def _dtype(text: str) -> Any:
    import numpy as np

    found = np.dtype(text)
    if found.hasobject:
        raise TypeError(f"{text!r} holds objects")
    return found


def _read_device(reader: Names, content: str, node: yaml.Node) -> Any:
    import torch

    return torch.device(content)


READERS: dict[str, Callable[[Names, Any, yaml.Node], Any]] = {
    "!tuple": lambda reader, content, node: tuple(content),
    "!escaped": lambda reader, content, node: content.encode().decode("unicode_escape"),
    "!complex": lambda reader, content, node: complex(content),
    "!set": lambda reader, content, node: set(content),
    "!frozenset": lambda reader, content, node: frozenset(content),
    "!range": lambda reader, content, node: range(*content),
    "!slice": lambda reader, content, node: slice(*content),
    "!path": lambda reader, content, node: Path(content),
    "!partial": lambda reader, content, node: functools.partial(content[0], *content[1], **content[2]),
    "!name": lambda reader, content, node: reader.named(content, node),
    "!record": _read_record,
    "!enum": _read_enum,
    "!ordered": lambda reader, content, node: OrderedDict(content),
    "!namedtuple": _read_namedtuple,
    "!torch": _read_torch,
    "!device": _read_device,
    "!array": _read_array,
    "!scalar": _read_scalar,
    "!dtype": lambda reader, content, node: _dtype(content),
    "!decimal": lambda reader, content, node: Decimal(content),
    "!date": lambda reader, content, node: datetime.date.fromisoformat(content),
    "!time": lambda reader, content, node: datetime.time.fromisoformat(content),
    "!datetime": lambda reader, content, node: datetime.datetime.fromisoformat(content),
    "!timedelta": lambda reader, content, node: datetime.timedelta(*content),
    "!derive": lambda reader, content, node: derive(reader.named(content, node)),
}
"""What reads the content of each tag: text, a list or a dict of what was read before."""
