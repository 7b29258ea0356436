"""From flags to a plan, to overrides and to the looks of a report."""

from __future__ import annotations

import argparse

from libbench.diff import Plan
from libbench.report.words import printable
from libbench.result import Result

QUICK = 6.0
"""Seconds of timing under --quick."""
QUICK_PROCESSES = 3
"""Fresh processes for it."""


def plan_of(arguments: argparse.Namespace) -> Plan:
    """Give what the flags ask for."""
    return Plan(
        rtol=getattr(arguments, "rtol", None),
        atol=getattr(arguments, "atol", None),
        budget=arguments.budget or (QUICK if arguments.quick else None),
        processes=QUICK_PROCESSES if arguments.quick else None,
        speed=not arguments.no_speed,
        min_speedup=getattr(arguments, "min_speedup", None),
        spill=getattr(arguments, "spill", Plan.spill),
        save=getattr(arguments, "save", None),
        truth=getattr(arguments, "truth", None),
        seeds=getattr(arguments, "seeds", Plan.seeds),
    )


def jobs_flags(arguments: argparse.Namespace) -> list[str]:
    """Give the flags that are overrides of every side by another name."""
    timeout = [] if arguments.timeout is None else [f"runner.timeout={arguments.timeout:g}"]
    return timeout if arguments.memory is None else [*timeout, f"runner.memory={arguments.memory}"]


def with_traceback(text: str, arguments: argparse.Namespace, *results: Result) -> str:
    """Add to a report the tracebacks of failed sides, where they are asked for and the report has none."""
    if not arguments.traceback or getattr(arguments, "verbose", False):
        return text
    traces = [printable(result.failure.traceback).rstrip() for result in results if result.failure]
    return "\n\n".join([text, *(trace for trace in traces if trace)])
