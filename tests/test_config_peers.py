"""The habits of LiBai's and detectron2's configs, and their own files: they load, and no load is seen in another.

The files come from a folder that `LIBBENCH_PEERS` names; `python tests/config_peers.py DIR` tries more of them alone.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from config_peers import BROKEN, PEERS, config_files, failures, unequal

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, difference, digest, from_text, instantiate, to_text

FOLDER = Path(os.environ.get("LIBBENCH_PEERS", "")).resolve()
THERE = [name for name in PEERS if os.environ.get("LIBBENCH_PEERS") and (FOLDER / name).is_dir()]

needs_peers = pytest.mark.skipif(not THERE, reason="LIBBENCH_PEERS names no folder with libai/ or detectron2/ in it")


SHUFFLED = """
from libbench.config import LazyCall as L

def shuffled(base, method):
    def new(self):
        return [base, method]

    class Local(base):
        @staticmethod
        def one(): return 1

        @property
        def two(self): return 2

    return type(base.__name__ + "Shuffled", (Local,), {method: new})

model = L(shuffled(dict, "METHOD"))()
"""


def test_a_dict_that_is_imported_from_a_config_has_its_items_as_attributes(tmp_path):
    (tmp_path / "constants.py").write_text("constants = dict(mean=[1, 2], deep={'std': 3})\nodd = {1: 2}\n")
    (tmp_path / "a.py").write_text(
        "from .constants import constants, odd\nmean = constants.mean\nb = constants.deep.std"
    )
    (tmp_path / "b.py").write_text("from .constants import *\nconstants.deep.std = 4\nodd[1] = 5")

    assert LazyConfig.load(tmp_path / "a.py").mean == [1, 2]
    assert LazyConfig.load(tmp_path / "a.py").b == 3
    edited = LazyConfig.load(tmp_path / "b.py")
    assert edited.constants.deep.std == 4
    assert edited.odd == {1: 5}
    assert LazyConfig.load(tmp_path / "a.py").b == 3


def test_a_call_may_be_of_what_another_call_gives():
    maker = L(functools.partial)(dict, a=1)

    node = L(maker)(b=2)
    node.c = 3

    assert instantiate(node) == {"a": 1, "b": 2, "c": 3}
    assert difference(node, from_text(to_text(node))) == ()


def test_a_class_that_a_function_made_is_the_same_at_every_load(tmp_path):
    for name, method in (("a", "run"), ("b", "walk")):
        (tmp_path / f"{name}.py").write_text(SHUFFLED.replace("METHOD", method))

    one, again = LazyConfig.load(tmp_path / "a.py"), LazyConfig.load(tmp_path / "a.py")

    assert digest(one) == digest(again)
    assert difference(one, again) == ()
    assert digest(one) != digest(LazyConfig.load(tmp_path / "b.py"))


@pytest.fixture(scope="module")
def found():
    script = Path(__file__).with_name("config_peers.py")
    command = [sys.executable, str(script), str(FOLDER), "--alone", "6", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@needs_peers
@pytest.mark.parametrize("order", ["alone", "forwards", "backwards"])
def test_every_config_file_of_a_peer_loads(found, order):
    assert failures(FOLDER, found[order]) == {}


@needs_peers
def test_the_files_that_are_broken_in_themselves_are_told_with_the_line(found):
    for file, reason in BROKEN.items():
        if file.partition("/")[0] in THERE:
            assert reason in found["forwards"][str(FOLDER / file)]
            assert ".py:9: AttributeError" in found["forwards"][str(FOLDER / file)]


@needs_peers
def test_loading_any_two_in_one_process_gives_the_same_as_loading_each_alone(found):
    assert unequal(found) == []
    assert len(found["forwards"]) == len(config_files(FOLDER))
    assert len(found["alone"]) >= 6
