"""The logits of the same tokens step by step with the cache, by the graphs that generate in `onnx.py`."""

from .forced import data, evaluator, model
from .onnx import compiler

model.flat = True
