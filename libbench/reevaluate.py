"""The records of saved sides, judged again without the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from libbench.checks import checks
from libbench.config import LazyConfig, digest, from_text, instantiate_parts
from libbench.config.freezing import Freezer
from libbench.errors import ConfigError, LibbenchError
from libbench.evaluation import allowed_by, evaluate
from libbench.interfaces import Evaluator
from libbench.job import PARTS, default_parts
from libbench.metrics import remarks
from libbench.recordfiles import load_records
from libbench.result import Comparison, Evaluation, Result
from libbench.saved import SavedSide
from libbench.settings import Tolerance

_JUDGES = ("evaluator", "tolerance")
"""The parts of a config that say how records are judged."""


def reevaluated(side: SavedSide, evaluator: Evaluator) -> Result:
    """Give a saved side's result with the metrics that an evaluator makes of its records.

    Raises:
        LibbenchError: the side was saved without records, or they are damaged.
    """
    records = load_records(side.outputs)
    known = side.result.evaluation or Evaluation(None, {})
    run = {index for each in side.batches for index in each.output.indices}
    evaluation = replace(
        known,
        metrics=evaluate(evaluator, records),
        missing=len(run - records.keys()),
        allowed=allowed_by(evaluator),
    )
    return replace(side.result, evaluation=evaluation)


def recompared(reference: SavedSide, target: SavedSide, evaluator: Evaluator, tolerance: Tolerance) -> Comparison:
    """Give what an evaluator says of the records of two saved sides: metrics and remarks, and nothing else."""
    ours, theirs = reevaluated(reference, evaluator), reevaluated(target, evaluator)
    reports = evaluator.compare(ours.metrics or {}, theirs.metrics or {}, tolerance)
    said = remarks(evaluator, reference.outputs, target.outputs)
    found = Comparison(ours, theirs, metrics=tuple(reports), tolerance=tolerance, notes=said, complete=True)
    return replace(found, checks=checks(found))


def evaluator_of(
    side: SavedSide, file: str | Path | None, overrides: Sequence[str]
) -> tuple[Evaluator, Tolerance | None]:
    """Build the evaluator of a config file, or the one that a side was saved with; give the config's tolerance, too.

    Nothing else of the config is built, and the file need assign nothing else.

    Args:
        overrides: of the config, `evaluator.topk=[1,5]`.

    Raises:
        ConfigError: the config is wrong, or has no evaluator.
    """
    saved = f"the config saved in {side.folder}"
    config: Any = from_text(side.result.job.config, name=saved) if file is None else LazyConfig.load(file, values=PARTS)
    config = _overridden(config, overrides)
    if config.get("evaluator") is None:
        raise ConfigError(f"{file or saved} assigns no 'evaluator'; name a config that does with --evaluator")
    parts = [part for part in _JUDGES if part in config]
    built = dict(instantiate_parts(config, parts))
    evaluator, tolerance = built["evaluator"], built.get("tolerance")
    if not isinstance(evaluator, Evaluator):
        raise LibbenchError(f"evaluator of {file or saved} must be an Evaluator, got {evaluator!r}")
    if not isinstance(tolerance, Tolerance | None):
        raise ConfigError(f"tolerance of {file or saved} must be a Tolerance, got {tolerance!r}")
    return evaluator, tolerance


def _overridden(config: Any, overrides: Sequence[str]) -> Any:
    """Apply overrides one by one; one that leaves what judges as it was asks for what cannot be had."""
    for line in overrides:
        before = _judging(config)
        config = LazyConfig.apply_overrides(config, [line], defaults=default_parts())
        part = line.lstrip("+~").partition("=")[0].partition(".")[0]
        if part not in _JUDGES and before is not None and _judging(config) == before:
            raise ConfigError(f"{line!r} changes nothing: only {' and '.join(_JUDGES)} are built, the side is not run")
    return config


def _judging(config: Any) -> str | None:
    """Give a hash of what judges; None where a value in it stands for another one, which may be anywhere."""
    freezer = Freezer()
    tree = freezer.tree({part: config[part] for part in _JUDGES if part in config})
    return None if freezer.refers else digest(tree)
