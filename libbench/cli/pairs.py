"""From flags, or a list of them, to the pairs that are to be compared."""

from __future__ import annotations

import argparse
import functools
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from libbench.cli.plans import jobs_flags
from libbench.config import expand
from libbench.diff import load_side
from libbench.errors import LibbenchError, did_you_mean
from libbench.job import Job
from libbench.rows import Row
from libbench.saved import AnySide
from libbench.sweep import Group

_SIDES = ("ref", "tgt")


Load = Callable[[str, tuple[str, ...]], AnySide]


def groups_of(arguments: argparse.Namespace) -> list[Group]:
    """Load every reference of the sweep, or the one there is, with all of its targets."""
    return _groups(arguments, _loader(arguments))


def _loader(arguments: argparse.Namespace, sample: str | None = None) -> Load:
    """Give what loads a side, the same one only once."""
    limits = frozenset(jobs_flags(arguments))
    return functools.cache(functools.partial(_load, limits=limits, seed=arguments.seed, sample=sample))


def _groups(arguments: argparse.Namespace, load: Load) -> list[Group]:
    if arguments.tgt is None and Path(arguments.ref).is_dir():
        load(arguments.ref, ())  # which says so where it is no saved side at all
        raise LibbenchError(f"--tgt is needed: {arguments.ref} is a saved side, which no --tgt-set can change")
    both = [*arguments.set, *jobs_flags(arguments)]
    end = len(both) + len(arguments.ref_set)
    sides: dict[tuple[str, ...], list[tuple[str, tuple[str, ...]]]] = {}
    overrides = [*both, *arguments.ref_set, *arguments.tgt_set]
    whose = [""] * len(both) + ["ref"] * len(arguments.ref_set) + ["tgt"] * len(arguments.tgt_set)
    for line in expand(overrides, arguments.zip, arguments.exclude, whose):
        targets = sides.setdefault(line[:end], [])
        targets += [(file, line[: len(both)] + line[end:]) for file in arguments.tgt or [arguments.ref]]
    return [_told_apart(load(arguments.ref, line), [load(*each) for each in own]) for line, own in sides.items()]


def _load(path: str, line: tuple[str, ...], limits: frozenset[str], seed: int | None, sample: str | None) -> AnySide:
    """Load a side; limits are for those that run, and a side that was saved runs no more."""
    if Path(path).is_dir():
        line = tuple(each for each in line if each not in limits)
    return load_side(path, line, seed, sample)


def _told_apart(reference: AnySide, targets: Sequence[AnySide]) -> Group:
    """Give each target a name that no other side has, so that progress and report can be read."""
    taken, named = {reference.name}, []
    for number, target in enumerate(targets, start=1):
        suffix = f" (target{f' {number}' if number > 1 else ''})" if target.name in taken else ""
        named.append(replace(target, name=target.name + suffix))
        taken.add(target.name + suffix)
    return reference, named


def rows_of(arguments: argparse.Namespace) -> list[Row]:
    """Load the pairs of the flags, or of every line of the list that they name, and name each by what is its own."""
    if arguments.list is None:
        if arguments.ref is None:
            raise LibbenchError("nothing to compare: give --ref and --tgt, or a --list of pairs")
        groups = groups_of(arguments)
    else:
        if arguments.ref is not None or arguments.tgt is not None:
            raise LibbenchError("--list names the sides itself; leave --ref and --tgt out")
        groups = _listed(arguments)
    pairs = _pairs(groups)
    return [Row(*pair, name) for pair, name in zip(pairs, _names(pairs), strict=True)]


def places_of(rows: Sequence[Row], key: str) -> list[tuple[str, str]]:
    """Give the line and the column of each row in a table that has a column for each value of an overridden key.

    The line is called by what else tells the row from the others.

    Raises:
        LibbenchError: no row overrides the key.
    """
    pairs = [(row.reference, row.target) for row in rows]
    places, keys = [], []
    for row, (reference, target), words in zip(rows, pairs, _words(pairs), strict=True):
        sides = {"": _overrides(target), "ref.": _overrides(reference)}
        keys += [own for overrides in sides.values() for own in overrides]
        prefix = next((prefix for prefix, overrides in sides.items() if key in overrides), None)
        value = "-" if prefix is None else sides[prefix][key]
        left = [word for word in words if prefix is None or word != f"{prefix}{key}={value}"]
        sample = [] if row.sample is None else [row.sample.path]
        places.append((" ".join([*sample, *left]) or _made_of(target)[0], value))
    if key not in keys:
        hint = did_you_mean(key, keys)
        raise LibbenchError(f"--table wants a key that is overridden, as by --set, got {key!r}{hint}")
    return places


