"""The trained network on the held-out digits, as it is."""

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader
from libbench.evaluators.accuracy import Accuracy

from ..data import Digits, labels_of
from ..model import DigitsNet

model = L(DigitsNet)(channels=(16, 32), weights="weights.safetensors")
data = L(IndexedLoader)(dataset=L(Digits)(held_out=True), batch_size=60, inputs="image")
evaluator = L(Accuracy)(labels=L(labels_of)(dataset=data.dataset))
