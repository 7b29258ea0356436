"""Small models that take and give what compilers find hard, each with the calls to make of it."""

from collections import namedtuple
from dataclasses import dataclass

import torch
from torch import nn

Pair = namedtuple("Pair", "left right")


@dataclass
class Scores:
    logits: torch.Tensor
    hidden: tuple | None = None
    name: str = "scores"


class Box:
    """An object that keeps a tensor, as a cache does."""

    def __init__(self, tensor):
        self.tensor = tensor


class Small(nn.Module):
    def __init__(self, run=None):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 3)
        self.register_buffer("offset", torch.arange(3.0))
        self._run = run

    def forward(self, *args, **kwargs):
        return self._run(self, *args, **kwargs)


class Plain(Small):
    def forward(self, x):
        return torch.relu(self.linear(x))

    def encode(self, x):
        return self.forward(x) + 1


class Keywords(Small):
    def forward(self, input_ids, mask=None, scale=1.0):
        found = self.linear(input_ids) * scale
        return {"logits": found, "pooled": {"mean": found.mean(1), "none": None}, "mask": mask}


class Nested(Small):
    def forward(self, pair, rest):
        total = pair.left + pair.right + rest["more"][0]
        return Scores(self.linear(total), (total * 2, [total.sum(1)])), Pair(total, "text")


class Options(Small):
    def forward(self, x, scale, *, negate, kind="plus"):
        found = self.linear(x) * scale
        return -found if negate and kind == "minus" else found


class Whole(Small):
    def forward(self, ids, mask, picked):
        kept = torch.where(mask, ids, -1)
        return kept, mask.logical_not(), self.linear.weight[:, picked], ids.sum()


class Scalar(Small):
    def forward(self, x, factor):
        return (self.linear(x) * factor).sum()


class Unused(Small):
    def forward(self, x, unused):
        return self.linear(x)


class Passing(Small):
    def forward(self, x):
        y = self.linear(x)
        return x, y, y


class InPlace(Small):
    def forward(self, x):
        x += 1
        return self.linear(x)


class OwnBuffer(Small):
    def forward(self, x):
        return self.linear(x), self.offset


class Cast(Small):
    def forward(self, x):
        return x * 2 + 1, x.sum(1)


class Counting(Small):
    def forward(self, x):
        self.offset += 1
        return self.linear(x) + self.offset


class Boxed(Small):
    def forward(self, x):
        return self.linear(x), Box(x)


class Numbers(Small):
    def forward(self, x):
        return self.linear(x), x.shape[0], True


class Everything(Small):
    """What is hard for a compiler, at once, for those that take seconds for each graph."""

    def forward(self, ids, mask, pair, scale, *, factor, unused, target, kind="plus"):
        x = pair.left + pair.right["more"][0]
        target += 1
        found = self.linear(x) * scale * factor
        chosen = torch.where(mask, ids, -1)
        others = {"given": pair.left, "buffer": self.offset, "none": None, "sum": ids.sum(), "empty": x[:0]}
        return Scores(found, (x, [chosen, found]), kind), Pair(target, others)


def everything(factor):
    return {
        "ids": torch.arange(4),
        "mask": torch.tensor([True, False] * 2),
        "pair": Pair(rows(2), {"more": [rows(2) + factor]}),
        "scale": 2.5,
        "factor": torch.tensor(factor),
        "unused": torch.ones(7),
        "target": torch.ones(2) * factor,
        "kind": "minus",
    }


def double(x):
    return x * 2


def rows(count, width=4):
    return torch.linspace(-1, 1, count * width).reshape(count, width)


def _cast(dtype):
    return lambda: (Cast(), [(rows(2).to(dtype),), (rows(2).to(dtype) + 1,)])


KINDS = {
    "everything": lambda: (Everything(), [everything(2.0), everything(3.0)]),
    "plain": lambda: (Plain(), [rows(3), rows(3) + 1]),
    "function": lambda: (double, [rows(3)]),
    "keywords": lambda: (Keywords(), [{"input_ids": rows(2), "mask": torch.ones(2)}]),
    "nested": lambda: (Nested(), [(Pair(rows(2), rows(2) * 3), {"more": [rows(2) + 1]})]),
    "options": lambda: (
        Options(),
        [{"x": rows(2), "scale": 2.5, "negate": flag, "kind": "minus"} for flag in (True, False)],
    ),
    "whole numbers": lambda: (
        Whole(),
        [(torch.arange(4) + 2**40, torch.tensor([True, False] * 2), torch.tensor([0, 3], dtype=torch.int32).long())],
    ),
    "scalars": lambda: (Scalar(), [(rows(2), torch.tensor(3.0))]),
    "empty": lambda: (Plain(), [torch.empty(0, 4)]),
    "unused": lambda: (Unused(), [(rows(2), torch.ones(7))]),
    "passing": lambda: (Passing(), [rows(2)]),
    "in place": lambda: (InPlace(), [rows(2), rows(2) * 2]),
    "last batch": lambda: (Plain(), [rows(4), rows(3), rows(4) + 1, rows(2)]),
    "buffer": lambda: (OwnBuffer(), [rows(2), rows(2) + 1]),
    "float64": _cast(torch.float64),
    "bfloat16": _cast(torch.bfloat16),
    "float16": _cast(torch.float16),
    "stateful": lambda: (Counting(), [rows(2), rows(2)]),
    "object": lambda: (Boxed(), [rows(2)]),
    "numbers": lambda: (Numbers(), [rows(2), rows(3), rows(4)]),
}
"""By what is hard about it, a model and the inputs of its calls, made anew each time."""
