"""Traced by torch.compile and taken apart, but run by torch's own kernels."""

from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(TorchCompile)(backend="aot_eager")
