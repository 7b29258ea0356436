"""The weights that the package has as safetensors."""

from .eager import data, evaluator, model, tolerance

model.weights = "silero_vad_16k.safetensors"
