"""How good the rendered pictures are, and the pictures themselves."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from libbench.evaluators.image_quality import ImageQuality
from libbench.interfaces import Batch
from libbench.optional import need

from .model import Rendering

NEAR, FAR = 2.2, 4.5
"""Distances that are painted in the first and in the last of the colours."""
COLOURS = ((0.99, 0.91, 0.14), (0.37, 0.79, 0.38), (0.13, 0.57, 0.55), (0.23, 0.32, 0.55), (0.27, 0.0, 0.33))
"""Of depth, from near to far."""
FRAME = 160
"""Milliseconds that a picture of the film is shown."""


class Film(ImageQuality):
    """Metrics `psnr` and `ssim` of rendered views, and their pictures where there is a folder to write to.

    There, `view_03.png` is what was rendered of view 3, `depth_03.png` how far away it is (yellow is near, violet far,
    white nothing), and `film.gif` shows both, view after view.

    Args:
        images: the true picture of each view, `(height, width, 3)` from 0 to 1, read at its dataset index.
    """

    def __init__(self, images: Sequence[torch.Tensor]) -> None:
        super().__init__(images, output="colour")

    def process(self, batch: Batch, outputs: Rendering) -> Mapping[int, Mapping[str, float]]:
        """Judge one view by all of its rays, and write its pictures."""
        (index,) = batch.indices
        if self.folder is not None:
            shape = self.images[index].shape
            _write(outputs.colour.reshape(shape), self.folder / f"view_{index:02}.png")
            _write(painted(outputs).reshape(shape), self.folder / f"depth_{index:02}.png")
        return super().process(batch, outputs)

    def evaluate(self, records: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
        """Give the means over all views, and write the film of them, now that they are all there."""
        if self.folder is not None:
            _write_film(self.folder, list(records))
        return super().evaluate(records)


def painted(rendering: Rendering) -> torch.Tensor:
    """Give the colour of each ray's depth, `(n, 3)`, on white where nothing is seen."""
    depth, opacity = rendering.depth.float(), rendering.opacity.float()[:, None]
    place = ((depth - NEAR) / (FAR - NEAR)).clamp(0, 1) * (len(COLOURS) - 1)
    colours = torch.tensor(COLOURS, device=depth.device)
    before = place.floor().clamp(max=len(COLOURS) - 2).long()
    share = (place - before)[:, None]
    return opacity * ((1 - share) * colours[before] + share * colours[before + 1]) + (1 - opacity)


def _image() -> Any:
    return need("PIL.Image", extra="nerf", purpose="the pictures of projects/nerf")


def _write(picture: torch.Tensor, file: Path) -> None:
    steps = (picture.float().clamp(0, 1) * 255).round().to("cpu", torch.uint8)
    _image().fromarray(steps.numpy()).save(file)


def _write_film(folder: Path, indices: Sequence[int]) -> None:
    """Write `film.gif`, in which each view stands beside its depth; records that come without pictures have none."""
    files = [[folder / f"{kind}_{index:02}.png" for kind in ("view", "depth")] for index in indices]
    frames = [_beside(*pair) for pair in files if all(file.is_file() for file in pair)]
    if not frames:
        return
    frames[0].save(folder / "film.gif", save_all=True, append_images=frames[1:], duration=FRAME, loop=0)


def _beside(left: Path, right: Path) -> Any:
    """Give two pictures of the same height as one, in the colours of a GIF."""
    with _image().open(left) as first, _image().open(right) as second:
        both = _image().new("RGB", (first.width + second.width, first.height))
        both.paste(first, (0, 0))
        both.paste(second, (first.width, 0))
    # The best 256 colours for both halves; what Pillow chooses by default spots the balls.
    return both.quantize(method=_image().Quantize.FASTOCTREE)
