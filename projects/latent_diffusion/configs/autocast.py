"""All of it under autocast: layers in bfloat16, the steps in float32."""

import torch

from libbench.compilers.precision import Precision
from libbench.config import LazyCall as L

from .eager import data, evaluator, model, workload

compiler = L(Precision)(dtype=torch.bfloat16, autocast=True)
