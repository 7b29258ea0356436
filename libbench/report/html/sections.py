"""The parts of a report on one comparison, in their order, each with its texts, tables and charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from libbench.config import Change
from libbench.report import background, changes, compared, costs, generated, judged, trained
from libbench.report.charts.chart import Chart
from libbench.report.charts.costs import cost_charts
from libbench.report.charts.errors import error_charts
from libbench.report.charts.located import located_charts
from libbench.report.charts.speed import speed_charts
from libbench.report.charts.training import training_charts
from libbench.report.decisive import write_decisive
from libbench.report.headline import worst_first
from libbench.report.html.blocks import Blocks, Table, Text
from libbench.report.located import write_located
from libbench.report.page import Page
from libbench.report.text import write_failures, write_notes
from libbench.result import Comparison


@dataclass(frozen=True)
class Changed:
    """A line of the config difference: what, its two values, and where each was written."""

    head: str
    values: tuple[str, str]
    places: tuple[str, str]

    @classmethod
    def of(cls, change: Change, comparison: Comparison) -> Changed:
        """Take it from a change."""
        files = comparison.reference.job.file, comparison.target.job.file
        return cls(changes.change_head(change), changes.change_values(change), changes.places(change, files))


@dataclass(frozen=True)
class Section:
    """One part.

    Attributes:
        name: its heading; an entry of its blocks with this label goes without it.
        blocks: what is always shown.
        charts: what is drawn.
        folded: what is shown when it is asked for, each with its heading.
        changes: the lines of the config difference.
    """

    name: str
    blocks: tuple[Text | Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    folded: tuple[tuple[str, tuple[Text | Table, ...]], ...] = ()
    changes: tuple[Changed, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.blocks or self.charts or self.changes or any(blocks for _, blocks in self.folded))


def sections_of(comparison: Comparison) -> list[Section]:
    """Give all parts of the page of one comparison; what was not reached is left out."""
    # As in the report for a terminal: what was found is that of the worst seed, what it costs that of the first.
    worst = worst_first(comparison)[0] if comparison.complete else comparison
    parts = [*_found(comparison, worst), *_costs(comparison), *_behind(comparison, worst)]
    return [part for part in parts if not part.empty]


def short_sections_of(comparison: Comparison) -> list[Section]:
    """Give the parts of one row of a list: the same, but for charts and what stands behind the figures."""
    worst = worst_first(comparison)[0] if comparison.complete else comparison
    found = [*_found(comparison, worst, full=False), *_costs(comparison, full=False), _notes(comparison)]
    return [part for part in found if not part.empty]


def _found(comparison: Comparison, worst: Comparison, *, full: bool = True) -> Iterator[Section]:
    yield Section("failure", _written(lambda page: write_failures(page, worst, True)))
    yield _config(comparison)
    yield Section("not alike", _written(lambda page: background.write_comparability(page, worst)))
    yield Section(
        "loss",
        _written(lambda page: trained.write_curve(page, worst, False)),
        tuple(training_charts(worst)) if full else (),
    )
    yield Section("seeds", _written(lambda page: judged.write_seeds(page, comparison)))
    yield _outputs(worst, full)
    yield _located(worst, full)
    yield _decisive(worst, full)
    yield Section("truth", _written(lambda page: judged.write_truth(page, worst, full)))
    yield Section("metrics", _written(lambda page: compared.write_metrics(page, worst, full)))


def _config(comparison: Comparison) -> Section:
    counted = changes.counted_changes(comparison.changes)
    said = _written(lambda page: page.entry("config", changes.parts_text(counted)))
    return Section("config", said, changes=tuple(Changed.of(change, comparison) for change in counted))


def _outputs(worst: Comparison, full: bool) -> Section:
    def write(page: Page) -> None:
        compared.write_outputs(page, worst, False)
        judged.write_noise(page, worst)

    def write_all(page: Page) -> None:
        if worst.outputs is not None:
            if len(worst.outputs.leaves) > compared.MOST_LEAVES:
                compared.write_leaves(page, worst.outputs, True)
            background.write_leaf_details(page, worst.outputs)

    if not full:
        return Section("outputs", _written(write))
    return Section(
        "outputs", _written(write), tuple(error_charts(worst)), (("Every leaf, every statistic", _written(write_all)),)
    )


def _decisive(worst: Comparison, full: bool) -> Section:
    def write(page: Page) -> None:
        if worst.decisive is not None:
            write_decisive(page, worst.decisive, full)

    return Section("decisive", _written(write))


def _located(worst: Comparison, full: bool) -> Section:
    def write(page: Page) -> None:
        if worst.located is not None:
            write_located(page, worst.located, full)

    return Section("located", _written(write), tuple(located_charts(worst.located)) if full else ())


def _costs(comparison: Comparison, *, full: bool = True) -> Iterator[Section]:
    def write_speed(page: Page) -> None:
        costs.write_speed(page, comparison)
        costs.write_compiled(page, comparison)
        costs.write_kernels(page, comparison)

    details = _written(lambda page: background.write_timing_details(page, comparison)) if full else ()
    yield Section(
        "speed", _written(write_speed), tuple(speed_charts(comparison)) if full else (), (("Each process", details),)
    )
    yield Section("tokens", _written(lambda page: generated.write_tokens(page, comparison)))
    yield Section(
        "memory",
        _written(lambda page: costs.write_memory(page, comparison)),
        tuple(cost_charts(comparison)) if full else (),
    )


def _behind(comparison: Comparison, worst: Comparison) -> Iterator[Section]:
    yield _notes(comparison)
    yield Section(
        "environment",
        _written(lambda page: background.write_environment(page, comparison, False)),
        folded=(("All of it", _written(lambda page: background.write_environment(page, comparison, True))),),
    )
    sides = comparison.reference, comparison.target
    yield Section("settings", folded=(
        ("Seeds, stages, tolerance, timer", _written(lambda page: background.write_settings(page, sides, comparison))),
        ("Every check", _written(lambda page: background.write_checks(page, comparison))),
        ("The reference's config, after overrides", _written(lambda page: page.verbatim(sides[0].job.config))),
        ("The target's config, after overrides", _written(lambda page: page.verbatim(sides[1].job.config))),
    ))  # fmt: skip


def _notes(comparison: Comparison) -> Section:
    return Section("notes", _written(lambda page: write_notes(page, comparison)))


def _written(write: Callable[[Page], None]) -> tuple[Text | Table, ...]:
    blocks = Blocks()
    write(blocks)
    return tuple(blocks.all)
