"""Plain files of tensors: every pair of kinds, what differs, and what cannot be read."""

import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from libbench.cli.main import main
from libbench.errors import LibbenchError
from libbench.plainfiles import compare_files, read_plain
from libbench.settings import Tolerance

ROOT = Path(__file__).parent.parent
STATE = {
    "layer.weight": torch.arange(12.0).reshape(3, 4),
    "layer.bias": torch.tensor([0.5, -1.0]),
    "n": torch.tensor(7),
}


def written(file, state):
    if file.suffix == ".safetensors":
        save_file(state, file)
    elif file.suffix in (".pt", ".pth"):
        torch.save(state, file)
    elif file.suffix == ".npy":
        np.save(file, state)
    else:
        (np.savez if "plain" in file.name else np.savez_compressed)(file, **{k: v.numpy() for k, v in state.items()})
    return file


@pytest.fixture
def compare(capsys):
    def run(*arguments):
        code = main(["compare", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


KINDS = ["a.safetensors", "a.pt", "a.pth", "plain.npz", "packed.npz"]


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("two", KINDS)
def test_every_kind_of_file_compares_with_every_other(tmp_path, one, two):
    (tmp_path / "other").mkdir()
    changed = {**STATE, "layer.bias": torch.tensor([0.5, -1.5])}
    files = written(tmp_path / one, STATE), written(tmp_path / "other" / two, STATE)

    same = compare_files(*files)
    different = compare_files(files[0], written(tmp_path / "other" / two, changed))

    assert (same.verdict, same.elements, same.reasons) == ("same", 15, ())
    assert different.verdict == "different"
    assert (different.leaves[0].path, different.leaves[0].mismatches) == ("layer.bias", 1)
    assert different.leaves[0].max_abs.value == 0.5


def test_the_verdict_is_the_first_line_and_the_exit_code(compare, tmp_path):
    a = written(tmp_path / "a.safetensors", STATE)
    b = written(tmp_path / "b.npz", {**STATE, "layer.bias": torch.tensor([0.5, -1.25])})

    assert compare(a, a)[:2] == (0, compare(a, a)[1])
    code, out, _ = compare(a, b)
    assert code == 1
    assert out.startswith("DIFFERENT: layer.bias: 1 of 2 values out of tolerance")
    assert compare(a, b, "--atol", "0.3")[0] == 0
    assert compare(a, b, "--rtol", "0.3")[1].startswith("SAME\n")


def test_a_key_of_one_side_only_is_named_and_the_others_are_compared(compare, tmp_path):
    a = written(tmp_path / "a.safetensors", STATE)
    b = written(tmp_path / "b.safetensors", {"layer.weight": STATE["layer.weight"], "extra": torch.ones(1)})

    code, out, _ = compare(a, b, "-v")

    assert code == 1
    assert "layer.bias: only in the reference" in out
    assert "extra: only in the target" in out
    assert "compared exactly" in out


def test_another_floating_dtype_is_a_difference_unless_any_may_be(compare, tmp_path):
    a = written(tmp_path / "a.safetensors", {"x": torch.ones(3)})
    b = written(tmp_path / "b.safetensors", {"x": torch.ones(3, dtype=torch.bfloat16)})

    assert compare(a, b)[0] == 1
    assert compare(a, b, "--dtype", "any")[0] == 0
    assert compare(a, b, "--dtype", "exact")[0] == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.bool, torch.uint8])
def test_dtypes_that_numpy_does_not_have_are_compared_too(tmp_path, dtype):
    x = torch.tensor([0.0, 1.0, 2.0, 3.0]).to(dtype)
    y = torch.tensor([0.0, 1.0, 2.0, 0.0]).to(dtype)
    a, b, c = (written(tmp_path / name, {"x": v}) for name, v in (("a.safetensors", x), ("b.pt", x), ("c.pt", y)))

    assert compare_files(a, b).verdict == "same"
    assert compare_files(a, c).leaves[0].mismatches == 1


