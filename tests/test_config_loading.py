"""Config files: run as real modules, private to each importer, and clean when they fail."""

import builtins
import os
import pickle
import subprocess
import sys
import threading
from textwrap import dedent

import pytest
from omegaconf import OmegaConf

from libbench.config import LazyCall, LazyConfig, difference, digest, from_text, instantiate, origin, to_text, validate
from libbench.errors import ConfigError, MissingPackageError

HEAD = "from types import SimpleNamespace as NS\nfrom libbench.config import LazyCall as L\n"


@pytest.fixture
def write(tmp_path):
    def write_file(name, text, head=HEAD):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(head + dedent(text))
        return file

    return write_file


def config_modules():
    return {name for name in sys.modules if name.startswith("libbench_")}


def test_kept_are_public_names_of_values(write):
    file = write(
        "a.py",
        """
        import math
        from pathlib import Path
        from typing import Any, Optional, TypeVar
        from libbench.settings import Tolerance
        T = TypeVar("T")
        Maybe = Optional[int]
        Union = int | None
        Alias = list[int]
        _hidden = 1
        class Net: pass
        def build(): pass
        n = 5
        lst = [1, 2]
        pair = (1, 2)
        table = {"a": 1}
        nothing = None
        path = Path("a")
        tolerance = Tolerance(rtol=1e-3)
        model = L(Net)()
        """,
        head="from __future__ import annotations\nfrom libbench.config import LazyCall as L\n",
    )

    cfg = LazyConfig.load(file)

    assert list(cfg) == ["n", "lst", "pair", "table", "nothing", "path", "tolerance", "model"]
    assert cfg.pair == (1, 2)
    assert cfg.tolerance.rtol == 1e-3
    assert LazyConfig.apply_overrides(cfg, ["n=6", "lst.0=7", "table.a=2"]).lst[0] == 7


def test_a_dataclass_instance_arrives_as_the_very_object(write):
    file = write("a.py", "from libbench.settings import Timer\ntimer = Timer(pairs=3)\nm = L(NS)(t=timer)\n")

    built = instantiate(LazyConfig.load(file))

    assert built["timer"] is built["m"].t
    assert LazyConfig.apply_overrides(LazyConfig.load(file), ["timer.pairs=7"]).timer.pairs == 7


def test_relative_imports_work_without_packages(write):
    write("common/net/model.py", "model = L(NS)(width=1)\n")
    write("common/data.py", "data = L(NS)(n=2)\nhidden = L(NS)()\n")
    write(
        "base.py",
        "from .common.net.model import model\nfrom .common import data as parts\ndata = parts.data\nseed = 3\n",
    )
    file = write("sub/top.py", "from ..base import *\nfrom .. import base\nagain = base.model\n")

    cfg = LazyConfig.load(file)

    assert cfg.model.width == 1
    assert cfg.data.n == 2
    assert cfg.seed == 3
    built = instantiate(cfg)
    assert built["model"] is built["again"]


def test_a_package_of_configs_can_have_an_init_file(write):
    write("common/__init__.py", "from .net import model\nother = 4\n")
    write("common/net.py", "model = L(NS)(width=1)\n")
    file = write(
        "a.py", "from .common import model, other\nfrom .common import net\nfrom . import common\nn = common.other\n"
    )

    cfg = LazyConfig.load(file)

    assert (cfg.model.width, cfg.other, cfg.n) == (1, 4, 4)


def test_what_is_edited_after_an_import_is_edited_in_a_private_copy(write):
    write("common.py", "model = L(NS)(width=1, depth=[1])\nsizes = [1]\n")
    one = write("a.py", "from .common import model, sizes\nmodel.width = 2\nmodel.depth.append(5)\nsizes.append(2)\n")
    two = write("b.py", "from .common import model, sizes\nmodel.more = 2\n")
    alone = digest(LazyConfig.load(two))

    LazyConfig.load(one)

    assert digest(LazyConfig.load(two)) == alone
    both = write("c.py", "from .a import model as first\nfrom .common import model as second\n")
    cfg = LazyConfig.load(both)
    assert (cfg.first.width, cfg.second.width) == (2, 1)


