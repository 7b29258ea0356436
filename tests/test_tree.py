import collections
import dataclasses
import enum
import json
import math
import subprocess
import sys
import types
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from libbench.diff import Plan, diff
from libbench.errors import LibbenchError
from libbench.tree import (
    SnapshotError,
    fingerprint,
    load_snapshot,
    map_tensors,
    remove_snapshot,
    save_snapshot,
    snapshot,
    tensors,
)


class Pair(NamedTuple):
    left: object
    right: object


@dataclasses.dataclass(frozen=True)
class Answer:
    logits: torch.Tensor
    loss: torch.Tensor | None = None
    steps: int = dataclasses.field(default=3, init=False)


class Cache:
    def __init__(self):
        self.layers = [types.SimpleNamespace(keys=torch.ones(2), values=torch.zeros(2))]
        self.owner = self
        self._lock = object()


class ModelOutput(collections.OrderedDict):
    """A mapping that shows its entries as attributes too, as model outputs do."""

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)


class Colour(enum.Enum):
    RED = 1


def double(tensor):
    return tensor * 2


def quietly(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


KINDS = {
    "float32": lambda: torch.randn(3, 4),
    "float64 with odd values": lambda: torch.tensor([math.nan, math.inf, -math.inf, -0.0], dtype=torch.float64),
    "float16": lambda: torch.randn(5).half(),
    "bfloat16": lambda: torch.randn(5).bfloat16(),
    "float8": lambda: torch.randn(5).to(torch.float8_e4m3fn),
    "float8 of another kind": lambda: torch.randn(5).to(torch.float8_e5m2fnuz),
    "float4": lambda: torch.arange(6, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
    "int4": lambda: torch.arange(6, dtype=torch.uint8).view(torch.int4),
    "complex32": lambda: quietly(lambda: torch.randn(4, dtype=torch.complex64).to(torch.complex32)),
    "complex64": lambda: torch.randn(4, dtype=torch.complex64),
    "complex128 of one": lambda: torch.tensor(1 + 2j, dtype=torch.complex128),
    "conjugate": lambda: torch.randn(4, dtype=torch.complex64).conj(),
    "bool": lambda: torch.tensor([True, False]),
    "int64": lambda: torch.tensor([2**62 + 1, -(2**63)]),
    "uint16": lambda: torch.tensor([1, 65535], dtype=torch.uint16),
    "uint64": lambda: torch.tensor([2**64 - 1], dtype=torch.uint64),
    "0-dimensional": lambda: torch.tensor(1.5),
    "empty": lambda: torch.empty(0, 3),
    "empty complex": lambda: torch.empty(0, 3, dtype=torch.complex128),
    "transposed": lambda: torch.randn(3, 4).T,
    "expanded": lambda: torch.randn(1, 4).expand(3, 4),
    "meta": lambda: torch.empty(2, 3, device="meta"),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "sparse and not coalesced": lambda: torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,), check_invariants=True),
    "sparse rows": lambda: quietly(lambda: torch.eye(3, dtype=torch.complex128).to_sparse_csr()),
    "sparse blocks": lambda: quietly(lambda: torch.eye(4).to_sparse_bsr((2, 2))),
    "quantised": lambda: quietly(lambda: torch.quantize_per_tensor(torch.randn(4), 0.1, 3, torch.quint8)),
    "quantised by channel": lambda: quietly(
        lambda: torch.quantize_per_channel(
            torch.randn(2, 4), torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.qint8
        )
    ),
    "requires grad": lambda: torch.randn(3, requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.randn(3)),
}


def test_a_tree_is_rebuilt_from_the_same_containers_and_the_input_is_unchanged():
    one = torch.ones(2)
    tree = {
        "a": [one, 1, "x"],
        "b": Pair(one, None),
        "c": ModelOutput(logits=one),
        "d": Answer(one),
        "e": types.MappingProxyType({"t": one}),
        "f": collections.defaultdict(list, t=one),
    }

    new = map_tensors(double, tree)

    assert new["a"][0].tolist() == [2, 2]
    assert new["a"][1:] == [1, "x"]
    assert type(new["b"]) is Pair
    assert new["b"].left.tolist() == [2, 2]
    assert type(new["c"]) is ModelOutput
    assert new["c"].logits is new["c"]["logits"]
    assert new["c"].logits.tolist() == [2, 2]
    assert type(new["d"]) is Answer
    assert new["d"].logits.tolist() == [2, 2]
    assert new["e"]["t"].tolist() == [2, 2]
    assert new["f"].default_factory is list
    assert one.tolist() == [1, 1]
    assert all(found is one for _, found in tensors(tree))


def test_a_tensor_in_several_places_is_converted_once():
    one = torch.ones(2)

    new = map_tensors(double, [one, {"again": one}])

    assert new[0] is new[1]["again"]


