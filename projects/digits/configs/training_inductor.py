"""The same training, compiled by inductor, forward and backward."""

from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L

from .training import data, model, workload

compiler = L(TorchCompile)(backend="inductor")
