"""A plug-in is one file and an import in a config; nothing else in the library is touched."""

import textwrap

import pytest

from libbench.diff import Plan, diff

NO_SPEED = Plan(speed=False)


@pytest.fixture
def folder(tmp_path):
    def write(name, text):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
        return file

    write(
        "eager.py",
        """
        import torch
        from libbench.config import LazyCall as L
        from libbench.data import RandomInputs

        model = L(torch.nn.Linear)(4, 3)
        data = L(RandomInputs)(shapes=(4,), samples=10, batch_size=4)
        """,
    )
    return write


def test_a_compiler_is_one_file(folder):
    folder(
        "doubling.py",
        """
        from libbench.interfaces import Compiled
        from libbench.result import CompileFacts

        class Doubling:
            def __init__(self, factor): self.factor = factor
            def compile(self, model, example, method):
                call = getattr(model, method)
                facts = lambda: CompileFacts(graphs=1, artefact_bytes=7)
                return Compiled(lambda *inputs: self.factor * call(*inputs), "doubling 1.0", facts)
        """,
    )
    config = folder(
        "doubled.py",
        """
        from libbench.config import LazyCall as L
        from .doubling import Doubling
        from .eager import data, model

        compiler = L(Doubling)(factor=2.0)
        """,
    )

    comparison = diff(config.parent / "eager.py", config, NO_SPEED)

    assert comparison.target.preparation.compiler == "doubling 1.0"
    assert comparison.target.preparation.facts.graphs == 1
    assert comparison.outputs.leaves[0].max_rel.value == pytest.approx(1.0)
    assert [change.path for change in comparison.changes if change.counted] == ["compiler"]


def test_an_evaluator_is_one_file_that_gets_the_raw_outputs_and_may_judge_in_its_own_terms(folder):
    folder(
        "largest.py",
        """
        from libbench.findings import MetricReport
        from libbench.interfaces import Evaluator

        class Largest(Evaluator):
            def process(self, batch, outputs):
                assert type(outputs).__name__ == "Tensor" and len(outputs) == len(batch.indices)
                return {i: float(row.max()) for i, row in zip(batch.indices, outputs, strict=True)}
            def evaluate(self, records):
                assert list(records) == list(range(10))
                return {"largest": max(records.values())}
            def compare(self, reference, target, tolerance):
                drop = target["largest"] - reference["largest"]
                return [MetricReport(name="largest", reference=reference["largest"], target=target["largest"],
                                     difference=drop, allowed=9.0, verdict="same", note="my own terms")]
        """,
    )
    config = folder(
        "judged.py",
        """
        from libbench.config import LazyCall as L
        from .eager import data, model
        from .largest import Largest

        evaluator = L(Largest)()
        """,
    )

    comparison = diff(config, config, NO_SPEED)

    assert [(metric.name, metric.note) for metric in comparison.metrics] == [("largest", "my own terms")]
    assert comparison.reference.metrics["largest"] == comparison.target.metrics["largest"]


def test_a_runner_is_one_file(folder):
    folder(
        "counted.py",
        """
        from libbench.runners.local import Local

        class Counted:
            processes = 2
            def open(self, *jobs, folder, watch):
                (folder / "opened").write_text("here")
                return Local().open(*jobs, folder=folder, watch=watch)
        """,
    )
    config = folder(
        "here.py",
        """
        from libbench.config import LazyCall as L
        from .counted import Counted
        from .eager import data, model

        runner = L(Counted)()
        """,
    )

    assert diff(config, config, NO_SPEED).exit_code == 0


def test_a_project_is_a_folder_whose_configs_reach_its_own_modules(folder):
    folder(
        "projects/squares/net.py",
        """
        import torch
        from .sizes import WIDTH

        class Net(torch.nn.Module):
            def __init__(self, power=2):
                super().__init__()
                self.power = power
                self.register_buffer("scale", torch.ones(WIDTH))
            def forward(self, x):
                return (x * self.scale) ** self.power
        """,
    )
    folder("projects/squares/sizes.py", "WIDTH = 4\n")
    folder(
        "projects/squares/configs/squares.py",
        """
        from libbench.config import LazyCall as L
        from libbench.data import RandomInputs
        from ..net import Net

        model = L(Net)()
        data = L(RandomInputs)(shapes=(4,), samples=6, batch_size=4)
        """,
    )
    config = folder("projects/squares/configs/cubes.py", "from .squares import data, model\nmodel.power = 3\n")

    comparison = diff(config.parent / "squares.py", config, NO_SPEED)

    assert comparison.exit_code == 1
    assert [(change.path, change.target) for change in comparison.changes if change.counted] == [("model.power", "3")]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("compiler", "compiler must have compile()"),
        ("evaluator", "evaluator must have process()"),
        ("device", "device must have"),
        ("workload", "workload must have"),
    ],
)
def test_a_part_that_cannot_play_its_role_is_told_what_it_lacks(folder, part, words):
    config = folder(
        "odd.py",
        f"""
        from libbench.config import LazyCall as L
        from .eager import data, model

        {part} = L(dict)(a=1)
        """,
    )

    comparison = diff(config.parent / "eager.py", config, NO_SPEED)

    assert comparison.target.failure.stage == "instantiate"
    assert words in comparison.target.failure.message


def test_data_that_gives_no_batches_with_indices_is_told_what_is_wanted(folder):
    config = folder(
        "odd.py",
        """
        import torch
        from libbench.config import LazyCall as L
        from .eager import model

        data = L(list)([[1, 2]])
        """,
    )

    comparison = diff(config.parent / "eager.py", config, NO_SPEED)

    assert "data must give libbench.interfaces.Batch, got list" in comparison.target.failure.message


def test_an_operator_library_is_not_ignored(folder):
    from libbench.errors import ConfigError

    config = folder("odd.py", "from .eager import data, model\nop_lib = 'flag_gems'\n")

    with pytest.raises(ConfigError, match=r"op_lib.*odd.py:2"):
        diff(config, config, NO_SPEED)
