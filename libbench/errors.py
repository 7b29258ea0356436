"""What libbench raises, and the hint that goes with a wrong name.

A side that fails is not an error: it is recorded as a `Failure` in the result. An error means that the question
itself could not be asked: a config, a file or a flag is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable

from libbench.faults import Fault


class LibbenchError(Exception):
    """The base of everything that libbench raises for a caller's mistake; its text fits one line."""


class ConfigError(LibbenchError):
    """A config file, a node in it or an override is wrong."""


class MissingPackageError(LibbenchError):
    """An optional package that a config names is not installed."""


def did_you_mean(wrong: str, right: Iterable[str], cutoff: float = 0.6) -> str:
    """Give `"; did you mean 'x'?"` for the nearest right name, or an empty string when none is near.

    Args:
        cutoff: how near, from 0 to 1, as `difflib.get_close_matches` has it.
    """
    # A command that meets no mistake starts without it.
    from difflib import get_close_matches

    near = get_close_matches(wrong, sorted(set(right)), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""


def in_one_line(error: BaseException) -> str:
    """Give an error's class and what it says, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


class UnavailableError(LibbenchError):
    """A device, a compiler or a tool that a config names cannot be used on this machine."""


class UnsupportedError(LibbenchError):
    """A compiler cannot express what a model does, takes or gives.

    Attributes:
        by: the compiler's name; empty where it is not the compiler that refuses.
        faults: what of the model it is, as far as that is known.
    """

    def __init__(self, message: str, by: str = "", faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(message)
        self.by = by
        self.faults = faults


class ClockError(LibbenchError):
    """A clock of a device shows what cannot be a time; the side that was timed is not to blame."""
