"""Several ranks on this machine that torch.distributed joins, as one side."""

from __future__ import annotations

import random
from pathlib import Path
from typing import get_args

from libbench.child import Child
from libbench.conversation import LOG, Conversation, check_limits, opening
from libbench.group import Backend, Seat, Split, open_store
from libbench.interfaces import Event, Session, Watch
from libbench.job import Job
from libbench.ranks import Ranks
from libbench.records import encode
from libbench.serve import serve


class Distributed:
    """Runs a side on `nproc` ranks, each a child process of this machine, in one group of torch.distributed.

    The group is there before the model is built, with the variables that torchrun sets: a model may be wrapped in
    `DistributedDataParallel`, be sharded by `fully_shard` or `parallelize_module`, or call collectives itself. Output
    tensors that lie in parts on several ranks are put together before anybody looks at them; an evaluator's records
    are put together by dataset index, so that a metric is that of one process.

    Args:
        nproc: ranks, at least 1.
        backend: "gloo" (CPU), or "nccl" (a CUDA device for each rank; `Cuda()` takes the rank's own).
        split: "batches": each rank runs whole batches by turns; "samples": each rank runs its part of the samples of
            every batch, which the data make by `part(rank, world)`; "same": all ranks run all batches, as ranks do
            that share one model: rank 0's outputs count, and one that gives others is named; "own": the data split
            themselves, by `RANK` or by torch.distributed.
        port: of the store by which the ranks find one another, on 127.0.0.1 alone; None takes a free one.
        timeout: seconds that a stage of a side may take, above 0; then all ranks and all that they started are killed.
        threads: torch's threads in each rank; None for an equal part of all usable cores but one.
        processes: fresh groups for a timing, at least 1.
        memory: bytes that each rank and all that it started may take together, as for `Process`; None sets no limit.
    """

    def __init__(
        self,
        nproc: int = 2,
        backend: Backend = "gloo",
        split: Split = "batches",
        port: int | None = None,
        timeout: float = 600.0,
        threads: int | None = None,
        processes: int = 5,
        memory: int | None = None,
    ) -> None:
        if type(nproc) is not int or nproc < 1:
            raise ValueError(f"nproc must be an int of at least 1, got {nproc!r}")
        for name, value, known in (("backend", backend, get_args(Backend)), ("split", split, get_args(Split))):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
        if port is not None and (type(port) is not int or not 0 < port < 65536):
            raise ValueError(f"port must be an int from 1 to 65535, or None, got {port!r}")
        check_limits(timeout, threads, processes, memory)
        self.nproc = nproc
        self.backend = backend
        self.split = split
        self.port = port
        self.timeout = timeout
        self.threads = threads
        self.processes = processes
        self.memory = memory

    def open(self, *jobs: Job, folder: Path, watch: Watch) -> Session:
        """Start the ranks and give the session with them.

        Raises:
            UnavailableError: the port that was asked for cannot be had.
        """
        store = open_store(self.port)
        draw = random.getrandbits(32)
        ranks: list[Conversation] = []
        try:
            for rank in range(self.nproc):
                place = folder / f"rank-{rank}"
                place.mkdir(parents=True)
                seat = Seat(rank, self.nproc, self.backend, store.port, self.split, draw, self.timeout)
                first = opening(jobs, place, self.threads, seat=encode(seat))
                tell = watch if rank == 0 else _nothing
                ranks.append(Conversation(Child(serve, place / LOG, self.memory), first, place, tell, self.timeout))
        except BaseException:
            for each in ranks:
                each.close()
            raise
        return Ranks(ranks, folder, self.split, store)


def _nothing(event: Event) -> None:
    pass
