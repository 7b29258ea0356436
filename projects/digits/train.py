"""Trains both networks and writes their weights beside this file: `python projects/digits/train.py`."""

from pathlib import Path

import torch
from data import Digits
from model import DigitsNet
from safetensors.torch import save
from torch.nn import functional as F

NETS = {"weights.safetensors": (16, 32), "narrow.safetensors": (6, 12)}
SEED = 2
EPOCHS = 60
STEADY_EPOCHS = 3
"""The last epochs see the pictures as they are, not shifted."""
BATCH = 64


def train(channels: tuple[int, ...], digits: Digits) -> DigitsNet:
    """Train one network on one thread, so that the same machine gives the same weights again."""
    torch.manual_seed(SEED)
    net = DigitsNet(channels).train()
    labels = torch.tensor(digits.labels)
    steps = EPOCHS * -(-len(labels) // BATCH)
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
    for epoch in range(EPOCHS):
        for chosen in torch.randperm(len(labels)).split(BATCH):
            images = digits.images[chosen]
            if epoch < EPOCHS - STEADY_EPOCHS:
                images = images.roll(torch.randint(-1, 2, (2,)).tolist(), dims=(2, 3))
            loss = F.cross_entropy(net(images), labels[chosen], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return net.eval()


@torch.inference_mode()
def right(net: DigitsNet, digits: Digits) -> int:
    """Count the pictures whose digit has the highest score."""
    return int((net(digits.images).argmax(dim=1) == torch.tensor(digits.labels)).sum())


def main() -> None:
    """Train, write and report."""
    torch.set_num_threads(1)
    seen, held_out = Digits(held_out=False), Digits(held_out=True)
    for file, channels in NETS.items():
        net = train(channels, seen)
        Path(__file__).with_name(file).write_bytes(save(net.state_dict()))
        size = sum(parameter.numel() for parameter in net.parameters())
        print(f"{file}: channels {channels}, {size} parameters; right: {right(net, held_out)} of {len(held_out)}")


if __name__ == "__main__":
    main()
