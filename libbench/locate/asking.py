"""Where do these two part? Two jobs in, one record out."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from libbench.diff import check_empty, work_folder
from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.locate.capture import How
from libbench.located import Located
from libbench.plan import Plan, settings_of
from libbench.records import encode
from libbench.result import SIDES, Preparation, SideFailed
from libbench.settings import Tolerance
from libbench.timing import Watch, one_runner, runner_of


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked.

    Attributes:
        rtol, atol: of the outputs; None as in `Tolerance`.
        how: "export" looks at the operators that torch exports, "record" at those that run.
        whole: whether the operators of the whole model are looked at, and not those of the worst module alone.
        reproduce: an empty folder, or one that does not exist, in which what is found can be shown again; None: none.
    """

    rtol: float | None = None
    atol: float | None = None
    how: How = "export"
    whole: bool = False
    reproduce: Path | None = None

    def __post_init__(self) -> None:
        if self.how not in get_args(How):
            raise ValueError(f"how must be {' or '.join(map(repr, get_args(How)))}, got {self.how!r}")


def locate(
    reference: Job, target: Job, question: Question | None = None, *, watch: Watch = lambda name, event: None
) -> Located:
    """Say where the outputs of two sides part: in which module, and in which operator of it.

    Both are built in one process of the reference's runner.

    Args:
        watch: called with a side's name and an event, to show progress.

    Raises:
        LibbenchError: the question cannot be asked: a config is wrong, or the sides run where nothing can be located.
    """
    question = question or Question()
    begin = time.monotonic()
    if question.reproduce is not None:
        check_empty(question.reproduce)
    tolerance, _ = settings_of(reference, target, Plan(rtol=question.rtol, atol=question.atol))
    found = _asked(reference, target, question, tolerance, watch)
    notes = found.notes
    if not one_runner([reference, target]):
        notes = (*notes, "the sides name different runners; both were looked at in the reference's")
    seconds = time.monotonic() - begin
    return replace(found, reference=label_of(reference), target=label_of(target), notes=notes, seconds=seconds)


def _asked(reference: Job, target: Job, question: Question, tolerance: Tolerance, watch: Watch) -> Located:
    runner, names = runner_of(reference), (reference.name, target.name)
    with work_folder(None) as folder:
        session = runner.open(reference, target, folder=folder, watch=partial(_tell, watch, names))
        with closing(session):
            search = getattr(session, "locate", None)
            if search is None:
                kind = type(runner).__qualname__
                raise LibbenchError(f"nothing can be located on several ranks, where a {kind} runs the sides")
            try:
                for side, prepared in zip(SIDES, session.prepare(), strict=True):
                    reason = _unsteady(side, prepared)
                    if reason:
                        return _unjudged(reason)
                found: Located = search(
                    tolerance=encode(tolerance),
                    how=question.how,
                    whole=question.whole,
                    reproduce=None if question.reproduce is None else str(question.reproduce.resolve()),
                )
            except LibbenchError as error:
                return _unjudged(str(error))
            except SideFailed as error:
                who = "" if error.side is None else f"the {SIDES[error.side]} failed in {error.failure.stage}: "
                return _unjudged(f"{who}{error.failure.message}")
    return found


def _tell(watch: Watch, names: tuple[str, str], event: Any) -> None:
    watch(names[event.side], event)


def _unsteady(side: str, prepared: Preparation) -> str:
    """Say why a side has no outputs that could be located; empty where it has."""
    return "" if prepared.repeats == "same" else f"the {side} is stochastic: {prepared.repeats}"


def _unjudged(reason: str) -> Located:
    return Located(reference="", target="", verdict="unjudged", reason=reason)


def label_of(job: Job) -> str:
    """Give what a reader knows a job by: its file and overrides, or its name."""
    return job.name if job.file is None else " ".join([job.file, *job.overrides])
