"""What of the data each rank runs, and that nothing of it is lost or counted twice."""

from contextlib import ExitStack

import pytest
import torch

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader, RandomInputs
from libbench.errors import LibbenchError
from libbench.evaluation import merge_records
from libbench.evaluators.accuracy import Accuracy
from libbench.interfaces import Batch
from libbench.job import Job
from libbench.shares import SPLITS, Everything
from libbench.side import Side

RANKS = (1, 2, 3, 4)
LABELS = [0, 2, 1, 1, 0, 2, 2, 0, 1, 0, 2, 1]


def side(job, folder, share=None):
    """A side that has run all of its batches, with its outputs."""
    with ExitStack() as life:
        made = Side(job, 0, folder, lambda event: None, life, share)
        made.prepare()
        return made, list(made.batches())


def loader(samples, batch_size):
    return IndexedLoader(list(range(samples)), batch_size)


def turns(split, rank, world, data):
    share = SPLITS[split](rank, world)
    return list(share.turns(iter(share.of(data))))


@pytest.mark.parametrize("split", ["batches", "samples"])
@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_metrics_of_ranks_are_those_of_one_process_for_every_uneven_size(tmp_path, split, batch_size):
    for samples in range(1, 13):
        config = {
            "model": L(torch.nn.Linear)(in_features=4, out_features=3),
            "data": L(RandomInputs)(shapes=(4,), samples=samples, batch_size=batch_size),
            "evaluator": L(Accuracy)(labels=LABELS),
        }
        job = Job.of(config)
        alone, _ = side(job, tmp_path)
        wanted = alone.metrics().metrics
        for world in RANKS:
            ranks = [side(job, tmp_path, SPLITS[split](rank, world)) for rank in range(world)]
            records = merge_records([each.records for each, _ in ranks])

            assert list(records) == list(range(samples))
            assert alone.parts.evaluator.evaluate(records) == wanted
            assert len({len(outputs) for _, outputs in ranks}) == 1
            assert sorted(i for _, outputs in ranks for each in outputs for i in each.own) == list(range(samples))


@pytest.mark.parametrize("split", ["batches", "samples"])
def test_all_ranks_have_as_many_turns_and_as_many_full_batches(split):
    for samples in range(1, 13):
        for batch_size in (1, 2, 3):
            for world in RANKS:
                data = loader(samples, batch_size)
                shares = [SPLITS[split](rank, world) for rank in range(world)]
                full = [share.full(iter(share.of(data)), 8) for share in shares]

                assert len({len(turns(split, rank, world, data)) for rank in range(world)}) == 1
                assert len({len(each) for each in full}) == 1
                assert len({len(batch.indices) for each in full for batch in each}) == 1


def test_whole_batches_go_to_the_ranks_by_turns_and_the_last_turn_is_filled_up():
    data = loader(9, 2)

    shown = [[(b.number, b.indices, b.padding) for b in turns("batches", rank, 2, data)] for rank in range(2)]

    assert shown[0] == [(0, (0, 1), 0), (2, (4, 5), 0), (4, (8,), 0)]
    assert shown[1] == [(1, (2, 3), 0), (3, (6, 7), 0), (5, (6, 7), 2)]


def test_a_rank_without_any_batch_runs_the_first_one_as_padding():
    (batch,) = turns("batches", 2, 3, loader(4, 2))

    assert (batch.indices, batch.padding) == ((0, 1), 2)


def test_a_batch_is_cut_by_samples_that_the_loader_puts_together():
    shown = [[(b.indices, b.inputs.tolist(), b.padding) for b in turns("samples", r, 2, loader(5, 3))] for r in (0, 1)]

    assert shown[0] == [((0, 2), [0, 2], 0), ((3,), [3], 0)]
    assert shown[1] == [((1, 0), [1, 0], 1), ((4,), [4], 0)]


def test_data_that_cannot_make_a_part_of_a_batch_are_told_what_they_lack():
    with pytest.raises(LibbenchError, match=r"needs data with part\(rank, world\).*got a list; split='batches'"):
        SPLITS["samples"](0, 2).of([Batch((0,), None, 0)])


def test_a_single_process_runs_everything():
    batches = [Batch((0, 1), None, 0), Batch((2, 3), None, 1), Batch((4,), None, 2)]

    assert list(Everything().turns(iter(batches))) == batches
    assert Everything().full(iter(batches), 8) == batches[:2]
