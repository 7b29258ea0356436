"""OpenVINO, which chooses the precision that it computes in."""

from libbench.compilers.openvino import OpenVino
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(OpenVino)()
