"""Devices: what is put where, what cannot be used."""

import pytest
import torch

from libbench.devices.cpu import Cpu
from libbench.devices.cuda import Cuda
from libbench.errors import UnavailableError

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def test_a_tree_that_is_on_the_cpu_is_not_copied():
    tree = {"a": (torch.ones(2), "text"), "b": [None, 3]}

    put = Cpu().put(tree)

    assert put["a"][0].data_ptr() == tree["a"][0].data_ptr()
    assert put["a"][1] == "text"


def test_memory_that_is_held_shows():
    device = Cpu()
    before = device.memory()["host"]
    held = torch.ones(20_000_000)

    assert device.memory()["host"] - before > 50_000_000
    assert held.sum() > 0


def test_a_processor_has_a_name():
    assert Cpu().describe()["processor"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_cuda_device_that_is_not_there_is_unavailable():
    with pytest.raises(UnavailableError, match="wanted cuda:0, but torch .* sees 0 CUDA devices"):
        Cuda()


def test_a_negative_device_number_is_refused():
    with pytest.raises(ValueError, match="at least 0"):
        Cuda(-1)


@needs_cuda
def test_both_clocks_of_cuda_show_a_call():
    device = Cuda()
    x = device.put(torch.randn(2000, 2000))

    clocks = device.time(lambda: x @ x)

    assert 0 < clocks["gpu"] <= clocks["wall"]


@needs_cuda
def test_peak_memory_of_cuda_is_that_since_the_reset():
    device = Cuda()
    device.reset_peak()
    before = device.memory()["cuda"]
    torch.ones(25_000_000, device="cuda").sum()

    assert device.peak_memory()["cuda"] - before >= 100_000_000


@needs_cuda
def test_a_cold_cache_is_named_and_timed_one_call_at_a_time():
    device = Cuda(cold_cache=True)
    x = device.put(torch.randn(1000, 1000))

    assert set(device.time(lambda: x + 1)) == {"wall", "gpu cold cache"}
    assert (device.most_calls, Cuda().most_calls) == (1, None)
