"""The sentence-embedding transformer on pairs of sentences, as it is."""

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader

from ..data import Sentences
from ..model import minilm
from ..retrieval import Retrieval

model = L(minilm)()
data = L(IndexedLoader)(dataset=L(Sentences)(length=20), batch_size=8)
evaluator = L(Retrieval)(output="last_hidden_state")
