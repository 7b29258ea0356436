"""The T5 project: transformers' own loop, the one with a flat cache, both compiled, and a fault that is found."""

from pathlib import Path

import pytest
import torch

from libbench.compilers.eager import Eager
from libbench.compilers.torch_export import TorchExport
from libbench.config import LazyCall as L
from libbench.config import LazyConfig, instantiate
from libbench.diff import Plan, diff
from libbench.report.text import headline, render
from libbench.runners.local import Local

pytest.importorskip("transformers")

PROJECT = Path(__file__).parents[2] / "projects" / "t5_onnx"
CONFIGS = sorted(path.stem for path in (PROJECT / "configs").glob("*.py"))
STEPS = 14
PARTS = {"encoder": {"hidden", "cross"}, "step": {"logits", "past"}}
NO_SPEED = Plan(speed=False)


def small(name, **changes):
    """Load a config in this process, with a model and prompts that take little time."""
    config = LazyConfig.load(PROJECT / "configs" / f"{name}.py")
    config.model.update(width=32, layers=1, heads=2, vocabulary=40)
    if name.startswith("forced"):
        config.data.dataset.forced = STEPS
    elif "max_new_tokens" in config.get("workload", {}):
        config.workload.max_new_tokens = STEPS
    config.runner = L(Local)(threads=1)
    for part, values in changes.items():
        config[part].update(values)
    return config


def off_by_one(model):
    """Make the decoder take itself to be one token further than it is."""
    attention = model.model.decoder.block[0].layer[0].SelfAttention
    right = attention.compute_bias
    attention.compute_bias = lambda *args, past_seen_tokens=0, **options: right(
        *args, past_seen_tokens=past_seen_tokens + 1, **options
    )
    return model


def faulty(name):
    config = small(name, compiler={"compiler": L(Eager)()})
    config.data.dataset.vocabulary = 40
    config.model = L(off_by_one)(model=config.model)
    return config


@pytest.fixture(scope="module")
def generated():
    """transformers' own loop beside the one whose parts ONNX Runtime runs."""
    pytest.importorskip("onnxruntime")
    return diff(small("eager"), small("onnx"), NO_SPEED)


def test_onnx_runtime_generates_the_very_tokens_of_transformers(generated):
    assert generated.exit_code == 0
    assert (generated.tokens.sequences, generated.tokens.equal) == (16, 16)
    assert generated.outputs.leaves[0].mismatches == 0
    facts = generated.target.evaluation.facts
    # The encoder, and the step with no past, with one token, and with more.
    assert (facts.graphs, facts.fallbacks) == (4, ())
    assert facts.calls == sum(1 + call.tokens for call in generated.target.generated) + 2 * (1 + STEPS)
    assert [call.tokens for call in generated.target.generated] == [
        call.tokens for call in generated.reference.generated
    ]


def test_tokens_vary_from_prompt_to_prompt_and_some_sequences_end_before_others():
    config = LazyConfig.load(PROJECT / "configs" / "eager.py")
    torch.manual_seed(0)
    model, data = instantiate(config.model).eval(), instantiate(config.data)

    with torch.inference_mode():
        rows = [row for batch in data for row in model.generate(**batch.inputs, max_new_tokens=24).tolist()]

    assert len({tuple(row) for row in rows}) == 16
    assert max(len(set(row)) for row in rows) > 12
    assert sum(1 in row for row in rows) == 3


def test_logits_of_given_tokens_are_those_of_transformers_at_once_and_step_by_step():
    pytest.importorskip("onnxruntime")
    names = ["decoder_input_ids", "attention_mask", "input_ids"]  # another order than the method's own
    at_once = diff(small("forced"), small("forced_onnx", data={"inputs": names}), NO_SPEED)
    by_steps = diff(small("forced"), small("forced_steps", compiler={"compiler": L(TorchExport)()}), NO_SPEED)

    for comparison in (at_once, by_steps):
        shapes = {leaf.path: leaf.shapes[0] for leaf in comparison.outputs.leaves}
        assert shapes == {"logits": (4, STEPS, 40), "encoder_last_hidden_state": (4, 16, 32)}
        assert {leaf.verdict for leaf in comparison.outputs.leaves} == {"same"}
        assert {report.verdict for report in comparison.metrics} == {"same"}
        assert comparison.exit_code == 0
    assert (at_once.target.evaluation.facts.graphs, by_steps.target.evaluation.facts.graphs) == (1, 4)


def test_a_decoder_whose_position_bias_is_off_by_one_is_found_by_its_logits_and_by_its_tokens():
    forced = diff(small("forced"), faulty("forced_steps"), NO_SPEED)
    tokens = diff(small("eager"), faulty("onnx"), NO_SPEED)

    wrong = {leaf.path: leaf.verdict for leaf in forced.outputs.leaves}
    assert (forced.exit_code, wrong) == (1, {"logits": "different", "encoder_last_hidden_state": "same"})
    assert tokens.exit_code == 1
    assert 0 < tokens.tokens.equal < 16
    assert "the tokens of sample" in headline(tokens)


@pytest.mark.parametrize("name", ["encoder", "step"])
def test_a_part_by_itself_is_the_same_when_it_is_exported(name):
    target = small(f"{name}_onnx")
    target.compiler = L(TorchExport)()

    comparison = diff(small(name), target, NO_SPEED)

    assert comparison.exit_code == 0
    assert {leaf.path.split(".")[0] for leaf in comparison.outputs.leaves} == PARTS[name]
    assert comparison.target.evaluation.facts.graphs == 1


def test_generate_compiled_in_place_gives_the_same_tokens_and_runs_compiled_code_for_every_one():
    comparison = diff(small("eager"), small("inductor", compiler={"backend": "aot_eager"}), NO_SPEED)

    assert (comparison.exit_code, comparison.tokens.equal) == (0, 16)
    made = 2 * STEPS + sum(call.tokens for call in comparison.target.generated)
    assert comparison.target.evaluation.facts.calls == made
    assert f"ran {made} times" in " ".join(render(comparison).split())


def test_the_flat_cache_generates_the_same_for_any_length_and_batch_size():
    for length, batch_size in ((2, 1), (9, 3), (40, 16)):
        reference, target = (small(name, data={"batch_size": batch_size}) for name in ("eager", "flat"))
        for config in (reference, target):
            config.data.dataset.length = length

        comparison = diff(reference, target, NO_SPEED)

        assert (comparison.exit_code, comparison.tokens.equal) == (0, 16)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_readme_tells_of_this_config(name):
    assert f"| `{name}.py` |" in (PROJECT / "README.md").read_text()
