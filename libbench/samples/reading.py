"""A graph sample as it lies on disk, read without running it."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch

from libbench.errors import did_you_mean
from libbench.samples.errors import SampleError
from libbench.samples.literals import parse_file, read_classes, read_text
from libbench.samples.signature import arguments_of, signature_of

INFO, CODE, WEIGHTS, INPUTS, HASH = "graph_net.json", "model.py", "weight_meta.py", "input_meta.py", "graph_hash.txt"

Kind = Literal["parameter", "buffer", "input", "size"]


@dataclass(frozen=True)
class TensorMeta:
    """What is known of one argument of a graph.

    Attributes:
        name: the argument's.
        shape: sizes; empty for a scalar.
        dtype: torch's.
        device: where it was recorded; it says nothing about where it will be.
        mean: of its values, to about three decimals; None where unknown, and NaN and infinity are possible.
        std: likewise.
        data: all of its values in row-major order, to about six decimals; None where they are not kept.
        min_val: the smallest value it may have; None for no limit.
        max_val: the largest value it may have, itself included; None for no limit.
        where: file and line that say so.
    """

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    device: str = "cpu"
    mean: float | None = None
    std: float | None = None
    data: tuple[Any, ...] | None = None
    min_val: float | None = None
    max_val: float | None = None
    where: str = ""

    @property
    def size(self) -> int:
        """How many values there are."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return self.size * self.dtype.itemsize


@dataclass(frozen=True)
class Argument:
    """One argument of a graph's `forward`.

    Attributes:
        name: as `forward` has it.
        kind: "parameter" or "buffer", which belong to the model, "input", or "size", which is a whole number.
        line: of `model.py`.
    """

    name: str
    kind: Kind
    line: int

    @property
    def fed(self) -> bool:
        """Whether it is a true input, which a call brings."""
        return self.kind in ("input", "size")


