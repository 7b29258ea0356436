"""Where along its ray a network is asked, and what becomes of its answers.

A ray is cut into intervals by their edges, in distances from its origin. The formulas are those of "NeRF" (Mildenhall
et al., 2020, arXiv:2003.08934), sections 4 and 5.2, with intervals in place of points.
"""

import torch


def within(
    low: torch.Tensor, high: torch.Tensor, origins: torch.Tensor, directions: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Give where rays `(n, 3)` enter and leave the box between two corners `(3,)`, each `(n, 1)`.

    A ray that misses the box leaves it where it enters.
    """
    first, second = (low - origins) / directions, (high - origins) / directions
    enter = torch.minimum(first, second).amax(dim=1, keepdim=True).clamp(min=0)
    leave = torch.maximum(first, second).amin(dim=1, keepdim=True)
    return enter, torch.maximum(enter, leave)


def positions(rays: torch.Tensor, count: int, jitter: bool) -> torch.Tensor:
    """Give `count` numbers from 0 to 1 for each ray, in order: evenly spread, or each drawn from its own stratum.

    Args:
        rays: `(n, ...)`, for the number of rays, dtype and device.
    """
    steps = torch.arange(count, dtype=rays.dtype, device=rays.device)
    if not jitter:
        return (steps / (count - 1)).expand(len(rays), count)
    return (steps + torch.rand(len(rays), count, dtype=rays.dtype, device=rays.device)) / count


def redistributed(edges: torch.Tensor, weights: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """Give edges that lie close together where the weights are high.

    Args:
        edges: `(n, count + 1)`, ascending.
        weights: of the intervals, `(n, count)`; a little is added to each, so that none is left out.
        at: `(n, m)`, from 0 to 1: the share of the weights that lies before each new edge.

    Returns:
        `(n, m)`, ascending if `at` is.
    """
    padded = weights + 0.01
    before = torch.cumsum(padded / padded.sum(dim=1, keepdim=True), dim=1)
    before = torch.cat([torch.zeros_like(before[:, :1]), before], dim=1)
    interval = (torch.searchsorted(before, at.contiguous(), right=True) - 1).clamp(0, weights.shape[1] - 1)
    left, share = before.gather(1, interval), before.gather(1, interval + 1) - before.gather(1, interval)
    start, end = edges.gather(1, interval), edges.gather(1, interval + 1)
    return start + (end - start) * ((at - left) / share).clamp(0, 1)


def absorbed(densities: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    """Give the share of a ray's light that comes from each interval, `(n, count)`; they add up to at most 1.

    Args:
        densities: in the intervals, `(n, count)`, per unit of length.
        edges: `(n, count + 1)`.
    """
    thickness = densities * edges.diff(dim=1)
    through = torch.cumsum(thickness, dim=1) - thickness
    return torch.exp(-through) * (1 - torch.exp(-thickness))
