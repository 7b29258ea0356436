"""The same graph sample, traced by torch.compile, but run by torch's own kernels."""

from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L

from .graph_eager import model

compiler = L(TorchCompile)(backend="aot_eager")
