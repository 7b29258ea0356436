"""Quantities on a command line: each reads a text, or raises what argparse tells the user."""

from __future__ import annotations

import argparse
import re

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def count(text: str) -> int:
    """Read a whole number of at least 1."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"wanted a whole number of at least 1, got {text!r}")


def natural(text: str) -> int:
    """Read a whole number of at least 0."""
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"wanted a whole number of at least 0, got {text!r}")


def penalty(text: str) -> float:
    """Read a number above 0 and at most 1."""
    value = positive(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"wanted a number above 0 and at most 1, got {text!r}")
    return value


def positive(text: str) -> float:
    """Read a number above 0."""
    return _number(text, above_zero=True)


def not_negative(text: str) -> float:
    """Read a number of at least 0."""
    return _number(text, above_zero=False)


def _number(text: str, *, above_zero: bool) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value > 0 or (value == 0 and not above_zero):
        return value
    wanted = "a number above 0" if above_zero else "a number of at least 0"
    raise argparse.ArgumentTypeError(f"wanted {wanted}, got {text!r}")


def share(text: str) -> float:
    """Read a share below 1, as 5% or 0.05."""
    value = not_negative(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if value < 1:
        return value
    raise argparse.ArgumentTypeError(f"wanted a share below 1 such as 5% or 0.05, got {text!r}")


def duration(text: str) -> float:
    """Read a time above 0, as 60s or 5m, in seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", text)
    if match is None or not float(match[1]) > 0:
        raise argparse.ArgumentTypeError(f"wanted a time above 0 such as 60s or 5m, got {text!r}")
    return float(match[1]) * {"m": 60, "min": 60, "h": 3600}.get(match[2], 1)


def size(text: str) -> int:
    """Read a size, as 500MB or 4GB, in bytes; K, M, G and T are powers of 1024."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text, re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(f"wanted a size such as 500MB or 4GB, got {text!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])
