"""A reference that is run once, and compared with one target after another, each known only when the last is done."""

from __future__ import annotations

import shutil
import time
import uuid
from dataclasses import replace
from pathlib import Path

from libbench.diff import work_off
from libbench.job import Job
from libbench.pair import Pair
from libbench.plan import Plan, settings_of
from libbench.result import Comparison
from libbench.rows import Row, broken_row
from libbench.timing import Watch, runner_of
from libbench.trusted import Trusted


class Against:
    """A reference that is run when the first target comes.

    Args:
        reference: the side that is trusted.
        plan: what is asked of each target; it keeps no outputs and has one seed.
        folder: to work in.
        watch: called with a side's name and an event, to show progress.
    """

    def __init__(self, reference: Job, plan: Plan, folder: Path, watch: Watch) -> None:
        self._group = uuid.uuid4().hex
        self._reference = replace(reference, group=self._group, cache=str(folder / "cache" / "reference"))
        self._plan = plan
        self._folder = folder
        self._watch = watch
        self._trusted = Trusted.of(self._reference, folder, plan)
        self._count = 0

    def compare(self, target: Job) -> Comparison:
        """Compare a target; what could not be run to its end, for no fault of either side, says so in its check."""
        begin, self._count = time.monotonic(), self._count + 1
        place = self._folder / f"target-{self._count}"
        target = replace(target, group=self._group, cache=str(self._folder / "cache" / place.name))
        try:
            settings = settings_of(self._reference, target, self._plan)
            runner_of(target)
            pair = Pair(self._reference, target, settings, self._plan, self._watch, lambda comparison: None, begin)
            work_off(pair, self._trusted, place)
            return pair.comparison
        except Exception as error:
            return broken_row(Row(self._reference, target, target.name), error)
        finally:
            shutil.rmtree(place, ignore_errors=True)
            shutil.rmtree(target.cache or "", ignore_errors=True)
