"""Kernels put in place of torch's, counted and taken back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from torch.library import Library

_OVERRIDING = r"[\s\S]*Overriding a previously registered kernel"
"""What torch warns of when a kernel takes the place of another, as is meant here."""


class Kernel(NamedTuple):
    """What is called in place of torch's kernel.

    Attributes:
        operator: with its overload, as `aten::softmax.int`.
        key: the dispatch key at which it takes the place.
        call: gets what the operator is called with, but for arguments that have the default of the schema.
    """

    operator: str
    key: str
    call: Callable[..., Any]


class Swap:
    """Kernels that can be put in place of torch's, as often as one likes."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self._kernels = tuple(kernels)
        self._calls = {kernel.operator: 0 for kernel in kernels}

    @property
    def calls(self) -> Mapping[str, int]:
        """By operator, how often its kernels were counted so far."""
        return dict(self._calls)

    @contextmanager
    def active(self, *, counted: bool) -> Iterator[None]:
        """Swap the kernels, and put torch's back at the end, also after an exception; calls are counted or not."""
        libraries: dict[str, Library] = {}
        with ExitStack() as stack:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", _OVERRIDING, UserWarning)
                for operator, key, call in self._kernels:
                    space, _, name = operator.partition("::")
                    if space not in libraries:
                        libraries[space] = Library(space, "IMPL")  # type: ignore[no-untyped-call]
                        stack.callback(libraries[space]._destroy)
                    run = self._counting(operator, call) if counted else call
                    libraries[space].impl(name, run, key)  # type: ignore[no-untyped-call]
            yield

    def _counting(self, operator: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._calls[operator] += 1
            return kernel(*args, **kwargs)

        return call
