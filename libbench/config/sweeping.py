"""Sweeps: overrides with several values, in Hydra's grammar, spelled out as one override list per combination."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from libbench.config.grammar import parsed_override
from libbench.errors import ConfigError, did_you_mean

MOST = 10_000
"""More combinations than this are taken for a mistake."""

Line = tuple[str, ...]


def expand(
    overrides: Sequence[str], zip: bool = False, exclude: Sequence[str] = (), sides: Sequence[str] = ()
) -> tuple[Line, ...]:
    """Give the override lists that a sweep stands for, the last swept override changing fastest.

    Args:
        overrides: override lines; one that is swept has several values: `a=1,2`, `a=choice(1,2)`, `a=range(1,4)`.
        zip: take the first value of every swept override, then the second of every one, instead of all combinations.
        exclude: `key=value` or `key=value,key=value` each: a combination that has all of them is left out.
        sides: for every override, whose it is, as `ref`: what `ref.key=value` excludes. Without one it is both sides'.

    Returns:
        Lists as long as `overrides` and in its order, with one value in each line; what is not swept stays as it is
        written. Without a sweep it is one list.

    Raises:
        ConfigError: an override or an exclusion cannot be read, a sweep does not list its values or has none or too
            many, `zip` or `exclude` is given without a sweep, `zip` meets sweeps of different lengths, an exclusion
            names what is not swept or a value that no combination has, or nothing is left.
    """
    lines = [_values(text) for text in overrides]
    swept = {number: text for number, text in enumerate(overrides) if is_swept(text)}
    if (zip or exclude) and not swept:
        raise ConfigError("nothing is swept: --zip and --exclude go with an override that has several values, a=1,2")
    found = _in_step(lines, swept) if zip else _product(lines)
    left = _without(found, exclude, swept, sides or [""] * len(overrides))
    if not left:
        raise ConfigError(f"--exclude leaves none of the {len(found):,} combinations")
    return tuple(left)


def is_swept(override: str) -> bool:
    """Tell whether an override has several values."""
    return bool(parsed_override(override).is_sweep_override())


def _values(text: str) -> Line:
    """Give an override once for each of its values."""
    from hydra.errors import HydraException

    parsed = parsed_override(text)
    if not parsed.is_sweep_override():
        return (text,)
    try:
        values = list(itertools.islice(parsed.sweep_string_iterator(), MOST + 1))
    except HydraException as error:
        raise ConfigError(
            f"override {text!r} does not list its values; write a=1,2 or a=choice(1,2) or a=range(1,4)"
        ) from error
    if not 0 < len(values) <= MOST:
        raise ConfigError(f"override {text!r} has {f'more than {MOST:,} values' if values else 'no value'}")
    key, _, written = text.partition("=")
    pieces = list(split(written))
    if getattr(parsed.value(), "simple_form", False) and len(pieces) == len(values):
        # Hydra's own text for 1e-3 is 0.001, and for 1.10 it is 1.1: another value where text is wanted.
        values = pieces
    return tuple(f"{key}={value}" for value in values)


def split(text: str) -> Iterator[str]:
    """Give the pieces between the commas that stand in no brackets and no quotes, without the spaces around them."""
    depth, quote, start, skip = 0, "", 0, False
    for place, letter in enumerate(text):
        if skip:
            skip = False
        elif letter == "\\":
            skip = True
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and not depth:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _product(lines: Sequence[Line]) -> list[Line]:
    count = math.prod(map(len, lines))
    if count > MOST:
        raise ConfigError(f"the sweep has {count:,} combinations, more than {MOST:,}")
    return list(itertools.product(*lines))


def _in_step(lines: Sequence[Line], swept: Mapping[int, str]) -> list[Line]:
    """Give the first value of every swept override, then the second of every one."""
    lengths = {text: len(lines[number]) for number, text in swept.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{text!r} has {count}" for text, count in lengths.items())
        raise ConfigError(f"--zip needs as many values in every swept override: {told}")
    count = next(iter(lengths.values()))
    return list(zip(*(each if number in swept else each * count for number, each in enumerate(lines)), strict=True))


def _without(found: list[Line], exclude: Sequence[str], swept: Mapping[int, str], sides: Sequence[str]) -> list[Line]:
    names = {number: _names(_key(text), sides[number]) for number, text in swept.items()}
    keys = list(dict.fromkeys(name for each in names.values() for name in each))
    read = {line: _value(line) for each in found for line in each} if exclude else {}
    left = found
    for text in exclude:
        wanted = [_pair(piece, text, keys) for piece in split(text)]
        out = {
            line
            for line in found
            if all(
                any(key in each and read[line[number]] == value for number, each in names.items())
                for key, value in wanted
            )
        }
        if not out:
            raise ConfigError(f"--exclude {text!r} leaves nothing out: no combination has it")
        left = [each for each in left if each not in out]
    return left


def _names(key: str, side: str) -> tuple[str, ...]:
    """Give what an exclusion may call a swept key."""
    return (key, f"{side}.{key}") if side else (key,)


def _pair(piece: str, text: str, keys: Sequence[str]) -> tuple[str, Any]:
    if "=" not in piece or is_swept(piece):
        raise ConfigError(f"--exclude takes KEY=VALUE[,KEY=VALUE...], got {text!r}")
    key = _key(piece)
    if key not in keys:
        raise ConfigError(f"--exclude {text!r} names {key!r}, which is not swept{did_you_mean(key, keys)}")
    return key, _value(piece)


def _key(line: str) -> str:
    return str(parsed_override(line).key_or_group)


def _value(line: str) -> Any:
    return parsed_override(line).value()
