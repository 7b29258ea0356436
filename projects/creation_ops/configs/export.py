"""The same as torch exports it."""

from libbench.compilers.torch_export import TorchExport
from libbench.config import LazyCall as L

from .eager import data, model

compiler = L(TorchExport)()
