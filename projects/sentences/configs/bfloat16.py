"""The same transformer with its weights in bfloat16."""

import torch

from libbench.compilers.precision import Precision
from libbench.config import LazyCall as L

from .eager import data, evaluator, model

compiler = L(Precision)(dtype=torch.bfloat16)
