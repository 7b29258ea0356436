"""Loops whose parts are compiled: what ran, what was changed, and what is said."""

import pytest
import torch

from libbench.comparability import not_compiled
from libbench.compilers.eager import Eager
from libbench.compilers.inside import Inside
from libbench.compilers.torch_compile import TorchCompile
from libbench.compilers.torch_export import TorchExport
from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.diff import Plan, diff
from libbench.errors import LibbenchError
from libbench.inductor import new_code
from libbench.interfaces import Batch, Compiled
from libbench.report.text import render
from libbench.runners.local import Local
from libbench.settings import Timer
from libbench.workloads.inference import Inference

NO_SPEED = Plan(speed=False)
EXAMPLE = Batch((0, 1), torch.ones(2, 4), 0)


class Looping(torch.nn.Module):
    """Applies a layer until its values are small, which no exporter can follow, and grows a memory on its way."""

    def __init__(self, steps=4):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.steps = steps

    def begin(self, x):
        return x * 2, x[:, None]

    def step(self, x, memory, *, scale):
        y = torch.tanh(self.layer(x)) * scale + memory.mean(dim=1)
        return {"x": y, "memory": torch.cat([memory, y[:, None]], dim=1)}

    def forward(self, x):
        return self.layer(x)

    def odd(self, *values, scale):
        return values[0] * scale

    def run(self, x):
        x, memory = self.begin(x)
        for _ in range(self.steps):
            found = self.step(x, memory, scale=0.5)
            x, memory = found["x"], found["memory"]
            if float(x.abs().max()) < 1e-9:
                break
        return found

    def twice(self, x):
        return self.layer(self.layer(x))

    def nested(self, x):
        return self.twice(x) + self.layer(x)

    def through_layer(self, x):
        return self.layer(x) if float(x.sum()) > 1e9 else self.layer(x) + 1

    def through_odd(self, x):
        return self.odd(x, x, scale=2.0)


def config(method="run", compiler=None, **changes):
    parts = {
        "model": L(Looping)(**changes),
        "data": L(RandomInputs)(shapes=(4,), samples=4, batch_size=2),
        "workload": L(Inference)(method=method),
        "runner": L(Local)(threads=1),
    }
    return parts if compiler is None else {**parts, "compiler": compiler}


def inside(*methods, compiler=TorchExport, **arguments):
    return L(Inside)(compiler=L(compiler)(**arguments), methods=list(methods))


def test_a_loop_that_cannot_be_exported_runs_around_its_exported_parts():
    whole = diff(config(), config(compiler=L(TorchExport)()), NO_SPEED)
    parts = diff(config(), config(compiler=inside("begin", "step")), NO_SPEED)

    assert (whole.target.failure.stage, whole.exit_code) == ("compile", 1)
    assert (parts.exit_code, parts.outputs.samples) == (0, 4)
    facts = parts.target.evaluation.facts
    # `begin`, the first step, and one for all longer memories; two calls to prepare, then two batches.
    assert (facts.graphs, facts.recompiles, facts.calls) == (3, 1, 4 * 5)
    assert parts.target.preparation.compiler == "TorchExport inside run: begin, step"
    assert facts.notes[0].startswith("torch.export, torch ")


def test_every_timed_call_is_shown_to_have_run_the_compiled_parts():
    target = config(compiler=inside("begin", "step", compiler=TorchCompile, backend="aot_eager"))

    comparison = diff(config(), target, Plan(timer=Timer(pairs=6, warmup=1)))

    assert comparison.exit_code == 0
    assert {m.ran for m in comparison.measurements} == {(None, 5.0)}
    assert "ran 5 times in every timed call" in " ".join(render(comparison).split())


def test_a_method_of_a_module_inside_the_model_is_named_by_its_path():
    comparison = diff(config("through_layer"), config("through_layer", compiler=inside("layer.forward")), NO_SPEED)

    assert comparison.exit_code == 0
    assert comparison.target.evaluation.facts.calls == 4


def test_a_method_that_another_one_calls_is_compiled_as_a_part_of_it():
    comparison = diff(config("nested"), config("nested", compiler=inside("twice", "layer.forward")), NO_SPEED)

    assert comparison.exit_code == 0
    facts = comparison.target.evaluation.facts
    assert (facts.graphs, facts.calls) == (2, 4 * 2)


def test_a_method_that_is_never_called_is_told_and_is_no_compiled_code():
    comparison = diff(config("through_layer"), config("through_layer", compiler=inside("step")), NO_SPEED)

    assert comparison.exit_code == 0
    assert not_compiled(comparison, 1)
    assert comparison.target.evaluation.facts.notes == ("step was never called",)


def test_where_the_compiler_compiles_nothing_nothing_is_claimed():
    model = Looping()
    found = Inside(Eager(), ["step"]).compile(model, EXAMPLE, "run")
    with torch.inference_mode():
        found.call(EXAMPLE.inputs)

    assert (found.facts().graphs, found.facts().calls) == (None, None)


def test_between_calls_the_model_is_as_it_was_even_after_an_error():
    model = Looping()
    model.begin = own = lambda x: (x * 2, x[:, None])
    found = Inside(TorchExport(), ["begin", "step"]).compile(model, EXAMPLE, "run")

    with torch.inference_mode():
        found.call(EXAMPLE.inputs)
        with pytest.raises(RuntimeError):
            found.call(torch.ones(2, 5))

    assert model.begin is own
    assert "step" not in vars(model)
    found.release()
    assert found.facts().graphs == 0


