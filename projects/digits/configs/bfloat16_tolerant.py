"""The network in bfloat16, judged as closely as bfloat16 can be expected to follow float32."""

from libbench.settings import Tolerance

from .bfloat16 import compiler, data, evaluator, model

tolerance = Tolerance(dtype="any", rtol=0.02, atol=0.1)
