"""The same loop around a UNet and a decoder that inductor has compiled."""

from libbench.compilers.inside import Inside
from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L
from libbench.settings import Tolerance

from .eager import data, evaluator, model, workload

compiler = L(Inside)(compiler=L(TorchCompile)(backend="inductor"), methods=["unet.forward", "vae.decode"])
# Every step carries the rounding of those before it on, in latents of up to 4.
tolerance = Tolerance(leaves={"latents": (1.3e-6, 1e-4)})
