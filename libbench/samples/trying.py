"""Foreign code run in a child process: a sample validated, a config's model extracted."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import torch

from libbench.child import Channel, Child, ChildDied, ChildLate, ChildTooLarge
from libbench.errors import LibbenchError
from libbench.interfaces import feed
from libbench.job import Job
from libbench.parts import build_parts
from libbench.samples.cutting import Split
from libbench.samples.extracting import CALLS, extract
from libbench.samples.graph import GraphSample
from libbench.samples.hashing import graph_difference
from libbench.samples.variants import Variant

UNCHANGED = Variant()


class TryError(LibbenchError):
    """What ran in the child failed, ended it, or took too long or too much memory."""


def extracted(
    job: Job,
    folder: Path,
    variant: Variant = UNCHANGED,
    *,
    dynamic: bool = False,
    split: Split | None = None,
    calls: int = CALLS,
    timeout: float = 600.0,
    memory: int | None = None,
) -> list[Path]:
    """Build a job's model and its first batch in a child, and write the graphs that torch finds.

    Args:
        folder: one that does not exist.
        variant: what is changed about them.
        dynamic: as of `extract`; so are `split` and `calls`.
        timeout: seconds.
        memory: bytes; None for no limit.

    Raises:
        TryError: it failed; the text says how.
    """
    asked = {"variant": variant.plain(), "dynamic": dynamic, "split": split and str(split), "calls": calls}
    request = {"do": "extract", "ticket": job.ticket(), "folder": str(folder.resolve()), **asked}
    return [Path(each) for each in _tried(request, timeout, memory)]


def validated(sample: Path, timeout: float = 600.0, memory: int | None = None) -> str:
    """Run a sample in a child and extract it again; say what is other in what comes out, or nothing.

    Raises:
        TryError: it did not run, or could not be extracted; the text says why.
    """
    return str(_tried({"do": "validate", "sample": str(sample.resolve())}, timeout, memory))


def _tried(request: Mapping[str, Any], timeout: float, memory: int | None) -> Any:
    with (
        tempfile.TemporaryDirectory(prefix="libbench-") as folder,
        closing(Child(_main, Path(folder) / "log", memory)) as child,
    ):
        try:
            child.send(request)
            answer = child.receive(timeout)
        except ChildLate:
            raise TryError(f"no answer within {timeout:g} s") from None
        except ChildTooLarge as error:
            raise TryError(f"took {error.used} bytes of memory, and may take {error.most}") from None
        except ChildDied as error:
            raise TryError(f"its process ended with code {error.code}") from None
    if "error" in answer:
        raise TryError(answer["error"])
    return answer["value"]


def _main(channel: Channel) -> None:
    request = channel.receive()
    try:
        channel.send({"value": _WORK[request["do"]](request)})
    except Exception as error:
        name = "" if isinstance(error, LibbenchError) else f"{type(error).__name__}: "
        channel.send({"error": name + " ".join(str(error).split())})


def _extract(request: Mapping[str, Any]) -> list[str]:
    job = Job.from_ticket(request["ticket"])
    torch.manual_seed(job.seed)
    parts = build_parts(job)
    batch = next(iter(parts.data), None)
    if batch is None:
        raise LibbenchError("data gave no batch")
    inputs = Variant.of(request["variant"]).apply(parts.model, batch)
    model, split = parts.device.put(parts.model), request["split"]
    asked = {"dynamic": request["dynamic"], "split": split and Split.parse(split), "calls": request["calls"]}
    with parts.workload.setup(model):
        written = extract(model, parts.device.put(inputs), request["folder"], name=job.name, **asked)
    return [str(each) for each in written]


def _validate(request: Mapping[str, Any]) -> str:
    model = GraphSample(request["sample"], seed=0).eval()
    inputs = next(iter(model.own_batches)).inputs
    with torch.no_grad():
        feed(model, inputs)
    inputs = next(iter(model.own_batches)).inputs
    with tempfile.TemporaryDirectory(prefix="libbench-") as folder:
        place, dynamic = Path(folder) / "again", model.sample.uses_sizes
        again = extract(model, inputs, place, name="again", dynamic=dynamic, calls=1, whole=True)
        other = graph_difference(model.sample.path, again[0])
    broken = f"it gives {len(again)} graphs; in the first, " if len(again) > 1 else ""
    return broken + (other or ("all is the same" if broken else ""))


_WORK: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {"extract": _extract, "validate": _validate}
