"""The worker in this process: what it puts back, what the model and the evaluator get."""

import math
import random
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader, RandomInputs
from libbench.devices.cpu import Cpu
from libbench.interfaces import Batch, Evaluator, feed
from libbench.job import Job
from libbench.result import SideFailed
from libbench.runners.process import Process
from libbench.settings import Timer
from libbench.side import first_outputs
from libbench.state import seed_at
from libbench.tree import load_snapshot
from libbench.worker import Worker
from libbench.workloads.inference import Inference

SEEN = []


class Noted(torch.nn.Module):
    """Returns an object that is no tensor at all, and notes what it was called with."""

    def __init__(self):
        super().__init__()
        self.dropout = torch.nn.Dropout(0.5)
        self.draw = float(torch.rand(()))

    def forward(self, *inputs, **named):
        SEEN.append((inputs, named, self.training, torch.is_inference_mode_enabled()))
        return {"answer": "text", "nested": [object.__hash__(self)]}


class Keeps(Evaluator):
    def __init__(self):
        self.batches = []

    def process(self, batch, outputs):
        self.batches.append((batch, outputs))
        torch.rand(3)
        return dict.fromkeys(batch.indices, outputs["answer"])

    def evaluate(self, records):
        return {"records": len(records), "in order": float(list(records) == sorted(records))}


class Fails(Keeps):
    def process(self, batch, outputs):
        if batch.number == 1:
            raise KeyError("no label")
        return super().process(batch, outputs)


@pytest.fixture
def worker(tmp_path):
    workers = []

    def make(threads=1, watch=lambda event: None, **parts):
        SEEN.clear()
        config = {"model": L(Noted)(), "data": L(RandomInputs)(shapes=(4,), samples=10, batch_size=4), **parts}
        workers.append(Worker([Job.of(config)], tmp_path, watch, threads))
        return workers[-1]

    yield make
    for each in workers:
        each.close()


def test_threads_and_random_numbers_are_as_before_when_it_is_closed(worker):
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    before = (
        torch.get_num_threads(),
        random.getstate(),
        np.random.get_state()[1].tolist(),
        torch.get_rng_state().tolist(),
    )

    work = worker(threads=before[0] + 1)
    work.prepare()
    assert torch.get_num_threads() == before[0] + 1
    work.close()

    after = (
        torch.get_num_threads(),
        random.getstate(),
        np.random.get_state()[1].tolist(),
        torch.get_rng_state().tolist(),
    )
    assert after == before


def test_the_seed_is_set_before_the_model_is_built(worker):
    draws = set()
    for _ in range(2):
        work = worker()
        torch.rand(7)
        work.prepare()
        draws.add(work._sides[0].parts.model.draw)

    assert len(draws) == 1


def test_every_batch_reaches_the_evaluator_with_its_indices_and_the_very_object_of_the_model(worker):
    work = worker(evaluator=L(Keeps)())
    work.prepare()

    outputs = list(work.batches())
    evaluation = work.metrics()

    kept = work._sides[0].parts.evaluator.batches
    assert [batch.indices for batch, _ in kept] == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9)]
    assert [(batch.number, batch.epoch) for batch, _ in kept] == [(0, 0), (1, 0), (2, 0)]
    assert all(type(found) is dict and found["answer"] == "text" for _, found in kept)
    assert [output.indices for output in outputs] == [batch.indices for batch, _ in kept]
    assert evaluation.metrics == {"records": 10.0, "in order": 1.0}


def test_a_failing_evaluator_is_named_with_its_batch_and_indices(worker):
    work = worker(evaluator=L(Fails)())
    work.prepare()

    with pytest.raises(SideFailed) as error:
        list(work.batches())

    assert "Fails.process, batch 1, indices 4, 5, 6, 7" in error.value.failure.message
    assert error.value.failure.stage == "evaluate"


def test_modes_of_the_model_are_put_back_after_the_evaluator_also_when_it_fails(worker):
    class Switches(Keeps):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def process(self, batch, outputs):
            self.model.train()
            if batch.number:
                raise KeyError("no label")
            return super().process(batch, outputs)

    shared = L(Noted)()
    work = worker(model=shared, evaluator=L(Switches)(model=shared))
    work.prepare()
    model = work._sides[0].parts.model
    assert work._sides[0].parts.evaluator.model is model
    outputs = work.batches()

    next(outputs)
    assert not model.training
    with pytest.raises(SideFailed):
        next(outputs)

    assert not model.training


