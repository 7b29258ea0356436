"""Gradient mode and autocast, left as they were by code that switches them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def modes_kept(device: str) -> Iterator[None]:
    """Put back gradient mode and autocast, also when something is raised.

    Args:
        device: the kind of device whose autocast may be switched, such as "cpu".
    """
    grad = torch.is_grad_enabled()
    enabled, dtype = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    cached, nesting = torch.is_autocast_cache_enabled(), _nesting()
    try:
        yield
    finally:
        torch.set_grad_enabled(grad)
        torch.set_autocast_enabled(device, enabled)
        torch.set_autocast_dtype(device, dtype)
        torch.set_autocast_cache_enabled(cached)
        while _nesting() > nesting:
            torch.autocast_decrement_nesting()
        if nesting == 0:
            torch.clear_autocast_cache()


def _nesting() -> int:
    """Give how many autocasts are entered; torch tells only when it counts."""
    torch.autocast_increment_nesting()
    return int(torch.autocast_decrement_nesting())
