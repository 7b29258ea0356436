"""The detector in torch, compiled by inductor."""

from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L

from .eager import data, evaluator, model, tolerance

compiler = L(TorchCompile)(backend="inductor")