def test_configs_imported_by_absolute_name_are_private_too(write, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    write("configs/common/model.py", "model = L(NS)(width=1)\n")
    file = write(
        "configs/a.py",
        """
        from configs.common.model import model
        import configs.common.model
        import configs.common.model as third
        second = configs.common.model.model
        third = third.model
        model.width = 2
        """,
    )

    before = set(sys.modules)

    LazyConfig.load(file)
    cfg = LazyConfig.load(file)

    assert cfg.model is cfg.second is cfg.third
    assert not any(name.startswith("configs") for name in set(sys.modules) - before)


def test_a_module_that_is_no_config_is_loaded_once(write):
    write("model.py", "from .layers import Layer\nloads = []\nloads.append(1)\nclass Net(NS): layer = Layer\n")
    write("layers.py", "class Layer: pass\n")
    one = write("configs/a.py", "from ..model import Net\nfrom ..layers import Layer\nmodel = L(Net)(l=L(Layer)())\n")
    two = write("configs/b.py", "from ..model import Net\nmodel = L(Net)()\n")
    before = list(sys.path)

    a, b = LazyConfig.load(one), LazyConfig.load(two)

    assert a.model._target_ is b.model._target_
    assert a.model.l._target_ is a.model._target_.layer
    assert sys.path == before


def test_a_relative_import_of_an_importable_package_is_that_package(write, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    write("mypackage_of_tests/__init__.py", "", head="")
    write("mypackage_of_tests/net.py", "class Net: pass\n", head="")
    file = write("mypackage_of_tests/configs/a.py", "from ..net import Net\nmodel = L(Net)()\n")

    cfg = LazyConfig.load(file)

    from mypackage_of_tests.net import Net

    assert cfg.model._target_ is Net


def test_a_missing_name_is_an_import_error_with_the_file_and_the_close_match(write):
    write("base.py", "node = 1\n")
    file = write("a.py", "from .base import nope, node\n")

    with pytest.raises(
        ImportError, match=r"cannot import 'nope' from .*base.py; did you mean 'node'\?.*a.py:3"
    ) as caught:
        LazyConfig.load(file)

    assert isinstance(caught.value, ConfigError)


def test_a_missing_file_of_an_import_is_named_with_the_close_match(write):
    write("common/resnet.py", "model = 1\n")

    with pytest.raises(ImportError, match=r"no .*common/resnet2.py; did you mean 'resnet'\?.*a.py:3"):
        LazyConfig.load(write("a.py", "from .common.resnet2 import model\n"))
    with pytest.raises(ImportError, match=r"cannot import 'resnt' from .*common; did you mean 'resnet'"):
        LazyConfig.load(write("b.py", "from .common import resnt\n"))


def test_a_circle_of_imports_is_an_error_that_shows_it(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.py", "from .b import y\nx = 1\n")
    write("b.py", "from .a import x\ny = 1\n")

    with pytest.raises(ConfigError, match=r"circle: a.py -> b.py -> a.py \(written in b.py:3\)"):
        LazyConfig.load("a.py")


def test_a_config_that_raises_gives_the_line_the_reason_and_the_cause(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("base.py", "x = 1\nimport json\njson.loads('{')\n")
    write("a.py", "from .base import x\n")

    with pytest.raises(ConfigError, match=r"^base.py:5: JSONDecodeError: Expecting property") as caught:
        LazyConfig.load("a.py")

    assert isinstance(caught.value.__cause__, ValueError)
    assert "\n" not in str(caught.value)


def test_a_config_that_fails_leaves_the_process_as_it_was(write):
    write("base.py", "x = 1\n")
    modules, hook, path = config_modules(), builtins.__import__, list(sys.path)
    for text in ("from .base import x\n1 / 0\n", "def (", "from .base import nope\n", "import sys\nsys.exit(3)\n"):
        with pytest.raises(ConfigError):
            LazyConfig.load(write("a.py", text))

    assert config_modules() == modules
    assert builtins.__import__ is hook
    assert sys.path == path


def test_a_syntax_error_gives_file_and_line(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.py", "x = 1\ndef (:\n")

    with pytest.raises(ConfigError, match=r"^a.py:4: SyntaxError: "):
        LazyConfig.load("a.py")


def test_a_typo_in_a_config_is_reported_on_its_line(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.py", "import json\n\nmodel = L(json.JSONDecoder)(\n    strct=True,\n)\n")

    with pytest.raises(
        ConfigError, match=r"JSONDecoder has no parameter 'strct'; did you mean 'strict'\? \(written in a.py:5\)"
    ):
        LazyConfig.load("a.py")


def test_a_missing_package_keeps_its_own_error(write):
    text = "from libbench.optional import need\nneed('not_there', extra='x', purpose='this')\n"

    with pytest.raises(MissingPackageError):
        LazyConfig.load(write("a.py", text))
    with pytest.raises(ImportError, match=r"b.py:3: ModuleNotFoundError: No module named 'not_there'"):
        LazyConfig.load(write("b.py", "import not_there\n"))


def test_a_missing_file_is_named_with_the_nearest_one(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("configs/eager.py", "x = 1\n")

    with pytest.raises(ConfigError, match=r"no config file configs/eagr.py; did you mean 'eager.py'\?"):
        LazyConfig.load("configs/eagr.py")
    with pytest.raises(ConfigError, match=r"did you mean 'configs'\?"):
        LazyConfig.load("config/eager.py")
    with pytest.raises(ConfigError, match="is a folder"):
        LazyConfig.load("configs")


def test_a_config_edited_and_loaded_again_is_the_new_one(write):
    file = write("a.py", "n = 1\n")
    values = [LazyConfig.load(file).n]
    for n in range(2, 6):
        write("a.py", f"n = {n}\n")
        values.append(LazyConfig.load(file).n)

    assert values == [1, 2, 3, 4, 5]


def test_two_configs_of_one_file_name_do_not_meet(write):
    one = LazyConfig.load(write("x/a.py", "class C(NS): pass\nm = L(C)(n=1)\n"))
    two = LazyConfig.load(write("y/a.py", "class C(NS): pass\nm = L(C)(n=2)\n"))

    assert instantiate(one.m).n == 1
    assert instantiate(two.m).n == 2
    assert [each.kind for each in difference(one, two)] == ["target", "changed"]


def test_threads_can_load_at_once(write):
    write("base.py", "model = L(NS)(width=1)\nshared = L(NS)()\n")
    write("model.py", "class Net(NS): pass\n")
    file = write(
        "configs/a.py",
        "from ..model import Net\nfrom .mid import model\nmodel.width = 2\nmodel.net = L(Net)()\n",
    )
    write("configs/mid.py", "model = L(NS)(width=1)\n")
    wanted = digest(LazyConfig.load(file))
    found, errors = [], []

    def load():
        try:
            found.extend(digest(LazyConfig.load(file)) for _ in range(50))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert set(found) == {wanted}
    assert len(found) == 400


def test_what_a_config_defines_can_be_built_and_pickled(write):
    file = write(
        "a.py", "class Net(NS): pass\ndef make(n): return Net(n=n)\nmodel = L(Net)(n=1)\nmade = L(make)(n=2)\n"
    )

    built = instantiate(LazyConfig.load(file))

    assert pickle.loads(pickle.dumps(built["model"])) == built["model"]  # noqa: S301
    assert built["made"].n == 2


def test_what_a_config_defines_is_saved_as_file_and_name_and_read_in_another_process(write, tmp_path):
    write("base.py", "class Inner(NS): pass\n")
    file = write(
        "a.py",
        """
        from .base import Inner
        class Net(NS): pass
        def make(n): return Net(n=n)
        model = L(Net)(n=1, inner=L(Inner)())
        made = L(make)(n=2)
        """,
    )
    saved = tmp_path / "saved.yaml"
    LazyConfig.save(LazyConfig.load(file), saved)

    code = f"""
from libbench.config import LazyConfig, instantiate, digest, difference
saved = LazyConfig.load({str(saved)!r})
assert difference(LazyConfig.load({str(file)!r}), saved) == ()
built = instantiate(saved)
print(type(built["model"]).__qualname__, built["made"].n, digest(saved))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["Net", "2", digest(LazyConfig.load(file))]


def test_the_digest_is_the_same_in_every_process_also_with_lambdas(write):
    file = write(
        "a.py",
        """
        import torch
        def outer():
            def local(x): return x + 1
            return local
        m = L(NS)(f=lambda x: x + 1, g=outer(), t=torch.ones(2), s={"b", "a", "c"}, o=NS(z=object()))
        """,
    )
    code = f"from libbench.config import *; print(digest(LazyConfig.load({str(file)!r})))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in (1, 2)
    }  # fmt: skip
    found |= {digest(LazyConfig.load(file)) + "\n" for _ in range(2)}

    assert len(found) == 1
    assert difference(LazyConfig.load(file), LazyConfig.load(file)) == ()
    write("a.py", file.read_text().replace("lambda x: x + 1", "lambda x: x + 2"), head="")
    assert digest(LazyConfig.load(file)) + "\n" not in found


def test_origins_follow_imports_and_edits(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("base.py", "model = L(NS)(width=1)\nn = 1\nm = 2\n")
    write(
        "a.py", "from .base import *\nfrom .base import n as k\nmodel.width = 2\nm = 3\nfor i in range(3):\n    j = i\n"
    )

    cfg = LazyConfig.load("a.py")

    wanted = {
        "model": "base.py:3",
        "model.width": "a.py:5",
        "n": "base.py:4",
        "k": "base.py:4",
        "m": "a.py:6",
        "j": "a.py:8",
    }
    assert {path: origin(cfg, path) for path in wanted} == wanted


def test_every_exported_name_is_there_and_has_a_docstring():
    import libbench.config

    assert [name for name in libbench.config.__all__ if not getattr(libbench.config, name).__doc__] == []
    assert sorted(libbench.config.__all__) == sorted(libbench.config._HOME)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = libbench.config.nothing


def test_importing_the_layer_imports_neither_torch_nor_hydra():
    code = "import sys; from libbench.config import *; print({'torch', 'hydra', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"


def test_a_config_of_text_targets_loads_without_their_packages(write):
    cfg = LazyConfig.load(write("a.py", "model = L('not_there.Net')(n=1)\n"))

    assert cfg.model.n == 1
    assert "not_there" in validate(cfg)[0]
    assert digest(from_text(to_text(cfg))) == digest(cfg)


def test_a_function_of_a_config_may_import_when_it_is_called(write):
    write("late.py", "n = 3\n")
    file = write("a.py", "def make():\n    from .late import n\n    import json\n    return n\nmodel = L(make)()\n")

    assert instantiate(LazyConfig.load(file))["model"] == 3


def test_a_loaded_config_is_a_config_of_omegaconf(write):
    cfg = LazyConfig.load(write("a.py", "model = L(NS)(width=1)\ntrain = dict(lr=0.1, steps='${model.width}')\n"))

    assert OmegaConf.is_config(cfg)
    assert cfg.train.steps == 1
    cfg.train.lr = 0.2
    cfg.new = LazyCall("types.SimpleNamespace")(x="${train.lr}")
    assert instantiate(cfg)["new"].x == 0.2