def test_a_container_without_tensors_and_an_object_are_left_alone():
    tree = {"numbers": [1, 2], "array": np.ones(2), "object": Cache()}

    assert map_tensors(double, tree) is tree


def test_a_list_that_contains_itself_ends():
    tree = [torch.ones(1)]
    tree.append(tree)

    assert map_tensors(double, tree)[0].item() == 2
    assert [path for path, _ in tensors(tree)] == ["0"]


def test_results_that_torch_itself_returns_keep_their_names():
    result = torch.max(torch.eye(2), dim=0)

    assert map_tensors(double, result).values.tolist() == [2, 2]
    assert [path for path, _ in tensors(result)] == ["values", "indices"]


def test_paths_are_readable():
    tree = {"past": [Pair(torch.ones(1), torch.ones(1))], "cache": Cache(), 3: torch.ones(1)}

    assert [path for path, _ in tensors(tree)] == [
        "past.0.left",
        "past.0.right",
        "cache.layers.0.keys",
        "cache.layers.0.values",
        "3",
    ]
    assert list(snapshot(torch.ones(1)).leaves) == ["output"]


def test_keys_that_read_alike_keep_their_own_leaf():
    tree = {"a.b": torch.zeros(1), "a": {"b": torch.ones(1)}, 1: torch.ones(1), "1": torch.zeros(1), "": torch.ones(1)}

    assert len(snapshot(tree).leaves) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_tensor_comes_back_exactly_from_a_file(kind, tmp_path):
    taken = snapshot({"x": KINDS[kind](), "twice": [KINDS[kind]()]})

    save_snapshot(taken, tmp_path, 7)
    back = load_snapshot(tmp_path, 7)

    assert back.structure == taken.structure
    for path, leaf in taken.leaves.items():
        assert back.leaves[path].dtype == leaf.dtype
        assert back.leaves[path].shape == leaf.shape
        assert back.leaves[path].layout == leaf.layout
        assert back.leaves[path].device == leaf.device
    assert back.nbytes == taken.nbytes
    assert fingerprint(dict(back.leaves)) == fingerprint(dict(taken.leaves))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["00007.json", "00007.safetensors"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_keeps_values_and_no_graph(kind):
    leaf = snapshot(KINDS[kind]()).leaves["output"]

    assert not leaf.requires_grad
    assert type(leaf) is torch.Tensor


def test_a_copied_snapshot_is_untouched_by_a_later_change_in_place():
    buffer, array = torch.zeros(3), np.zeros(3)
    sparse = torch.eye(2).to_sparse()
    taken = snapshot([buffer, buffer[1:], array, sparse])

    buffer.fill_(7)
    array.fill(7)
    sparse.values().fill_(7)

    assert [leaf.to_dense().sum().item() for leaf in taken.leaves.values()] == [0, 0, 0, 2]


def test_a_snapshot_without_copy_shares_memory():
    buffer = torch.zeros(3)
    taken = snapshot(buffer, copy=False)

    buffer.fill_(7)

    assert taken.leaves["output"].tolist() == [7, 7, 7]


def test_leaves_that_share_memory_are_saved_each_for_itself(tmp_path):
    buffer = torch.arange(6.0)

    save_snapshot(snapshot([buffer, buffer[2:], buffer.view(2, 3), buffer], copy=False), tmp_path, 0)

    back = load_snapshot(tmp_path, 0).leaves
    assert back["1"].tolist() == [2, 3, 4, 5]
    assert back["2"].shape == (2, 3)


def test_values_outside_of_tensors_come_back_exactly(tmp_path):
    tree = {
        "big": 10**6000,
        "negative": -(2**63),
        "float": 0.1,
        "odd": [math.nan, math.inf, -0.0],
        "complex": complex(1, math.nan),
        "text": "a\ud800\n",
        "bytes": b"\x00\xff",
        "none": None,
        "colour": Colour.RED,
        "dtype": torch.float16,
        "truth": True,
        "set": {3, 1},
        ("a", 1): 5,
        "numpy": np.float32(0.1),
    }
    taken = snapshot(tree)

    save_snapshot(taken, tmp_path, 0)

    assert load_snapshot(tmp_path, 0).structure == taken.structure
    assert json.loads(json.dumps(taken.structure, allow_nan=False)) == taken.structure


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6)[::-1],
        np.arange(3, dtype=">i4"),
        np.array(1.5),
        np.array(["a", "bc"]),
        np.array([1, None, torch.ones(2)], dtype=object),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array(["2024-01-01"], dtype="datetime64[D]"),
        np.ma.masked_array([1, 2], mask=[0, 1]),
        np.ones(2, dtype=np.longdouble),
        np.broadcast_to(np.ones(1), (4,)),
    ],
    ids=lambda array: str(array.dtype),
)
def test_any_numpy_array_can_be_described_and_saved(array, tmp_path):
    taken = snapshot(array)

    save_snapshot(taken, tmp_path, 0)

    assert load_snapshot(tmp_path, 0).structure == taken.structure


