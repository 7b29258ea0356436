"""One layer of a transformer encoder on random inputs. It needs no package but libbench's own."""

from torch import nn

from libbench.config import LazyCall as L
from libbench.data import RandomInputs

model = L(nn.TransformerEncoderLayer)(d_model=64, nhead=4, dim_feedforward=256, batch_first=True)
data = L(RandomInputs)(shapes=(16, 64), samples=64, batch_size=16)
