"""Silero VAD, a trained detector of speech, as the files of its wheel have it: safetensors, TorchScript and ONNX."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from libbench.optional import need
from libbench.traced import quiet

from .data import CHUNK

PURPOSE = "projects/speech"
CONTEXT = 64
"""Samples before a chunk that are looked at with it; silence before the first."""
WIDTH = 128


def trained(file: str) -> Path:
    """Give the path of a file with weights that comes with the package `silero-vad`."""
    return Path(need("silero_vad", extra="speech", purpose=PURPOSE).__file__).parent / "data" / file


def weights_in(file: str) -> list[torch.Tensor]:
    """Give the weights that a file of the package holds, in its order."""
    path = trained(file)
    if path.suffix == ".safetensors":
        return list(load_file(path).values())
    if path.suffix == ".jit":
        return list(scripted().state_dict().values())
    onnx = need("onnx", extra="speech", purpose=PURPOSE)
    return [torch.tensor(onnx.numpy_helper.to_array(each)) for each in onnx.load(path).graph.initializer]


def scripted() -> Any:
    """Give the TorchScript module that takes a chunk and a state; what is around it in its file keeps the state."""
    with quiet():
        return torch.jit.load(trained("silero_vad.jit"))._model  # type: ignore[no-untyped-call]


class Detector(nn.Module):
    """Silero VAD in torch.

    The spectrum and the convolutions look at each chunk by itself, so all chunks go through them at once; the LSTM
    carries what it has heard from chunk to chunk.

    Args:
        weights: the file of the package that they are read from: `.jit`, `.safetensors`, or an `.onnx` that has those
            for 16,000 samples a second alone.
    """

    def __init__(self, weights: str = "silero_vad.jit") -> None:
        super().__init__()
        self.spectrum = nn.Conv1d(1, 258, 256, stride=128, bias=False)
        sizes = ((129, 128, 1), (128, 64, 2), (64, 64, 2), (64, WIDTH, 1))
        self.encoder = nn.Sequential(
            *(nn.Sequential(nn.Conv1d(i, o, 3, stride=stride, padding=1), nn.ReLU()) for i, o, stride in sizes)
        )
        self.memory = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.decoder = nn.Linear(WIDTH, 1)
        # Each file has names of its own, and the same order.
        own = self.state_dict()
        pairs = zip(own.items(), weights_in(weights), strict=True)
        self.load_state_dict({name: read.reshape(tensor.shape) for (name, tensor), read in pairs})

    def forward(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """Say how likely each chunk is speech.

        Args:
            audio: shape `(batch, 512 * chunks)`, 16,000 samples a second.

        Returns:
            `speech`, probabilities of shape `(batch, chunks)`, and `state`, of shape `(batch, 2, 128)`: the output and
            the cell of the LSTM after the last chunk.
        """
        return self._listen(with_context(audio), audio.new_zeros(len(audio), 2, WIDTH))

    def step(self, chunk: torch.Tensor, state: torch.Tensor) -> dict[str, torch.Tensor]:
        """Do the same for one chunk with the samples before it, of shape `(batch, 64 + 512)`, after a state."""
        return self._listen(chunk[:, None], state)

    def _listen(self, chunks: torch.Tensor, state: torch.Tensor) -> dict[str, torch.Tensor]:
        heard = nn.functional.pad(chunks.flatten(0, 1)[:, None], (0, CONTEXT), "reflect")
        real, imaginary = self.spectrum(heard).chunk(2, dim=1)
        encoded = self.encoder((real.square() + imaginary.square()).sqrt())
        output, cell = state.transpose(0, 1).contiguous().chunk(2)
        hidden, after = self.memory(encoded.reshape(*chunks.shape[:2], WIDTH), (output, cell))
        speech = torch.sigmoid(self.decoder(torch.relu(hidden)))[..., 0]
        return {"speech": speech, "state": torch.cat(after).transpose(0, 1)}


def with_context(audio: torch.Tensor) -> torch.Tensor:
    """Cut audio to chunks, each with the samples before it: shape `(batch, chunks, 64 + 512)`.

    Raises:
        ValueError: its length is no multiple of a chunk.
    """
    if audio.ndim != 2 or audio.shape[1] % CHUNK or not audio.shape[1]:
        raise ValueError(f"audio must have shape (batch, {CHUNK} * chunks), got {tuple(audio.shape)}")
    return nn.functional.pad(audio, (CONTEXT, 0)).unfold(1, CONTEXT + CHUNK, CHUNK)


class _ChunkByChunk:
    """A detector that is called once for each chunk, and is given back what it held after the one before."""

    def __call__(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        state, found = torch.zeros(len(audio), 2, WIDTH), []
        for chunk in with_context(audio).unbind(dim=1):
            heard = self.step(chunk, state)
            state = heard["state"]
            found.append(heard["speech"])
        return {"speech": torch.cat(found, dim=1), "state": state}

    def step(self, chunk: torch.Tensor, state: torch.Tensor) -> dict[str, torch.Tensor]:
        """Say of one chunk what `Detector.step` says."""
        speech, after = self._run(chunk.contiguous(), state.transpose(0, 1).contiguous())
        return {"speech": speech, "state": after.transpose(0, 1)}

    def _run(self, chunk: torch.Tensor, state: torch.Tensor) -> Sequence[torch.Tensor]:
        """Give the probability, and the state after it: of shape `(2, batch, 128)`, as that before it."""
        raise NotImplementedError


class Script(_ChunkByChunk):
    """The same detector as TorchScript, `silero_vad.jit`."""

    def __init__(self) -> None:
        self._model = scripted()

    def _run(self, chunk: torch.Tensor, state: torch.Tensor) -> Sequence[torch.Tensor]:
        found: Sequence[torch.Tensor] = self._model(chunk, state)
        return found


class Onnx(_ChunkByChunk):
    """The same detector as ONNX, run by ONNX Runtime on a CPU.

    Args:
        file: one of those that come with the package, as `silero_vad.onnx`.
    """

    def __init__(self, file: str) -> None:
        runtime = need("onnxruntime", extra="speech", purpose=PURPOSE)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        self._session = runtime.InferenceSession(str(trained(file)), options, providers=["CPUExecutionProvider"])
        self._takes = {each.name for each in self._session.get_inputs()}

    def _run(self, chunk: torch.Tensor, state: torch.Tensor) -> Sequence[torch.Tensor]:
        feeds: dict[str, Any] = {"input": chunk.numpy(), "state": state.numpy()}
        if "sr" in self._takes:
            feeds["sr"] = torch.tensor(16_000).numpy()
        return [torch.from_numpy(each) for each in self._session.run(["output", "stateN"], feeds)]
