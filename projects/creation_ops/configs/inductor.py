"""The same by inductor, with random numbers of its own."""

from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L

from .eager import data, model

compiler = L(TorchCompile)(backend="inductor")
