"""Parts of the trainings that the tests compare."""

import torch
from torch.nn import functional as F

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader
from libbench.job import Job
from libbench.runners.local import Local
from libbench.workloads.training import IndexedLoss, Training

LABELS = [i % 3 for i in range(20)]


class Points:
    """Twenty points in three clouds."""

    def __init__(self):
        generator = torch.Generator().manual_seed(7)
        self.points = torch.randn(20, 4, generator=generator) + torch.tensor(LABELS)[:, None]

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.points[index]


class Net(torch.nn.Module):
    """A perceptron with a normalisation that keeps running means, and a weight that nothing uses."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.inner = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.dropout = torch.nn.Dropout(dropout)
        self.outer = torch.nn.Linear(8, 3)
        self.unused = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.outer(self.dropout(self.norm(self.inner(x)).tanh()))


class Transformer(torch.nn.Module):
    """Predicts the next of 11 tokens; gives scores by token."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(11, 16)
        self.layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = torch.nn.Linear(16, 11)

    def forward(self, tokens):
        mask = torch.nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.layer(self.embed(tokens), src_mask=mask, is_causal=True))


class Reordered:
    """The batches of a loader in another order."""

    def __init__(self, loader, order):
        self.loader, self.order = loader, order

    def __iter__(self):
        batches = list(self.loader)
        return (batches[place] for place in self.order)


def other_after_the_first_batch(point):
    """Give the points but for the fifth, which is another."""
    return point + 1 if torch.equal(point, Points()[4]) else point


def next_token(outputs, batch):
    """Give the sum over tokens and their number."""
    scores, wanted = outputs[:, :-1].flatten(0, 1), batch.inputs[:, 1:].flatten()
    return F.cross_entropy(scores.float(), wanted, reduction="sum"), wanted.numel()


class Odd:
    """A loss that goes wrong at one step."""

    def __init__(self, step, what):
        self.step, self.what, self.calls = step, what, 0

    def __call__(self, outputs, batch):
        at = batch.epoch * 5 + batch.number
        loss = outputs.square().mean()
        if at < self.step:
            return loss
        if self.what == "raise":
            raise RuntimeError("the loss gives up")
        return {"nan": loss * torch.nan, "vector": outputs[:, 0], "detached": loss.detach(), "text": "loss"}[self.what]


def cross_entropy():
    return L(IndexedLoss)(function=F.cross_entropy, targets=LABELS)


def training(**changes):
    """Give the config of a training of `Net` for 12 steps in batches of 4 out of 20."""
    known = {"loss": cross_entropy(), "optimizer": L(torch.optim.SGD).partial(lr=0.1), "steps": 12}
    parts = {name: changes.pop(name) for name in ("model", "data", "compiler", "tolerance") if name in changes}
    return {
        "model": L(Net)(),
        "data": L(IndexedLoader)(dataset=L(Points)(), batch_size=4),
        "workload": L(Training)(**{**known, **changes}),
        "runner": L(Local)(threads=1),
        **parts,
    }


def job(name="config", **changes):
    return Job.of(training(**changes), name)
