"""The encoder layer that comes with libbench, under a name for the configs beside this folder."""

from libbench.config import get_config

model, data = get_config("encoder.py", ("model", "data"))
