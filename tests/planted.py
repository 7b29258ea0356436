"""Networks, and faults that are planted in them at random places: what `libbench locate` has to find."""

from __future__ import annotations

import copy
import random
import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

FAULTS = ("bfloat16", "softmax", "swapped", "epsilon", "transposed", "stale", "nan")
NETS = ("conv", "transformer", "recurrent", "t5")


class Gate(nn.Module):
    """Attention over channels, with a difference from a running mean."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.mix = nn.Linear(channels, channels)
        self.register_buffer("mean", torch.full((channels,), 0.25))

    def forward(self, x):
        means = x.mean((2, 3))
        weights = torch.softmax(self.mix(means - self.mean), -1)
        return x * weights[:, :, None, None]


class ConvBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.gate = Gate(channels)

    def forward(self, x):
        y = F.relu(self.norm(self.conv(x)))
        return x - 0.5 * self.gate(y)


class Conv(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.blocks = nn.Sequential(*(ConvBlock(16) for _ in range(5)))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(self.blocks(self.first(x)), 2)
        return self.head(x.flatten(2).mean(2))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.heads = heads
        self.register_buffer("slope", torch.linspace(0.1, 1.0, heads))

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (f(x).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        place = torch.arange(t, dtype=x.dtype)
        distance = (place[:, None] - place[None, :]).clamp(min=0)
        scores = q @ k.transpose(-1, -2) / (w // self.heads) ** 0.5 - distance * self.slope[:, None, None]
        return self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, t, w))


class TransformerBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 32)
        self.blocks = nn.ModuleList(TransformerBlock(32, 4) for _ in range(6))
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 50)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Cell(nn.Module):
    """One step that is called again and again."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(width, width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.register_buffer("rest", torch.full((width,), 0.3))

    def forward(self, x, state):
        new = torch.tanh(self.norm(self.inner(x) + self.outer(state)))
        gate = torch.softmax(new, -1)
        return state - gate * (state - self.rest) + 0.5 * new


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(40, 24)
        self.lstm = nn.LSTM(24, 24, batch_first=True)
        self.cells = nn.ModuleList(Cell(24) for _ in range(3))
        self.head = nn.Linear(24, 40)

    def forward(self, tokens):
        x, _ = self.lstm(self.words(tokens))
        outputs = []
        states = [torch.zeros_like(x[:, 0]) for _ in self.cells]
        for step in x.unbind(1):
            for i, cell in enumerate(self.cells):
                step = states[i] = cell(step, states[i])
            outputs.append(step)
        return self.head(torch.stack(outputs, 1))


class T5(nn.Module):
    """A small T5 that gives its logits."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import T5Config, T5ForConditionalGeneration

        sizes = {"vocab_size": 60, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
        config = T5Config(**sizes, decoder_start_token_id=0, use_cache=False, attn_implementation="eager")
        self.t5 = T5ForConditionalGeneration(config)

    def forward(self, tokens):
        return self.t5(input_ids=tokens, decoder_input_ids=tokens.flip(1), use_cache=False).logits


def net(name: str, seed: int = 0) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Give a network in eval mode, and its inputs."""
    torch.manual_seed(seed)
    made = {"conv": Conv, "transformer": Transformer, "recurrent": Recurrent, "t5": T5}[name]().eval()
    for module in made.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    tokens = torch.randint(1, 40, (2, 7))
    return made, (torch.randn(2, 3, 12, 12),) if name == "conv" else (tokens,)


@dataclass(frozen=True)
class Site:
    """One call of a torch function directly in a module: its name, which of that module's it is, and its line."""

    module: str
    name: str
    number: int
    line: str
    changes: bool


@dataclass(frozen=True)
class Planted:
    """Where a fault is: the module, the line and operator where it is one of these, and who shares a faulty tensor."""

    fault: str
    module: str
    name: str = ""
    line: str = ""
    shared: tuple[str, ...] = ()


_COMPUTES = {
    "linear", "conv2d", "matmul", "softmax", "layer_norm", "gelu", "relu", "tanh", "add", "mul", "sub", "mean",
    "batch_norm", "rsqrt", "pow", "div", "truediv",
}  # fmt: skip
_ALIASES = {"__add__": "add", "__radd__": "add", "__mul__": "mul", "__rmul__": "mul", "__sub__": "sub",
            "__rsub__": "rsub", "__matmul__": "matmul", "__truediv__": "div", "_softmax": "softmax",
            "convolution": "conv2d", "rsub": "rsub", "true_divide": "div", "__pow__": "pow"}  # fmt: skip
_OF_FAULT = {"bfloat16": _COMPUTES, "softmax": {"softmax"}, "swapped": {"sub", "rsub"}, "nan": _COMPUTES - {"sub"}}


def base(name: str) -> str:
    """Give the name by which a torch function and its operator are the same."""
    name = name.rpartition(".")[2]
    return _ALIASES.get(name, name.strip("_") if not name.startswith("__") else name)


class Stepper(TorchFunctionMode):
    """Counts the calls of torch functions that a module makes itself, and not those of the modules in it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.deep, self.counts, self.module = 0, {}, module

    def __enter__(self):
        def enter(*_):
            self.deep += 1

        def leave(*_):
            self.deep -= 1

        children = [each for each in self.module.modules() if each is not self.module]
        self.handles = [each.register_forward_pre_hook(enter) for each in children]
        self.handles += [each.register_forward_hook(leave) for each in children]
        return super().__enter__()

    def __exit__(self, *error):
        for handle in self.handles:
            handle.remove()
        return super().__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.deep:
            return func(*args, **kwargs)
        name = base(getattr(func, "__name__", ""))
        number = self.counts[name] = self.counts.get(name, -1) + 1
        return self.call(func, name, number, args, kwargs)


class Looking(Stepper):
    """Lists the sites of a module's first call."""

    def __init__(self, module, path, fault, found):
        super().__init__(module)
        self.path, self.fault, self.found = path, fault, found

    def call(self, func, name, number, args, kwargs):
        out = func(*args, **kwargs)
        if name in _OF_FAULT[self.fault] and self.can_be(out):
            faulty = done(self.fault, func, args, kwargs)
            changes = not torch.allclose(faulty.double(), out.double(), 3e-4, 0)
            self.found.append(Site(self.path, name, number, own_line(), changes))
        return out

    def can_be(self, out):
        # Arithmetic with whole numbers is neither rounded nor made NaN.
        return torch.is_tensor(out) and out.numel() and (self.fault == "swapped" or out.is_floating_point())