def test_private_attributes_count_only_where_they_hold_tensors():
    cache = Cache()
    cache._values = {"k": torch.ones(1)}

    keys = [key for key, _ in snapshot(cache).structure["items"]]

    assert keys == ["layers", "owner", "_values"]
    assert list(snapshot(torch.nn.Linear(2, 2)).leaves) == ["_parameters.weight", "_parameters.bias"]


def test_what_cannot_be_read_is_opaque_and_says_why():
    class Hostile(collections.UserDict):
        def items(self):
            raise OSError("gone")

    deep = []
    for _ in range(2000):
        deep = [deep]

    nodes = [node for _, node in snapshot([object(), Hostile(), (i for i in ())]).structure["items"]]

    assert [node["kind"] for node in nodes] == ["opaque"] * 3
    assert "OSError: gone" in nodes[1]["reason"]
    json.dumps(snapshot(deep).structure)


def test_a_model_output_with_a_cache_is_walked():
    transformers = pytest.importorskip("transformers")
    cache = transformers.DynamicCache()
    cache.update(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), 0)
    from transformers.modeling_outputs import CausalLMOutputWithPast

    output = CausalLMOutputWithPast(logits=torch.ones(1, 2), past_key_values=cache)

    logits, *inside = snapshot(output).leaves
    assert logits == "logits"
    assert [path.split(".", 1)[1] for path in inside] == ["layers.0.keys", "layers.0.values"]
    assert type(map_tensors(double, output)) is CausalLMOutputWithPast
    assert map_tensors(double, output).logits.tolist() == [[2, 2]]


@pytest.mark.parametrize("damage", ["json", "safetensors", "both", "other"])
def test_a_damaged_file_is_an_error_that_names_it(damage, tmp_path):
    save_snapshot(snapshot({"x": torch.ones(100)}), tmp_path, 1)
    if damage == "both":
        remove_snapshot(tmp_path, 1)
    elif damage == "other":
        save_snapshot(snapshot({"x": torch.ones(50)}), tmp_path, 2)
        (tmp_path / "00002.safetensors").replace(tmp_path / "00001.safetensors")
    else:
        file = tmp_path / f"00001.{damage}"
        file.write_bytes(file.read_bytes()[:-20])

    with pytest.raises(SnapshotError, match=r"00001\.(json|safetensors)") as error:
        load_snapshot(tmp_path, 1)

    assert isinstance(error.value, LibbenchError)


def test_a_write_that_fails_leaves_nothing_behind(tmp_path):
    with pytest.raises(SnapshotError, match="00001"):
        save_snapshot(snapshot(torch.ones(1)), tmp_path / "missing", 1)

    assert list(tmp_path.iterdir()) == []


def test_a_fingerprint_sees_values_shapes_dtypes_and_structure():
    x = torch.arange(6.0)
    trees = [x, x + 1, x.view(2, 3), x.double(), [x], {"a": x}, {"b": x}, x.to_sparse(), x.numpy(), 1, 1.0, "1", None]

    assert len({fingerprint(tree) for tree in trees}) == len(trees)


def test_a_fingerprint_does_not_depend_on_strides_or_grad():
    x = torch.randn(3, 4)

    assert fingerprint(x.T.contiguous().T) == fingerprint(x)
    assert fingerprint(x.clone().requires_grad_()) == fingerprint(x)


def test_a_fingerprint_is_the_same_in_another_process():
    code = (
        "import torch; from libbench.tree import fingerprint;"
        "print(fingerprint({'x': torch.arange(4), 's': {'b', 'a', 'c'}, 'o': object()}))"
    )
    mine = fingerprint({"x": torch.arange(4), "s": {"c", "a", "b"}, "o": object()})

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == mine


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_any_nesting_of_values_comes_back_from_a_file(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("snapshots")
    taken = snapshot(value)

    save_snapshot(taken, folder, 0)

    assert load_snapshot(folder, 0).structure == taken.structure


LOADED = """
import torch
class Answer:
    def __init__(self, value):
        self.value = value
class Named(torch.nn.Linear):
    def forward(self, x):
        return Answer({"value": super().forward(x), "kind": Answer})
"""


def test_a_class_that_each_side_has_loaded_for_itself_is_the_same_class(config, tmp_path):
    (tmp_path / "parts.py").write_text(LOADED)
    lines = "from .parts import Named\nmodel = L(Named)(in_features=4, out_features=3)\n"
    other = "from . import a\n"  # what is loaded before has other numbers

    comparison = diff(config("a", lines), config("b", other + lines), Plan(speed=False))

    assert comparison.exit_code == 0
    assert comparison.outputs.notes == ()
