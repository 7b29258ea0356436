"""The worker in this process: for debugging, and for models that are safe."""

from __future__ import annotations

from pathlib import Path

from libbench.conversation import SEARCH, check_limits
from libbench.interfaces import Session, Watch
from libbench.job import Job
from libbench.worker import Worker


class Local:
    """Runs the sides in this process. One that crashes takes it along, and no time limit can be kept.

    Args:
        threads: torch's threads; None for all usable cores but one.
        search: as of `Process`; what is begun in that time is ended after it.
    """

    processes = 1

    def __init__(self, threads: int | None = None, search: float = SEARCH) -> None:
        check_limits(threads=threads, search=search)
        self.search = search
        self.threads = threads

    def open(self, *jobs: Job, folder: Path, watch: Watch) -> Session:
        """Give a worker."""
        return Worker(jobs, folder, watch, self.threads)
