"""The encoder layer as it is."""

from .common.encoder import data, model
