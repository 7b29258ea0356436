"""The same, run by ONNX Runtime."""

from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.config import LazyCall as L

from .step import data, model, workload

compiler = L(OnnxRuntime)()
