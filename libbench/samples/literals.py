"""Classes of plain values in a Python file, read without running it."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from libbench.samples.errors import SampleError

_NAMES = {"inf": math.inf, "nan": math.nan}


def parse_file(file: Path) -> ast.Module:
    """Parse a Python file.

    Raises:
        SampleError: it is not there, is no text, or is no Python.
    """
    return parse_text(read_text(file), file)


def read_text(file: Path) -> str:
    """Read a file.

    Raises:
        SampleError: it is not there, or is no text.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SampleError(f"{file} cannot be read: {error}") from None


def parse_text(text: str, file: Path) -> ast.Module:
    """Parse the text of a Python file.

    Raises:
        SampleError: it is no Python.
    """
    try:
        return ast.parse(text, str(file))
    except SyntaxError as error:
        raise SampleError(f"{file}:{error.lineno}: no Python: {error.msg}") from None
    except ValueError as error:
        raise SampleError(f"{file} cannot be read: {error}") from None


def read_classes(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Give the line of each class of a file and the values that it assigns, by name.

    Values are numbers, text, True, False, None, lists and tuples of them, and NaN and infinity in any spelling.

    Raises:
        SampleError: the file has anything else in it.
    """
    text = read_text(file)
    try:
        yield from list(_plain_classes(text))
        return
    except _NotPlain:
        pass
    for node in parse_text(text, file).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if not isinstance(node, ast.ClassDef):
            raise SampleError(f"{file}:{node.lineno}: wanted classes of plain values, got {_shown(node)}")
        yield node.lineno, dict(_assigned(file, node))


class _NotPlain(Exception):
    """The text is not as programs write it; `ast` has to look at it."""


_CLASS = re.compile(r"^class [^\W\d]\w*(?:\([\w.]*\))?:\s*$")
_ASSIGNMENT = re.compile(r"^[ \t]+([^\W\d]\w*) = ", re.MULTILINE)
_TEXT = re.compile(r'"[^"\\\n]*"')
_LAST_COMMA = re.compile(r"(?<=[\d.]),\s*\]")
_NUMBERS = re.compile(r"[][0-9eE.+\-,\s]*")


def _plain_classes(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Give the same as `read_classes`, several times as fast, of a text that has an assignment a line."""
    line = 1
    for part in re.split(r"^(?=\S)", text, flags=re.MULTILINE):
        head, *assigned = _ASSIGNMENT.split(part)
        if _CLASS.match(head):
            yield line, {name: _plain(value) for name, value in zip(assigned[::2], assigned[1::2], strict=True)}
        elif part.strip():
            raise _NotPlain
        line += part.count("\n")


def _plain(text: str) -> Any:
    text = text.strip()
    try:
        if _NUMBERS.fullmatch(text):
            return json.loads(_LAST_COMMA.sub("]", text))
        if _TEXT.fullmatch(text):
            return text[1:-1]
        return _value(Path(), ast.parse(text, mode="eval").body)
    except (ValueError, SyntaxError, SampleError):
        raise _NotPlain from None


def _assigned(file: Path, kind: ast.ClassDef) -> Iterator[tuple[str, Any]]:
    for node in kind.body:
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, _value(file, value)
            case _:
                raise SampleError(f"{file}:{node.lineno}: wanted NAME = VALUE, got {_shown(node)}")


def _value(file: Path, node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(file, item) for item in items]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = _value(file, inner)
            if isinstance(value, int | float):
                return -value
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _NAMES:
            return _NAMES[name]
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)], keywords=[]):
            try:
                return float(text)
            except ValueError:
                pass
        case ast.Call(func=ast.Name(id="complex"), args=[real, imaginary], keywords=[]):
            return complex(_value(file, real), _value(file, imaginary))
    raise SampleError(f"{file}:{node.lineno}: wanted a plain value, got {_shown(node)}")


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node).splitlines()[0]
    return repr(text if len(text) <= 60 else text[:57] + "...")
