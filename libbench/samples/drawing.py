"""The values of a graph sample's arguments, drawn from what is known of each."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import repeat

import numpy as np
import torch

from libbench.environment import usable_cores
from libbench.samples.reading import Argument, Sample, TensorMeta

SMALL_STD = 0.01
"""Where none is known that could be used. Values that are all the same, as of a weight just made, hide mistakes."""

HIDDEN_EPSILON = 1e-8

PIECE = 2**20
"""Floating values that one generator draws; those of a large tensor are drawn by several, each in a thread."""

_EPSILON = re.compile(r"(eps|epsilon)_?$")
_VARIANCE = "running_var"


def by_name(sample: Sample, seed: int, number: int = 0, only: Collection[str] | None = None) -> dict[str, torch.Tensor]:
    """Draw arguments of a sample, each by its name, so that no tensor depends on which others there are.

    Args:
        seed: at least 0.
        number: of the batch; what belongs to the model is the same in each.
        only: the names of those that are wanted; None for all.
    """
    wanted = _wanted(sample, only)

    def one(argument: Argument) -> torch.Tensor:
        return draw(sample.metas[argument.name], seed, number if argument.fed else 0)

    # Torch draws a tensor with one thread, and lets others draw theirs meanwhile.
    with ThreadPoolExecutor(usable_cores()) as threads:
        return dict(zip([each.name for each in wanted], threads.map(one, wanted), strict=True))


def draw(meta: TensorMeta, seed: int, number: int = 0) -> torch.Tensor:
    """Draw one tensor, on the CPU.

    Values that are kept are used as they are, but for an epsilon of 0, which is one that six decimals do not show and
    becomes 1e-8. Integers are drawn evenly from `min_val` to `max_val` (without them they are 0, the one index that is
    always right), bools by a fair coin. A row of bools, or of 0 and 1, begins with the one and ends with the other, so
    that no mask covers all. Floating values are from the normal distribution of mean and std, mirrored at `min_val` and
    clamped between it and `max_val`; variances, which are above 0, from the log-normal one. A std that is 0, None, NaN
    or infinite is replaced by 0.01, for one value alone by 0; a mean that is no finite number by 0.
    """
    if meta.data is not None:
        data = (HIDDEN_EPSILON,) if meta.data == (0.0,) and _EPSILON.search(meta.name) else meta.data
        return torch.tensor(data, dtype=meta.dtype).reshape(meta.shape)
    generator = _generator(seed, meta.name, number)
    if meta.dtype is torch.bool:
        return _mixed(torch.empty(meta.shape, dtype=meta.dtype).bernoulli_(0.5, generator=generator))
    if not meta.dtype.is_floating_point and not meta.dtype.is_complex:
        drawn = _integers(meta, generator)
        return _mixed(drawn) if (meta.min_val, meta.max_val) == (0, 1) else drawn
    # Dtypes of one byte have no normal distribution of their own.
    dtype = meta.dtype if meta.dtype.itemsize > 1 else torch.float32
    tensor = torch.empty(meta.shape, dtype=dtype)
    if dtype.is_complex:
        return tensor.normal_(_mean(meta), _std(meta), generator=generator)
    pieces = tensor.view(-1).chunk(math.ceil(tensor.numel() / PIECE) or 1)
    generators = [generator, *(_generator(seed, meta.name, number, place) for place in range(1, len(pieces)))]
    if len(pieces) == 1:
        _fill(tensor, generator, meta)
    else:
        with ThreadPoolExecutor(usable_cores()) as threads:
            deque(threads.map(_fill, pieces, generators, repeat(meta)), maxlen=0)
    return tensor.to(meta.dtype)


def _fill(tensor: torch.Tensor, generator: torch.Generator, meta: TensorMeta) -> None:
    if _VARIANCE in meta.name:
        _variances(tensor, meta, generator)
    else:
        tensor.normal_(_mean(meta), _std(meta), generator=generator)
        if meta.min_val is not None:
            # Mirrored rather than put on the limit, where many would be the same.
            tensor.sub_(meta.min_val).abs_().add_(meta.min_val)
    tensor.clamp_(*_limits(meta))


def _mixed(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() and tensor.shape[-1] > 1:
        tensor[..., 0], tensor[..., -1] = 1, 0
    return tensor


def _variances(tensor: torch.Tensor, meta: TensorMeta, generator: torch.Generator) -> None:
    # A channel of hardly any variance blows its values up, layer by layer up to infinity, and the normal distribution
    # has some at 0.
    mean = _mean(meta) if _mean(meta) > 0 else SMALL_STD
    std = meta.std if meta.std is not None and math.isfinite(meta.std) and meta.std > 0 else min(mean, SMALL_STD)
    spread = math.log1p((std / mean) ** 2)
    tensor.log_normal_(math.log(mean) - spread / 2, math.sqrt(spread), generator=generator)


def _integers(meta: TensorMeta, generator: torch.Generator) -> torch.Tensor:
    if meta.min_val is None and meta.max_val is None:
        return torch.zeros(meta.shape, dtype=meta.dtype)
    low = int(meta.min_val if meta.min_val is not None else 0)
    high = int(meta.max_val if meta.max_val is not None else low)
    return torch.empty(meta.shape, dtype=meta.dtype).random_(low, high + 1, generator=generator)


def _mean(meta: TensorMeta) -> float:
    return meta.mean if meta.mean is not None and math.isfinite(meta.mean) else 0.0


def _std(meta: TensorMeta) -> float:
    if meta.std is not None and math.isfinite(meta.std) and meta.std > 0:
        return meta.std
    return 0.0 if meta.size == 1 else SMALL_STD


def _limits(meta: TensorMeta) -> tuple[float, float]:
    widest = torch.finfo(meta.dtype)
    low = widest.min if meta.min_val is None else max(widest.min, meta.min_val)
    high = widest.max if meta.max_val is None else min(widest.max, meta.max_val)
    return low, high


def _generator(seed: int, name: str, *numbers: int) -> torch.Generator:
    digest = sha256(repr((seed, name, *numbers)).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7]))


def as_graphnet(
    sample: Sample, seed: int, number: int = 0, only: Collection[str] | None = None
) -> dict[str, torch.Tensor]:
    """Draw the arguments with the very numbers that GraphNet's bench draws for a seed, from NumPy's generator.

    One generator serves all tensors, in the order of the names of their classes: first the integers, then the rest.
    Floating values have a fifth of the recorded std and lie between -100 and 100. Only the first batch has its numbers.

    Args:
        seed: at least 0.
        number: of the batch; a later one has the inputs of a later seed.
        only: the names of those that are wanted; None for all. All are drawn, since each takes from the one generator.
    """
    wanted = _wanted(sample, only)
    drawn = {at: _graphnet(sample, seed + at) for at in {number if each.fed else 0 for each in wanted}}
    return {each.name: drawn[number if each.fed else 0][each.name] for each in wanted}


def _wanted(sample: Sample, only: Collection[str] | None) -> list[Argument]:
    names = None if only is None else set(only)
    return [each for each in sample.arguments if names is None or each.name in names]


def _graphnet(sample: Sample, seed: int) -> dict[str, torch.Tensor]:
    generator = np.random.RandomState(seed % 2**32)  # the one that numpy.random.seed sets
    spare = torch.Generator().manual_seed(seed)
    # Its classes are called after the tensors, so that the names are in the same order.
    metas = [sample.metas[name] for name in sorted(sample.metas)]
    kept = [(meta, _graphnet_kept(meta, generator)) for meta in metas]
    return {meta.name: _graphnet_drawn(meta, generator, spare) if tensor is None else tensor for meta, tensor in kept}


_SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)


def _graphnet_kept(meta: TensorMeta, generator: np.random.RandomState) -> torch.Tensor | None:
    if meta.min_val is not None and meta.max_val is not None and meta.dtype in _SIGNED:
        low, high = int(meta.min_val), int(meta.max_val)
        return torch.as_tensor(generator.randint(low, high + 1, size=meta.shape)).to(meta.dtype)
    if meta.data is not None:
        return torch.tensor(meta.data, dtype=meta.dtype).reshape(meta.shape)
    return None


def _graphnet_drawn(meta: TensorMeta, generator: np.random.RandomState, spare: torch.Generator) -> torch.Tensor:
    if meta.dtype is torch.bool:
        return torch.as_tensor(np.asarray(generator.rand(*meta.shape) > 0.5))
    std = 0.1 if meta.std is None else meta.std
    mean = 0.0 if meta.mean is None else meta.mean
    values = np.full(meta.shape, mean) if std == 0 else generator.randn(*meta.shape) * std * 0.2 + mean
    tensor = torch.as_tensor(np.asarray(values)).to(meta.dtype)
    if meta.min_val is not None or meta.max_val is not None:
        tensor = tensor.clamp(meta.min_val, meta.max_val)
    if meta.dtype.is_floating_point:
        noise = torch.randn(meta.shape, generator=spare).to(meta.dtype) * 0.01
        tensor = torch.where(torch.isfinite(tensor), tensor, noise).clamp(-100.0, 100.0)
    return tensor
