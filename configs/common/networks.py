"""Six small models with inputs, for any compiler to be tried on: `net` names the one that is run.

All but the last two, which are graph samples, are made here, with random weights. `models.conv.model.width=64` changes
one.
"""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from libbench.config import LazyCall as L
from libbench.config import derive
from libbench.data import RandomInputs
from libbench.samples.graph import GraphSample

from .encoder import data as encoder_data
from .encoder import model as encoder


class Conv(nn.Module):
    """A residual network: convolutions with batch norm, shortcuts, one reduction of size."""

    def __init__(self, width=32, classes=10):
        super().__init__()
        self.stem = _norm_conv(3, width)
        self.first = nn.Sequential(_norm_conv(width, width), nn.ReLU(), _norm_conv(width, width))
        self.down = _norm_conv(width, 2 * width, stride=2)
        self.second = nn.Sequential(_norm_conv(2 * width, 2 * width), nn.ReLU(), _norm_conv(2 * width, 2 * width))
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(x + self.first(x))
        x = F.relu(self.down(x))
        x = F.relu(x + self.second(x))
        return self.head(x.mean((2, 3)))


def _norm_conv(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(outputs))


class T5(nn.Module):
    """The logits of a T5 of transformers, made from a config: no cache, and nothing but tensors goes in and out."""

    def __init__(self, **sizes):
        super().__init__()
        from transformers import T5Config, T5ForConditionalGeneration

        self.t5 = T5ForConditionalGeneration(T5Config(**sizes))

    def forward(self, input_ids, decoder_input_ids):
        return self.t5(input_ids=input_ids, decoder_input_ids=decoder_input_ids, use_cache=False).logits


class UNet(nn.Module):
    """The noise in a picture of latents: down, attention in the middle, up again, each level told the time."""

    def __init__(self, channels=4, width=32):
        super().__init__()
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, 2 * width))
        self.into = nn.Conv2d(channels, width, 3, padding=1)
        self.level, self.down = Block(width, width, 2 * width), nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.middle, self.attention = Block(2 * width, 2 * width, 2 * width), Attention(2 * width)
        self.up, self.last = nn.Conv2d(2 * width, width, 3, padding=1), Block(2 * width, width, 2 * width)
        self.norm, self.out = nn.GroupNorm(8, width), nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, latents, time):
        half = self.width // 2
        angles = time[:, None] * torch.exp(torch.arange(half, device=time.device) * (-9.0 / half))
        when = self.time(torch.cat([angles.sin(), angles.cos()], 1).to(time.dtype))
        kept = self.level(self.into(latents), when)
        x = self.attention(self.middle(self.down(kept), when))
        x = self.up(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        x = self.last(torch.cat([x, kept], 1), when)
        return self.out(F.silu(self.norm(x)))


class Block(nn.Module):
    """Two convolutions with a shortcut; what is known of the time is added between them."""

    def __init__(self, inputs, outputs, times):
        super().__init__()
        self.n, self.a = nn.GroupNorm(8, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.t = nn.Linear(times, outputs)
        self.m, self.b = nn.GroupNorm(8, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, when):
        y = self.a(F.silu(self.n(x))) + self.t(F.silu(when))[:, :, None, None]
        return self.shortcut(x) + self.b(F.silu(self.m(y)))


class Attention(nn.Module):
    """Attention of four heads among all places of a picture."""

    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.GroupNorm(8, width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, width, height, length = x.shape
        places = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(places).view(batch, -1, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, -1, width)
        return x + self.out(y).transpose(1, 2).view(batch, width, height, length)


class Recurrent(nn.Module):
    """A long short-term memory, and a gated recurrent unit on what it gives."""

    def __init__(self, inputs=32, width=64, classes=10):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(inputs, width, batch_first=True), nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        y, _ = self.lstm(x)
        y, _ = self.gru(y)
        return self.head(y[:, -1])


def _sample(name):
    return {"model": L(GraphSample)(path=str(Path(__file__).parent.parent / "samples" / name)), "data": None}


encoder.update(d_model=128, nhead=8, dim_feedforward=512)
encoder_data.update(shapes=(32, 128), batch_size=16, samples=64)

net = "conv"
models = {
    "conv": {"model": L(Conv)(), "data": L(RandomInputs)(shapes=(3, 32, 32), samples=32, batch_size=8)},
    "encoder": {"model": encoder, "data": encoder_data},
    "t5": {
        "model": L(T5)(vocab_size=512, d_model=64, d_kv=16, d_ff=256, num_layers=2, num_heads=4),
        "data": L(RandomInputs)(
            shapes={"input_ids": (24,), "decoder_input_ids": (12,)},
            samples=16,
            batch_size=4,
            dtype=torch.int64,
            low=0,
            high=512,
        ),
    },
    "unet": {
        "model": L(UNet)(),
        "data": L(RandomInputs)(shapes={"latents": (4, 16, 16), "time": ()}, samples=16, batch_size=4),
    },
    "recurrent": {"model": L(Recurrent)(), "data": L(RandomInputs)(shapes=(16, 32), samples=64, batch_size=16)},
    "language": _sample("language"),
    "mixture": _sample("mixture"),
}
model = derive(lambda cfg: cfg.models[cfg.net]["model"])
data = derive(lambda cfg: cfg.models[cfg.net]["data"])
