"""The same by OpenVINO, in float32."""

from libbench.compilers.openvino import OpenVino
from libbench.config import LazyCall as L

from .eager import data, model

compiler = L(OpenVino)(precision="f32")
