"""What is made anew in every call, uncompiled."""

from libbench.config import LazyCall as L
from libbench.data import RandomInputs

from ..models import creates

model = L(creates)(op="rand")
data = L(RandomInputs)(shapes=(8,), samples=128, batch_size=32)
