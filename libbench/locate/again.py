"""A folder that shows again which differences decide: a script, the reference, and the reference with these alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from libbench.config import to_text
from libbench.decisive import Asked, Decisive
from libbench.diff import Plan, diff
from libbench.errors import ConfigError, LibbenchError
from libbench.job import Job
from libbench.locate.deciding import has_not_flipped, said
from libbench.locate.flipping import flip_of
from libbench.locate.scripts import SCRIPT, NotWritten
from libbench.result import SIDES

_SCRIPT = '''"""{what}

Run it with a Python that has libbench. Exit code: 1 it still does, 0 it does not, 2 it cannot be told.
"""

import sys
from pathlib import Path

from libbench.locate.again import shown

if __name__ == "__main__":
    sys.exit(shown(Path(__file__).resolve().parent, {of!r}, {settings!r}))
'''


def write_again(folder: Path, found: Decisive, jobs: tuple[Job, Job], plan: Plan) -> str:
    """Write the folder; give the line that tells of it.

    Args:
        folder: exists not, or is empty.
        found: with a set.
        jobs: the reference and the target.
        plan: what was asked.

    Raises:
        NotWritten: a config holds what cannot be written.
    """
    sides = jobs[0], Job.between(*jobs, found.members)
    try:
        texts = [to_text(job.config) for job in sides]
    except ConfigError as error:
        raise NotWritten(f"the configs cannot be saved: {error}") from error
    settings = {"rtol": plan.rtol, "atol": plan.atol, "budget": plan.budget, "processes": plan.processes}
    paths = ", ".join(found.places[number] for number in found.members)
    script = _SCRIPT.format(
        what=f"Of {len(found.places):,} differences of two configs, these decide: {paths}.",
        of=found.of,
        settings={name: value for name, value in settings.items() if value is not None},
    )
    folder.mkdir(parents=True, exist_ok=True)
    for side, text in zip(SIDES, texts, strict=True):
        (folder / f"{side}.yaml").write_text(text, encoding="utf-8")
    (folder / SCRIPT).write_text(script, encoding="utf-8")
    return f"it can be seen again: python {folder / SCRIPT}"


def shown(folder: Path, of: Asked, settings: Mapping[str, float]) -> int:
    """Compare the two configs of a folder and print what comes of it.

    Args:
        settings: of the plan, by name.

    Returns:
        1 where the target does what it was found to do, 0 where it does not, 2 where that cannot be told.
    """
    plan = Plan(speed=of == "speed", **settings)  # type: ignore[arg-type]
    try:
        comparison = diff(folder / f"{SIDES[0]}.yaml", folder / f"{SIDES[1]}.yaml", plan)
    except LibbenchError as error:
        sys.stdout.write(f"CANNOT BE JUDGED: {error}\n")
        return 2
    flip = flip_of(comparison, of)
    sys.stdout.write(f"{said(comparison, of)}\n")
    if flip is not None and flip.of == of:
        return 1
    return 0 if has_not_flipped(comparison, of) else 2
