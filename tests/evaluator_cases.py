"""Evaluators with outputs of twelve samples, and the records that ranks collect of them."""

import numpy as np
import torch

from libbench.evaluation import Collected, process
from libbench.interfaces import Batch

SAMPLES = 12
LABELS = [2, 0, 1, 1, 2, 0, 0, 2, 1, 1, 0, 2]
SCORES = torch.randn(12, 3, generator=torch.Generator().manual_seed(3))
PREDICTIONS = torch.randn(12, 2, generator=torch.Generator().manual_seed(4)) * 1e3
TARGETS = np.linspace(-1e-3, 1e6, 24).reshape(12, 2)
TRUE_PICTURES = torch.rand(12, 12, 13, 3, generator=torch.Generator().manual_seed(5))
PICTURES = (TRUE_PICTURES + 0.1 * torch.randn(12, 12, 13, 3, generator=torch.Generator().manual_seed(6))).clamp(0, 1)
LOSSES = torch.rand(12, generator=torch.Generator().manual_seed(7))
TOKENS = torch.randint(0, 7, (12, 5), generator=torch.Generator().manual_seed(8))
LOGITS = torch.randn(12, 5, 7, generator=torch.Generator().manual_seed(9))
HIDDEN = torch.randn(12, 5, 8, generator=torch.Generator().manual_seed(10))
MASK = torch.tensor([[1] * (1 + i % 5) + [0] * (4 - i % 5) for i in range(12)])
TEXTS = [f"the cat number {i} sat on the {'mat' if i % 3 else 'old mat'} of {i * i} threads" for i in range(12)]
REFERENCES = [f"the cat number {i} sat on a {'mat' if i % 2 else 'mats'} of {i * i} threads" for i in range(12)]


def batch(*indices, inputs=None, number=0):
    return Batch(indices=indices, inputs=inputs, number=number)


def padded(size, ranks):
    """Give the indices of each rank, as torch's DistributedSampler shares them.

    The ranks take turns, and the first samples come again until all ranks have the same number of them.
    """
    each = -(-size // ranks)
    order = [i % size for i in range(each * ranks)]
    return [order[rank::ranks] for rank in range(ranks)]


def records_of(evaluator, outputs, indices, batch_size, inputs=None):
    """Give the records that one rank collects of its samples; `outputs` gives those of some indices."""
    collected = Collected()
    for number, start in enumerate(range(0, len(indices), batch_size)):
        chosen = indices[start : start + batch_size]
        own = batch(*chosen, inputs=inputs(chosen) if inputs else None, number=number)
        collected.add(process(evaluator, own, outputs(chosen)))
    return collected.records
