"""An evaluator made of others, each with a name of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from libbench.evaluation import evaluate, give_folder
from libbench.findings import MetricReport
from libbench.interfaces import Evaluator
from libbench.settings import Tolerance


class Composed(Evaluator):
    """Several evaluators by name; a metric is called `name.metric`, and each has a folder of its own.

    Args:
        evaluators: at least one.

    Raises:
        ValueError, TypeError: there is none, or something else is among them.
    """

    def __init__(self, evaluators: Mapping[str, Evaluator]) -> None:
        kind = type(self).__qualname__
        if not evaluators:
            raise ValueError(f"{kind} must have an evaluator, as {kind}(accuracy=Accuracy(labels))")
        for name, evaluator in evaluators.items():
            if not isinstance(evaluator, Evaluator):
                raise TypeError(f"{name} of {kind} must be an evaluator, got {evaluator!r}")
        self.evaluators = dict(evaluators)
        self._folder: Path | None = None

    @property
    def tolerances(self) -> Mapping[str, float]:  # type: ignore[override]
        """Those of all, by the full names."""
        return {
            f"{name}.{glob}": allowed
            for name, evaluator in self.evaluators.items()
            for glob, allowed in evaluator.tolerances.items()
        }

    @property
    def folder(self) -> Path | None:
        """Where its evaluators' folders lie."""
        return self._folder

    @folder.setter
    def folder(self, folder: Path | None) -> None:
        self._folder = folder
        for name, evaluator in self.evaluators.items():
            if folder is not None:
                give_folder(evaluator, folder / name)

    @abstractmethod
    def records_of(self, name: str, records: Mapping[int, Any]) -> Mapping[int, Any]:
        """Give the records that an evaluator has made, as it made them."""

    def evaluate(self, records: Mapping[int, Any]) -> dict[str, float]:
        """Give the metrics of all."""
        return {
            f"{name}.{metric}": value
            for name, evaluator in self.evaluators.items()
            for metric, value in evaluate(evaluator, self.records_of(name, records), name).items()
        }

    def compare(
        self, reference: Mapping[str, float], target: Mapping[str, float], tolerance: Tolerance
    ) -> tuple[MetricReport, ...]:
        """Let each judge its own metrics; `tolerance.metrics` speaks of the full names."""
        reports: list[MetricReport] = []
        for name, evaluator in self.evaluators.items():
            ours, theirs = _own(name, reference), _own(name, target)
            found = evaluator.compare(ours, theirs, _named(tolerance, name, {**ours, **theirs}))
            reports += [replace(report, name=f"{name}.{report.name}") for report in found]
        return tuple(reports)

    def compare_records(self, reference: Mapping[int, Any], target: Mapping[int, Any]) -> Iterator[str]:
        """Give what each has to say, with its name."""
        for name, evaluator in self.evaluators.items():
            ours, theirs = self.records_of(name, reference), self.records_of(name, target)
            common = [index for index in ours if index in theirs]
            if common:
                said = evaluator.compare_records({i: ours[i] for i in common}, {i: theirs[i] for i in common})
                yield from (f"{name}: {text}" for text in said)


def _own(name: str, metrics: Mapping[str, float]) -> dict[str, float]:
    """Give the metrics of one evaluator by its own names."""
    return {key.removeprefix(f"{name}."): value for key, value in metrics.items() if key.startswith(f"{name}.")}


def _named(tolerance: Tolerance, name: str, metrics: Iterable[str]) -> Tolerance:
    """Give the tolerance with what it says of one evaluator's metrics, by its own names."""
    found: dict[str, float] = {}
    for metric in metrics:
        full = f"{name}.{metric}"
        matches = [allowed for glob, allowed in tolerance.metrics.items() if full == glob or fnmatchcase(full, glob)]
        found |= {metric: matches[0]} if matches else {}
    return replace(tolerance, metrics=found)
