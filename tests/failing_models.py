"""Models of which compilers cannot take a part, and a compiler that takes its process along."""

import os
import sys
from pathlib import Path

import torch
from torch import nn

from libbench.interfaces import Compiled


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, *, scale=1.0):
        return torch.relu(self.linear(x)) * scale


class Unusual(nn.Module):
    """Calls operators that exporters do not know, one of them twice in a line."""

    def forward(self, x):
        x = x[torch.randperm(x.shape[0])]
        near = torch.cdist(x, x) + torch.cdist(x, -x)
        return x + near.sum() + torch.searchsorted(torch.linspace(0, 1, 5), x).sum()


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1


class Item(nn.Module):
    def forward(self, x):
        return x[:1] if int(x.abs().sum().item()) > 2 else x


class Deep(nn.Module):
    """Blocks, and then a head whose second module is another one."""

    def __init__(self, last=Branch):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Sequential(Block(), last())

    def forward(self, x):
        for block in self.blocks:
            x = block(x, scale=0.5)
        return self.head(x)


class Between(nn.Module):
    """Fails by what it does between its modules, which are sound."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        x = self.first(x)
        return self.second(x) if x.sum() > 0 else x


class Breaking(nn.Module):
    def forward(self, x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2


class Quiet(nn.Module):
    """Holds a module that has nothing to learn."""

    def __init__(self):
        super().__init__()
        self.inner = nn.ReLU()

    def forward(self, x):
        return self.inner(x)


class Deadly:
    """A compiler whose machine code ends the process when it meets a branch."""

    def compile(self, model, example, method):
        if any(isinstance(module, Branch) for module in model.modules()):
            print("LLVM ERROR: cannot select a branch", file=sys.stderr)
            os.abort()
        return Compiled(model, "deadly 1")


def line_of(text):
    """Give `failing_models.py:N` of the first line that holds a text."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if text in line)
    return f"failing_models.py:{number}"
