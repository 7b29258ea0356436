"""One side from its beginning to its end, stage by stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from libbench.drawing import Ask
from libbench.drawn import Draws
from libbench.drift import curve_of
from libbench.findings import Rerun
from libbench.interfaces import Event, Session
from libbench.narrowing import told_why
from libbench.result import Output, Result, SideFailed
from libbench.saved import AnySide, SavedSide
from libbench.timing import runner_of


def stages(
    job: AnySide,
    folder: Path,
    watch: Callable[[Event], None],
    take: Callable[[Output], Any],
    *,
    rerun: bool = False,
    ask: Callable[[Result], Ask | None] = lambda result: None,
) -> Iterator[Result]:
    """Run one side; give its result after every stage, and with the failure when there is one.

    Args:
        rerun: measure the side's own noise at the end; that it could not be measured is no failure of the side.
        ask: says at the end from which seeds to call it, likewise.
    """
    if isinstance(job, SavedSide):
        yield from job.stages(take)
        return
    folder.mkdir(parents=True, exist_ok=True)
    result, outputs = Result(job.record(), began=time.time()), list[Output]()
    (folder / "config.yaml").write_text(result.job.config, encoding="utf-8")
    try:
        runner = runner_of(job)
        opened = closing(runner.open(job, folder=folder, watch=watch))
        with opened as session, told_why(runner, job, session, folder, watch):
            result = replace(result, preparation=session.prepare()[0], environment=session.environment())
            yield result
            for output in session.batches():
                take(output)
                outputs.append(output)
            result = replace(_with_calls(result, outputs), evaluation=session.metrics())
            result = replace(result, environment=session.environment())
            yield result
            asked = ask(result)
            if asked is not None:
                result = replace(result, draws=_draws(session, asked))
                yield result
            if rerun:
                yield replace(result, reruns=(_rerun(session),))
    except SideFailed as error:
        yield replace(_with_calls(result, outputs), failure=error.failure)


def _with_calls(result: Result, outputs: Sequence[Output]) -> Result:
    """Give the result with what the calls have told of themselves: losses, and how fast tokens came."""
    generated = tuple(output.generated for output in outputs if output.generated is not None)
    return replace(result, curve=curve_of(outputs), generated=generated)


def _rerun(session: Session) -> Rerun:
    try:
        return session.rerun()
    except SideFailed as error:
        return Rerun(setting="another run", verdict="unjudged", note=f"failed: {error.failure.message}")


def _draws(session: Session, asked: Ask) -> Draws:
    if not asked.seeds:
        return Draws(calls=0, note=asked.why)
    try:
        return session.draws(asked.seeds, asked.wanted)
    except SideFailed as error:
        return Draws(calls=0, note=f"a call from another seed failed: {error.failure.message}")
