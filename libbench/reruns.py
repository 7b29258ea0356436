"""One call against another on the same inputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from libbench.compare import OutputComparison
from libbench.findings import Rerun
from libbench.noise import rerun_of
from libbench.tree import Snapshot


def compare_runs(setting: str, first: Snapshot, second: Snapshot) -> Rerun:
    """Give how far two calls of one side lie apart.

    Args:
        setting: what was other about the second.
    """
    comparison = OutputComparison()
    comparison.add(first, second)
    return rerun_of(setting, comparison.report())


def repeats(again: Rerun) -> str:
    """Say "same", or what two calls on one input did not agree in."""
    if again.verdict != "different":
        return "same"
    return f"two calls on one batch differ, so it draws at random or keeps a state ({again.note})"


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let torch have so many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
