"""The habits of LiBai and detectron2, and the page about them."""

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace as NS

import pytest

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, default_argument_parser, derive, get_config, instantiate, try_get_key
from libbench.errors import ConfigError

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "from_libai.md").read_text()
BLOCKS = re.findall(r"^```python\n(?:# (\S+\.py)\n)?(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for file, text in BLOCKS:
        if file:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(text)
        else:
            exec(compile(text, "from_libai.md", "exec"), names)

    assert len(BLOCKS) > 5


def test_a_config_that_comes_with_the_package_is_loaded_by_name():
    model = get_config("encoder.py").model

    assert model.d_model == 64
    assert get_config("encoder.py", "model").nhead == 4
    with pytest.raises(ConfigError, match=r"no config 'encodr.py'; did you mean 'encoder.py'"):
        get_config("encodr.py")


def test_every_config_that_comes_with_the_package_is_in_what_is_installed():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["libbench"]
    shipped = set((ROOT / "libbench" / "configs").rglob("*.py"))

    assert shipped
    assert shipped <= {file for pattern in data for file in (ROOT / "libbench").glob(pattern)}


def test_every_load_of_a_shipped_config_is_a_private_copy():
    get_config("encoder.py").model.nhead = 8

    assert get_config("encoder.py").model.nhead == 4


def test_a_path_is_taken_from_the_file_that_names_it(tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    (tmp_path / "base.py").write_text("n = 1\nm = 2\n")
    (tmp_path / "inner" / "a.py").write_text(
        "from libbench.config import LazyConfig\nn = LazyConfig.load_rel('../base.py').n\n"
        "pair = list(LazyConfig.load_rel('../base.py', ('n', 'm')))\n"
    )
    monkeypatch.chdir(Path("/"))

    assert LazyConfig.load(tmp_path / "inner" / "a.py") == {"n": 1, "pair": [1, 2]}
    assert LazyConfig.load(tmp_path / "base.py", "m") == 2
    with pytest.raises(ConfigError, match=r"base.py assigns no 'k'"):
        LazyConfig.load(tmp_path / "base.py", ["k"])


def test_the_first_path_that_leads_anywhere_is_taken():
    cfg = {
        "model": L(NS)(cfg={"hidden": 3}, none=None),
        "twice": derive(lambda cfg: cfg.model.cfg.hidden * 2),
        "x": "${twice}",
    }

    assert try_get_key(cfg, "model.hidden", "model.cfg.hidden") == 3
    assert try_get_key(cfg, "model.none", default=5) is None
    assert try_get_key(cfg, "model.hidden", "hidden", default=5) == 5
    assert try_get_key(cfg, "x") == 6
    assert try_get_key(cfg, "model.cfg") == {"hidden": 3}


def test_the_parser_takes_flags_and_overrides_in_any_order():
    parser = default_argument_parser()
    parser.add_argument("--more", type=int)

    for line in (
        "--config-file a.py x=1 --resume ~y +z=2 --more 3",
        "x=1 --more 3 --resume ~y +z=2 --config-file a.py",
    ):
        arguments = parser.parse_args(line.split())
        assert (arguments.config_file, arguments.opts) == ("a.py", ["x=1", "~y", "+z=2"])
        assert (arguments.resume, arguments.eval_only, arguments.more) == (True, False, 3)
    assert parser.parse_args([]).opts == []


def test_instantiate_takes_more_arguments():
    assert instantiate(L(NS)(a=1), b=2) == NS(a=1, b=2)
