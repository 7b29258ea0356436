"""The same as torch.jit traces it."""

from libbench.compilers.torch_script import TorchScript
from libbench.config import LazyCall as L

from .eager import data, model

compiler = L(TorchScript)(how="trace")
