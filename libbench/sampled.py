"""Configs that are run on a graph sample: it takes the place of the model, and brings its inputs."""

from __future__ import annotations

from dataclasses import replace

from omegaconf import DictConfig

from libbench.config import Call, freeze, thaw
from libbench.config.targets import target_text

GRAPH_SAMPLE = "libbench.samples.graph.GraphSample"
REPLACED = ("model", "data", "evaluator")
"""Parts of a config that a graph sample leaves out: it has its own inputs, of which no evaluator knows the truth."""


def on_sample(config: DictConfig, folder: str) -> DictConfig:
    """Give a copy of a config that is run on a graph sample.

    How a config's own graph sample is drawn and called stays as it says; it is another sample that is.

    Args:
        config: without a model, or with one that is left out.
        folder: of the sample.
    """
    tree = freeze(config)
    model = tree.get("model")
    if isinstance(model, Call) and target_text(model.target) == GRAPH_SAMPLE:
        tree["model"] = replace(model, args=(), kwargs={**model.kwargs, "path": folder})
    else:
        tree["model"] = Call(GRAPH_SAMPLE, [], {"path": folder})
    for part in REPLACED[1:]:
        tree[part] = None
    sampled: DictConfig = thaw(tree)
    return sampled


def replaced(config: DictConfig) -> tuple[str, ...]:
    """Give the parts that a config assigns and that a graph sample leaves out."""
    return tuple(part for part in REPLACED if config.get(part) is not None)
