"""A fault: the scheduler adds noise by another rule than the one that the UNet was trained with."""

from .eager import data, evaluator, model, workload

model.scheduler.betas = "linear"
