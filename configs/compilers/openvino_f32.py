"""OpenVINO, held to float32."""

from libbench.compilers.openvino import OpenVino
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(OpenVino)(precision="f32")
