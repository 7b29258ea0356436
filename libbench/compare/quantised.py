"""Quantised tensors, piece by piece as the values that they stand for."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from libbench.compare.chunks import pieces

_HELD = {torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32}


def by_channel(tensor: torch.Tensor) -> bool:
    """Tell whether every channel has a scale of its own; such a tensor cannot be cut."""
    return tensor.is_quantized and "per_tensor" not in str(tensor.qscheme())


def channel_pieces(reference: torch.Tensor, target: torch.Tensor) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """Give flat pieces of two tensors that are quantised by channel, as floats, and the index at which they begin.

    The memory is that of one piece, but that of the tensor for a dtype that puts several values into a byte.
    """
    sides = reference, target
    if not all(side.dtype in _HELD for side in sides):
        yield from pieces(reference.dequantize(), target.dequantize())
        return
    for start, r, t in pieces(_held(reference), _held(target)):
        axis = reference.q_per_channel_axis()
        places = torch.arange(start, start + len(r)).floor_divide_(math.prod(reference.shape[axis + 1 :]))
        channels = places.remainder_(reference.shape[axis])
        yield start, _values(reference, r, channels), _values(target, t, channels)


def _held(tensor: torch.Tensor) -> torch.Tensor:
    """Give the whole numbers that a tensor holds, in its own memory."""
    held = torch.empty(0, dtype=_HELD[tensor.dtype])
    return held.set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def _values(tensor: torch.Tensor, held: torch.Tensor, channels: torch.Tensor) -> torch.Tensor:
    """Give what some whole numbers of a tensor stand for, which are given with the channel of each."""
    # To torch every number is a channel of its own here, so that it is torch that says what it stands for.
    scales, zeros = tensor.q_per_channel_scales()[channels], tensor.q_per_channel_zero_points()[channels]
    return torch._make_per_channel_quantized_tensor(held.contiguous(), scales, zeros, 0).dequantize()
