"""`python -m libbench.graphnet.eval_backend_diff`: two backends on graph samples, from GraphNet's JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from libbench.cli.main import guarded, run_module
from libbench.graphnet.arguments import diff_arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, and give the exit code of `libbench diff`: the largest of all samples."""
    arguments = diff_arguments(argv)
    work = "libbench.graphnet.comparing"  # imported only when the arguments are understood
    return guarded(lambda: run_module(work, arguments), traceback_wanted=arguments.traceback)


if __name__ == "__main__":
    sys.exit(main())
