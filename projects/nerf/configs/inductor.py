"""The same field, compiled by inductor."""

from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L
from libbench.settings import Tolerance

from .eager import data, evaluator, model

compiler = L(TorchCompile)(backend="inductor")
# Where something is dense, rounding weighs more; this is still no more than a 39th of a step of a picture's 255.
tolerance = Tolerance(rtol=1.3e-6, atol=1e-4)
