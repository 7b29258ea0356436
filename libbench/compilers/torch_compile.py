"""`torch.compile`, with any of its backends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

import torch

from libbench.explaining import GraphEnds
from libbench.inductor import Rng, check_rng, is_cold, new_code, require_cxx, with_rng
from libbench.interfaces import Batch, Compiled
from libbench.methods import method_of
from libbench.result import CompileFacts
from libbench.tree import tensors

_LEFT_OUT = (
    ("max_fusion_size", 1),
    ("use_pre_grad_passes", False),
    ("use_joint_graph_passes", False),
    ("use_post_grad_passes", False),
    ("fallback_by_default", True),
)
"""What inductor can do without: fusion, the passes over its graphs, and kernels of its own."""


class TorchCompile:
    """Compiles the workload's method by `torch.compile`; the arguments are torch's own.

    Of a method such as `generate`, which calls the model itself, the model's forward is compiled in place, and the
    method runs as it is around that; a method that never calls the model is compiled itself. Which of the two it is
    shows in the first call, which the latter makes twice.

    Compilation happens in the first call. For inductor the facts of a cold cache hold only when
    `TORCHINDUCTOR_CACHE_DIR` names this side's own folder, as a session sets it. That compiled code ran is counted,
    which takes some 0.1 us for each graph and call.

    Args:
        backend: name of a backend, or a callable.
        mode: such as "default", "reduce-overhead", "max-autotune"; not together with `options`.
        options: settings of the backend, such as `{"freezing": True}`.
        dynamic: True, False, or None to let torch find out.
        fullgraph: True makes a graph break an error.
        rng: "native" lets inductor draw random numbers in its own way, as it does for its users; "same" lets it draw
            those that eager torch draws from the same seed, by slower code. Other backends draw as eager torch does.
    """

    def __init__(
        self,
        backend: str | Callable[..., Any] = "inductor",
        mode: str | None = None,
        options: Mapping[str, Any] | None = None,
        dynamic: bool | None = None,
        fullgraph: bool = False,
        rng: Rng = "native",
    ) -> None:
        check_rng(rng)
        if mode is not None and options is not None:
            raise ValueError(f"mode and options cannot both be given, got {mode!r} and {options!r}")
        self.backend = backend
        self.mode = mode
        self.options = options
        self.dynamic = dynamic
        self.fullgraph = fullgraph
        self.rng = rng

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Give the optimised method; nothing is traced before its first call.

        Raises:
            UnavailableError: inductor is asked for on a CPU without a C++ compiler.
            LibbenchError: the model has no such method.
        """
        inductor = self.backend == "inductor"
        if inductor:
            require_cxx()
        counting = _Counting(self._backend())
        arguments: dict[str, Any] = {"backend": counting, "dynamic": self.dynamic, "fullgraph": self.fullgraph}
        call = method_of(model, method)
        if method != "forward" and isinstance(model, torch.nn.Module):
            call = _Entry(model, call, counting, arguments)
        else:
            call = torch.compile(call, **arguments)
        name = self.backend if isinstance(self.backend, str) else getattr(self.backend, "__name__", "callable")
        return Compiled(
            call,
            version=f"torch.compile {name}, torch {torch.__version__}",
            facts=counting.facts,
            cold=is_cold() if inductor else None,
            # Otherwise a later side with the same code is served from here, and seems not to have been compiled.
            release=torch.compiler.reset,
        )

    def milder(self) -> Iterator[tuple[str, TorchCompile]]:
        """Give inductor without one of its steps, then the graphs as they come to it, run by torch's own kernels."""
        if self.backend != "inductor":
            return
        options = dict(self.options or {})
        if self.mode is not None:
            options = dict(torch._inductor.list_mode_options(self.mode, self.dynamic))
        for name, value in _LEFT_OUT:
            if options.get(name) != value:
                text = str(value).lower()
                said = f"compiler.options.{name}={text}" if self.options else f"compiler.options={{{name}: {text}}}"
                said = f"compiler.mode=null {said}" if self.mode is not None else said
                yield said, self._changed(self.backend, {**options, name: value})
        for backend in ("aot_eager_decomp_partition", "aot_eager"):
            yield f"compiler.backend={backend}", self._changed(backend, None)

    def _changed(self, backend: str, options: Mapping[str, Any] | None) -> TorchCompile:
        changed = copy(self)
        changed.backend, changed.mode, changed.options = backend, None, options
        return changed

    def _backend(self) -> Callable[..., Any]:
        options = dict(self.options) if self.options is not None else None
        if self.backend == "inductor":
            wrapped: Callable[..., Any] = torch._TorchCompileInductorWrapper(  # type: ignore[no-untyped-call]
                self.mode, with_rng(options, self.rng), self.dynamic
            )
            return wrapped
        from torch._dynamo import lookup_backend

        found = lookup_backend(self.backend)
        given = {"mode": self.mode if self.mode != "default" else None, "options": options}
        chosen = {name: value for name, value in given.items() if value}
        return partial(found, **chosen) if chosen else found


