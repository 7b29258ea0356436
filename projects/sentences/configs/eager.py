"""The sentence-embedding transformer on pairs of sentences, as it is."""

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader
from libbench.evaluators.retrieval import Retrieval

from ..data import Sentences, partners_of
from ..model import minilm

model = L(minilm)()
data = L(IndexedLoader)(dataset=L(Sentences)(length=20), batch_size=8)
evaluator = L(Retrieval)(
    relevant=L(partners_of)(dataset=data.dataset), output="last_hidden_state", mask="attention_mask"
)
