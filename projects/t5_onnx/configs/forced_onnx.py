"""That forward, exported to ONNX as one graph."""

from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.config import LazyCall as L

from .forced import data, evaluator, model

compiler = L(OnnxRuntime)()
