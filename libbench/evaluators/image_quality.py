"""How close rendered or restored pictures are to the true ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import Any, ClassVar

import torch

from libbench.findings import MetricReport
from libbench.images import psnr, ssim
from libbench.interfaces import Batch, Evaluator
from libbench.pick import tensor_of
from libbench.settings import Tolerance


class ImageQuality(Evaluator):
    """Mean PSNR in dB and mean SSIM over all pictures: `psnr`, `ssim`. A record has those of one picture.

    Only a drop counts: the target may be 0.1 dB or 0.002 of SSIM worse than the reference, and better by any amount.

    Args:
        images: the true picture of each sample, read at its dataset index, of shape `(height, width)` or with an axis
            of channels.
        output: key, attribute or position of the pictures in what the model returns, as for `Accuracy`. Their shape
            is `(samples, *shape of a picture)`. A batch of one picture may come as that picture itself, or as a row
            for each of its pixels, `(height * width, channels)`, and so may several, one after the other.
        peak: the largest value that a pixel can have.
        channels: the axis of the channels in a picture, such as -1 or 0; None where there is none.
        structure: False leaves `ssim` out, which pictures below 11 x 11 pixels do not have.
    """

    tolerances: ClassVar[Mapping[str, float]] = {"psnr": 0.1, "ssim": 0.002}

    def __init__(
        self,
        images: Sequence[Any],
        output: str | int | None = None,
        peak: float = 1.0,
        channels: int | None = -1,
        structure: bool = True,
    ) -> None:
        if not peak > 0:
            raise ValueError(f"peak must be above 0, got {peak}")
        self.images = images
        self.output = output
        self.peak = peak
        self.channels = channels
        self.structure = structure

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, Mapping[str, float]]:
        """Give PSNR and SSIM of each picture.

        Raises:
            LookupError: the pictures cannot be found in the outputs.
            ValueError: they have other shapes than the true ones; the message names both.
        """
        truths = [_true(self.images, index) for index in batch.indices]
        pictures = _pictures(tensor_of(outputs, self.output), truths)
        return {
            index: self._record(picture, truth)
            for index, picture, truth in zip(batch.indices, pictures, truths, strict=True)
        }

    def _record(self, picture: torch.Tensor, truth: torch.Tensor) -> dict[str, float]:
        record = {"psnr": psnr(picture, truth, self.peak)}
        if self.structure:
            record["ssim"] = ssim(picture, truth, self.peak, self.channels)
        return record

    def evaluate(self, records: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
        """Give the means over all pictures; infinite PSNR where one is reproduced exactly.

        Raises:
            ValueError: there are no records.
        """
        if not records:
            raise ValueError("no pictures, so no quality of them")
        names = next(iter(records.values()))
        return {name: fsum(record[name] for record in records.values()) / len(records) for name in names}

    def compare(
        self, reference: Mapping[str, float], target: Mapping[str, float], tolerance: Tolerance
    ) -> tuple[MetricReport, ...]:
        """Judge by how much the target is worse."""
        return tuple(
            replace(report, verdict="same", note="better than the reference") if _better(report) else report
            for report in super().compare(reference, target, tolerance)
        )

    def compare_records(
        self, reference: Mapping[int, Mapping[str, float]], target: Mapping[int, Mapping[str, float]]
    ) -> Iterator[str]:
        """Name the picture that loses the most."""
        drops = {index: reference[index]["psnr"] - target[index]["psnr"] for index in reference}
        worst = max(drops, key=lambda index: drops[index])
        if drops[worst] > 0:
            yield f"psnr drops the most at sample {worst}, by {drops[worst]:.3g} dB"


def _better(report: MetricReport) -> bool:
    values = report.reference, report.target
    return report.verdict == "different" and values[0] is not None and values[1] is not None and values[1] > values[0]


def _true(images: Sequence[Any], index: int) -> torch.Tensor:
    try:
        return torch.as_tensor(images[index])
    except IndexError:
        raise ValueError(f"sample {index} has no picture; there are {len(images)} pictures") from None


def _pictures(found: torch.Tensor, truths: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Give the pictures one by one, however the model has laid them out."""
    shape, same = truths[0].shape, all(truth.shape == truths[0].shape for truth in truths)
    if same and found.shape == (len(truths), *shape):
        return list(found)
    if len(truths) == 1 and found.shape == shape:
        return [found]
    pixels = [truth[..., 0].numel() for truth in truths]
    colours = found.ndim == 2 and all(truth.ndim == 3 and truth.shape[-1] == found.shape[1] for truth in truths)
    if colours and len(found) == sum(pixels):
        pieces: Sequence[torch.Tensor] = torch.split(found, pixels)
        return [rows.reshape(truth.shape) for rows, truth in zip(pieces, truths, strict=True)]
    raise ValueError(
        f"pictures must have shape {(len(truths), *shape)}, as the true ones have {tuple(shape)}, or a row for each of "
        f"{sum(pixels)} pixels, got {tuple(found.shape)}"
    )
