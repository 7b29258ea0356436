"""Another network: fewer channels, with trained weights of its own."""

from .eager import data, evaluator, model

model.channels = (6, 12)
model.weights = "narrow.safetensors"