class Doing(Stepper):
    """Does the fault at one site."""

    def __init__(self, module, fault, site):
        super().__init__(module)
        self.fault, self.site = fault, site

    def call(self, func, name, number, args, kwargs):
        if (name, number) == (self.site.name, self.site.number):
            return done(self.fault, func, args, kwargs)
        return func(*args, **kwargs)


def done(fault: str, func: Any, args: Any, kwargs: Any) -> torch.Tensor:
    """Do what a torch function does, with a fault."""
    if fault == "bfloat16":

        def low(value):
            return value.bfloat16() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

        return func(*map(low, args), **{key: low(value) for key, value in kwargs.items()}).float()
    if fault == "softmax":
        return func(*args, **kwargs) * 0.98
    if fault == "swapped":
        return func(args[1], args[0], *args[2:], **kwargs) if torch.is_tensor(args[1]) else args[1] - args[0]
    out = func(*args, **kwargs)
    keep = torch.arange(out.numel()).view(out.shape) > 0
    return torch.where(keep, out, float("nan"))


def own_line() -> str:
    """Give `file:line` of the innermost frame that is neither torch's nor of this file, unless it is of a network."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if "/torch/" not in file and not (file == __file__ and frame.f_code.co_name not in ("forward", "<genexpr>")):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def plant(model: nn.Module, inputs: tuple[Any, ...], fault: str, rng: random.Random) -> tuple[nn.Module, Planted]:
    """Give a copy of a model with a fault at a random place, where it changes what the model gives."""
    with torch.no_grad():
        right = model(*inputs)
        while True:
            made = copy.deepcopy(model)
            planted = _TENSORS[fault](made, rng) if fault in _TENSORS else _at_a_site(made, inputs, fault, rng)
            if not torch.allclose(made(*inputs), right, 1e-5, 1e-6):
                return made, planted


def _at_a_site(model, inputs, fault, rng):
    sites = sites_of(model, inputs, fault)
    site = rng.choice([each for each in sites if each.changes])
    module = model.get_submodule(site.module)
    forward = module.forward

    def faulty(*args, **kwargs):
        with Doing(module, fault, site):
            out = forward(*args, **kwargs)
        if fault != "nan":
            return out
        heal = torch.nan_to_num
        return heal(out) if isinstance(out, torch.Tensor) else (heal(out[0]), *out[1:])

    module.forward = faulty
    return Planted(fault, site.module, site.name, site.line)


def sites_of(model, inputs, fault):
    """List where a fault of this kind can be, in all modules."""
    found = []
    copied = copy.deepcopy(model)
    for path, module in copied.named_modules():
        module.forward = _looking(module, path, fault, found)
    copied(*inputs)
    return list({(site.module, site.name, site.number): site for site in found}.values())


def _looking(module, path, fault, found):
    forward = module.forward

    def looked(*args, **kwargs):
        with Looking(module, path, fault, found):
            return forward(*args, **kwargs)

    return looked


def _epsilon(model, rng):
    names = ("eps", "variance_epsilon")
    found = [(path, m, name) for path, m in model.named_modules() for name in names if hasattr(m, name)]
    path, module, name = rng.choice(found)
    setattr(module, name, 0.02)
    return Planted("epsilon", path)


def _transposed(model, rng):
    found = [
        (path, m) for path, m in model.named_modules()
        if isinstance(m, nn.Linear | nn.Conv2d) and m.weight.shape[0] == m.weight.shape[1]
    ]  # fmt: skip
    path, module = rng.choice(found)
    module.weight = nn.Parameter(module.weight.detach().transpose(0, 1).contiguous())
    return Planted("transposed", path)


def _stale(model, rng):
    modules = list(model.named_modules())
    buffers = [(path, m, name) for path, m in modules for name, each in m.named_buffers(recurse=False) if each.dim()]
    found = buffers or [(path, m, name) for path, m in modules for name, _ in m.named_parameters(recurse=False)]
    path, module, name = rng.choice(found)
    with torch.no_grad():
        getattr(module, name).mul_(0.9).add_(0.01)
    held = getattr(module, name)
    shared = tuple(path for path, m in modules if any(each is held for each in m.parameters(recurse=False)))
    return Planted("stale", path, shared=shared)


_TENSORS = {"epsilon": _epsilon, "transposed": _transposed, "stale": _stale}


def found_right(planted: Planted, culprit: Any) -> bool:
    """Tell whether an operator is where the fault is: itself, or one that the fault has added beside it."""
    if culprit is None:
        return False
    if not planted.name:
        return culprit.module in (planted.module, *planted.shared)
    said = [f"{culprit.operator} in {culprit.module} at {culprit.source}"]
    said += [culprit.after, culprit.before] if culprit.additional else []
    parts = [text.partition(" in ") for text in said if text]
    return any(
        base(name) == planted.name and rest.partition(" at ")[0] == planted.module
        and rest.partition(" at ")[2].split(": ")[0] == planted.line
        for name, _, rest in parts
    )  # fmt: skip
