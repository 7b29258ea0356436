"""The worker in a child process, whose death is a finding."""

from __future__ import annotations

from pathlib import Path

from libbench.child import Child
from libbench.conversation import LOG, SEARCH, Conversation, check_limits, opening
from libbench.interfaces import Session, Watch
from libbench.job import Job
from libbench.serve import serve


class Process:
    """Runs the sides in a child process of this machine.

    Args:
        timeout: seconds that a stage of a side may take, above 0; then the child and all that it started are killed.
        threads: torch's threads; None for all usable cores but one.
        processes: fresh processes for a timing, at least 1.
        memory: bytes that the child and all that it started may take together, above 0; then they are killed. What
            torch takes by itself, some 300 MB, is counted in. None sets no limit.
        search: seconds that are spent on a side that cannot be compiled, to find all operators that the compiler does
            not take and the smallest module in which it fails; 0 for none.
    """

    def __init__(
        self,
        timeout: float = 600.0,
        threads: int | None = None,
        processes: int = 5,
        memory: int | None = None,
        search: float = SEARCH,
    ) -> None:
        check_limits(timeout, threads, processes, memory, search)
        self.search = search
        self.memory = memory
        self.timeout = timeout
        self.threads = threads
        self.processes = processes

    def open(self, *jobs: Job, folder: Path, watch: Watch) -> Session:
        """Start a child and give the session with it."""
        first = opening(jobs, folder, self.threads)
        return Conversation(Child(serve, folder / LOG, self.memory), first, folder, watch, self.timeout)
