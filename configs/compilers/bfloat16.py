"""Weights and inputs in bfloat16."""

import torch

from libbench.compilers.precision import Precision
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(Precision)(dtype=torch.bfloat16)
