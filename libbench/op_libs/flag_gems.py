"""FlagGems: torch's operators as kernels written in Triton."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from libbench.errors import UnavailableError
from libbench.optional import need
from libbench.result import KernelFacts
from libbench.swapping import Kernel, Swap

PURPOSE = "the kernels of FlagGems"


class FlagGems:
    """Runs FlagGems' kernels in place of torch's; they need a GPU that Triton compiles for.

    Raises:
        MissingPackageError: triton or FlagGems is not installed.
        UnavailableError: FlagGems finds no device that it has kernels for.
    """

    def __init__(self) -> None:
        need("triton", extra=None, purpose=PURPOSE)
        try:
            gems = need("flag_gems", extra=None, purpose=PURPOSE)
        except RuntimeError as error:
            raise UnavailableError(f"FlagGems finds no device that it has kernels for: {error}") from error
        taken = _Taken()
        # It puts its kernels into a library that it is given; which they are is all that is wanted here.
        gems.enable(lib=taken)
        self._swap = Swap(taken.kernels)
        self._version = f"FlagGems {gems.__version__}, torch {torch.__version__}"

    def active(self, *, counted: bool) -> AbstractContextManager[None]:
        """Swap the kernels, and put torch's back at the end; calls are counted or not."""
        return self._swap.active(counted=counted)

    def facts(self) -> KernelFacts:
        """Say which operators there are kernels for, and how often each was counted so far."""
        return KernelFacts(self._version, self._swap.calls)


class _Taken:
    """Stands for a `torch.library.Library`, and keeps what is put into it."""

    def __init__(self) -> None:
        self.kernels: list[Kernel] = []

    def impl(self, op_name: str, fn: Callable[..., Any], dispatch_key: str = "", **settings: Any) -> None:
        self.kernels.append(Kernel(f"aten::{op_name}", dispatch_key, fn))