def test_the_first_picture_and_the_film_at_the_end_need_no_counter(worker, tmp_path):
    class Films(Keeps):
        def process(self, batch, outputs):
            if batch.number == 0:
                (self.folder / "first.txt").write_text(str(batch.indices))
            return dict.fromkeys(batch.indices, batch.inputs.mean(1)[0].item())

        def evaluate(self, records):
            (self.folder / "film.txt").write_text(" ".join(map(str, records)))
            return {}

    work = worker(evaluator=L(Films)())
    work.prepare()
    list(work.batches())

    assert work.metrics().metrics == {}
    assert (tmp_path / "files" / "first.txt").read_text() == "(0, 1, 2, 3)"
    assert (tmp_path / "files" / "film.txt").read_text() == "0 1 2 3 4 5 6 7 8 9"


def test_an_evaluator_that_writes_no_file_leaves_no_folder(worker, tmp_path):
    work = worker(evaluator=L(Keeps)())
    work.prepare()
    list(work.batches())
    work.metrics()

    assert not (tmp_path / "files").exists()


def test_a_sample_that_comes_again_with_another_record_is_counted_and_one_without_too(worker):
    class Again:
        def __iter__(self):
            for number, indices in enumerate([(0, 1), (1, 0), (2, 3)]):
                yield Batch(indices, torch.zeros(2, 4), number)

    class Odd(Keeps):
        def process(self, batch, outputs):
            return {index: (index, batch.number if index else 0) for index in batch.indices if index != 3}

    work = worker(data=L(Again)(), evaluator=L(Odd)())
    work.prepare()
    list(work.batches())
    found = work.metrics()

    assert (found.metrics["records"], found.missing, found.disputed) == (3, 1, 1)


def test_a_record_that_cannot_be_kept_names_the_evaluator_and_the_sample(worker):
    class Sets(Keeps):
        def process(self, batch, outputs):
            return {index: {1, 2} for index in batch.indices}

    work = worker(evaluator=L(Sets)())
    work.prepare()

    with pytest.raises(SideFailed, match=r"the record of sample 0 cannot be kept: a set .*Sets.process gave"):
        list(work.batches())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda outputs: outputs.numpy().fill(0), "Scales changed the tensor at output in place"),
        (
            lambda outputs: outputs.mul_(2),
            r"Inplace update to inference .*Scales.process, batch 0, indices 0, 1",
        ),
    ],
)
def test_an_evaluator_that_changes_the_outputs_fails_by_name(worker, change, says):
    class Scales(Keeps):
        def process(self, batch, outputs):
            change(outputs)
            return {}

    work = worker(model=L(torch.nn.Linear)(in_features=4, out_features=2), evaluator=L(Scales)())
    work.prepare()

    with pytest.raises(SideFailed, match=says):
        list(work.batches())


def test_an_evaluator_that_draws_random_numbers_does_not_change_what_the_model_draws(worker):
    class Draws(torch.nn.Module):
        def forward(self, x):
            return {"answer": torch.rand(())}

    drawn = []
    for parts in ({}, {"evaluator": L(Keeps)()}):
        work = worker(model=L(Draws)(), **parts)
        work.prepare()
        drawn.append([output.nbytes and output.number for output in work.batches()])
        folder = work._sides[0]._folder
        drawn.append([(folder / f"0000{n}.safetensors").read_bytes() for n in range(3)])

    assert drawn[:2] == drawn[2:]


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_calls_run_in_inference_mode_and_in_the_workloads_train_or_eval_mode(worker, mode):
    work = worker(workload=L(Inference)(mode=mode))
    work.prepare()
    list(work.batches())

    assert {training for _, _, training, _ in SEEN} == {mode == "train"}
    assert {inference for *_, inference in SEEN} == {True}
    assert not torch.is_inference_mode_enabled()


def test_a_models_mode_is_put_back_submodule_by_submodule():
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(2, 2))
    model[1].eval()

    def interrupted():
        with Inference().setup(model):
            assert not any(module.training for module in model.modules())
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()

    assert [module.training for module in model.modules()] == [True, True, False]


def test_an_unknown_method_is_told_with_the_nearest_one(worker):
    work = worker(workload=L(Inference)(method="forwrad"))

    with pytest.raises(SideFailed) as error:
        work.prepare()

    assert "Noted has no method 'forwrad'; did you mean 'forward'?" in error.value.failure.message


def test_only_full_batches_are_timed_and_inputs_go_round(worker):
    work = worker()
    work.prepare()
    SEEN.clear()

    work.measure(Timer(pairs=8, warmup=2))

    assert {len(inputs[0]) for inputs, *_ in SEEN} == {4}
    assert len({inputs[0].data_ptr() for inputs, *_ in SEEN[2:12]}) == 2


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [((1, 2), ((1, 2), {})), ([1, 2], ((1, 2), {})), ({"a": 1}, ((), {"a": 1})), (3, ((3,), {}))],
)
def test_a_batch_is_fed_as_arguments_names_or_one_value(inputs, expected):
    assert feed(lambda *args, **kwargs: (args, kwargs), inputs) == expected


