"""Recordings that are computed: something like speech, between silence, noise and tones, at 16,000 samples a second."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

RATE = 16_000
CHUNK = 512
"""Samples of a chunk, for which the detector gives one probability."""
VOWELS = (
    (730, 1090, 2440),
    (270, 2290, 3010),
    (300, 870, 2240),
    (530, 1840, 2480),
    (570, 840, 2410),
    (500, 1500, 2500),
)
"""The first three formants in Hz (Peterson and Barney, "Control methods used in a study of the vowels", 1952)."""
WIDTHS = (90.0, 110.0, 170.0)
"""How broad these are, in Hz."""


class Recordings:
    """Recordings of some words each, with pauses in which there is silence, noise, a tone or clicks.

    Item `i` is a float32 tensor of shape `(512 * chunks,)`, within -1 and 1, and depends on `i` and `seed` alone.

    Args:
        count: how many recordings there are, at least 1.
        chunks: chunks of each; 100 are 3.2 seconds.
        seed: at least 0.
    """

    def __init__(self, count: int, chunks: int = 100, seed: int = 0) -> None:
        if count < 1 or chunks < 1:
            raise ValueError(f"count and chunks must be at least 1, got {count!r} and {chunks!r}")
        made = [_recording(np.random.default_rng([seed, index]), chunks * CHUNK) for index in range(count)]
        self.audio = torch.from_numpy(np.stack([audio for audio, _ in made]).astype(np.float32))
        spoken = np.stack([spoken for _, spoken in made]).reshape(count, chunks, CHUNK)
        self.spoken = torch.from_numpy(spoken.mean(axis=2) >= 0.5)

    def __len__(self) -> int:
        return len(self.audio)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.audio[index]


def spoken_in(dataset: Any) -> Sequence[torch.Tensor]:
    """Give for each item which of its chunks are speech by half or more: a bool tensor of shape `(chunks,)`."""
    return list(dataset.spoken)


def _recording(rng: np.random.Generator, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Give the samples, and where in them is speech."""
    audio, spoken = np.zeros(length), np.zeros(length, dtype=bool)
    place, pitch = 0, rng.uniform(95, 210)
    while place < length:
        pause = _pause(rng, int(rng.uniform(0.3, 0.8) * RATE))
        words = _words(rng, int(rng.integers(3, 7)), pitch)
        for sound, is_speech in ((pause, False), (words, True)):
            sound = sound[: length - place]
            audio[place : place + len(sound)] = sound
            spoken[place : place + len(sound)] = is_speech
            place += len(sound)
    audio += rng.normal(0, 10 ** rng.uniform(-3.5, -2.5), length)
    return np.clip(audio, -1, 1), spoken


def _pause(rng: np.random.Generator, length: int) -> np.ndarray:
    """Give what is no speech: silence, noise, a tone or clicks."""
    kind = rng.integers(4)
    if kind == 0:
        return np.zeros(length)
    if kind == 1:
        return rng.normal(0, 0.03, length)
    if kind == 2:
        return 0.1 * np.sin(2 * np.pi * rng.uniform(400, 3000) * np.arange(length) / RATE)
    return np.where(rng.random(length) < 0.0005, rng.uniform(-0.6, 0.6, length), 0.0)


def _words(rng: np.random.Generator, syllables: int, pitch: float) -> np.ndarray:
    """Give syllables, each a hiss or none and a vowel that glides to another."""
    parts = []
    for _ in range(syllables):
        if rng.random() < 0.5:
            parts.append(_hiss(rng, int(rng.uniform(0.04, 0.09) * RATE)))
        start, end = (np.array(VOWELS[i], dtype=float) for i in rng.choice(len(VOWELS), 2, replace=False))
        length = int(rng.uniform(0.14, 0.26) * RATE)
        parts.append(_vowel(start, end, pitch * rng.uniform(0.9, 1.15), length, rng.uniform(0.2, 0.5)))
    return np.concatenate(parts)


def _hiss(rng: np.random.Generator, length: int) -> np.ndarray:
    noise = rng.normal(0, 1, length + 1)
    return 0.06 * np.hanning(length) * np.diff(noise)  # a difference leaves the high frequencies


def _vowel(start: np.ndarray, end: np.ndarray, pitch: float, length: int, loud: float) -> np.ndarray:
    """Give harmonics of a falling pitch, as loud as the formants on their way from one vowel to another let through."""
    way = np.linspace(0, 1, length)
    hertz = pitch * (1.05 - 0.15 * way) * (1 + 0.01 * np.sin(2 * np.pi * 5 * np.arange(length) / RATE))
    phase = 2 * np.pi * np.cumsum(hertz) / RATE
    sound, some = np.zeros(length), slice(None, None, 64)  # formants move slowly
    for harmonic in range(1, int(4000 / pitch)):
        gain, heard = 1 / harmonic, harmonic * hertz[some]
        for one, other, width in zip(start, end, WIDTHS, strict=True):
            formant = one + (other - one) * way[some]
            gain = gain * formant**2 / np.hypot(formant**2 - heard**2, width * heard)
        sound += np.interp(way, way[some], gain) * np.sin(harmonic * phase)
    edges = np.minimum(1, np.minimum(way, 1 - way) * length / (0.02 * RATE))
    return loud * edges * sound / np.abs(sound).max()
