"""The same by ONNX Runtime."""

from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.config import LazyCall as L

from .eager import data, model

compiler = L(OnnxRuntime)()
