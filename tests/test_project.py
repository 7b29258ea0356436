"""Promises that hold for the whole tree."""

import ast
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import libbench

ROOT = Path(__file__).parent.parent
PRODUCT = ("libbench/", "tools/", "configs/", "projects/")
LARGEST = 400_000

# Put together here, so that this file does not name them itself.
INDEX_HOSTS = tuple(
    ".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("pytorch", "org", "whl"), ("npmjs", "org"))
)
HOME_PATH = re.compile(r"/(?:home|root|Users)/[\w.-]")

UNSAFE_CALLS = {
    "pickle.load": "reads a pickle",
    "pickle.loads": "reads a pickle",
    "cPickle.load": "reads a pickle",
    "joblib.load": "reads a pickle",
    "yaml.load": "may build any object; yaml.safe_load does not",
    "yaml.unsafe_load": "builds any object",
    "yaml.full_load": "may build any object; yaml.safe_load does not",
    "os.system": "runs a shell",
    "os.popen": "runs a shell",
}


def tracked() -> list[str]:
    """Give the files that are, or would be, committed."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def unsafe(source: str) -> Iterator[str]:
    """Give what in a source may run somebody else's code, as `line: what`."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        if name in UNSAFE_CALLS:
            yield f"{node.lineno}: {name} {UNSAFE_CALLS[name]}"
        if given.get("shell", "False") != "False":
            yield f"{node.lineno}: {name} runs a shell"
        if name == "torch.load" and given.get("weights_only") != "True":
            yield f"{node.lineno}: torch.load without weights_only=True reads a pickle"
        if given.get("allow_pickle", "False") != "False":
            yield f"{node.lineno}: {name} reads a pickle"


def test_product_code_runs_no_shell_and_reads_no_pickle():
    files = [name for name in tracked() if name.startswith(PRODUCT) and name.endswith(".py")]
    found = [f"{name}:{what}" for name in files for what in unsafe((ROOT / name).read_text())]

    assert files
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "subprocess.run('ls', shell=True)",
        "import pickle\npickle.load(file)",
        "yaml.unsafe_load(text)",
        "torch.load(file)",
        "torch.load(file, weights_only=False)",
        "np.load(file, allow_pickle=True)",
    ],
)
def test_an_unsafe_call_is_found(source):
    assert len(list(unsafe(source))) == 1


def test_a_safe_call_is_not_found():
    assert list(unsafe("torch.load(f, weights_only=True); run(['ls'], shell=False); yaml.safe_load(t)")) == []


def test_no_file_is_large():
    assert {name: size for name in tracked() if (size := (ROOT / name).stat().st_size) > LARGEST} == {}


def test_no_file_names_a_package_index_or_a_home():
    assert [name for name in tracked() if _names_a_place((ROOT / name).read_bytes())] == []


def test_a_package_index_and_a_home_are_found():
    assert _names_a_place(f"--index-url https://{INDEX_HOSTS[0]}/simple".encode())
    assert _names_a_place(b"/home" + b"/somebody/libbench")
    assert not _names_a_place(b"the /home folder, at home/or not")


def _names_a_place(content: bytes) -> bool:
    text = content.decode(errors="ignore")
    return any(host in text for host in INDEX_HOSTS) or HOME_PATH.search(text) is not None


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == libbench.__version__
    assert f"## [{libbench.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_constraints_pin_what_the_project_requires():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = {_package(each) for requirements in lists for each in requirements} - {"libbench"}
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]

    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []
    assert wanted - {_package(pin) for pin in pins} == set()


def _package(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")
