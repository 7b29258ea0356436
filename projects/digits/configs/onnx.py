"""The same network, exported to ONNX and run by ONNX Runtime."""

from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.config import LazyCall as L

from .eager import data, evaluator, model

compiler = L(OnnxRuntime)()
