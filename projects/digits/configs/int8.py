"""The same network with the weights of its linear layers in 8 bits."""

from libbench.compilers.quantize import Quantize
from libbench.config import LazyCall as L

from .eager import data, evaluator, model

compiler = L(Quantize)()
