"""NaNs and infinities of one leaf: how many, and where both sides disagree about them."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Odd:
    """Counts elements that are NaN or infinite.

    Args:
        parts: 2 when real and imaginary parts alternate, else 1.
        nan_agrees: whether NaN agrees with NaN at the same place.

    Attributes:
        nans: how many NaNs in the reference and in the target.
        infs: how many infinities, likewise.
        disagreeing: elements that are NaN or infinite on one side only, or infinite with another sign.
    """

    def __init__(self, parts: int, nan_agrees: bool) -> None:
        self.nans = [0, 0]
        self.infs = [0, 0]
        self.disagreeing = 0
        self._parts = parts
        self._nan_agrees = nan_agrees

    def take(self, reference: Array, target: Array, finite: Array) -> Array:
        """Count what one piece holds.

        Args:
            reference: values of any floating dtype.
            target: likewise.
            finite: where both are finite.

        Returns:
            A mask of the values that are not finite and disagree.
        """
        nan = np.isnan(reference), np.isnan(target)
        agree = reference == target
        if self._nan_agrees:
            agree |= nan[0] & nan[1]
        alone: Array = ~(finite | agree)
        for side, values in enumerate((reference, target)):
            self.nans[side] += self._places(nan[side])
            self.infs[side] += self._places(np.isinf(values))
        self.disagreeing += self._places(alone)
        return alone

    def _places(self, mask: Array) -> int:
        return int(np.count_nonzero(mask[::2] | mask[1::2] if self._parts == 2 else mask))
