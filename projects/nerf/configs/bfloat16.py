"""The same field under autocast: its layers in bfloat16, the rays and what is summed along them in float32."""

import torch

from libbench.compilers.precision import Precision
from libbench.config import LazyCall as L

from .eager import data, evaluator, model

compiler = L(Precision)(dtype=torch.bfloat16, autocast=True)
