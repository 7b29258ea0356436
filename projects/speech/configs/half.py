"""What the package calls its detector in half precision."""

from .onnx import data, evaluator, model, tolerance

model.file = "silero_vad_half.onnx"
