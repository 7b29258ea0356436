"""TorchScript, translated from the source."""

from libbench.compilers.torch_script import TorchScript
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(TorchScript)(how="script")
