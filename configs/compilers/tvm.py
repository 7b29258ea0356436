"""TVM, without tuning."""

from libbench.compilers.tvm import Tvm
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(Tvm)()
