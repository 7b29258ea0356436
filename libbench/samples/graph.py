"""A graph sample as a model that brings its inputs."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import torch

from libbench.interfaces import Batch
from libbench.samples.drawing import as_graphnet, by_name
from libbench.samples.errors import SampleError
from libbench.samples.modes import modes_kept
from libbench.samples.reading import Sample, read_sample
from libbench.samples.sharing import weights as weights_of
from libbench.samples.source import changes_modes, rewritten

Draw = Callable[[Sample, int, int, Collection[str]], dict[str, torch.Tensor]]
"""Gives some of a sample's arguments, for a seed and the number of a batch."""
_DRAWS: dict[str, Draw] = {"drawn": by_name, "graphnet": as_graphnet}


class GraphSample(torch.nn.Module):
    """The graph of a sample, called with its inputs by name. It runs the sample's code, which may be a stranger's.

    Every device that the code names becomes the one that the module is on; moving the module is enough. Weights that
    are drawn alike in one process share their memory, as long as nobody has written to them when they are taken.

    Args:
        path: the sample's folder.
        seed: of weights and inputs, at least 0; None takes the one that torch was seeded with last.
        weights: "bound" makes parameters and buffers of what belongs to the model; "arguments" feeds it with the
            inputs, as GraphNet does.
        inputs: "drawn" by name, see `libbench.samples.drawing.draw`, or "graphnet", the very numbers of its bench.
        batches: how many batches it brings, at least 1, alike but for the values that are drawn.

    Raises:
        ValueError, TypeError: an argument is wrong.
        SampleError: the sample is wrong.
    """

    def __init__(
        self,
        path: str | Path,
        seed: int | None = None,
        weights: Literal["bound", "arguments"] = "bound",
        inputs: Literal["drawn", "graphnet"] = "drawn",
        batches: int = 2,
    ) -> None:
        super().__init__()
        if weights not in ("bound", "arguments"):
            raise ValueError(f"weights must be 'bound' or 'arguments', got {weights!r}")
        if inputs not in _DRAWS:
            raise ValueError(f"inputs must be 'drawn' or 'graphnet', got {inputs!r}")
        seed = torch.initial_seed() if seed is None else seed
        if type(seed) is not int or seed < 0:
            raise ValueError(f"seed must be an int of at least 0, got {seed!r}")
        if type(batches) is not int or batches < 1:
            raise ValueError(f"batches must be an int of at least 1, got {batches!r}")
        self.sample = read_sample(path)
        own = [each for each in self.sample.arguments if weights == "bound" and not each.fed]
        self._bound = tuple(each.name for each in own)
        self._keeps_modes = changes_modes(self.sample.code)
        drawn_alike = str(self.sample.path.resolve()), self.sample.stamp, seed, inputs, self._bound
        self._weights = weights_of(drawn_alike, self._bound, functools.partial(_DRAWS[inputs], self.sample, seed, 0))
        self.graph = self._made("cpu")()
        for each in own:
            value = self._weights.values[each.name]
            if each.kind == "parameter":
                learns = value.is_floating_point() or value.is_complex()
                self.graph.register_parameter(each.name, torch.nn.Parameter(value, requires_grad=learns))
            else:
                self.graph.register_buffer(each.name, value)
        # It tells where the module is, whatever else it has.
        self.register_buffer("_place", torch.empty(0, dtype=torch.int8), persistent=False)
        self._brought = SampleBatches(self, _DRAWS[inputs], seed, batches)

    def forward(self, **inputs: Any) -> Any:
        """Give the tuple that the graph returns.

        Args:
            inputs: those of its arguments that do not belong to the module, by name.
        """
        if not self._keeps_modes:
            return self.graph(**inputs)
        with modes_kept(self._where().type):
            return self.graph(**inputs)

    @property
    def own_batches(self) -> SampleBatches:
        """The batches that it is run on where a config names no data."""
        return self._brought

    def fed(self) -> tuple[str, ...]:
        """Give the names of the arguments that a call brings."""
        return tuple(each.name for each in self.sample.arguments if each.name not in self._bound)

    def _where(self) -> torch.device:
        # A buffer that the class declares would keep torch.jit.script from getting any further.
        return self.get_buffer("_place").device

    def _made(self, device: str) -> type[torch.nn.Module]:
        what = repr((str(self.sample.code.resolve()), device, self._bound))
        # Compilers look the names that code uses up in the module that it says it is of.
        module = types.ModuleType(f"libbench_graph_{sha256(what.encode()).hexdigest()[:16]}")
        sys.modules[module.__name__] = module
        exec(rewritten(self.sample.code, device, self._bound), module.__dict__)
        found: type[torch.nn.Module] = module.GraphModule
        return found

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> GraphSample:
        before = self._where()
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        own = (*self.graph.parameters(), *self.graph.buffers())
        self._weights.keep({tensor.data_ptr() for tensor in own})
        if self._where() != before:
            self.graph.__class__ = self._made(str(self._where()))
        return self


class SampleBatches:
    """The batches of a graph sample: each is one call, with the inputs by name.

    Args:
        model: whose inputs they are.
        draw: gives the values.
        seed: at least 0.
        batches: how many, at least 1.
    """

    def __init__(self, model: GraphSample, draw: Draw, seed: int, batches: int) -> None:
        self._sample, self._names = model.sample, model.fed()
        self._draw, self._seed, self._batches, self._epochs = draw, seed, batches, 0

    def __len__(self) -> int:
        """Give the number of batches."""
        return self._batches

    def __iter__(self) -> Iterator[Batch]:
        epoch, self._epochs = self._epochs, self._epochs + 1
        sizes = {each.name for each in self._sample.arguments if each.kind == "size"}
        for number in range(self._batches):
            values = self._draw(self._sample, self._seed, number, self._names)
            inputs = {name: _whole(values[name]) if name in sizes else values[name] for name in self._names}
            yield Batch((number,), inputs, number, epoch)


def _whole(value: torch.Tensor) -> int:
    if value.numel() != 1:
        raise SampleError(f"a size must be one number, got a tensor of shape {tuple(value.shape)}")
    return int(value.item())
