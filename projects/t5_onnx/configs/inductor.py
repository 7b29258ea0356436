"""The same `generate`, with the forward that it calls for every token compiled by inductor."""

from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L

from .eager import data, model, workload

compiler = L(TorchCompile)(backend="inductor")
