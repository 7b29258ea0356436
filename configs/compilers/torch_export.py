"""The exported graph, run by torch."""

from libbench.compilers.torch_export import TorchExport
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(TorchExport)()
