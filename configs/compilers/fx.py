"""The graph that torch.fx finds by symbolic tracing."""

from libbench.compilers.fx import Fx
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(Fx)()
