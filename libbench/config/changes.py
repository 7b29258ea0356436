"""One difference of two configs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["changed", "type", "added", "removed", "moved", "target", "sharing", "default", "form"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One difference of two configs.

    Attributes:
        kind: "changed", "type" (equal but for the type, as `1` and `1.0`), "added", "removed", "moved", "target"
            (another class or function), "sharing" (one instance here, two there), "default" (a default that one
            side spells out), or "form" (one value, written there as an interpolation or derived, and here otherwise).
        path: the dotted path; `p.1 -> p.2` where an item of a list stands elsewhere in the target.
        part: the top-level name.
        reference: the reference's value as text, empty where it has none; one that stands for another in both forms.
        target: the target's.
        reference_origin: where the reference's value was written, as `file:line` or an override; None if not known.
        target_origin: the same for the target.
        counted: False for what makes no difference to what is built.
    """

    kind: Kind
    path: str
    part: str
    reference: str = ""
    target: str = ""
    reference_origin: str | None = None
    target_origin: str | None = None
    counted: bool = True
