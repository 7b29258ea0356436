"""`libbench`, and what the scripts in `tools/` call.

Nothing heavy is imported before the arguments are understood, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NoReturn

from libbench.cli.arguments import parsed
from libbench.cli.output import tell

EXIT_TROUBLE = 2
EXIT_INTERRUPTED = 130
_WITHOUT_CHILDREN = ("config", "compare", "evaluate", "score", "report", "history")
"""Commands that run no model."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; give its exit code: 0 same, 1 different, 2 could not be judged, 130 interrupted."""
    arguments = parsed(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _command(arguments), traceback_wanted=arguments.traceback)


def guarded(run: Callable[[], int], *, traceback_wanted: bool) -> int:
    """Run something and give its exit code; what it raises is told in a line and becomes 2, an interruption 130.

    Args:
        traceback_wanted: print the traceback of what it raises, too.
    """
    ends = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    # One that is ignored was asked to be, as by nohup.
    before = {n: signal.signal(n, _interrupt) for n in ends if signal.getsignal(n) != signal.SIG_IGN}
    try:
        return run()
    except KeyboardInterrupt:
        tell("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has gone; Python would complain once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_TROUBLE
    except BaseException as error:
        if traceback_wanted:
            traceback.print_exc()
        else:
            tell(f"libbench: {one_line(error)}")
        return EXIT_TROUBLE
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def one_line(error: BaseException) -> str:
    """Say what went wrong, and where, in a line."""
    from libbench.errors import LibbenchError

    text = " ".join(str(error).split())
    notes = " ".join(f"({' '.join(note.split())})" for note in getattr(error, "__notes__", ()))
    name = "" if isinstance(error, LibbenchError) and text else f"{type(error).__name__}: "
    return f"{name}{text} {notes}".strip()


def _command(arguments: argparse.Namespace) -> int:
    """Run a command, which has a module of its own by its name."""
    return run_module(
        f"libbench.cli.{arguments.command}", arguments, children=arguments.command not in _WITHOUT_CHILDREN
    )


def run_module(name: str, arguments: argparse.Namespace, *, children: bool = True) -> int:
    """Import a module and call its `main` with the arguments.

    Args:
        children: whether it runs models, which live in processes of their own.
    """
    if children:
        from libbench.child import warm_up

        # The fork server imports torch on another core while this process imports it for the configs.
        warm_up()
    code: int = importlib.import_module(name).main(arguments)
    return code


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
