"""Linear layers with weights of 8 bits."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, get_args

import torch

from libbench.errors import UnsupportedError
from libbench.interfaces import Batch, Compiled
from libbench.methods import method_of
from libbench.optional import need
from libbench.result import CompileFacts
from libbench.traced import explained, quiet

By = Literal["torch", "torchao"]


class Quantize:
    """Rounds the weights of linear layers to 8-bit integers, in place; all else of the model stays as it is.

    Args:
        by: "torch" for torch's own dynamic quantisation, which works on a CPU in float32 and which torch no longer
            develops; it takes recurrent layers, too. "torchao" for that of the package torchao.
        weights_only: False rounds the inputs of these layers, too, call by call, and multiplies integers; True
            multiplies floating numbers, and is torchao's alone.
    """

    def __init__(self, by: By = "torch", weights_only: bool = False) -> None:
        if by not in get_args(By):
            raise ValueError(f"by must be 'torch' or 'torchao', got {by!r}")
        if weights_only and by == "torch":
            raise ValueError("weights_only must be False where by is 'torch', which rounds the inputs, too")
        self.by = by
        self.weights_only = weights_only

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Quantise the model, which is this side's own.

        Raises:
            MissingPackageError: torchao is asked for, and not installed.
            UnsupportedError: the model is no module, or has no layer that would be quantised.
        """
        if not isinstance(model, torch.nn.Module):
            raise UnsupportedError(f"only a torch.nn.Module can be quantised, got a {type(model).__qualname__}")
        # A model that is one layer is replaced, and so has to stand in something.
        holder = torch.nn.ModuleDict({"model": model})
        before = _layers(holder)
        with quiet(), explained(f"quantisation by {self.by}"):
            version = self._by_torchao(holder) if self.by == "torchao" else self._by_torch(holder)
        left = [name for name, layer in before.items() if _is_same(layer, holder.get_submodule(name))]
        if len(left) == len(before):
            raise UnsupportedError(f"{type(model).__qualname__} has no layer that {self.by} quantises")
        kinds = Counter(type(before[name]).__qualname__ for name in left)
        others = tuple(f"{kind} ({count})" for kind, count in sorted(kinds.items()))
        note = f"8-bit weights in {len(before) - len(left)} of {len(before)} layers"
        facts = CompileFacts(fallbacks=others, notes=(note,))
        call = method_of(holder["model"], method)
        return Compiled(call, f"{version}, torch {torch.__version__}", lambda: facts)

    def _by_torch(self, model: torch.nn.Module) -> str:
        quantize: Any = torch.ao.quantization.quantize_dynamic
        quantize(model, dtype=torch.qint8, inplace=True)
        return "dynamic int8"

    def _by_torchao(self, model: torch.nn.Module) -> str:
        package = need("torchao", extra="torchao", purpose="quantising a model by torchao")
        ao = need("torchao.quantization", extra="torchao", purpose="quantising a model by torchao")
        chosen = ao.Int8WeightOnlyConfig if self.weights_only else ao.Int8DynamicActivationInt8WeightConfig
        ao.quantize_(model, chosen())
        what = "int8 weights" if self.weights_only else "dynamic int8"
        return f"{what} by torchao {package.__version__}"


def _layers(model: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """Give the modules with matrices or kernels of their own, by name."""
    return {
        name: module
        for name, module in model.named_modules()
        if any(parameter.ndim > 1 for parameter in module.parameters(recurse=False))
    }


def _is_same(before: torch.nn.Module, now: torch.nn.Module) -> bool:
    """Tell whether a layer was left alone: neither replaced, nor its weights."""
    return before is now and all(type(p.data) is torch.Tensor for p in now.parameters(recurse=False))
