"""What a graph takes: the method `forward` of its class, found in the text of its file."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from libbench.samples.errors import SampleError
from libbench.samples.literals import parse_text, read_text

_HEAD = re.compile(r"^[ \t]+def forward\(.*?\)(?:[ \t]*->[^\n]*)?:[ \t]*$", re.MULTILINE | re.DOTALL)


def signature_of(file: Path) -> ast.FunctionDef:
    """Find `forward` in a file, without its statements where they can be told apart: they are nearly all of the file.

    Raises:
        SampleError: the file cannot be read, or as of `forward_of`.
    """
    text = read_text(file)
    if head := _HEAD.search(text):
        try:
            return forward_of(parse_text(text[: head.end()] + " pass", file), file)
        except SampleError:
            pass
    return forward_of(parse_text(text, file), file)


def forward_of(tree: ast.Module, file: Path) -> ast.FunctionDef:
    """Find the method `forward` of the class `GraphModule`.

    Raises:
        SampleError: there is none, or it takes anything but plain arguments.
    """
    for kind in tree.body:
        if isinstance(kind, ast.ClassDef) and kind.name == "GraphModule":
            for node in kind.body:
                if isinstance(node, ast.FunctionDef) and node.name == "forward":
                    more = node.args
                    if more.vararg or more.kwarg or more.kwonlyargs or more.posonlyargs or not more.args:
                        raise SampleError(f"{file}:{node.lineno}: forward must take self and arguments by name")
                    return node
            raise SampleError(f"{file}:{kind.lineno}: GraphModule has no method forward")
    raise SampleError(f"{file}: wanted a class GraphModule, got none")


def arguments_of(forward: ast.FunctionDef) -> list[ast.arg]:
    """Give the arguments of `forward` without its `self`."""
    return forward.args.args[1:]
