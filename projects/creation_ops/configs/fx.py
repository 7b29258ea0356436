"""The same as torch.fx traces it."""

from libbench.compilers.fx import Fx
from libbench.config import LazyCall as L

from .eager import data, model

compiler = L(Fx)()
