"""Compilers with faults planted in them, and a model in which one of its layers alone is hit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.compilers.torch_compile import TorchCompile

WIDTHS = (5, 6, 7, 9)


class Layer(nn.Module):
    """Linear, norm, a gate, a difference; its width is its own, so that a compiler can tell it from others."""

    def __init__(self, before: int, width: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(before, width), nn.LayerNorm(width)
        self.register_buffer("rest", torch.linspace(-0.5, 0.5, width))

    def forward(self, x):
        x = self.norm(self.linear(x))
        gate = torch.sigmoid(x)
        y = torch.tanh(x - self.rest)
        return torch.relu_(y * gate + torch.softmax(x, -1))


class Layers(nn.Module):
    """A layer of each width, and what is left of the first in the end."""

    def __init__(self, widths: tuple[int, ...] = WIDTHS) -> None:
        super().__init__()
        befores = (4, *widths[:-1])
        self.layers = nn.ModuleList(Layer(before, width) for before, width in zip(befores, widths, strict=True))
        self.head = nn.Linear(widths[-1] + widths[0], 3)

    def forward(self, x):
        first = x = self.layers[0](x)
        for layer in self.layers[1:]:
            x = layer(x)
        return self.head(torch.cat([x, first], -1))


class Chain(nn.Module):
    """Four operators, for compilers that take their time."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 3)

    def forward(self, x):
        return self.last(torch.sigmoid(self.norm(self.first(x))))


class Edited(TorchCompile):
    """`torch.compile` with torch's own kernels, after one edit of the graph.

    Args:
        edit: "scaled", an operator 2 % off; "swapped", the operands of a difference that goes into a tanh, each of
            which is right by itself.
        name: of the operator that is off, such as "sigmoid".
        width: of the last dimension where it is done; None: wherever it can be.
    """

    def __init__(self, edit: str, name: str = "", width: int | None = None) -> None:
        from torch._dynamo.backends.common import aot_autograd

        super().__init__(backend=aot_autograd(fw_compiler=self._edited))
        self.edit, self.name, self.width = edit, name, width

    def _edited(self, module: torch.fx.GraphModule, inputs: Any) -> Any:
        for node in module.graph.nodes:
            made = node.meta.get("val")
            if hasattr(node.target, "overloadpacket") and self.width in (None, getattr(made, "shape", (None,))[-1:][0]):
                self._edit(module.graph, node)
        module.recompile()
        return module.forward

    def _edit(self, graph: torch.fx.Graph, node: torch.fx.Node) -> None:
        name = node.target.overloadpacket.__name__.strip("_")
        if self.edit == "scaled" and name == self.name:
            with graph.inserting_after(node):
                scaled = graph.call_function(torch.ops.aten.mul.Tensor, (node, 1.02))
            node.replace_all_uses_with(scaled, lambda user: user is not scaled)
        if self.edit == "swapped" and name == "tanh" and node.args[0].target is torch.ops.aten.sub.Tensor:
            node.args[0].args = node.args[0].args[::-1]


@contextmanager
def uncached() -> Iterator[None]:
    """Take no code from a cache, where it may lie with another fault, or without one."""
    with torch._inductor.config.patch(fx_graph_cache=False), torch._functorch.config.patch(enable_autograd_cache=False):
        yield


class WrongLowering(TorchCompile):
    """inductor with a lowering that is 2 % off.

    Args:
        wrong: name of an ATen operator of one input, such as "sigmoid".
        width: of the last dimension where it is wrong; None: wherever it is.
    """

    def __init__(self, wrong: str, width: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.wrong, self.width = wrong, width

    def compile(self, model, example, method):
        made = super().compile(model, example, method)

        def call(*args, **kwargs):

            with uncached(), self.planted():
                return made.call(*args, **kwargs)

        return replace(made, call=call)

    @contextmanager
    def planted(self) -> Iterator[None]:
        from torch._inductor.lowering import lowerings

        op = getattr(torch.ops.aten, self.wrong)
        targets = [getattr(op, name) for name in op.overloads()]
        kept = {target: lowerings[target] for target in targets if target in lowerings}
        mul = lowerings[torch.ops.aten.mul.Tensor]

        def wrongly(right):
            def lower(x, *args, **kwargs):
                made = right(x, *args, **kwargs)
                hit = self.width is None or int(made.get_size()[-1]) == self.width
                return mul(made, 1.02) if hit else made

            return lower

        lowerings.update({target: wrongly(right) for target, right in kept.items()})
        try:
            yield
        finally:
            lowerings.update(kept)


def wrong_pass(graph: torch.fx.Graph) -> None:
    """Swap the operands of a difference that goes into a tanh, of width 7: right for each of them alone."""
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.tanh.default):
        before = node.args[0]
        if before.target is torch.ops.aten.sub.Tensor and node.meta["val"].shape[-1] == 7:
            before.args = before.args[::-1]


class WrongPass(TorchCompile):
    """inductor with a pass over the graph that spoils what stands side by side."""

    def __init__(self, options: Any = None) -> None:
        super().__init__(options=options)

    def compile(self, model, example, method):
        made = super().compile(model, example, method)

        def call(*args, **kwargs):
            with uncached(), torch._inductor.config.patch(post_grad_custom_post_pass=wrong_pass):
                return made.call(*args, **kwargs)

        return replace(made, call=call)


class EditedOnnx(OnnxRuntime):
    """ONNX Runtime that is given a file with a node edited.

    Args:
        edit: "epsilon" of a LayerNormalization, or "swapped" inputs of a Sub.
        width: of the last dimension of the node that is edited.
        optimised: whether a file is edited only where the graph is optimised.
    """

    def __init__(self, edit: str, width: int, optimised: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.edit, self.width, self.optimised = edit, width, optimised

    def _session(self, file: Path) -> Any:
        import onnx

        model = onnx.load(file)
        shapes = {
            info.name: [size.dim_value for size in info.type.tensor_type.shape.dim]
            for info in (*model.graph.value_info, *model.graph.output)
        }
        for node in model.graph.node:
            if shapes.get(node.output[0], [0])[-1] == self.width and not (self.optimised and self.level == "disabled"):
                self._edited(node)
        onnx.save(model, file)
        return super()._session(file)

    def _edited(self, node: Any) -> None:
        if self.edit == "epsilon" and node.op_type == "LayerNormalization":
            next(each for each in node.attribute if each.name == "epsilon").f = 0.3
        if self.edit == "swapped" and node.op_type == "Sub":
            node.input[:] = [*node.input][::-1]
