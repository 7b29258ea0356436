"""Linear layers with 8-bit weights, by torchao."""

from libbench.compilers.quantize import Quantize
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(Quantize)(by="torchao")
