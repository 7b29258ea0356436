"""`python -m libbench.graphnet.eval_backend_perf`: one backend on graph samples, from GraphNet's JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from libbench.cli.main import guarded, run_module
from libbench.graphnet.arguments import perf_arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and give 0, or 2 where a sample failed."""
    arguments = perf_arguments(argv)
    work = "libbench.graphnet.running"  # imported only when the arguments are understood
    return guarded(lambda: run_module(work, arguments), traceback_wanted=arguments.traceback)


if __name__ == "__main__":
    sys.exit(main())
