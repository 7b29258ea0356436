"""An NVIDIA (or ROCm) device, through torch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from libbench.errors import UnavailableError
from libbench.tree import map_tensors


class Cuda:
    """One CUDA device.

    Its clocks are `wall`, the host's time until the device is done, and `gpu`, the time between two events on the
    current stream. Both are of a hot L2 cache, since calls follow one another, unless a cold one is asked for: then
    the second is called `gpu cold cache`.

    Args:
        index: which device, from 0; None takes the current one, which is 0, or on several ranks the rank's own.
        cold_cache: True overwrites as many bytes as the L2 cache holds before each timed call, outside of the time.

    Raises:
        UnavailableError: torch sees no such device.
    """

    def __init__(self, index: int | None = None, cold_cache: bool = False) -> None:
        if index is not None and index < 0:
            raise ValueError(f"index must be at least 0, got {index}")
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if index is None:
            index = torch.cuda.current_device() if count else 0
        if index >= count:
            raise UnavailableError(f"wanted cuda:{index}, but torch {torch.__version__} sees {count} CUDA devices")
        self.index = index
        self.most_calls = 1 if cold_cache else None
        self._device = torch.device("cuda", index)
        self._clock = "gpu cold cache" if cold_cache else "gpu"
        size = torch.cuda.get_device_properties(self._device).L2_cache_size if cold_cache else 0
        self._flush = torch.empty(size, dtype=torch.uint8, device=self._device) if cold_cache else None

    def put(self, tree: Any) -> Any:
        """Give the tree with its tensors on this device."""
        if isinstance(tree, torch.nn.Module):
            return tree.to(self._device)
        return map_tensors(lambda tensor: tensor.to(self._device), tree)

    def synchronize(self) -> None:
        """Wait for all streams of the device."""
        torch.cuda.synchronize(self._device)

    def time(self, call: Callable[[], Any]) -> Mapping[str, float]:
        """Give the seconds of one call by both clocks."""
        with torch.cuda.device(self._device):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            if self._flush is not None:
                self._flush.zero_()
            torch.cuda.synchronize(self._device)
            begin = time.perf_counter_ns()
            start.record()
            call()
            end.record()
            torch.cuda.synchronize(self._device)
            wall = (time.perf_counter_ns() - begin) / 1e9
        return {"wall": wall, self._clock: start.elapsed_time(end) / 1e3}

    def seed(self, n: int) -> None:
        """Seed the host's generator and every device's."""
        torch.manual_seed(n)

    def reset_peak(self) -> None:
        """Forget the largest memory so far."""
        torch.cuda.reset_peak_memory_stats(self._device)

    def memory(self) -> Mapping[str, int]:
        """Give the bytes in tensors now and the bytes that torch holds of the device."""
        return {
            "cuda": torch.cuda.memory_allocated(self._device),
            "cuda reserved": torch.cuda.memory_reserved(self._device),
        }

    def peak_memory(self) -> Mapping[str, int]:
        """Give the largest of both since `reset_peak`."""
        return {
            "cuda": torch.cuda.max_memory_allocated(self._device),
            "cuda reserved": torch.cuda.max_memory_reserved(self._device),
        }

    def describe(self) -> Mapping[str, Any]:
        """Name the device and its size."""
        properties = torch.cuda.get_device_properties(self._device)
        return {
            "device": f"cuda:{self.index}",
            "processor": properties.name,
            "device bytes": properties.total_memory,
            "cuda": torch.version.cuda,
        }
