"""Generation through a whole comparison: tokens, where they part, and how fast they came."""

import json

import pytest
import torch
from generating_parts import Counter, Untouched, gpt2, llama, t5

from libbench.comparability import not_compiled
from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.diff import Plan, diff, run
from libbench.interfaces import Batch
from libbench.job import Job
from libbench.report.json import from_json, to_json
from libbench.report.text import headline, render, render_result
from libbench.runners.local import Local
from libbench.settings import Timer
from libbench.tokens import Parting, TokensComparison, TokensReport
from libbench.workloads.generate import Generate

pytest.importorskip("transformers")

NO_SPEED = Plan(speed=False)
PROMPTS = {"shapes": {"input_ids": (6,)}, "samples": 6, "batch_size": 2, "dtype": torch.int64, "low": 1, "high": 32}


def job(model=gpt2, options=None, **changes):
    known = {"max_new_tokens": 8, "do_sample": False} if options is None else options
    config = {
        "model": model if not callable(model) else L(model)(),
        "data": L(RandomInputs)(**PROMPTS),
        "workload": L(Generate)(**known),
        "runner": L(Local)(threads=1),
    }
    return Job.of({**config, **changes})


def counting(**changes):
    data = L(RandomInputs)(**{**PROMPTS, "shapes": (6,)})
    return job(L(Counter)(**changes), {}, data=data)


@pytest.mark.parametrize("model", [gpt2, llama, t5])
def test_a_model_generates_the_same_as_itself_and_every_token_is_timed(model):
    comparison = diff(job(model), job(model), NO_SPEED)

    assert comparison.exit_code == 0
    (leaf,) = comparison.outputs.leaves
    assert leaf.dtypes == ("int64", "int64")
    assert leaf.shapes[0] == ((2, 9) if model is t5 else (2, 14))
    assert comparison.tokens == TokensReport(6, 6, None)
    assert len(comparison.target.generated) == 3
    for call in comparison.target.generated:
        assert (call.tokens, call.sequences) == (8, 2)
        assert call.first > 0
        assert call.later > 0


def test_tokens_of_one_length_part_at_a_step_that_is_named():
    comparison = diff(counting(), counting(odd_at=3), NO_SPEED)

    assert comparison.exit_code == 1
    assert (comparison.tokens.sequences, comparison.tokens.equal) == (6, 3)
    first = comparison.tokens.first
    assert (first.sample, first.step, first.target - first.reference) == (0, 3, 7)
    assert headline(comparison).startswith("DIFFERENT OUTPUTS: the tokens of sample 0 part at step 3: token ")
    assert "3 of 6 sequences the same, token by token" in render(comparison)


def test_tokens_of_another_length_differ_in_shape_and_part_where_the_shorter_ends():
    comparison = diff(job(), job(options={"max_new_tokens": 5, "do_sample": False}), NO_SPEED)

    (leaf,) = comparison.outputs.leaves
    assert "shape [2, 14] in the reference, [2, 11] in the target" in leaf.reasons
    first = comparison.tokens.first
    assert (first.step, first.target) == (5, None)
    assert "part at step 5: token" in headline(comparison)
    assert "no token in the target" in headline(comparison)


def test_beams_take_no_streamer_and_their_tokens_are_counted_all_the_same():
    result = run(job(options={"max_new_tokens": 4, "num_beams": 2, "do_sample": False}), NO_SPEED)

    assert [(call.tokens, call.sequences) for call in result.generated] == [(4, 2)] * 3


def test_a_method_without_a_streamer_is_timed_by_the_calls_of_the_model():
    result = run(counting(), NO_SPEED)

    assert [call.tokens for call in result.generated] == [5, 5, 5]


def test_where_no_token_is_seen_only_the_call_is_timed():
    comparison = diff(counting(by_name=True), counting(by_name=True), NO_SPEED)

    assert (comparison.exit_code, comparison.tokens) == (0, None)
    assert comparison.target.generated == ()
    assert "\ntokens " not in render(comparison)


def test_what_is_no_tensor_is_compared_as_it_was_returned():
    same = diff(counting(texts=True), counting(texts=True), NO_SPEED)
    other = diff(counting(texts=True), counting(texts=True, odd_at=2), NO_SPEED)

    assert (same.exit_code, other.exit_code) == (0, 1)
    assert same.outputs.leaves[0].kind == "string"


