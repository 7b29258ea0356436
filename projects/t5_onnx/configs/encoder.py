"""The encoder by itself, with the keys and values that the decoder's layers make of a prompt."""

from libbench.config import LazyCall as L
from libbench.workloads.inference import Inference

from .flat import data, model

workload = L(Inference)(method="encode")
