"""`python -m libbench.graphnet.eval_backend_diff`: two backends on graph samples, from GraphNet's JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from libbench.cli.main import guarded
from libbench.graphnet.arguments import diff_arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, and give the exit code of `libbench diff`: the largest of all samples."""
    arguments = diff_arguments(argv)
    return guarded(lambda: _run(arguments), traceback_wanted=arguments.traceback)


def _run(arguments: argparse.Namespace) -> int:
    from libbench.child import warm_up

    # The fork server imports torch on another core while this process does.
    warm_up()
    from libbench.graphnet.comparing import compare

    return compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
