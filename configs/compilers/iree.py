"""IREE, for the CPU."""

from libbench.compilers.iree import Iree
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(Iree)()
