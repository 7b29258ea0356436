"""A fault: one generator draws for a whole batch, so that a picture depends on what is drawn beside it."""

from .eager import data, evaluator, model, workload

model.noise = "batch"
