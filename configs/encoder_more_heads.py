"""The encoder layer with twice the heads: the same weights, another function."""

from .common.encoder import data, model

model.nhead = 8