def test_memory_of_a_call_is_seen_above_what_was_there(worker):
    class Greedy(torch.nn.Module):
        def forward(self, x):
            return torch.ones(30_000_000).sum()

    work = worker(model=L(Greedy)())
    work.prepare()
    list(work.batches())

    assert 100_000_000 < work.metrics().peak["host"] < 300_000_000


def test_the_weights_of_a_model_count_as_resident(worker):
    class Heavy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(50_000_000))

        def forward(self, x):
            return x * self.weight[0]

    work = worker(model=L(Heavy)())

    (prepared,) = work.prepare()

    assert 190_000_000 < prepared.resident < 300_000_000


def test_a_device_without_a_wall_clock_is_told_so(worker):
    class Odd(Cpu):
        def time(self, call):
            call()
            return {"gpu": 1.0}

    work = worker(device=L(Odd)())
    work.prepare()

    with pytest.raises(SideFailed, match="Odd is at fault, .* there is no clock 'wall', only 'gpu'"):
        work.measure(Timer(pairs=6))


def test_a_device_seeds_what_it_knows_before_every_stage_and_every_batch(worker):
    seeds = []

    class Seeded(Cpu):
        def seed(self, n):
            seeds.append(n)
            super().seed(n)

    work = worker(device=L(Seeded)(), seed=3)
    work.prepare()
    prepared = len(seeds)
    batches = len(list(work.batches()))

    assert set(seeds[: prepared + 1]) == {3}
    assert seeds[prepared + 1 :] == [seed_at(3, number) for number in range(batches)]


def test_the_clock_of_the_cpu_shows_the_seconds_of_a_call():
    assert 0.01 <= Cpu().time(lambda: __import__("time").sleep(0.01))["wall"] < 1


def test_a_dataset_of_one_short_batch_can_still_be_timed(worker):
    work = worker(data=L(IndexedLoader)(dataset=[torch.ones(4)] * 3, batch_size=8))
    work.prepare()

    assert len(work.measure(Timer(pairs=6, warmup=1)).clocks[0]["wall"].seconds) == 6


def test_a_batch_knows_what_it_is():
    batch = Batch(indices=(3, 4), inputs=None, number=1)

    assert (batch.indices, batch.epoch) == ((3, 4), 0)


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + 1


class KnowsAddresses(torch.nn.Module):
    """Is quick, since it answers from memory when the same tensor comes again, whatever it holds by then."""

    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        if x.data_ptr() not in self.known:
            self.known[x.data_ptr()] = x, x + 1
        return self.known[x.data_ptr()][1].clone()


class Draws(Counting):
    def forward(self, x):
        return super().forward(x) + torch.rand_like(x)


