"""`python -m libbench.graphnet.eval_backend_perf`: one backend on graph samples, from GraphNet's JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from libbench.cli.main import guarded
from libbench.graphnet.arguments import perf_arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and give 0, or 2 where a sample failed."""
    arguments = perf_arguments(argv)
    return guarded(lambda: _run(arguments), traceback_wanted=arguments.traceback)


def _run(arguments: argparse.Namespace) -> int:
    from libbench.child import warm_up

    # The fork server imports torch on another core while this process does.
    warm_up()
    from libbench.graphnet.running import run_all

    return run_all(arguments)


if __name__ == "__main__":
    sys.exit(main())
