"""Weights that the graph samples of one process share, so that two sides take the memory of one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any
from weakref import WeakValueDictionary

import torch

from libbench.aliases import version_of

Values = dict[str, torch.Tensor]


class Weights:
    """The weights of a graph sample as they were drawn.

    Attributes:
        values: by name. One that was written to since it was drawn is no longer anybody else's.
    """

    def __init__(self, values: Values) -> None:
        self.values = values
        self._versions = {name: version_of(value) for name, value in values.items()}

    def __deepcopy__(self, memo: Any) -> Weights:
        return Weights({})  # a copy's weights are its own, and are never lent

    def unwritten(self) -> Values:
        """Give those that nobody has written to."""
        return {name: each for name, each in self.values.items() if version_of(each) == self._versions[name] >= 0}

    def keep(self, used: Collection[int]) -> None:
        """Forget those whose memory is not used any more, since the module was moved or cast."""
        self.values = {name: value for name, value in self.values.items() if value.data_ptr() in used}


_drawn: WeakValueDictionary[Any, Weights] = WeakValueDictionary()


def weights(key: Any, names: Collection[str], draw: Callable[[Collection[str]], Values]) -> Weights:
    """Give weights: those that another sample of this process holds and that are as they were drawn, the others drawn.

    Args:
        key: tells weights that are drawn alike.
        names: of all of them.
        draw: gives those of some names.
    """
    held = _drawn.get(key)
    known = held.unwritten() if held is not None else {}
    values = {**known, **draw([name for name in names if name not in known])}
    found = _drawn[key] = Weights(values)
    return found