def test_sampled_tokens_are_those_of_the_same_seed_and_no_greedy_ones():
    sampled = job(options={"max_new_tokens": 8, "do_sample": True})

    same, greedy = diff(sampled, sampled, NO_SPEED), diff(sampled, job(), NO_SPEED)

    assert (same.exit_code, greedy.exit_code) == (0, 1)
    assert same.tokens.equal == same.tokens.sequences
    assert any("the reference is stochastic" in note for note in same.notes)
    assert "it is the same from every seed, where the reference's is not" in headline(greedy)


def test_timed_generation_shows_tokens_per_second_of_both_sides_with_an_interval():
    comparison = diff(job(), job(), Plan(timer=Timer(pairs=6, warmup=1)))

    (wall,) = [speedup for speedup in comparison.speedups if speedup.clock == "wall"]
    text = render(comparison)
    row = next(line for line in text.splitlines() if "tokens a second" in line)
    assert f"{16 / wall.reference:,.0f}"[:2] in row
    assert "in the timed calls" in row
    assert "first token" in text
    assert "later tokens" in text
    assert {check.verdict for check in comparison.checks} == {"same"}


def test_one_token_alone_has_no_later_ones():
    result = run(job(options={"max_new_tokens": 1}), NO_SPEED)

    assert [call.later for call in result.generated] == [None] * 3
    assert "first token after" in render_result(result)


def test_the_hook_is_gone_and_the_mode_is_back_when_it_is_over():
    model, workload = Counter(), Generate()

    with workload.setup(model):
        workload.step(model.generate, Batch((0, 1), torch.ones(2, 3, dtype=torch.int64), 0))
        assert (model.training, len(model._forward_hooks)) == (False, 1)
        assert workload.generated().tokens == 5

    assert (model.training, len(model._forward_hooks)) == (True, 0)


def test_a_compiled_loop_gives_the_same_tokens_and_the_clock_is_not_compiled_with_it():
    compiled = dict(counting().config) | {"compiler": L(TorchCompile)(backend="aot_eager")}

    comparison = diff(counting(), Job.of(compiled), NO_SPEED)

    assert (comparison.exit_code, comparison.tokens.equal) == (0, 6)
    assert [call.tokens for call in comparison.target.generated] == [5] * 3
    assert comparison.target.evaluation.facts.graphs > 0


def test_every_timed_generation_runs_compiled_code_once_for_each_token():
    compiled = dict(job(options={"max_new_tokens": 3}).config) | {"compiler": L(TorchCompile)(backend="aot_eager")}
    timed = Plan(timer=Timer(pairs=6, warmup=1))

    comparison = diff(job(options={"max_new_tokens": 3}), Job.of(compiled), timed)

    assert (comparison.exit_code, comparison.tokens.equal) == (0, 6)
    assert comparison.target.facts.calls >= 9
    assert [m.ran for m in comparison.measurements] == [(None, 3.0)]
    assert "ran 3 times in every timed call" in " ".join(render(comparison).split())


def test_a_compiler_that_compiles_nothing_of_a_loop_is_told_so():
    uncompiled = dict(counting().config) | {"compiler": L(Untouched)()}

    comparison = diff(counting(), Job.of(uncompiled), NO_SPEED)

    assert comparison.exit_code == 0
    assert not_compiled(comparison, 1)
    assert "NOT COMPILED" in render(comparison)


def test_tokens_are_kept_with_a_saved_side_and_come_back_from_json(tmp_path):
    run(job(), Plan(speed=False, save=tmp_path / "saved"))

    comparison = diff(str(tmp_path / "saved"), job(), NO_SPEED)

    assert comparison.tokens == TokensReport(6, 6, None)
    assert len(comparison.reference.generated) == 3
    assert from_json(json.loads(json.dumps(to_json(comparison)))) == comparison


@pytest.mark.parametrize("rows", [1, 2])
def test_the_sequence_that_parts_first_is_the_one_that_is_named(rows):
    found = TokensComparison()
    ours = [[9, 1, 2, 3]] * rows + [[9, 1, 2, 3]] * rows
    theirs = [[9, 1, 2, 4]] * rows + [[9, 1, 5, 3]] * rows

    found.add((ours, theirs), (1, 1), (30, 40))

    assert found.report() == TokensReport(2 * rows, 0, Parting(40, 1, 2, 5))


@pytest.mark.parametrize(("value", "message"), [(0, "at least 1, got 0"), (1.5, "must be an int or None, got 1.5")])
def test_a_wrong_number_of_tokens_is_told(value, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Generate(max_new_tokens=value)
