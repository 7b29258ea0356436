"""ExecuTorch, with what XNNPACK takes."""

from libbench.compilers.executorch import ExecuTorch
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(ExecuTorch)()
