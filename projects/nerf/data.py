"""Pictures of one scene, each with the rays of its pixels."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from libbench.optional import need

from .cameras import rays

FOLDER = Path(__file__).with_name("views")
KINDS = ("seen", "held")


class Views:
    """The pictures in `views/`; one sample is one whole picture.

    An item has `picture`, float32 `(height, width, 3)` from 0 to 1, and the rays of its pixels, row by row: `origins`
    and `directions` of length 1, both float32 `(height * width, 3)`.

    Args:
        kind: "seen" for those that the network learns from, "held" for those once around the scene that it never sees.
        stride: takes every so manieth pixel of every so manieth row.
        count: takes the first so many pictures; None takes all.
    """

    def __init__(self, kind: str, stride: int = 1, count: int | None = None) -> None:
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        image = need("PIL.Image", extra="nerf", purpose="projects/nerf")
        poses = json.loads((FOLDER / "poses.json").read_text(encoding="utf-8"))
        names = [name for name in poses if name.startswith(kind)][:count]
        self.cameras = [np.array(poses[name]) for name in names]
        self.stride = stride
        pictures = []
        for name in names:
            with image.open(FOLDER / f"{name}.png") as file:
                pictures.append(torch.tensor(np.asarray(file), dtype=torch.float32) / 255)
        self.size = pictures[0].shape[:2]
        self.pictures = [picture[::stride, ::stride] for picture in pictures]

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> dict[str, Any]:
        height, width = self.size
        chosen = np.arange(height * width).reshape(height, width)[:: self.stride, :: self.stride].flatten()
        origins, directions = (
            torch.tensor(each[chosen], dtype=torch.float32) for each in rays(self.cameras[index], width, height)
        )
        return {"picture": self.pictures[index], "origins": origins, "directions": directions}


def only(items: list[Any]) -> Any:
    """Give the one item of a batch of one, as it is."""
    (item,) = items
    return item


def pictures_of(dataset: Views) -> list[torch.Tensor]:
    """Give the picture of every view, in order."""
    return dataset.pictures
