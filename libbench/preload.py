"""What the fork server has ready before a child asks for it; it is imported by name, and by nobody else."""

from importlib import import_module
from string import ascii_letters, digits

import libbench.data
import libbench.serve
from libbench.config import LazyConfig, thaw
from libbench.job import DEFAULTS

__all__ = ["libbench"]

for _target in DEFAULTS.values():
    if isinstance(_target, str):
        import_module(_target.rpartition(".")[0])
# Hydra's parser learns its grammar by reading: a child that has to begin takes ten times as long for an override.
LazyConfig.apply_overrides(
    thaw({"a": None}),
    [f"a={ascii_letters}_{digits}", "+b=[1,2.5,-3e-4,true,null,'a b',\"c\",{d:/e.f-g}]", "b.0=${a}", "~a", "++c=inf"],
)
