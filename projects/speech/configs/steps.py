"""The detector in torch, one chunk a call, each with the state before it."""

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader
from libbench.workloads.inference import Inference

from ..data import Recordings, spoken_in
from ..detection import Detection
from ..steps import Steps
from .eager import model, tolerance

workload = L(Inference)(method="step")
data = L(IndexedLoader)(dataset=L(Steps)(recordings=L(Recordings)(count=1, chunks=100)), batch_size=1)
evaluator = L(Detection)(spoken=L(spoken_in)(dataset=data.dataset))
