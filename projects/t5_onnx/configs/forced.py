"""transformers' own forward on tokens that are given: the logits of all of them at once, as it is."""

from libbench.config import LazyCall as L
from libbench.evaluators.perplexity import Perplexity

from ..data import forced_tokens
from .eager import data, model

model.cache = False
data.dataset.forced = 24
evaluator = L(Perplexity)(tokens=L(forced_tokens)(dataset=data.dataset), output="logits")
