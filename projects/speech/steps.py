"""Recordings as a live detector hears them: chunk after chunk, each with what is kept of those before."""

import torch

from .data import Recordings
from .model import WIDTH, Detector, with_context


class Steps:
    """The chunks of some recordings, one after another.

    An item is a dict: `chunk`, of shape `(64 + 512,)`, and `state`, of shape `(2, 128)`, which the detector in torch
    holds before it.
    """

    def __init__(self, recordings: Recordings) -> None:
        chunks, detector = with_context(recordings.audio), Detector().eval()
        state, states = torch.zeros(len(chunks), 2, WIDTH), []
        with torch.no_grad():
            for chunk in chunks.unbind(dim=1):
                states.append(state)
                state = detector.step(chunk, state)["state"]
        self.chunks, self.states = chunks.flatten(0, 1), torch.stack(states, dim=1).flatten(0, 1)
        self.spoken = recordings.spoken.reshape(-1, 1)

    def __len__(self) -> int:
        return len(self.chunks)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"chunk": self.chunks[index], "state": self.states[index]}