class _Counting:
    """A backend that counts what it compiles, and how often that runs.

    Args:
        backend: takes a graph and example inputs, and gives what runs in its place.
    """

    def __init__(self, backend: Callable[..., Any]) -> None:
        self.calls = 0
        self._backend = backend
        self._graphs: list[Any] = []
        self._breaks_before = _breaks()
        self._left_before = _left_to_python()
        self._ends = GraphEnds()
        self._new_code = new_code()
        self._size: tuple[int, int | None] = (0, None)

    def __getattr__(self, name: str) -> Any:
        # What else torch asks of its own backends, such as `reset`.
        return getattr(self._backend, name)

    def __call__(self, graph: torch.fx.GraphModule, inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
        compiled = self._backend(graph, inputs, **options)
        self._graphs.append(torch._guards.CompileContext.current_compile_id())

        def run(*args: Any) -> Any:
            self.calls += 1
            return compiled(*args)

        return run

    def facts(self) -> CompileFacts:
        """Say what was compiled so far; breaks are those of the whole process since this was made."""
        graphs = len(self._graphs)
        # The folder is looked into only when something was compiled: this is asked between timed calls, too.
        if self._size[0] != graphs:
            self._size = graphs, self._new_code()
        frames = {getattr(each, "frame_id", None) for each in self._graphs}
        return CompileFacts(
            graphs=graphs,
            breaks=_breaks() - self._breaks_before,
            recompiles=len(set(self._graphs)) - len(frames),
            artefact_bytes=self._size[1],
            calls=self.calls,
            notes=self._ends.told() or (() if graphs else self._left()),
        )

    def _left(self) -> tuple[str, ...]:
        """Say why torch has left all of it to Python, which ends no graph."""
        return tuple(map(_why_left, _left_to_python() - self._left_before))


def _left_to_python() -> Counter[str]:
    """Give what of this process torch could not trace so far, each with how often."""
    from torch._dynamo.utils import counters

    return Counter(counters["unimplemented"])


def _why_left(text: str) -> str:
    """Say in one line what torch says in several."""
    lines = [line.strip() for line in text.splitlines()]
    why = next((line.removeprefix("Explanation: ") for line in lines if line.startswith("Explanation: ")), lines[0])
    return f"left to Python: {why.rstrip('.')}"


def _breaks() -> int:
    from torch._dynamo.utils import counters

    return sum(counters["graph_break"].values())


class _Entry:
    """A method other than forward, with the model's forward compiled in place, or compiled itself."""

    def __init__(
        self, model: torch.nn.Module, method: Callable[..., Any], counting: _Counting, arguments: Mapping[str, Any]
    ) -> None:
        self._model, self._method, self._counting, self._arguments = model, method, counting, arguments
        self._chosen: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._chosen is not None:
            return self._chosen(*args, **kwargs)
        # The call may change its inputs, and draw random numbers, and perhaps has to be made again.
        kept = [(tensor, tensor.clone()) for _, tensor in tensors((args, kwargs))]
        random_state = torch.get_rng_state()
        self._model.compile(**self._arguments)
        try:
            outputs = self._method(*args, **kwargs)
        except Exception:
            self._model._compiled_call_impl = None
            raise
        if self._counting.calls:
            self._chosen = self._method
            return outputs
        self._model._compiled_call_impl = None
        torch.set_rng_state(random_state)
        with torch.no_grad():
            for tensor, values in kept:
                tensor.copy_(values)
        self._chosen = torch.compile(self._method, **self._arguments)
        return self._chosen(*args, **kwargs)
