"""Inductor ahead of time: exported, compiled to a package, loaded from it."""

from libbench.compilers.aot_inductor import AOTInductor
from libbench.config import LazyCall as L

from ..common.networks import data, model, models, net

compiler = L(AOTInductor)()
