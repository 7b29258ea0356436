"""The same field with everything in float16, the rays included."""

import torch

from libbench.compilers.precision import Precision
from libbench.config import LazyCall as L

from .eager import data, evaluator, model

compiler = L(Precision)(dtype=torch.float16)
