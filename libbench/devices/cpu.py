"""The CPU of the machine that the worker lives on."""

from __future__ import annotations

import ctypes
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from libbench.tree import map_tensors

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


class Cpu:
    """Runs where it stands: nothing to wait for, memory as the process has it.

    Its clocks are `wall` and `cpu`, the time that all threads of the process spent on processors together.
    """

    most_calls = None

    def __init__(self) -> None:
        self._resettable = False

    def put(self, tree: Any) -> Any:
        """Give the tree with its tensors in host memory; those that are there already are not copied."""
        if isinstance(tree, torch.nn.Module):
            return tree.to("cpu")
        return map_tensors(lambda tensor: tensor.to("cpu"), tree)

    def synchronize(self) -> None:
        """Nothing runs behind the caller's back here."""

    def time(self, call: Callable[[], Any]) -> Mapping[str, float]:
        """Give the seconds of one call by both clocks."""
        spent, begin = time.process_time_ns(), time.perf_counter_ns()
        call()
        end = time.perf_counter_ns()
        return {"wall": (end - begin) / 1e9, "cpu": (time.process_time_ns() - spent) / 1e9}

    def seed(self, n: int) -> None:
        """Seed torch's generator."""
        torch.manual_seed(n)

    def reset_peak(self) -> None:
        """Give back what is free, and let the kernel forget the process's high-water mark, where it may be asked to."""
        _give_back()
        try:
            _CLEAR_REFS.write_text("5")
        except OSError:
            # Some containers refuse; `peak_memory` then says nothing instead of something wrong.
            self._resettable = False
        else:
            self._resettable = True

    def memory(self) -> Mapping[str, int]:
        """Give the bytes of the process that are in memory now, as "host"."""
        return _status("VmRSS")

    def peak_memory(self) -> Mapping[str, int]:
        """Give the process's largest bytes in memory since `reset_peak`, as "host"."""
        return _status("VmHWM") if self._resettable else {}

    def describe(self) -> Mapping[str, Any]:
        """Name the processor."""
        return {"device": "cpu", "processor": processor()}


def _give_back() -> None:
    """Let the allocator give free memory to the system: what it keeps of earlier calls hides the next one's."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)


def processor() -> str:
    """Give the processor's model name, as the kernel has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _status(field: str) -> Mapping[str, int]:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return {}
    kilobytes = next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), None)
    return {} if kilobytes is None else {"host": kilobytes * 1024}
