"""From flags to a plan, to overrides and to the looks of a report."""

from __future__ import annotations

import argparse
import sys

from libbench.diff import Plan
from libbench.settings import Timer

QUICK = Timer(budget=6.0)


def plan_of(arguments: argparse.Namespace) -> Plan:
    """Give what the flags ask for."""
    return Plan(
        rtol=getattr(arguments, "rtol", None),
        atol=getattr(arguments, "atol", None),
        timer=QUICK if arguments.quick else None,
        speed=not arguments.no_speed,
        min_speedup=getattr(arguments, "min_speedup", None),
        spill=getattr(arguments, "spill", Plan.spill),
        save=arguments.save,
    )


def jobs_flags(arguments: argparse.Namespace) -> list[str]:
    """Give the flags that are overrides of every side by another name."""
    return [] if arguments.timeout is None else [f"runner.timeout={arguments.timeout:g}"]


def style_of(arguments: argparse.Namespace) -> dict[str, bool]:
    """Give how a report is rendered."""
    return {"verbose": arguments.verbose, "traceback": arguments.traceback, "colour": sys.stdout.isatty()}
