"""One step of the decoder by itself, with a cache of random numbers."""

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader
from libbench.workloads.inference import Inference

from ..data import Steps
from .flat import model

data = L(IndexedLoader)(
    dataset=L(Steps)(
        layers="${model.layers}",
        heads="${model.heads}",
        width="${model.width}",
        vocabulary="${model.vocabulary}",
        length=16,
        past=5,
        samples=16,
    ),
    batch_size=4,
)
workload = L(Inference)(method="step")
