"""The encoder layer, traced and taken apart by torch.compile but run without new kernels: quick, and bit-equal."""

from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L

from .common.encoder import data, model

compiler = L(TorchCompile)(backend="aot_eager")
