"""The same detector as the package has it as ONNX, chunk by chunk."""

from libbench.config import LazyCall as L

from ..model import Onnx
from .eager import data, evaluator, tolerance

model = L(Onnx)(file="silero_vad.onnx")
