"""Python callables in place of torch's kernels, operator by operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from libbench.config.targets import callable_target
from libbench.errors import did_you_mean
from libbench.result import KernelFacts
from libbench.swapping import Kernel, Swap


class Kernels:
    """Runs callables in place of torch's kernels.

    A callable gets what its operator is called with, but for arguments that have the default of the operator's schema:
    these are left out. One that calls its own operator calls itself.

    An operator that is made of others, as `aten::softmax.int` is, has no gradient any more when it is swapped at a key
    such as "CPU". For training, swap those that it is made of, as `aten::_softmax`, or swap it at the key
    "CompositeImplicitAutograd".

    Args:
        kernels: by operator with its overload, as `aten::softmax.int` or `aten::gelu`, what is called in its place: a
            callable, or the dotted name of one.
        keys: the dispatch keys at which it takes the place, by torch's names, as "CUDA".
        name: what the report calls the library.

    Raises:
        ValueError: there is no such operator or key, or a callable cannot be called as its operator is.
        ConfigError: a dotted name leads to nothing that can be called.
    """

    def __init__(
        self,
        kernels: Mapping[str, Callable[..., Any] | str],
        keys: Sequence[str] = ("CPU",),
        name: str = "own kernels",
    ) -> None:
        if not kernels:
            raise ValueError(f"kernels must have at least one operator, as {{'aten::gelu': my_gelu}}, got {kernels!r}")
        if isinstance(keys, str) or not keys:
            raise ValueError(f"keys must be a list of at least one dispatch key, as ['CPU'], got {keys!r}")
        _check_known("dispatch key", keys, torch._C.DispatchKey.__members__)
        _check_known("operator", kernels, torch._C._dispatch_get_all_op_names())
        calls = {operator: callable_target(kernel) for operator, kernel in kernels.items()}
        for operator, call in calls.items():
            _check_signature(operator, call)
        self._swap = Swap([Kernel(operator, key, call) for operator, call in calls.items() for key in keys])
        self._version = f"{name} for {', '.join(keys)}"

    def active(self, *, counted: bool) -> AbstractContextManager[None]:
        """Swap the kernels, and put torch's back at the end; calls are counted or not."""
        return self._swap.active(counted=counted)

    def facts(self) -> KernelFacts:
        """Say which operators there are kernels for, and how often each was counted so far."""
        return KernelFacts(self._version, self._swap.calls)


def _check_known(what: str, wanted: Iterable[str], there: Iterable[str]) -> None:
    known = set(there)
    for name in wanted:
        if name not in known:
            overloads = sorted(each for each in known if each.startswith(f"{name}."))
            hint = f"; there are {', '.join(overloads)}" if overloads else did_you_mean(str(name), known)
            raise ValueError(f"torch has no {what} {name!r}{hint}")


def _check_signature(operator: str, kernel: Callable[..., Any]) -> None:
    """Check that a kernel can be called with all arguments of its operator, and with those alone that it must have."""
    schema = torch._C._get_schema(*(operator.split(".", 1) if "." in operator else (operator, "")))
    try:
        signature = inspect.signature(kernel)
    except ValueError:  # what is written in C++ may not tell
        return
    for arguments in (schema.arguments, [each for each in schema.arguments if not each.has_default_value()]):
        args = [each.name for each in arguments if not each.kwarg_only]
        kwargs = {each.name: None for each in arguments if each.kwarg_only}
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            name = getattr(kernel, "__qualname__", type(kernel).__qualname__)
            raise ValueError(f"{name}{signature} cannot be called as {schema} is: {error}") from None