@dataclass(frozen=True)
class Sample:
    """A graph sample.

    Attributes:
        path: its folder.
        info: what `graph_net.json` says, such as "framework", "source", "model_name".
        arguments: those of `forward`, in its order.
        metas: what is known of each argument, by name; there may be more of them than arguments.
        stamp: when the file that tells of weights was last written, in nanoseconds.
    """

    path: Path
    info: Mapping[str, Any]
    arguments: tuple[Argument, ...]
    metas: Mapping[str, TensorMeta]
    stamp: int = 0

    @property
    def code(self) -> Path:
        """The file that defines the graph."""
        return self.path / CODE

    @property
    def nbytes(self) -> int:
        """The bytes that all arguments take."""
        return sum(self.metas[argument.name].nbytes for argument in self.arguments)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes of all arguments, each once, sorted."""
        return tuple(sorted({str(self.metas[each.name].dtype).removeprefix("torch.") for each in self.arguments}))

    @cached_property
    def operators(self) -> frozenset[str]:
        """The last names of what the graph calls: "linear" for `torch._C._nn.linear`, "view" for `x.view`."""
        called = (node.func for node in ast.walk(parse_file(self.code)) if isinstance(node, ast.Call))
        names = (getattr(each, "attr", getattr(each, "id", "")) for each in called)
        return frozenset(name for name in names if name)

    @property
    def uses_sizes(self) -> bool:
        """Whether the graph does anything with a size that it is given."""
        text = read_text(self.code)
        sizes = [each.name for each in self.arguments if each.kind == "size"]
        return any(len(re.findall(rf"\b{name}\b", text)) > 1 for name in sizes)

    def calls(self, operator: str) -> bool:
        """Tell whether one of `operators` has this name; a text without it is not parsed."""
        return operator in read_text(self.code) and operator in self.operators


def read_sample(path: str | Path) -> Sample:
    """Read a graph sample; nothing of it is run. Of the code, only what `forward` takes is looked at.

    Raises:
        SampleError: a file is missing or wrong, or an argument of `forward` is described nowhere.
    """
    path = Path(path)
    info = read_info(path / INFO)
    forward = signature_of(path / CODE)
    metas = read_metas(path / WEIGHTS)
    if (path / INPUTS).is_file():
        metas = {**read_metas(path / INPUTS), **metas}
    arguments = tuple(_argument(each) for each in arguments_of(forward))
    for each in arguments:
        if each.name not in metas:
            hint = did_you_mean(each.name, metas) if len(metas) < 100 else ""
            raise SampleError(f"{path / CODE}:{each.line}: {WEIGHTS} describes no {each.name!r}{hint}")
    return Sample(path, info, arguments, metas, (path / WEIGHTS).stat().st_mtime_ns)


def read_metas(file: Path) -> dict[str, TensorMeta]:
    """Read what a file says of tensors, by their names; the order and the names of its classes mean nothing.

    Raises:
        SampleError: the file is wrong, or two classes describe one name.
    """
    found: dict[str, TensorMeta] = {}
    for line, values in read_classes(file):
        meta = _meta(f"{file}:{line}", values)
        if meta.name in found:
            raise SampleError(f"{meta.where}: {meta.name!r} is described at {found[meta.name].where} already")
        found[meta.name] = meta
    return found


def _argument(node: ast.arg) -> Argument:
    # The last name of what it is annotated with, as of `torch.nn.parameter.Parameter`.
    annotation = getattr(node.annotation, "attr", getattr(node.annotation, "id", ""))
    return Argument(node.arg, _kind(node.arg, annotation), node.lineno)


def _kind(name: str, annotation: str) -> Kind:
    if annotation == "SymInt":
        return "size"
    if annotation == "Parameter" or "_parameters_" in name:
        return "parameter"
    # What a module keeps in plain attributes, such as an epsilon, was lifted out of it as its buffers were.
    return "buffer" if "_buffers_" in name or name.startswith("L_self_") else "input"


def read_info(file: Path) -> Mapping[str, Any]:
    """Read what a sample says of itself as a whole.

    Raises:
        SampleError: the file is missing or no JSON object, or the graph is another framework's.
    """
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise SampleError(f"{file}:{error.lineno}: no JSON: {error.msg}") from None
    except (OSError, ValueError) as error:
        raise SampleError(f"{file} cannot be read: {error}") from None
    if not isinstance(info, dict):
        raise SampleError(f"{file}: wanted an object, got {info!r}")
    if info.get("framework", "torch") != "torch":
        raise SampleError(f"{file}: wanted framework 'torch', got {info['framework']!r}")
    return info


_KEYS = {field.name for field in fields(TensorMeta)} - {"where"}


def _meta(where: str, values: Mapping[str, Any]) -> TensorMeta:
    for key in ("name", "shape", "dtype"):
        if key not in values:
            raise SampleError(f"{where}: {key!r} is missing{did_you_mean(key, values)}")
    name, shape, data = values["name"], values["shape"], values.get("data")
    if not isinstance(name, str) or not name:
        raise SampleError(f"{where}: name must be text, got {name!r}")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise SampleError(f"{where}: shape must be a list of sizes, got {shape!r}")
    dtype = getattr(torch, str(values["dtype"]).removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype):
        raise SampleError(f"{where}: dtype must be one of torch's, got {values['dtype']!r}")
    for key in ("mean", "std", "min_val", "max_val"):
        if not isinstance(values.get(key), int | float | None):
            raise SampleError(f"{where}: {key} must be a number or None, got {values[key]!r}")
    if data is not None and (not isinstance(data, list) or len(data) != math.prod(shape)):
        got = f"{len(data)} values" if isinstance(data, list) else repr(data)
        raise SampleError(f"{where}: data must be a flat list of {math.prod(shape)} values, got {got}")
    known = {key: value for key, value in values.items() if key in _KEYS}
    if data is not None:
        known["data"] = tuple(data)
    return TensorMeta(**{**known, "shape": tuple(shape), "dtype": dtype, "where": where})
