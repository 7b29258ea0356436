"""The kept form of one tensor: plain, detached, on the CPU; and its bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

SPARSE_COMPRESSED = {
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_bsr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
    torch.sparse_bsc: ("ccol_indices", "row_indices"),
}


class LeafError(Exception):
    """A tensor or an array holds something that cannot be kept as a plain tensor."""


def kept(tensor: torch.Tensor, *, copy: bool) -> torch.Tensor:
    """Give a tensor's values as a detached CPU tensor of the base class.

    Args:
        tensor: any tensor; a meta tensor is given back without values.
        copy: True takes memory of its own, contiguous; False shares the tensor's memory where that is possible.

    Raises:
        LeafError: a subclass that keeps its values in a way of its own.
    """
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        if not hasattr(tensor, "to_local"):
            raise LeafError(f"{type(tensor).__name__} keeps its values in a way of its own")
        tensor = tensor.to_local()  # the part of a distributed tensor that this process holds
    plain = tensor.detach()
    if type(plain) is not torch.Tensor and plain.layout is torch.strided:
        plain = plain.as_subclass(torch.Tensor)
    if plain.is_meta:
        return plain
    if str(plain.layout) == "torch._mkldnn":
        return plain.to_dense()
    here = plain.cpu()
    if here.layout is torch.sparse_coo:
        return here.coalesce().clone() if copy else here.coalesce()
    if here.layout is not torch.strided:
        return here.clone() if copy else here
    here = here.resolve_conj().resolve_neg()
    if here._is_zerotensor():  # it has no memory, only the promise of zeros
        return torch.zeros_like(here)
    return _clone(here) if copy and here.data_ptr() == tensor.data_ptr() else here


def _clone(tensor: torch.Tensor) -> torch.Tensor:
    try:
        return tensor.clone(memory_format=torch.contiguous_format)
    except NotImplementedError:  # dtypes below a byte can be held but not copied, except as bytes
        return tensor.view(torch.uint8).clone().view(tensor.dtype)


def from_array(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Give a tensor over an array's memory, or over a copy where torch cannot use that memory.

    Raises:
        LeafError: the array's dtype has no counterpart, as long doubles.
    """
    if array.dtype.kind in "mM":
        array = array.view(np.int64) if array.ndim else array.reshape(1).view(np.int64).reshape(())
    usable = array.dtype.isnative and array.flags.writeable and array.flags.aligned
    if not usable or any(stride < 0 or stride % array.itemsize for stride in array.strides):
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
    try:
        return torch.from_numpy(array)
    except TypeError as error:
        raise LeafError(f"no tensor can hold the dtype {array.dtype}") from error


def parts(leaf: torch.Tensor) -> dict[str, torch.Tensor]:
    """Give the strided tensors that hold a leaf's values: itself, or the pieces of a sparse or quantised one."""
    if leaf.is_meta:
        return {}
    if leaf.is_quantized:
        pieces = {"values": leaf.int_repr()}
        if "channel" in str(leaf.qscheme()):
            pieces |= {"scales": leaf.q_per_channel_scales(), "zero_points": leaf.q_per_channel_zero_points()}
        return pieces
    if leaf.layout is torch.sparse_coo:
        return {"values": leaf.values(), "indices": leaf.indices()}
    if leaf.layout in SPARSE_COMPRESSED:
        names = SPARSE_COMPRESSED[leaf.layout]
        # Detached, because a view of complex values would ask the sparse tensor for strides.
        return {"values": leaf.values().detach(), **{name: getattr(leaf, name)() for name in names}}
    return {"values": leaf}


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Give the bytes of a strided tensor as a flat uint8 tensor, over the same memory where it is contiguous."""
    return tensor.contiguous().reshape(-1).view(torch.uint8)
