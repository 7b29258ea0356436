"""The side that is trusted, run once for all of its targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from libbench.job import Job
from libbench.plan import Plan
from libbench.result import Result
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

    job: Job
    outputs: Snapshots
    truths: Snapshots | None
    result: Result | None = None
    truth: Result | None = None

    @classmethod
    def of(cls, job: Job, folder: Path, plan: Plan) -> Trusted:
        """Make ready to run a reference in a folder; what may be kept is shared among all seeds."""
        limit = plan.spill // plan.seeds
        outputs = Snapshots(folder / "reference", limit)
        return cls(job, outputs, None if plan.truth is None else Snapshots(folder / "truth", limit))

    def truth_job(self) -> Job:
        """Give the float64 copy of the reference."""
        return replace(self.job, name=f"{self.job.name} in float64", cache=None, truth=True)
