"""transformers' own `generate` on a T5 with random weights, as it is."""

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader
from libbench.workloads.generate import Generate

from ..data import Prompts
from ..model import t5

model = L(t5)(width=64, layers=2, heads=4, vocabulary=112)
data = L(IndexedLoader)(dataset=L(Prompts)(length=16, samples=16, vocabulary="${model.vocabulary}"), batch_size=4)
workload = L(Generate)(max_new_tokens=24)