def test_a_lone_array_is_compared_with_a_lone_tensor(tmp_path):
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    a, b = written(tmp_path / "a.npy", x), written(tmp_path / "b.pt", torch.from_numpy(x))

    assert compare_files(a, b).verdict == "same"
    assert compare_files(a, b).leaves[0].path == "output"


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3)), np.array(2.5), np.arange(4, dtype=">f4"), np.arange(6.0).reshape(2, 3).T,
        np.asfortranarray(np.ones((3, 4))), np.array([1 + 2j]), np.array(["a", "b"]), np.array([True, False]),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), np.arange(3, dtype=np.uint16),
        np.array(["2020-01-01"], dtype="M8[D]"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_an_array_of_any_form_is_the_same_as_itself_and_another_is_not(tmp_path, array, name):
    save = np.save if name == "a.npy" else np.savez
    save(tmp_path / name, array)
    (tmp_path / "b").mkdir()
    save(tmp_path / "b" / name, np.concatenate([np.atleast_1d(array)] * 2))

    assert compare_files(tmp_path / name, tmp_path / name).verdict == "same"
    if array.size:
        assert compare_files(tmp_path / name, tmp_path / "b" / name).verdict == "different"


def test_what_weights_come_with_is_compared_too(tmp_path):
    held = {"model": OrderedDict(w=torch.ones(2)), "epoch": 3, "rates": [0.1, 0.2], "name": "net"}
    a, b = written(tmp_path / "a.pt", held), written(tmp_path / "b.pt", {**held, "epoch": 4})

    found = compare_files(a, b)

    assert [leaf.path for leaf in found.leaves if leaf.verdict == "different"] == ["epoch"]
    assert compare_files(a, a).verdict == "same"


def test_an_old_file_of_torch_is_read_as_well(tmp_path):
    torch.save(STATE, tmp_path / "old.pt", _use_new_zipfile_serialization=False)

    assert compare_files(tmp_path / "old.pt", written(tmp_path / "new.pt", STATE)).verdict == "same"


class Net(torch.nn.Linear):
    pass


def objects(file):
    np.savez(file, x=np.array([{}, None], dtype=object))


def lone_objects(file):
    np.save(file, np.array([{}, None], dtype=object))


def lone_array(file):
    with file.open("wb") as stream:
        np.save(stream, np.ones(2))


def zipped(file, name):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "x")


def model(file):
    torch.save(Net(2, 2), file)


def script(file):
    file.write_bytes(b"cos\nsystem\n(S'true'\ntR.")


@pytest.mark.parametrize(
    ("name", "write", "words"),
    [
        ("x.npz", objects, "holds objects"),
        ("x.npy", lone_objects, "holds objects"),
        ("x.pt", model, "Net, which only unpickling could read"),
        ("x.pt", script, "cannot be read"),
        ("x.npz", script, "cannot be read"),
        ("x.npy", script, "cannot be read"),
        ("x.npz", lone_array, "it is a .npy file by its content"),
        ("x.safetensors", script, "cannot be read"),
        ("x.pt", lambda file: file.write_bytes(b""), "cannot be read"),
        ("x.npz", lambda file: file.write_bytes(b""), "cannot be read"),
        ("x.npy", lambda file: file.write_bytes(b""), "cannot be read"),
        ("x.safetensors", lambda file: file.write_bytes(b""), "cannot be read"),
        (
            "x.bin",
            lambda file: file.write_bytes(b"1"),
            "ends in .safetensors, .npz, .npy, .pt, .pth",
        ),
        ("x.pt", lambda file: file.mkdir(), "is a folder"),
        ("x.pt", lambda file: None, "is not there"),
        ("good.safetensor", lambda file: None, "did you mean 'good.safetensors'"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_code_two(compare, tmp_path, name, write, words):
    good = written(tmp_path / "good.safetensors", STATE)
    write(tmp_path / name)

    for files in ((good, tmp_path / name), (tmp_path / name, good)):
        code, out, err = compare(*files)
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert name in err
        assert words in err


@pytest.mark.parametrize("ending", ["safetensors", "npz", "npy", "pt"])
@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda file: file.write_text("accuracy 0.5, written by hand\n" * 40), "it is text"),
        (lambda file: file.write_text("{}"), "it is text"),
        (lambda file: file.write_bytes(b""), "it is empty"),
        (lambda file: file.write_bytes(bytes(range(256)) * 20), "it is of no known kind"),
        (lambda file: file.write_bytes(pickle.dumps({"a": Net(2, 2)})), "only unpickling could read"),
        (lambda file: zipped(file, "notes.txt"), "it is a zip archive of 1 other files"),
        (lambda file: file.mkdir(), "is a folder, not a file of tensors"),
        (lambda file: file.symlink_to("nowhere"), "is a link to nowhere, which is not there"),
        (os.mkfifo, "is no regular file"),
    ],
)
def test_a_file_of_another_kind_is_called_what_it_is(compare, tmp_path, ending, write, words):
    good, file = written(tmp_path / "good.safetensors", STATE), tmp_path / f"x.{ending}"
    write(file)

    code, out, err = compare(good, file)

    assert (code, out) == (2, "")
    assert words in err
    assert len(err.strip().splitlines()) == 1
    assert len(err) < len(str(file)) + 150


@pytest.mark.parametrize("ending", ["safetensors", "npz", "npy", "pt"])
@pytest.mark.parametrize("name", ["a.safetensors", "a.pt", "plain.npz", "a.npy"])
def test_a_file_whose_name_has_the_ending_of_another_kind_is_called_by_its_own(compare, tmp_path, ending, name):
    own = Path(name).suffix.strip(".")
    file = written(tmp_path / name, STATE if own != "npy" else np.arange(10.0))
    wrong = file.rename(tmp_path / f"wrong.{ending}")

    code, _, err = compare(wrong, wrong)

    assert code == (0 if own == ending else 2)
    assert own == ending or f"cannot be read as a .{ending} file: it is a .{own} file by its content" in err


