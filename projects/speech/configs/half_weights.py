"""The weights of that file in torch, in float32."""

from .eager import data, evaluator, model, tolerance

model.weights = "silero_vad_half.onnx"
