"""A graph sample as it is; `model.path` names another one."""

from pathlib import Path

from libbench.config import LazyCall as L
from libbench.samples.graph import GraphSample

model = L(GraphSample)(path=str(Path(__file__).parent / "samples" / "attention"))
