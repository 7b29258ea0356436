"""That loop, with the encoder and the step of the decoder run by ONNX Runtime."""

from libbench.compilers.inside import Inside
from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.config import LazyCall as L

from .flat import data, model, workload

compiler = L(Inside)(compiler=L(OnnxRuntime)(), methods=["encode", "step"])
