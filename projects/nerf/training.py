"""Trains the network and writes its weights beside this file: `python -m projects.nerf.training`."""

import argparse
from math import fsum, log10
from pathlib import Path

import torch
from safetensors.torch import save

from .data import Views
from .model import NeRF, Rendering
from .sampling import within

SEED = 0
STEPS = 4000
RAYS = 512
"""Rays in a step."""
RATES = (3e-3, 2e-5)
"""Learning rates at the start and at the end; between them it falls evenly in its logarithm."""
RISE = 100
"""Steps in which the rate comes up from nothing."""
SAMPLES = (32, 24)
"""Fewer than the trained network gets, since every step draws others."""
TELL = 250


def rays_through(model: NeRF, views: Views) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Give origins, directions and colours of all rays through the model's box: the others have nothing to teach."""
    items = [views[index] for index in range(len(views))]
    origins, directions = (torch.cat([item[name] for item in items]) for name in ("origins", "directions"))
    colours = torch.cat([item["picture"].flatten(0, 1) for item in items])
    enter, leave = within(model.low, model.high, origins, directions)
    through = (leave > enter)[:, 0]
    return origins[through], directions[through], colours[through]


def error(rendering: Rendering, colours: torch.Tensor) -> torch.Tensor:
    """Give the mean squared error of the colours."""
    return (rendering.colour - colours).square().mean()


def train(model: NeRF, views: Views, steps: int = STEPS, count: int = RAYS) -> None:
    """Train a model in place. With the same seed and number of threads, a machine gives the same weights again."""
    torch.manual_seed(SEED)
    origins, directions, colours = rays_through(model, views)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATES[0])
    decay = (RATES[1] / RATES[0]) ** (1 / steps)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / RISE) * decay**step)
    errors = []
    model.train()
    for step in range(1, steps + 1):
        chosen = torch.randint(len(origins), (count,))
        coarse, fine = model.passes(origins[chosen], directions[chosen])
        last = error(fine, colours[chosen])
        optimizer.zero_grad()
        (last + error(coarse, colours[chosen])).backward()
        optimizer.step()
        schedule.step()
        errors.append(float(last.detach()))
        if step % TELL == 0:
            print(f"step {step} of {steps}: {-10 * log10(fsum(errors) / len(errors)):.2f} dB", flush=True)
            errors.clear()
    model.eval()


@torch.inference_mode()
def seen_as(model: NeRF, views: Views) -> list[float]:
    """Give the PSNR of each view, in dB."""
    items = (views[index] for index in range(len(views)))
    return [
        -10 * log10(error(model(item["origins"], item["directions"]), item["picture"].flatten(0, 1))) for item in items
    ]


def main() -> None:
    """Train, write and report."""
    parser = argparse.ArgumentParser(prog="python -m projects.nerf.training", description=__doc__)
    parser.add_argument("--to", type=Path, default=Path(__file__).with_name("weights.safetensors"), metavar="FILE")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    model = NeRF(samples=SAMPLES)
    train(model, Views("seen"))
    halves = {name: value.half() for name, value in model.state_dict().items()}
    chosen.to.write_bytes(save(halves))
    # What is reported is what the file holds, rounding included, with as many samples as the configs take.
    model.load_state_dict(halves)
    model.samples = NeRF().samples
    found = seen_as(model, Views("held"))
    print(f"{chosen.to.name}: {len(found)} held views, PSNR {fsum(found) / len(found):.2f} dB, least {min(found):.2f}")


if __name__ == "__main__":
    main()
