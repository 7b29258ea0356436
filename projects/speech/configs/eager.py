"""The trained detector in torch, on recordings that are computed."""

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader
from libbench.settings import Tolerance

from ..data import Recordings, spoken_in
from ..detection import Detection
from ..model import Detector

model = L(Detector)(weights="silero_vad.jit")
data = L(IndexedLoader)(dataset=L(Recordings)(count=16, chunks=100), batch_size=2)
evaluator = L(Detection)(spoken=L(spoken_in)(dataset=data.dataset))
# What the LSTM holds goes up to 100, so that the last digits of 100 steps are more than in the probabilities.
tolerance = Tolerance(leaves={"state": (1e-5, 1e-4)})
