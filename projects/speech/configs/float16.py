"""The detector in half precision: weights and audio in float16."""

import torch

from libbench.compilers.precision import Precision
from libbench.config import LazyCall as L

from .eager import data, evaluator, model, tolerance

compiler = L(Precision)(dtype=torch.float16)