@pytest.mark.parametrize("name", ["a.safetensors", "a.pt", "plain.npz", "packed.npz", "a.npy"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_file_that_is_cut_off_is_told(compare, tmp_path, name, share):
    file = written(tmp_path / name, STATE if name != "a.npy" else np.arange(1000.0))
    good = written(tmp_path / "good.safetensors", STATE)
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])

    code, out, err = compare(file, good)

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert name in err


def test_a_damaged_member_is_told_when_it_is_read(tmp_path):
    file = written(tmp_path / "plain.npz", {"x": torch.arange(1000.0)})
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)

    with pytest.raises(LibbenchError, match="plain.npz cannot be read"):
        compare_files(file, file)


def test_files_without_anything_cannot_be_judged(compare, tmp_path):
    a, b = written(tmp_path / "a.safetensors", {}), written(tmp_path / "b.npz", {})

    code, out, _ = compare(a, b)

    assert code == 2
    assert out.startswith("CANNOT BE JUDGED: nothing was compared")


def test_the_json_has_what_the_report_has(compare, tmp_path):
    a, b = written(tmp_path / "a.safetensors", STATE), written(tmp_path / "b.pt", {**STATE, "n": torch.tensor(8)})

    compare(a, b, "--json", tmp_path / "found.json", "--atol", "0")

    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["schema"], found["version"], found["derived"]["exit_code"]) == ("libbench.files", 1, 1)
    assert found["outputs"]["leaves"][0]["path"] == "n"
    assert found["tolerance"]["atol"] == 0
    assert (found["reference"], found["target"]) == (str(a), str(b))


def test_the_tool_is_the_command(tmp_path):
    a = written(tmp_path / "a.safetensors", STATE)

    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "compare.py", a, a], capture_output=True, text=True, timeout=120
    )

    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "SAME")


def test_values_stay_in_the_file(tmp_path):
    save_file({"x": torch.zeros(1000)}, tmp_path / "a.safetensors")
    np.save(tmp_path / "a.npy", np.zeros(1000))
    torch.save(torch.zeros(1000), tmp_path / "a.pt")
    script = (
        "import sys, psutil, torch\nfrom libbench.plainfiles import compare_files\nfrom pathlib import Path\n"
        "def private():\n"
        "    lines = Path('/proc/self/smaps_rollup').read_text().splitlines()\n"
        "    return sum(int(l.split()[1]) for l in lines if l.startswith(('Anonymous:',))) / 1024\n"
        "compare_files(sys.argv[1], sys.argv[1])\nbefore = private()\n"
        "assert compare_files(sys.argv[2], sys.argv[2]).verdict == 'same'\nprint(private() - before)\n"
    )
    save_file({"x": torch.zeros(30_000_000)}, tmp_path / "big.safetensors")
    np.save(tmp_path / "big.npy", np.zeros(30_000_000, dtype=np.float32))
    torch.save(torch.zeros(30_000_000), tmp_path / "big.pt")
    for kind in ("safetensors", "npy", "pt"):
        files = [str(tmp_path / f"{name}.{kind}") for name in ("a", "big")]
        done = subprocess.run([sys.executable, "-c", script, *files], capture_output=True, text=True, timeout=120)
        assert float(done.stdout) < 30, done.stderr


@given(st.lists(st.floats(width=32), min_size=1, max_size=20), st.sampled_from(["equal", "refuse"]))
def test_a_file_is_the_same_as_itself_whatever_it_holds(tmp_path_factory, values, nan):
    file = tmp_path_factory.mktemp("files") / "a.npz"
    np.savez(file, x=np.array(values, dtype=np.float32))

    held = any(value != value for value in values)
    assert compare_files(file, file, Tolerance(nan=nan)).verdict == (
        "different" if held and nan == "refuse" else "same"
    )
    assert list(read_plain(file).leaves) == ["x"]


def test_members_and_fields_whose_names_read_alike_do_not_hide_one_another(tmp_path):
    def written(name, member, field):
        structured = np.array([(field,)], dtype=[("b", "f4")])
        np.savez(tmp_path / name, **{"a.b": np.float32([member]), "a": structured})
        return tmp_path / name

    known = written("known.npz", 1.0, 2.0)

    assert compare_files(known, written("same.npz", 1.0, 2.0)).verdict == "same"
    assert compare_files(known, written("member.npz", 9.0, 2.0)).verdict == "different"
    assert compare_files(known, written("field.npz", 1.0, 9.0)).verdict == "different"
