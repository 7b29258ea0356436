"""The network trained from random weights for 120 steps, in batches of 64 pictures, as it is."""

import torch
from torch.nn import functional as F

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader
from libbench.workloads.training import IndexedLoss, Training

from ..data import Digits, labels_of
from ..model import DigitsNet

model = L(DigitsNet)(channels=(16, 32))
data = L(IndexedLoader)(dataset=L(Digits)(held_out=False), batch_size=64, inputs="image")
workload = L(Training)(
    loss=L(IndexedLoss)(function=F.cross_entropy, targets=L(labels_of)(dataset=data.dataset)),
    optimizer=L(torch.optim.AdamW).partial(lr=3e-3, weight_decay=0.05),
    steps=120,
)
