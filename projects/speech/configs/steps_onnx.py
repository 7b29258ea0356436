"""The same calls of the package's ONNX."""

from .onnx import model
from .steps import data, evaluator, tolerance, workload
