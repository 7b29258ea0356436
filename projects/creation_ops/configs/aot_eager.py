"""The same by AOTAutograd, operator by operator."""

from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L

from .eager import data, model

compiler = L(TorchCompile)(backend="aot_eager")
