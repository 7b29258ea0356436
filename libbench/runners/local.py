"""The worker in this process: for debugging, and for models that are safe."""

from __future__ import annotations

from pathlib import Path

from libbench.interfaces import Session, Watch
from libbench.job import Job
from libbench.worker import Worker


class Local:
    """Runs the sides in this process. One that crashes takes it along, and no time limit can be kept.

    Args:
        threads: torch's threads; None for all usable cores but one.
    """

    processes = 1

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        self.threads = threads

    def open(self, *jobs: Job, folder: Path, watch: Watch) -> Session:
        """Give a worker."""
        return Worker(jobs, folder, watch, self.threads)
