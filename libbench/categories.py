"""The groups in which samples are counted, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Literal

from libbench.scores import Sample

Trait = Literal["source", "tag", "folder"]
OTHER = "other"


@dataclass(frozen=True)
class Rule:
    """Samples whose name fits a pattern are of a category.

    Attributes:
        category: its name.
        pattern: a glob in which `*` goes across folders.
    """

    category: str
    pattern: str


@dataclass(frozen=True, kw_only=True)
class Known:
    """A sample, and what is known of its model.

    Attributes:
        source, tag: as in `GraphSampleRecord`.
    """

    sample: Sample
    source: str | None = None
    tag: str | None = None


def categorised(known: Sequence[Known], by: Trait | Sequence[Rule] | None = None) -> list[Sample]:
    """Give the samples of a run with their categories; "other" is that of samples which have none of their own.

    Args:
        known: of one run.
        by: what makes the category: "source" or "tag" of the model, "folder" for the first one below the folder that
            all samples share, or rules, of which the first that fits counts; None for the source where any sample has
            one, and else for the folder.
    """
    if by is None:
        by = "source" if any(each.source for each in known) else "folder"
    if by == "folder":
        names = _folders([each.sample.name for each in known])
    elif by == "source" or by == "tag":
        names = [getattr(each, by) or "" for each in known]
    else:
        names = [_ruled(each.sample.name, by) for each in known]
    some = any(names)
    return [
        replace(each.sample, category=name or (OTHER if some else "")) for each, name in zip(known, names, strict=True)
    ]


def _folders(names: Sequence[str]) -> list[str]:
    """Give the first folder of each name below the folders that all of them share; empty where there is none."""
    folders = [PurePosixPath(name).parts[:-1] for name in names]
    apart = (i for i, level in enumerate(zip(*folders, strict=False)) if len(set(level)) > 1)
    shared = next(apart, min(map(len, folders), default=0))
    return [each[shared] if len(each) > shared else "" for each in folders]


def _ruled(name: str, rules: Sequence[Rule]) -> str:
    return next((rule.category for rule in rules if fnmatchcase(name, rule.pattern)), "")
