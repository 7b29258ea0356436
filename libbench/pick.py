"""Taking one thing out of what a model returned, or out of a dataset's item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch

from libbench.errors import did_you_mean


def pick(value: Any, where: str | int) -> Any:
    """Give the part of `value` that has this key, this attribute or this position.

    Args:
        value: a mapping is asked for the key; anything else for the attribute when `where` is text, for the
            position when it is a number, counted from the end when it is below 0.

    Raises:
        LookupError: there is no such part; the message lists those there are.
    """
    try:
        return getattr(value, where) if isinstance(where, str) and not isinstance(value, Mapping) else value[where]
    except (AttributeError, LookupError, TypeError) as error:
        names = [str(name) for name in parts(value)]
        there = f"it has {', '.join(names)}" if names else "it has no parts"
        raise LookupError(
            f"{type(value).__name__} has no {where!r}; {there}{did_you_mean(str(where), names)}"
        ) from error


def parts(value: Any) -> dict[str | int, Any]:
    """Give what lies directly in a mapping, a named tuple, a dataclass or a sequence, by name or position.

    It is empty for everything else, text and tensors included.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "_fields"):
        return {name: getattr(value, name) for name in value._fields}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return dict(enumerate(value))
    return {}


def tensor_of(outputs: Any, where: str | int | None = None) -> torch.Tensor:
    """Give the tensor of the outputs that an evaluator is about.

    Args:
        outputs: what the model returned; numpy arrays count as tensors.
        where: key, attribute or position of the tensor. None takes the outputs themselves, or the only tensor in
            them, or the one named `logits`.

    Raises:
        LookupError: there is no such tensor, or `where` is None and it could be several.
    """
    if where is not None:
        found = pick(outputs, where)
    elif isinstance(outputs, torch.Tensor | np.ndarray):
        found = outputs
    else:
        tensors = {name: part for name, part in parts(outputs).items() if isinstance(part, torch.Tensor | np.ndarray)}
        if len(tensors) > 1 and "logits" not in tensors:
            raise LookupError(
                f"{type(outputs).__name__} has {len(tensors)} tensors ({', '.join(map(str, tensors))}) and none is "
                "named 'logits'; say which one with output=..."
            )
        found = tensors.get("logits", next(iter(tensors.values()), None))
    if not isinstance(found, torch.Tensor | np.ndarray):
        what = "no tensor in it" if where is None else f"a {type(found).__name__} at {where!r}, not a tensor"
        raise LookupError(f"{type(outputs).__name__} has {what}")
    return torch.as_tensor(found).detach()
