"""The same loop around a UNet and a decoder that inductor has compiled."""

from libbench.compilers.inside import Inside
from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L

from .eager import data, evaluator, model, workload

compiler = L(Inside)(compiler=L(TorchCompile)(backend="inductor"), methods=["unet.forward", "vae.decode"])
