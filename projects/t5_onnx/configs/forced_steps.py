"""The logits of given tokens, step by step with the cache, by the graphs that generate in `onnx.py`."""

from .forced import data, evaluator
from .onnx import compiler, model
