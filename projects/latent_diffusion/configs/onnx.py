"""The same loop around a UNet and a decoder that ONNX Runtime runs."""

from libbench.compilers.inside import Inside
from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.config import LazyCall as L

from .eager import data, evaluator, model, workload

compiler = L(Inside)(compiler=L(OnnxRuntime)(), methods=["unet.forward", "vae.decode"])
