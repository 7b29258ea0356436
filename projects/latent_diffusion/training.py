"""Teaches the autoencoder, then the UNet, to draw scikit-learn's handwritten digits, and keeps their weights.

`python -m projects.latent_diffusion.training` does so in some ten minutes on one core.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from libbench.config import LazyConfig, instantiate
from libbench.optional import need

from .data import DRAWN, SIZE, Prompts, keep
from .model import NOTHING, PURPOSE, WORDS, LatentDiffusion

HERE = Path(__file__).parent
KL = 1e-4
"""What the spread of the latents counts for, against their error in the picture."""
UNSAID = 0.15
"""In this share of the pictures the UNet is not told the words."""


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Give pictures, `(1797, 1, 32, 32)` from -1 to 1, white on black, and the digit of each."""
    loaded = need("sklearn.datasets", extra="diffusion", purpose=PURPOSE).load_digits()
    small = torch.from_numpy(loaded.images).float()[:, None] / 8 - 1
    large = F.interpolate(small, size=(SIZE - 4, SIZE - 4), mode="bicubic", align_corners=False).clamp(-1, 1)
    return F.pad(large, (2, 2, 2, 2), value=-1.0), torch.from_numpy(loaded.target)


def batches(steps: int, size: int, generator: torch.Generator) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Draw pictures, half of them black on white, and their words."""
    pictures, labels = digits()
    for _ in range(steps):
        chosen = torch.randint(len(pictures), (size,), generator=generator)
        black = torch.rand(size, generator=generator) < 0.5
        words = torch.stack([labels[chosen], black + WORDS.index("white")], dim=1)
        yield torch.where(black[:, None, None, None], -pictures[chosen], pictures[chosen]), words


def train_vae(model: LatentDiffusion, steps: int, size: int, generator: torch.Generator) -> None:
    """Teach the autoencoder to give pictures back."""
    optimizer, schedule = _optimizer(model.vae, 4e-3, steps)
    for step, (pictures, _) in enumerate(batches(steps, size, generator)):
        posterior = model.vae.encode(pictures).latent_dist
        latents = posterior.mean + posterior.std * torch.randn(posterior.mean.shape, generator=generator)
        (again,) = model.vae.decode(latents, return_dict=False)
        error = F.mse_loss(again, pictures)
        _update(error + KL * posterior.kl().mean(), optimizer, schedule)
        _say("autoencoder", step, error)
    # As diffusers has it, the UNet sees latents with a variance of 1: the factor goes into the layers around them.
    with torch.no_grad():
        latents = torch.cat([model.vae.encode(each).latent_dist.mean for each, _ in batches(4, 256, generator)])
        channels, factor = latents.shape[1], 1 / latents.std()
        model.vae.quant_conv.weight[:channels] *= factor
        model.vae.quant_conv.bias[:channels] *= factor
        model.vae.post_quant_conv.weight /= factor


def train_unet(model: LatentDiffusion, steps: int, size: int, generator: torch.Generator) -> None:
    """Teach the UNet and the words' vectors to find the noise in latents; keep their mean over the last updates."""
    parts = torch.nn.ModuleList([model.unet, model.words])
    optimizer, schedule = _optimizer(parts, 2e-3, steps)
    mean = torch.optim.swa_utils.AveragedModel(parts, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998))
    for step, (pictures, words) in enumerate(batches(steps, size, generator)):
        with torch.no_grad():
            latents = model.vae.encode(pictures).latent_dist.mean
        words[torch.rand(size, generator=generator) < UNSAID] = NOTHING
        noise = torch.randn(latents.shape, generator=generator)
        times = torch.randint(model.scheduler.config.num_train_timesteps, (size,), generator=generator)
        noisy = model.scheduler.add_noise(latents, noise, times)
        found = model.unet(noisy, times, encoder_hidden_states=model.words(words)).sample
        error = F.mse_loss(found, noise)
        _update(error, optimizer, schedule)
        mean.update_parameters(parts)
        _say("UNet", step, error)
    parts.load_state_dict(mean.module.state_dict())


def _optimizer(module: torch.nn.Module, rate: float, steps: int) -> tuple[Any, Any]:
    optimizer = torch.optim.AdamW(module.parameters(), lr=rate, weight_decay=1e-4)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)


def _update(loss: torch.Tensor, optimizer: Any, schedule: Any) -> None:
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], 1.0)
    optimizer.step()
    schedule.step()


def _say(name: str, step: int, error: torch.Tensor) -> None:
    if step % 100 == 0:
        print(f"{name} {step}: {error.item():.4f}", flush=True)


def main() -> None:
    """Train, and keep the weights, in float16, and what is drawn with them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=HERE, help="folder of the weights and of the pictures")
    parser.add_argument("--steps", type=int, nargs=2, default=(800, 3000), help="of the autoencoder and of the UNet")
    arguments = parser.parse_args()
    (arguments.to / "weights").mkdir(exist_ok=True)
    torch.manual_seed(0)
    config = LazyConfig.load(HERE / "configs" / "eager.py")
    config.model.weights = None
    model = instantiate(config.model)
    generator = torch.Generator().manual_seed(0)
    train_vae(model, arguments.steps[0], 32, generator)
    train_unet(model.requires_grad_(True), arguments.steps[1], 32, generator)
    model.half().float()
    for name, module in model.named_children():
        halves = {key: value.half() for key, value in module.state_dict().items()}
        save_file(halves, arguments.to / "weights" / f"{name}.safetensors")
    keep(draw(model), arguments.to / DRAWN)


def draw(model: LatentDiffusion) -> torch.Tensor:
    """Give the pictures of all prompts."""
    prompts = Prompts()
    items = [prompts[index] for index in range(len(prompts))]
    with torch.inference_mode():
        return model.eval().generate(*(torch.stack([item[name] for item in items]) for name in items[0])).pictures


if __name__ == "__main__":
    main()
