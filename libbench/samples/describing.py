"""What a graph sample keeps of a tensor, as text."""

from __future__ import annotations

import math
from typing import Any

import torch

from libbench.errors import LibbenchError

KEPT = 64
"""A tensor of fewer values is kept whole."""


def described(name: str, value: Any) -> str:
    """Give the class that describes an argument: a tensor or a whole number.

    Raises:
        LibbenchError: it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, torch.Tensor | int):
        raise LibbenchError(f"the graph takes {name} = {value!r}, and a sample describes only tensors and sizes")
    tensor = value.cpu() if isinstance(value, torch.Tensor) else torch.tensor(value)
    facts: dict[str, str] = {
        "name": repr(name).replace("'", '"'),
        "shape": repr(list(tensor.shape)),
        "dtype": f'"{tensor.dtype}"',
        "device": f'"{value.device}"' if isinstance(value, torch.Tensor) else '"cpu"',
        **_values(tensor),
    }
    if "running_var" in name:
        facts["min_val"] = "0"
    return f"class Program_weight_tensor_meta_{name}:\n" + "".join(f"    {k} = {v}\n" for k, v in facts.items())


def _values(tensor: torch.Tensor) -> dict[str, str]:
    facts = {"mean": "None", "std": "None"}
    real = tensor.is_floating_point()
    if (real or tensor.is_complex()) and tensor.numel():
        wide = tensor.double() if real else torch.view_as_real(tensor.to(torch.complex128))
        # That of a complex tensor is of both parts together, as torch draws it.
        std = (wide.std() if real else wide.std() * math.sqrt(2)).item() if tensor.numel() > 1 else 0.0
        facts = {"mean": _number(wide.mean().item(), 3), "std": _number(std, 3)}
    if tensor.numel() < KEPT:
        facts["data"] = "[" + ", ".join(_number(each, 6) for each in tensor.flatten().tolist()) + "]"
    elif not real and not tensor.is_complex() and tensor.dtype is not torch.bool:
        facts |= {"min_val": str(int(tensor.min())), "max_val": str(int(tensor.max()))}
    return facts


def _number(value: Any, places: int) -> str:
    if isinstance(value, complex):
        return f"complex({_number(value.real, places)}, {_number(value.imag, places)})"
    if isinstance(value, float):
        # A value that so few places would make 0, such as an epsilon, is written as it is.
        short = f"{value:.{places}f}"
        return (short if float(short) or not value else repr(value)) if math.isfinite(value) else f'float("{value}")'
    return repr(value)
