"""The same calls of the package's TorchScript."""

from .script import model
from .steps import data, evaluator, tolerance, workload
