"""ONNX Runtime."""

from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(OnnxRuntime)()
