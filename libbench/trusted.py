"""The side that is trusted, run once for all of its targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from libbench.job import Job
from libbench.plan import Plan
from libbench.result import Result
from libbench.saved import AnySide, SavedSide
from libbench.snapshots import Snapshots


@dataclass
class Trusted:
    """A reference with all that the targets are compared with.

    Attributes:
        job: the reference.
        outputs: what it returned.
        truths: what its float64 copy returned; None where no truth is asked for.
        result: None until it has been run.
        truth: the result of its float64 copy, likewise.
    """

    job: AnySide
    outputs: Snapshots
    truths: Snapshots | None
    result: Result | None = None
    truth: Result | None = None

    @classmethod
    def of(cls, job: AnySide, folder: Path, plan: Plan) -> Trusted:
        """Make ready to run a reference in a folder; what may be kept is shared among all seeds."""
        limit = plan.spill // plan.seeds
        outputs = job.snapshots() if isinstance(job, SavedSide) else Snapshots(folder / "reference", limit)
        return cls(job, outputs, None if plan.truth is None else Snapshots(folder / "truth", limit))

    def truth_job(self) -> Job:
        """Give the float64 copy of the reference, which must be one that runs."""
        if not isinstance(self.job, Job):
            raise TypeError(f"{self.job.name} does not run, so that it has no float64 copy")
        return replace(self.job, name=f"{self.job.name} in float64", cache=None, truth=True)
