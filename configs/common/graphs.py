"""The twelve small models whose graphs are in `configs/samples`, each with the inputs that it was traced with."""

import torch
from torch import nn
from torch.nn import functional as F

from libbench.config import LazyCall as L


class Plain(nn.Module):
    """Convolutions with batch norm and a shortcut."""

    def __init__(self):
        super().__init__()
        self.a, self.n = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.b, self.m = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        y = F.relu(self.n(self.a(x)))
        y = F.relu(y + self.m(self.b(y)))
        return self.head(y.mean((2, 3)))


class Depthwise(nn.Module):
    """Depthwise and pointwise convolutions with group norm."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.g = nn.Conv2d(8, 8, 5, padding=2, groups=8), nn.Conv2d(8, 16, 1), nn.GroupNorm(2, 16)

    def forward(self, x):
        return F.max_pool2d(F.hardswish(self.g(self.b(self.a(x)))), 2)


class Attention(nn.Module):
    """Attention of four heads with a floating mask."""

    def __init__(self):
        super().__init__()
        self.qkv, self.o, self.n = nn.Linear(32, 96), nn.Linear(32, 32), nn.LayerNorm(32)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n(x)).view(b, t, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return x + self.o(y.transpose(1, 2).reshape(b, t, d))


class Causal(nn.Module):
    """A language model's block: embedding, mask made in the graph, logits."""

    def __init__(self):
        super().__init__()
        self.e, self.q, self.n = nn.Embedding(64, 32), nn.Linear(32, 96), nn.RMSNorm(32)

    def forward(self, tokens):
        x = self.e(tokens)
        q, k, v = self.q(self.n(x)).chunk(3, -1)
        t = tokens.shape[1]
        mask = torch.ones(t, t, dtype=torch.bool, device=tokens.device).tril()
        s = (q @ k.transpose(1, 2) * 32**-0.5).masked_fill(~mask, float("-inf")).softmax(-1)
        return F.linear(x + s @ v, self.e.weight)


class Recurrent(nn.Module):
    """A gated recurrent unit, unrolled."""

    def __init__(self):
        super().__init__()
        self.i, self.h = nn.Linear(12, 48), nn.Linear(16, 48)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], 16)
        for step in x.unbind(1):
            r, z, n = zip(self.i(step).chunk(3, -1), self.h(h).chunk(3, -1), strict=True)
            z = torch.sigmoid(z[0] + z[1])
            h = (1 - z) * torch.tanh(n[0] + torch.sigmoid(r[0] + r[1]) * n[1]) + z * h
        return h


class GraphLike(nn.Module):
    """Messages along edges, added up at the nodes."""

    def __init__(self):
        super().__init__()
        self.w = nn.Linear(8, 8)

    def forward(self, x, edges):
        m = self.w(x)[edges[0]]
        y = torch.zeros_like(x).index_add(0, edges[1], m)
        d = torch.zeros(x.shape[0], device=x.device).index_add(0, edges[1], torch.ones_like(m[:, 0]))
        return F.relu(y / d.clamp(min=1).unsqueeze(-1))


class Integers(nn.Module):
    """Tokens that are chosen, and where."""

    def __init__(self):
        super().__init__()
        self.w = nn.Linear(16, 40)

    def forward(self, x):
        s = self.w(x)
        return s.argmax(-1), s.topk(3).indices, (s > 0).sum(-1)


class Several(nn.Module):
    """A dict of outputs of several shapes."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(16, 8), nn.Linear(16, 4), nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        return {"hidden": h, "classes": self.b(x).log_softmax(-1), "value": self.c(h).squeeze(-1)}


class InPlace(nn.Module):
    """Values set in place."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(6, 6))

    def forward(self, x):
        y = x.clone()
        y[:, 0] = 0.0
        y[:, 1:].mul_(2.0)
        return (y @ self.w).clamp_(-3, 3)


class Half(nn.Module):
    """A perceptron in bfloat16."""

    def __init__(self):
        super().__init__()
        self.m = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)).to(torch.bfloat16)

    def forward(self, x):
        return self.m(x.to(torch.bfloat16))


class Complex(nn.Module):
    """A filter in frequencies."""

    def __init__(self):
        super().__init__()
        self.f = nn.Parameter(torch.randn(9, dtype=torch.complex64))

    def forward(self, x):
        return torch.fft.irfft(torch.fft.rfft(x) * self.f, n=16)


class Mixture(nn.Module):
    """Four experts, the best two of each row mixed."""

    def __init__(self):
        super().__init__()
        self.gate, self.up = nn.Linear(16, 4), nn.Parameter(torch.randn(4, 16, 16) * 0.2)

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).topk(2)
        y = torch.einsum("bd,bkde->bke", x, self.up[chosen])
        return (y * weight.unsqueeze(-1)).sum(1)


MODELS = {
    "conv": (L(Plain)(), L(torch.randn)(2, 3, 12, 12)),
    "depthwise": (L(Depthwise)(), L(torch.randn)(2, 8, 8, 8)),
    "attention": (L(Attention)(), L(torch.randn)(2, 6, 32), L(torch.randn)(6, 6)),
    "language": (L(Causal)(), L(torch.randint)(0, 64, (4, 20))),
    "recurrent": (L(Recurrent)(), L(torch.randn)(3, 5, 12)),
    "messages": (L(GraphLike)(), L(torch.randn)(10, 8), L(torch.randint)(0, 10, (2, 24))),
    "integers": (L(Integers)(), L(torch.randn)(8, 16)),
    "several": (L(Several)(), L(torch.randn)(8, 16)),
    "in_place": (L(InPlace)(), L(torch.randn)(12, 6)),
    "bfloat16": (L(Half)(), L(torch.randn)(4, 32)),
    "complex": (L(Complex)(), L(torch.randn)(6, 16)),
    "mixture": (L(Mixture)(), L(torch.randn)(8, 16)),
}
"""By the name of the sample: the model, and its inputs."""
