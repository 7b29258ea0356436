"""A rank's place in a group of processes that torch.distributed has joined."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import torch
import torch.distributed as dist

from libbench.errors import UnavailableError
from libbench.tree import map_tensors

LOOPBACK = "127.0.0.1"
_INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
_PATIENCE = 2.0
"""As a multiple of a stage's limit, what torch waits for other ranks: the runner, which can name them, comes first."""

Backend = Literal["gloo", "nccl"]
Split = Literal["batches", "samples", "same", "own"]


@dataclass(frozen=True)
class Seat:
    """What a rank has to know of its group.

    Attributes:
        rank: from 0.
        world: how many ranks there are.
        backend: of the group that the model finds as the default one.
        port: of the store by which the ranks find one another, on 127.0.0.1.
        split: what of the data a rank runs, as `libbench.shares` has it.
        draw: seeds the choices that all ranks have to make alike.
        timeout: seconds that a stage of a side may take.
    """

    rank: int
    world: int
    backend: Backend
    port: int
    split: Split
    draw: int
    timeout: float


def open_store(port: int | None) -> Any:
    """Give the store by which ranks find one another; it serves on 127.0.0.1 alone, until it is forgotten.

    Args:
        port: None takes a free one, which is held from the moment on in which it is chosen.

    Raises:
        UnavailableError: the port is taken, or may not be used.
    """
    with socket.socket() as listener:
        # A port that was closed a moment ago is not taken.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port or 0))
            listener.listen()
        except OSError as error:
            raise UnavailableError(f"port {port} of {LOOPBACK} cannot be had: {error.strerror}") from error
        chosen = listener.getsockname()[1]
        # A socket that is handed over, unlike one that torch opens, does not listen to the whole network.
        return _store(chosen, is_master=True, master_listen_fd=listener.detach())


def _store(port: int, **more: Any) -> Any:
    store = vars(dist)["TCPStore"]  # torch does not export it by name
    return store(LOOPBACK, port, wait_for_workers=False, **more)


class Group:
    """The group that this process is a member of, from the making of this object to `leave`.

    Joining waits for all ranks. `RANK`, `LOCAL_RANK`, `WORLD_SIZE` and so on are set as torchrun sets them.

    Raises:
        UnavailableError: this machine has not what the backend needs.
    """

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        self.rank = seat.rank
        self.world = seat.world
        _check_backend(seat)
        os.environ.update(_environment(seat))
        limit = timedelta(seconds=min(_PATIENCE * seat.timeout, 1e6))
        store = _store(seat.port, is_master=False, timeout=limit)
        if seat.backend == "nccl":
            torch.cuda.set_device(seat.rank)
        dist.init_process_group(seat.backend, store=store, rank=seat.rank, world_size=seat.world, timeout=limit)
        # What the runner has to say goes its own way, by the host, and never between the model's collectives.
        self._own = dist.new_group(backend="gloo", timeout=limit)

    def barrier(self) -> None:
        """Wait until every rank is here."""
        dist.barrier(group=self._own)

    def tell(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Give the numbers of rank 0, on every rank; all pass as many."""
        told = torch.tensor(list(numbers), dtype=torch.int64, device="cpu")
        dist.broadcast(told, 0, group=self._own)
        return tuple(int(each) for each in told.tolist())

    def gather(self, number: int) -> tuple[int, ...]:
        """Give every rank's number, in the order of the ranks."""
        here = torch.tensor([number], dtype=torch.int64, device="cpu")
        found = [torch.empty_like(here) for _ in range(self.world)]
        dist.all_gather(found, here, group=self._own)
        return tuple(int(each) for each in found)

    def tensor_of(self, rank: int, tensor: torch.Tensor) -> torch.Tensor:
        """Give a rank's tensor, on the CPU; all pass one of the same shape and dtype."""
        held = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        dist.broadcast(held.reshape(-1).view(torch.uint8), rank, group=self._own)
        return held

    def leave(self) -> None:
        """End the membership; a model's own groups end with it."""
        dist.destroy_process_group()


def whole(tree: Any) -> Any:
    """Give a tree in which no tensor lies in parts on several ranks, and none is still on its way.

    A tree without such tensors, and any tree where there is no group, is given as it is. All ranks have to ask
    together.
    """
    return map_tensors(_whole, tree) if dist.is_initialized() else tree


def arrived(tree: Any) -> Any:
    """Give a tree whose tensors have all come, where a collective that nobody has waited for is to bring them."""
    return map_tensors(_arrived, tree)


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    # Told by what they can do: their class comes from a module that takes long to import.
    if type(tensor) is torch.Tensor or not hasattr(tensor, "full_tensor"):
        return _arrived(tensor)
    full: torch.Tensor = tensor.full_tensor()
    return _arrived(full)


def _arrived(tensor: torch.Tensor) -> torch.Tensor:
    if type(tensor) is torch.Tensor or not hasattr(tensor, "trigger_wait"):
        return tensor
    come: torch.Tensor = tensor.trigger_wait()
    return come


def _check_backend(seat: Seat) -> None:
    if seat.backend == "gloo":
        return
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not dist.is_nccl_available() or count < seat.world:
        wanted = f"{seat.world} CUDA device{'s' if seat.world > 1 else ''}, one for each rank"
        raise UnavailableError(f"backend 'nccl' needs {wanted}, but torch {torch.__version__} sees {count}")


def _environment(seat: Seat) -> dict[str, str]:
    """Give the variables that torchrun sets on one machine, and those that keep a backend on it."""
    rank, world = str(seat.rank), str(seat.world)
    places = {"RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": "0", "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world}
    meeting = {"MASTER_ADDR": LOOPBACK, "MASTER_PORT": str(seat.port)}
    return places | meeting | dict.fromkeys(_INTERFACES, "lo")