class Overwrites(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.buffer = torch.zeros(4, 4)

    def forward(self, x):
        return torch.add(x, 1, out=self.buffer)


class CountsCalls(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.calls


class AddsInPlace(torch.nn.Module):
    def forward(self, x):
        return x.add_(1)


@pytest.mark.parametrize(
    ("model", "kept"), [(Counting, "same"), (Overwrites, "same"), (AddsInPlace, "same"), (CountsCalls, "")]
)
def test_what_a_timed_call_gave_is_what_an_untimed_one_gives(worker, model, kept):
    work = worker(model=L(model)())
    work.prepare()

    assert work.measure(Timer(pairs=60, warmup=1)).kept == (kept,)


def timed(folder, *configs, rng=None):
    jobs = [replace(Job.of(config), timed=True) for config in configs]
    return Worker(jobs, folder, lambda event: None, 1, rng)


def test_a_side_that_is_timed_is_called_but_once_before_the_rounds_on_its_one_batch(tmp_path):
    batch = {"data": L(RandomInputs)(shapes=(4,), samples=4, batch_size=4)}
    with closing(timed(tmp_path, {"model": L(Counting)(), **batch}, {"model": L(Draws)(), **batch})) as work:
        work.prepare()
        work._begin_rounds()
        assert [side.parts.model.calls for side in work._sides] == [1, 1]
        kept = work.measure(Timer(pairs=60, warmup=1)).kept

    assert kept == ("same", "")  # what draws at random has not strayed


class SaysWhere(torch.nn.Linear):
    def forward(self, x):
        return torch.tensor(self.weight.data_ptr())


def test_each_process_that_times_has_another_layout_of_memory(tmp_path):
    data = L(RandomInputs)(shapes=(256,), samples=4, batch_size=4)
    job = replace(Job.of({"model": L(SaysWhere)(256, 256), "data": data}), timed=True)
    places = []
    for number in range(3):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        with closing(Process(threads=1).open(job, job, folder=folder, watch=lambda event: None)) as session:
            session.prepare()
        places += [int(load_snapshot(first_outputs(folder, side), 0).leaves["output"]) for side in range(2)]

    assert len(set(places)) == 6


def test_an_answer_kept_from_another_input_is_seen(worker):
    found = set()
    for _ in range(5):
        work = worker(model=L(KnowsAddresses)(), data=L(RandomInputs)(shapes=(4,), samples=40, batch_size=4))
        work.prepare()
        found.add(work.measure(Timer(pairs=200, warmup=1)).kept[0])

    assert any("16 of 16 values are not within" in text for text in found)


class KnowsValues(torch.nn.Module):
    """Is quick with values that it has met, and right, too."""

    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        key = x.numpy().tobytes()
        if key not in self.known:
            time.sleep(0.01)
            self.known[key] = x + 1
        return self.known[key]


@pytest.mark.parametrize("samples", [40, 4])
def test_a_side_that_is_quick_only_with_values_that_it_has_met_is_seen(worker, samples):
    found = {}
    for kind in (KnowsValues, Counting):
        work = worker(model=L(kind)(), data=L(RandomInputs)(shapes=(4,), samples=samples, batch_size=4))
        work.prepare()
        found[kind] = work.measure(Timer(pairs=20, warmup=1))

    assert found[KnowsValues].kept == ("same",)
    assert found[KnowsValues].unmet[0] > 5
    assert found[Counting].unmet[0] < 5


def test_where_samples_cannot_be_put_in_another_order_no_value_is_unmet(worker):
    work = worker(data=L(RandomInputs)(shapes=(4,), samples=4, batch_size=1))
    work.prepare()

    assert math.isnan(work.measure(Timer(pairs=6, warmup=1)).unmet[0])


def test_a_second_copy_of_the_first_side_makes_the_null_arm(tmp_path):
    config = {"model": L(Counting)(), "data": L(RandomInputs)(shapes=(4,), samples=8, batch_size=4)}
    work = Worker([Job.of(config), Job.of(config), Job.of(config)], tmp_path, lambda event: None, 1)
    try:
        work.prepare()
        measured = work.measure(Timer(pairs=20, warmup=2))
    finally:
        work.close()

    assert len(measured.clocks) == len(measured.inner) == len(measured.kept) == 2
    assert [len(side.seconds) for side in measured.null] == [20, 20]


def test_one_thread_is_tried_where_there_are_more(worker):
    work = worker(model=L(Counting)(), threads=2)
    work.prepare()
    measured = work.measure(Timer(pairs=6, warmup=1))

    assert len(measured.one_thread) == 1
    assert measured.one_thread[0] > 0
    assert torch.get_num_threads() == 2


def test_the_cpu_clock_counts_work_and_no_waiting(worker):
    clocks = Cpu().time(lambda: __import__("time").sleep(0.05))

    assert clocks["cpu"] < 0.02 < clocks["wall"]


def test_memory_that_only_the_evaluator_takes_is_no_memory_of_the_model(worker):
    class Wasteful(Keeps):
        def process(self, batch, outputs):
            torch.ones(50_000_000)
            return dict.fromkeys(batch.indices, 0)

    work = worker(model=L(Counting)(), evaluator=L(Wasteful)())
    work.prepare()
    list(work.batches())

    assert work.metrics().peak["host"] < 100_000_000


def test_what_an_earlier_call_left_with_the_allocator_does_not_hide_the_memory_of_the_next(worker):
    class Pieces(torch.nn.Module):
        def forward(self, x):
            return sum(torch.ones(30_000) for _ in range(200))[0] + x

    peaks = []
    for _ in range(3):
        work = worker(model=L(Pieces)())
        work.prepare()
        list(work.batches())
        peaks.append(work.metrics().peak["host"])
        work.close()

    # Two tensors of 120,000 bytes are there at once; what the kernel gives beyond that is its affair.
    assert min(peaks) > 200_000


class Ragged:
    """Batches whose tensors have rows of several lengths."""

    def __init__(self, layout):
        self.layout = getattr(torch, layout)

    def __iter__(self):
        for number in range(3):
            rows = [torch.full((size, 4), float(number)) for size in (2, 3)]
            made = torch.nested.nested_tensor(rows, layout=self.layout)
            yield Batch((2 * number, 2 * number + 1), {"input": made}, number)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_a_model_whose_inputs_have_rows_of_several_lengths_is_run_and_timed(worker, layout):
    work = worker(data=L(Ragged)(layout=layout))

    (prepared,) = work.prepare()
    outputs = list(work.batches())
    found = work.measure(Timer(pairs=60, warmup=1))

    assert (prepared.repeats, prepared.mutated) == ("same", ())
    assert len({output.inputs for output in outputs}) == 3
    assert found.kept[0] in ("same", "")
    assert len(found.clocks[0]["wall"].seconds) == 60