def pairs_on(arguments: argparse.Namespace, sample: Path) -> list[tuple[AnySide, AnySide, str]]:
    """Load the pairs of the flags with a graph sample as their model, each with a name where there are several."""
    pairs = _pairs(_groups(arguments, _loader(arguments, str(sample.resolve()))))
    names = _names(pairs) if len(pairs) > 1 else [""]
    return [(*pair, name) for pair, name in zip(pairs, names, strict=True)]


def _pairs(groups: Sequence[Group]) -> list[tuple[AnySide, AnySide]]:
    return [(reference, target) for reference, targets in groups for target in targets]


def _listed(arguments: argparse.Namespace) -> list[Group]:
    load, groups = _loader(arguments), []
    for where, line in _lines(arguments):
        try:
            groups += _groups(line, load)
        except (LibbenchError, OSError) as error:
            raise LibbenchError(f"{where}: {error}") from error
    if not groups:
        raise LibbenchError(f"{arguments.list} names no pair; wanted lines of REFERENCE TARGET [KEY=VALUE ...]")
    return groups


def _lines(arguments: argparse.Namespace) -> Iterator[tuple[str, argparse.Namespace]]:
    """Give the place of each line of a list and the flags that it stands for: two sides, and overrides of them."""
    file: Path = arguments.list
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        where = f"{file}:{number}"
        try:
            words = shlex.split(text, comments=True)
        except ValueError as error:
            raise LibbenchError(f"{where}: {error}: {text!r}") from None
        if not words:
            continue
        overrides = [word for word in words if "=" in word or word.startswith("~")]
        sides = [word for word in words if word not in overrides]
        if len(sides) != 2:
            raise LibbenchError(
                f"{where}: wanted REFERENCE TARGET [KEY=VALUE ...], got {len(sides)} paths in {text.strip()!r}"
            )
        line = argparse.Namespace(**vars(arguments))
        # A list is read where it lies, wherever it is asked for.
        line.ref, line.tgt = str(file.parent / sides[0]), [str(file.parent / sides[1])]
        line.set, line.ref_set, line.tgt_set = list(line.set), list(line.ref_set), list(line.tgt_set)
        lists = {"": line.set, "ref": line.ref_set, "tgt": line.tgt_set}
        for word in overrides:
            head, _, rest = word.partition(".")
            lists[head if head in _SIDES else ""].append(rest if head in _SIDES else word)
        yield where, line


def _names(pairs: Sequence[tuple[AnySide, AnySide]]) -> list[str]:
    return [" ".join(words) or target.name for words, (_, target) in zip(_words(pairs), pairs, strict=True)]


def _words(pairs: Sequence[tuple[AnySide, AnySide]]) -> list[list[str]]:
    """Give each pair the words that are not those of all: file names, and overrides as they are written."""
    made = [(_made_of(reference), _made_of(target)) for reference, target in pairs]
    ours, theirs = (set.intersection(*map(set, column)) if column else set() for column in zip(*made, strict=True))
    found = []
    for reference, target in made:
        own = [f"ref.{word}" for word in reference if word not in ours and word not in target]
        found.append([*own, *(word for word in target if word not in theirs)])
    return found


def _made_of(side: AnySide) -> list[str]:
    if not isinstance(side, Job) or side.file is None:
        return [side.name]
    return [Path(side.file).stem, *side.overrides]


def _overrides(side: AnySide) -> dict[str, str]:
    """Give what a side overrides, by key; the last word counts."""
    lines = side.overrides if isinstance(side, Job) else ()
    return {key: value for key, _, value in (line.partition("=") for line in lines)}
