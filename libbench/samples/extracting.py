"""Graph samples made from a model: torch traces it, and every graph that it finds is written to a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from libbench.errors import LibbenchError
from libbench.interfaces import feed
from libbench.samples.cutting import Split, copied, cut
from libbench.samples.writing import Texts, texts_of
from libbench.tree import map_tensors

CALLS = 2


def extract(
    model: Callable[..., Any],
    inputs: Any,
    folder: str | Path,
    *,
    name: str,
    source: str = "libbench",
    dynamic: bool = False,
    split: Split | None = None,
    calls: int = CALLS,
    whole: bool = False,
) -> list[Path]:
    """Run a model under torch's tracing, and write every graph that was found; one that comes again is written once.

    Args:
        model: a module, or what else `torch.compile` takes.
        inputs: of one call, as in `Batch`.
        folder: one that does not exist. One graph is written to it, several to `subgraph_0` and so on below it, and
            the parts of a graph to `part_0` and so on.
        name: of the model, for `graph_net.json`.
        source: where the model is from, likewise.
        dynamic: whether sizes are symbols wherever the model lets them be, rather than numbers.
        split: how to cut every graph.
        calls: how often the model is called, since a later call may do what the first did not; at least 1.
        whole: whether what depends on data, as `item()` and a mask as an index, belongs to a graph; by default it ends
            one.

    Returns:
        The folders of the samples, in the order in which the graphs ran first.

    Raises:
        LibbenchError: the folder exists, no graph was found, or one cannot be written as a sample.
    """
    folder = Path(folder)
    if folder.exists():
        raise LibbenchError(f"{folder} exists already")
    with torch._dynamo.config.patch(capture_scalar_outputs=whole, capture_dynamic_output_shape_ops=whole):
        graphs = _captured(model, inputs, dynamic, split, calls)
    if not graphs:
        raise LibbenchError(f"torch found no graph in {name}")
    written = []
    for number, parts in enumerate(graphs):
        place = folder / f"subgraph_{number}" if len(graphs) > 1 else folder
        for part, texts in enumerate(parts):
            written.append(place / f"part_{part}" if len(parts) > 1 else place)
            texts.write(written[-1], {"model_name": name, "source": source})
    return written


class _Traced(torch.nn.Module):
    """Holds the model, since torch calls the weights of one by other names where the model's own class is torch's."""

    def __init__(self, model: Callable[..., Any]) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.model(*args, **kwargs)


_HELD = "(?<=[Ll]_self_)modules_model_"


def _captured(
    model: Callable[..., Any], inputs: Any, dynamic: bool, split: Split | None, calls: int
) -> list[list[Texts]]:
    """Give the parts of every graph that runs."""
    seen: list[torch.fx.GraphModule] = []
    found: list[list[Texts]] = []

    def backend(graph: torch.fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            if all(known is not graph for known in seen):
                seen.append(graph)
                # Before the call, which may change them.
                parts = [(graph, arguments)] if split is None else cut(graph, arguments, split)
                texts = [texts_of(part, given, _HELD) for part, given in parts]
                if not any(_same(texts, known) for known in found):
                    found.append(texts)
            return graph.forward(*arguments)

        return run

    torch.compiler.reset()
    try:
        with torch.no_grad():
            compiled = torch.compile(_Traced(model), backend=backend, dynamic=dynamic)
            for _ in range(calls):
                feed(compiled, map_tensors(copied, inputs))
    finally:
        torch.compiler.reset()
    return found


def _same(one: list[Texts], other: list[Texts]) -> bool:
    return len(one) == len(other) and all(a.same_graph(b) for a, b in zip(one, other, strict=True))
