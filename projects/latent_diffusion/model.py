"""A small latent diffusion: words become a picture, by diffusers' own networks and scheduler."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from safetensors.torch import load_file
from torch import nn

from libbench.optional import need

PURPOSE = "projects/latent_diffusion"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "white", "black", "")
"""What the model knows; the last one says nothing."""
NOTHING = len(WORDS) - 1
Sharing = Literal["picture", "batch"]


@dataclass(frozen=True)
class Drawing:
    """What is drawn for a batch of words.

    Attributes:
        pictures: `(batch, 1, 32, 32)`, from 0, black, to 1, white.
        latents: `(batch, 4, 8, 8)`, which the pictures were decoded from.
    """

    pictures: torch.Tensor
    latents: torch.Tensor


class LatentDiffusion(nn.Module):
    """Draws pictures for words, from noise that is drawn inside: at first, and again in every step.

    Args:
        unet: takes latents, a time and the words' vectors, and gives the noise in the latents.
        vae: decodes latents to pictures.
        scheduler: makes a step of what the UNet gives.
        steps: calls of the UNet for a picture.
        guidance: how far to go beyond what the UNet gives without words; 1 goes no further than with them.
        eta: share of the noise that is drawn anew in a step, from 0, none, as DDIM has it, to 1, as DDPM has it.
        noise: "picture" draws for each picture by its own seed, whatever else is in the batch; "batch" draws for all
            of a batch by the seed of its first picture.
        weights: folder beside this file with the trained weights of each network; None keeps those that were drawn.
    """

    def __init__(
        self,
        unet: nn.Module,
        vae: nn.Module,
        scheduler: Any,
        steps: int = 20,
        guidance: float = 2.0,
        eta: float = 1.0,
        noise: Sharing = "picture",
        weights: str | None = None,
    ) -> None:
        super().__init__()
        if noise not in get_args(Sharing):
            raise ValueError(f"noise must be 'picture' or 'batch', got {noise!r}")
        self.unet, self.vae, self.scheduler = unet, vae, scheduler
        self.words = nn.Embedding(len(WORDS), unet.config.cross_attention_dim)
        self.steps, self.guidance, self.eta, self.noise = steps, guidance, eta, noise
        if weights is not None:
            for name, module in self.named_children():
                module.load_state_dict(load_file(Path(__file__).with_name(weights) / f"{name}.safetensors"))

    def generate(self, words: torch.Tensor, seeds: torch.Tensor) -> Drawing:
        """Draw a picture for each row of words.

        Args:
            words: positions in `WORDS`, int64 of shape `(batch, words of a picture)`.
            seeds: of the noise, int64 of shape `(batch,)`.
        """
        generators = [torch.Generator().manual_seed(seed) for seed in seeds.tolist()]
        told = self.words(torch.cat([words, torch.full_like(words, NOTHING)]))
        latents = self._noise(generators, told)
        self.scheduler.set_timesteps(self.steps)
        for time in self.scheduler.timesteps.to(told.device):
            twice = torch.cat([latents, latents])
            with_words, without = self.unet(twice, time, encoder_hidden_states=told, return_dict=False)[0].chunk(2)
            found = without + self.guidance * (with_words - without)
            anew = self._noise(generators, told) if self.eta else None
            latents = self.scheduler.step(found, time, latents, eta=self.eta, variance_noise=anew).prev_sample
        (pictures,) = self.vae.decode(latents, return_dict=False)
        return Drawing((pictures / 2 + 0.5).clamp(0, 1), latents)

    def _noise(self, generators: list[torch.Generator], like: torch.Tensor) -> torch.Tensor:
        """Draw noise for all latents of a batch, on the CPU and in float32, so that it is the same everywhere."""
        channels, size = self.unet.config.in_channels, self.unet.config.sample_size
        if self.noise == "batch":
            drawn = torch.randn(len(generators), channels, size, size, generator=generators[0])
        else:
            drawn = torch.stack([torch.randn(channels, size, size, generator=each) for each in generators])
        return drawn.to(like)


def unet(widths: tuple[int, ...] = (16, 32), words: int = 16) -> nn.Module:
    """Give a UNet for latents of 4 x 8 x 8 with random weights.

    Args:
        widths: channels at each resolution, multiples of 8; each but the last looks at the words.
        words: size of a word's vector.
    """
    *wide, _ = widths
    return need("diffusers", extra="diffusion", purpose=PURPOSE).UNet2DConditionModel(
        sample_size=8,
        in_channels=4,
        out_channels=4,
        block_out_channels=widths,
        down_block_types=("CrossAttnDownBlock2D",) * len(wide) + ("DownBlock2D",),
        up_block_types=("UpBlock2D",) + ("CrossAttnUpBlock2D",) * len(wide),
        mid_block_type="UNetMidBlock2D",
        layers_per_block=1,
        cross_attention_dim=words,
        attention_head_dim=2,
        norm_num_groups=8,
    )


def vae(widths: tuple[int, ...] = (8, 16, 16)) -> nn.Module:
    """Give an autoencoder between pictures of 1 x 32 x 32 and latents of 4 x 8 x 8, with random weights.

    Args:
        widths: channels at each resolution, multiples of 8.
    """
    return need("diffusers", extra="diffusion", purpose=PURPOSE).AutoencoderKL(
        in_channels=1,
        out_channels=1,
        block_out_channels=widths,
        down_block_types=("DownEncoderBlock2D",) * len(widths),
        up_block_types=("UpDecoderBlock2D",) * len(widths),
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=8,
        sample_size=32,
    )


def scheduler(betas: str = "scaled_linear") -> Any:
    """Give a DDIM scheduler.

    Args:
        betas: how much noise each time adds: "scaled_linear", "linear" or "squaredcos_cap_v2".
    """
    return need("diffusers", extra="diffusion", purpose=PURPOSE).DDIMScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule=betas, clip_sample=False, set_alpha_to_one=False
    )
