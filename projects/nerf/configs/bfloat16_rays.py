"""The same field with everything in bfloat16: a point is then known to a hundredth of the scene only."""

import torch

from libbench.compilers.precision import Precision
from libbench.config import LazyCall as L

from .eager import data, evaluator, model

compiler = L(Precision)(dtype=torch.bfloat16)