def test_a_method_that_cannot_be_compiled_fails_in_compile_and_is_named():
    class Box(Looping):
        def step(self, x, memory, *, scale):
            return {"x": x * float(x.sum()), "memory": memory}

    comparison = diff({**config(), "model": L(Box)()}, {**config(compiler=inside("step")), "model": L(Box)()}, NO_SPEED)

    assert comparison.target.failure.stage == "compile"
    assert comparison.target.failure.message.endswith("(in step)")


def test_arguments_that_no_batch_can_hold_are_refused():
    comparison = diff(config("through_odd"), config("through_odd", compiler=inside("odd")), NO_SPEED)

    assert "arguments by place only, together with others by name (in odd)" in comparison.target.failure.message


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["stop"], "Looping has no method 'stop'; did you mean 'step'?"),
        (["layers.forward"], "Looping has no module 'layers', which 'layers.forward' names"),
        (["run"], "Inside compiles what 'run' calls, and not itself"),
        (["__class__.step"], "no compiled method can be put into a type, which '__class__.step' names"),
    ],
)
def test_a_wrong_method_is_told_before_anything_runs(methods, message):
    with pytest.raises(LibbenchError, match=message.replace("?", r"\?")):
        Inside(Eager(), methods).compile(Looping(), EXAMPLE, "run")


@pytest.mark.parametrize("methods", ["step", [], [1], ["step", "step"]])
def test_methods_are_a_list_of_names(methods):
    with pytest.raises((TypeError, ValueError), match="methods must be"):
        Inside(Eager(), methods)


class Doubling(Looping):
    """Draws at random in its step, and doubles what its layer gives by a hook."""

    def __init__(self):
        super().__init__()
        self.layer.register_forward_hook(lambda module, args, output: output * 2)

    def step(self, x):
        return self.layer(x) + torch.rand_like(x)

    def run(self, x):
        return {"drawn": torch.rand(2), "stepped": self.step(x), "again": self.layer.forward(x)}


def test_what_the_model_draws_at_random_does_not_depend_on_when_its_methods_are_compiled():
    ours, theirs = Doubling(), Doubling()
    ours.load_state_dict(theirs.state_dict())
    found = Inside(TorchExport(), ["step"]).compile(ours, EXAMPLE, "run")

    runs = []
    for call in (found.call, theirs.run):
        torch.manual_seed(0)
        with torch.inference_mode():
            runs.append([call(EXAMPLE.inputs) for _ in range(2)])

    assert found.facts().calls == 2
    for one, other in zip(*runs, strict=True):
        torch.testing.assert_close(one, other)


def test_the_hooks_of_a_compiled_module_run_once():
    ours, theirs = Doubling(), Doubling()
    ours.load_state_dict(theirs.state_dict())
    found = Inside(TorchExport(), ["layer.forward"]).compile(ours, EXAMPLE, "through_layer")

    with torch.inference_mode():
        assert torch.equal(found.call(EXAMPLE.inputs), theirs.through_layer(EXAMPLE.inputs))

    assert found.facts().calls == 1
    assert ours.layer._compiled_call_impl is None


def test_the_breaks_of_all_methods_are_counted_once():
    class Broken(Looping):
        def step(self, x):
            torch._dynamo.graph_break()
            return self.layer(x)

        def run(self, x):
            return self.step(self.begin(x)[0])

    model = Broken()
    found = Inside(TorchCompile(backend="aot_eager"), ["begin", "step"]).compile(model, EXAMPLE, "run")

    with torch.inference_mode():
        torch.testing.assert_close(found.call(EXAMPLE.inputs), model.run(EXAMPLE.inputs))

    facts = found.facts()
    found.release()
    assert (facts.graphs, facts.breaks, facts.calls) == (2, 1, 2)


def test_machine_code_is_told_of_once_where_several_compile_in_one_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    first, second = new_code(), new_code()
    tmp_path.joinpath("one.so").write_bytes(b"12345")

    assert (first(), second()) == (5, None)
    tmp_path.joinpath("two.so").write_bytes(b"123")
    assert (second(), first(), second(), new_code()()) == (3, 5, 3, None)


@pytest.mark.parametrize(("cold", "told"), [((True, False), True), ((None, False), False), ((None, None), None)])
def test_a_cache_was_cold_where_one_of_the_methods_found_it_empty(cold, told):
    class Caching:
        """A compiler that finds its cache as it is told."""

        def __init__(self):
            self.cold = iter(cold)

        def compile(self, model, example, method):
            return Compiled(getattr(model, method), "caching", cold=next(self.cold))

    found = Inside(Caching(), ["begin", "step"]).compile(Looping(), EXAMPLE, "run")
    with torch.inference_mode():
        found.call(EXAMPLE.inputs)

    assert found.is_cold() is told


def test_each_method_may_have_a_compiler_of_its_own():
    chosen = {"begin": L(TorchExport)(), "step": L(TorchCompile)(backend="aot_eager")}

    comparison = diff(config(), config(compiler=L(Inside)(compiler=chosen)), NO_SPEED)

    assert comparison.exit_code == 0
    preparation = comparison.target.preparation
    assert preparation.compiler == "TorchExport and TorchCompile inside run: begin, step"
    assert [note.partition(",")[0] for note in preparation.facts.notes] == ["torch.export", "torch.compile aot_eager"]
    with pytest.raises(ValueError, match="methods must be left out where compiler names them, got"):
        Inside({"step": Eager()}, ["step"])
