"""The same network, run by OpenVINO in the precision that it chooses for the machine."""

from libbench.compilers.openvino import OpenVino
from libbench.config import LazyCall as L

from .eager import data, evaluator, model

compiler = L(OpenVino)()
