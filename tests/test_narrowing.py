"""The smallest module in which a side cannot be compiled."""

import json

import pytest
from failing_models import Between, Branch, Deadly, Deep, Quiet, line_of

from libbench.compilers.quantize import Quantize
from libbench.compilers.torch_compile import TorchCompile
from libbench.compilers.torch_export import TorchExport
from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.diff import Plan, run
from libbench.job import Job
from libbench.records import decode, encode
from libbench.report.text import render_result
from libbench.result import Result
from libbench.runners.local import Local
from libbench.runners.process import Process

EXPORT = L(TorchExport)()


def failed(compiler, model, runner=None):
    """Give the result of a side that cannot be compiled."""
    data = L(RandomInputs)(shapes=(4,), samples=6, batch_size=3)
    config = {"model": model, "data": data, "compiler": compiler, "runner": runner or L(Process)(search=600.0)}
    return run(Job.of(config), Plan(speed=False))


@pytest.fixture(scope="module")
def exported():
    return failed(EXPORT, L(Deep)())


def test_the_smallest_module_that_fails_alone_is_found_and_named(exported):
    failure = exported.failure

    assert (failure.stage, failure.kind, failure.compiler) == ("compile", "exception", "TorchExport")
    smallest = failure.smallest
    assert (smallest.path, smallest.kind, smallest.complete) == ("head.1", "Branch", True)
    assert f"{line_of('if x.sum()')}: if x.sum() > 0; head.1 (Branch, " in failure.message
    assert failure.message.endswith("fails alone, too")
    # One of the blocks that are alike, the head, and in it the block and the last.
    assert smallest.attempts == 4


def test_the_report_shows_what_fails_and_where(exported):
    text = render_result(exported)

    assert "FAILED in compile: torch.export cannot take data-dependent code" in text
    assert "if x.sum() > 0" in text[text.index("failure ") :]


def test_the_record_goes_through_json(exported):
    again = decode(Result, json.loads(json.dumps(encode(exported))))

    assert again.failure == exported.failure


def test_where_all_modules_compile_alone_it_is_said():
    failure = failed(EXPORT, L(Between)(), L(Local)()).failure

    assert failure.message.endswith("; each of the 2 modules called in it compiles alone")
    assert failure.smallest.path == ""


def test_the_first_call_of_a_compiler_that_works_lazily_is_searched_too():
    compiler = L(TorchCompile)(backend="aot_eager", fullgraph=True)

    failure = failed(compiler, L(Deep)(), L(Local)(search=600.0)).failure

    assert failure.smallest.path == "head.1"


def test_no_search_is_made_where_no_time_is_given_for_it():
    failure = failed(EXPORT, L(Deep)(), L(Local)(search=0)).failure

    assert failure.smallest is None
    assert failure.message.endswith(": if x.sum() > 0")
    assert failure.faults


def test_a_compiler_that_takes_its_process_along_is_told_with_signal_words_and_module():
    failure = failed(L(Deadly)(), L(Deep)()).failure

    assert (failure.stage, failure.kind, failure.compiler) == ("compile", "signal", "Deadly")
    assert failure.message.startswith("killed by SIGABRT in Deadly: LLVM ERROR: cannot select a branch; head.1 (")
    assert failure.smallest.message == "killed by SIGABRT in Deadly: LLVM ERROR: cannot select a branch"


def test_a_side_whose_model_is_the_fault_itself_names_no_smaller_one():
    failure = failed(EXPORT, L(Branch)(), L(Local)()).failure

    assert (failure.smallest.path, failure.smallest.attempts) == ("", 0)
    assert failure.message.endswith(": if x.sum() > 0")


def test_a_negative_time_for_the_search_is_refused():
    with pytest.raises(ValueError, match="search must be at least 0 seconds, got -1"):
        Process(search=-1)


def test_a_refusal_that_is_not_the_compilers_starts_no_search():
    failure = failed(L(Quantize)(), L(Quiet)(), L(Local)()).failure

    assert failure.message == "Quiet has no layer that torch quantises"
