"""torch.compile with its own backend."""

from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(TorchCompile)(backend="inductor")
