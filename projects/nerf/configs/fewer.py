"""The same field, asked at half as many points of each ray."""

from .eager import data, evaluator, model

model.samples = (24, 12)
