"""The same detector as the package has it as TorchScript, chunk by chunk."""

from libbench.config import LazyCall as L

from ..model import Script
from .eager import data, evaluator, tolerance

model = L(Script)()
