"""What a load leaves behind: no module that nothing can ask for, and no config that nobody holds."""

import copy
import gc
import pickle
import sys
import weakref
from textwrap import dedent
from types import SimpleNamespace

import pytest

from libbench.config import LazyConfig, difference, from_text, instantiate, origin, show, target_text, to_text
from libbench.errors import ConfigError

HEAD = """
from collections import namedtuple
import functools
from types import SimpleNamespace as NS
from libbench.config import LazyCall as L
from libbench.config import derive
"""
BASE = """
n = 2
def layers(count):
    return [layer(i) for i in range(count)]
def layer(width):
    return L(NS)(width=width)
"""


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        file = tmp_path / name
        file.write_text(HEAD + dedent(text))
        return file

    write_file("base.py", BASE)
    return write_file


def config_modules():
    return {name for name in sys.modules if name.startswith("libbench_config_")}


@pytest.mark.parametrize(
    "text",
    [
        "model = L(NS)(a=1)",
        "model = L(NS)(a=[L(NS)(b=i) for i in range(3)])",
        "model = L(NS)(f=lambda x: x + 1)",
        "model = L(lambda x: x + 1)(x=1)",
        "model = L(NS)(a=1)\nhalf = derive(lambda cfg: cfg.model.a // 2)",
        "from .base import *\nmodel = L(NS)(a=layers(3))",
        "from . import base\nmodel = L(NS)(a=base.layers(3), f=lambda x: x)",
        "def tree(n): return L(NS)(a=[tree(n - 1) for _ in range(n)])\nmodel = tree(3)\ng = derive(lambda cfg: 1)",
    ],
)
def test_loading_a_config_again_and_again_leaves_nothing_behind(write, text):
    file = write("a.py", text)
    instantiate(LazyConfig.load(file))
    gc.collect()
    modules, objects = set(sys.modules), len(gc.get_objects())

    for _ in range(20):
        instantiate(LazyConfig.load(file))

    gc.collect()
    assert set(sys.modules) == modules
    assert len(gc.get_objects()) < objects + 40


def test_the_module_of_a_plain_config_goes_away(write, monkeypatch):
    probe = SimpleNamespace(seen=[])
    monkeypatch.setitem(sys.modules, "probe_of_tests", probe)
    look = "import sys, weakref, probe_of_tests\nprobe_of_tests.seen.append(weakref.ref(sys.modules[__name__]))\n"
    write("base.py", f"{look}{BASE}")
    file = write("a.py", f"{look}from .base import n, layers\nmodel = L(NS)(a=layers(n))")

    cfg = LazyConfig.load(file)
    gc.collect()

    assert [each() for each in probe.seen] == [None, None]
    assert len(instantiate(cfg)["model"].a) == 2


def test_a_config_whose_module_is_gone_does_all_that_it_did(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = write(
        "a.py",
        """
        from .base import layers
        scale = 3
        model = L(NS)(a=layers(2), f=lambda x: x * scale, g=L(lambda: scale)())
        twice = derive(lambda cfg: scale * cfg.model.a[1].width)
        """,
    )
    before = config_modules()

    cfg = LazyConfig.load(file)

    assert config_modules() == before
    built = instantiate(copy.deepcopy(cfg))
    assert (built["model"].f(2), built["model"].g, built["twice"], cfg.twice) == (6, 3, 3, 3)
    assert (origin(cfg, "model.a.1"), origin(cfg, "scale")) == ("base.py:12", "a.py:9")
    assert (target_text(cfg.model.g._target_), show(cfg.model.g)) == ("a.<lambda>", "<lambda>()")
    assert difference(cfg, LazyConfig.load(file)) == ()
    del cfg.model.f, cfg.model.g, cfg.twice
    assert difference(cfg, from_text(to_text(cfg))) == ()
    assert pickle.loads(pickle.dumps(cfg)) == cfg  # noqa: S301


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("class Net(NS): pass\nmodel = L(Net)(n=1)", "Net"),
        ("def made(n): return made\nmodel = L(made)(n=1)", "made"),
        ("def made(n): return made\ndef other(): pass\nmodel = L(functools.partial)(made)", "made"),
        ("Pair = namedtuple('Pair', 'a b')\nmodel = L(Pair)(1, 2)", "Pair"),
        ("exec('def made(n): return made')\nmodel = L(made)(n=1)", "made"),
        ("Net = type('Net', (NS,), {})\nmodel = L(Net)(n=1)", "Net"),
    ],
)
def test_what_a_config_makes_stays_to_be_found(write, text, made):
    file = write("a.py", text)

    cfg = LazyConfig.load(file)
    gc.collect()

    built = instantiate(cfg)["model"]
    again = pickle.loads(pickle.dumps(built))  # noqa: S301
    assert again == built or again.func is built.func
    assert f"{file}:{made}" in to_text(cfg)


@pytest.mark.parametrize(
    "text",
    [
        "from .base import layer\nmodel = L(layer)(width=1)",
        "from .base import *\nmodel = L(layer)(width=1)",
        "from . import base\nmodel = L(base.layer)(width=1)",
        "from . import base\nmodel = L(NS)(f=functools.partial(base.layer, 1))",
        "from . import base\nmodel = L(lambda: L(base.layer)(width=1))()",
        "from .base import *\nmodel = L(lambda: L(layer)(width=1))()",
        "from .base import *\nmodel = L(lambda: L(globals()['layer'])(width=1))()",
        "from .base import *\nmodel = L(lambda made=layer: L(made)(width=1))()",
        "from .base import *\ndef later():\n def new(): return L(layer)(width=1)\n return new\nmodel = L(later())()",
    ],
)
def test_a_function_of_another_config_that_something_can_reach_stays_to_be_found(write, tmp_path, text):
    cfg = LazyConfig.load(write("a.py", text))
    gc.collect()

    node = instantiate(cfg)["model"] if "lambda" in text or "later" in text else cfg.model
    assert f"{tmp_path / 'base.py'}:layer" in to_text(node)


def test_a_config_that_a_plain_module_imported_stays_when_the_load_fails(tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "common.py").write_text("class Net: pass\n")
    (tmp_path / "lib.py").write_text("from .configs.common import Net\n")
    (tmp_path / "configs" / "bad.py").write_text("from ..lib import Net\n1 / 0\n")
    (tmp_path / "configs" / "good.py").write_text(
        "from ..lib import Net\nfrom libbench.config import LazyCall as L\nmodel = L(Net)()\n"
    )

    with pytest.raises(ConfigError, match="ZeroDivisionError"):
        LazyConfig.load(tmp_path / "configs" / "bad.py")

    assert f"{tmp_path / 'configs' / 'common.py'}:Net" in to_text(LazyConfig.load(tmp_path / "configs" / "good.py"))


def test_an_import_in_a_function_leaves_no_module_of_a_plain_config(write):
    write("late.py", "n = 3\n")
    cfg = LazyConfig.load(write("a.py", "def make():\n    from .late import n\n    return n\nmodel = L(make)()\n"))
    before = config_modules()

    assert instantiate(cfg)["model"] == 3
    assert config_modules() == before


def test_an_object_is_not_held_for_its_signature():
    class Model:
        def __call__(self, x):
            return x

    model = Model()
    held = weakref.ref(model)
    from libbench.config import LazyCall

    instantiate(LazyCall(model)(x=1))
    del model
    gc.collect()

    assert held() is None
