"""The same loop around a UNet with weights and inputs in bfloat16."""

import torch

from libbench.compilers.inside import Inside
from libbench.compilers.precision import Precision
from libbench.config import LazyCall as L

from .eager import data, evaluator, model, workload

compiler = L(Inside)(compiler=L(Precision)(dtype=torch.bfloat16), methods=["unet.forward"])
