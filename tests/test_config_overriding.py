"""Overrides: Hydra's grammar, typed by what is there, all of them or none."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace as NS

import pytest
import torch
from config_kinds import Color
from omegaconf import OmegaConf

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, difference, digest, instantiate, origin, validate
from libbench.errors import ConfigError


@dataclass(frozen=True)
class Settings:
    rtol: float | None = None
    pairs: int = 3

    def __post_init__(self):
        if self.pairs < 1:
            raise ValueError(f"pairs must be at least 1, got {self.pairs}")


def model(width, depth=2, lr=0.1, norm=None, dtype: "torch.dtype | None" = None, bias=True, name="a"):
    return NS(**locals())


def dtyped(dtype=torch.float32):
    return dtype


@pytest.fixture
def cfg():
    return OmegaConf.create(
        {
            "model": L(model)(width=3, norm=L(NS)(groups=2, eps=1e-5)),
            "stages": [L(NS)(depth=1, sizes=(1, (2, 3))), {"depth": 1}],
            "n": 5,
            "lr": 0.5,
            "word": "a",
            "flag": False,
            "d": {"a": 1, "b": {"c": 2}},
        }
    )


@pytest.fixture
def kinds():
    return OmegaConf.create(
        {
            "m": L(dict)(
                dtype=torch.float16,
                device=torch.device("cpu"),
                path=Path("a"),
                color=Color.RED,
                betas=(0.9, 0.99),
                ints=(1, 2),
                sizes=[1, 2],
                settings=Settings(),
                none=None,
                mapping={1: "a"},
            )
        }
    )


def value(cfg, path):
    """Give what is at a path, tuples and all."""
    for key in path.split("."):
        cfg = cfg[int(key)] if key.isdigit() else getattr(cfg, key) if hasattr(cfg, "rtol") else cfg[key]
    return cfg


@pytest.mark.parametrize(
    ("override", "path", "wanted"),
    [
        ("n=7", "n", 7),
        ("n=1.5", "n", 1.5),
        ("lr=1", "lr", 1.0),
        ("lr=1e-3", "lr", 0.001),
        ("word='a b'", "word", "a b"),
        ("word=5", "word", "5"),
        ("word=1e-3", "word", "1e-3"),
        ("word=true", "word", "true"),
        ("word=null", "word", None),
        ("flag=true", "flag", True),
        ("n=null", "n", None),
        ("model.width=64", "model.width", 64),
        ("model.depth=4", "model.depth", 4),
        ("model.lr=1", "model.lr", 1.0),
        ("model.bias=false", "model.bias", False),
        ("model.norm.groups=8", "model.norm.groups", 8),
        ("model.norm=null", "model.norm", None),
        ("model.dtype=torch.bfloat16", "model.dtype", torch.bfloat16),
        ("stages.0.depth=2", "stages.0.depth", 2),
        ("stages.0.sizes.1.0=9", "stages.0.sizes", (1, (9, 3))),
        ("stages.1.depth=2", "stages.1.depth", 2),
        ("d.b.c=3", "d.b.c", 3),
        ("d={a:5}", "d.b.c", 2),
        ("n=${d.a}", "n", 1),
        ("+d.new=[1,{x:2}]", "d.new.1.x", 2),
        ("+d.e.f.g=1", "d.e.f.g", 1),
        ("+extra=1", "extra", 1),
        ("++n=6", "n", 6),
        ("+stages.2={x:1}", "stages.2.x", 1),
    ],
)
def test_a_value_is_replaced_in_its_type(cfg, override, path, wanted):
    after = value(LazyConfig.apply_overrides(cfg, [override]), path)

    assert after == wanted
    assert type(after) is type(wanted)


@pytest.mark.parametrize(
    ("override", "key", "wanted"),
    [
        ("m.dtype=torch.bfloat16", "dtype", torch.bfloat16),
        ("m.dtype=float64", "dtype", torch.float64),
        ("m.device='cuda:1'", "device", torch.device("cuda:1")),
        ("m.device=meta", "device", torch.device("meta")),
        ("m.path=b/c", "path", Path("b/c")),
        ("m.color=BLUE", "color", Color.BLUE),
        ("m.betas=[0.1,0.2]", "betas", (0.1, 0.2)),
        ("m.betas=[1,2]", "betas", (1.0, 2.0)),
        ("m.betas.1=1", "betas", (0.9, 1.0)),
        ("m.ints=[3]", "ints", (3,)),
        ("m.sizes=[3,4,5]", "sizes", [3, 4, 5]),
        ("m.sizes=[]", "sizes", []),
        ("m.settings.pairs=7", "settings", Settings(pairs=7)),
        ("m.settings.rtol=1e-3", "settings", Settings(rtol=1e-3)),
        ("m.none=[1,2]", "none", [1, 2]),
        ("m.none=a", "none", "a"),
        ("m.mapping.1=b", "mapping", {1: "b"}),
    ],
)
def test_every_kind_of_value_keeps_its_kind(kinds, override, key, wanted):
    after = instantiate(LazyConfig.apply_overrides(kinds, [override]))["m"][key]

    assert after == wanted
    assert type(after) is type(wanted)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("model.widht=5", ["no parameter 'widht'", "did you mean 'width'", "override 'model.widht=5'"]),
        ("+model.extra=5", ["no parameter 'extra'", "+model.extra=5"]),
        ("modle.width=5", ["no 'modle'", "did you mean 'model'"]),
        ("d.xyz=5", ["no 'd.xyz'", "'+d.xyz=5' would add it"]),
        ("n.x=5", ["'n' is 9 and holds nothing"]),
        ("stages.7.depth=1", ["no 'stages.7'"]),
        ("model.norm.groups.x=1", ["holds nothing"]),
        ("stages.0.depht=1", ["no 'depht'", "did you mean 'depth'", "override 'stages.0.depht=1'"]),
        ("stages.0.other=1", ["no 'other'", "'+stages.0.other=1' would add it"]),
        ("n=abc", ["wanted int or float", "'abc'", "at n"]),
        ("flag=1", ["wanted bool"]),
        ("lr=[1]", ["wanted int or float"]),
        ("model.norm=3", ["a call is there"]),
        ("d=3", ["wanted"]),
        ("~model.width2", ["no 'model.width2'", "did you mean 'width'"]),
        ("~model.depth", ["no 'model.depth' to delete"]),
        ("~n=6", ["is 9, not 6"]),
        ("lr=0.1,0.2", ["several values", "sweep", "lr=[...]"]),
        ("lr=range(1,3)", ["sweep"]),
        ("n", ["KEY=VALUE", "'n'"]),
        ("a/b=c", ["config group"]),
        ("model@x=c", ["config group"]),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(cfg, override, words):
    before = digest(cfg)

    with pytest.raises(ConfigError) as caught:
        LazyConfig.apply_overrides(cfg, ["n=9", override])

    text = str(caught.value)
    assert [word for word in words if word not in text] == []
    assert "\n" not in text
    assert digest(cfg) == before


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("m.dtype=bfloat61", ["torch.dtype", "did you mean 'bfloat16'"]),
        ("m.device=cuba", ["torch.device"]),
        ("m.color=BLU", ["RED, BLUE", "did you mean 'BLUE'"]),
        ("m.settings.pairs=0", ["pairs must be at least 1", "m.settings.pairs"]),
        ("m.settings.rtoll=0", ["no 'm.settings.rtoll'", "did you mean 'rtol'"]),
        ("~m.settings.rtol", ["field of Settings"]),
    ],
)
def test_a_wrong_value_of_a_kind_is_refused_with_a_hint(kinds, override, words):
    with pytest.raises(ConfigError) as caught:
        LazyConfig.apply_overrides(kinds, [override])

    assert [word for word in words if word not in str(caught.value)] == []


def test_a_default_gives_the_type_of_a_parameter_that_is_not_set():
    cfg = LazyConfig.apply_overrides({"m": L(dtyped)()}, ["m.dtype=bfloat16"])

    assert cfg.m.dtype is torch.bfloat16


def test_a_dotted_target_is_imported_to_check_its_overrides():
    cfg = {"m": L("torch.nn.Linear")(in_features=1, out_features=2)}

    assert LazyConfig.apply_overrides(cfg, ["m.bias=false"]).m.bias is False
    with pytest.raises(ConfigError, match="did you mean 'out_features'"):
        LazyConfig.apply_overrides(cfg, ["m.out_feature=3"])
    with pytest.raises(ConfigError, match="cannot import torch.nn.Lineer"):
        LazyConfig.apply_overrides({"m": L("torch.nn.Lineer")()}, ["m.x=1"])


def test_deleting_a_parameter_goes_back_to_the_default(cfg):
    after = LazyConfig.apply_overrides(cfg, ["~model.norm", "~stages.0.sizes", "~d.b", "~stages.1", "~word"])

    assert "norm" not in after.model
    assert instantiate(after.model).norm is None
    assert list(after.d) == ["a"]
    assert len(after.stages) == 1
    assert "word" not in after


def test_either_all_overrides_apply_or_none(cfg):
    before = digest(cfg)

    with pytest.raises(ConfigError):
        LazyConfig.apply_overrides({"a": 0}, ["a=1", "a.b=2"])
    with pytest.raises(ConfigError):
        LazyConfig.apply_overrides(cfg, ["n=1", "n.b=2"])

    assert digest(cfg) == before
    assert LazyConfig.apply_overrides(cfg, []) == cfg


def test_an_override_of_a_shared_node_reaches_every_place():
    shared = L(NS)(n=1)
    for cfg in (L(NS)(a=shared, b=[shared]), OmegaConf.create({"a": shared, "b": [shared]})):
        after = LazyConfig.apply_overrides(cfg, ["a.n=5"])

        assert after.b[0].n == 5
        assert cfg.b[0].n == 1


def test_an_override_is_remembered_as_the_origin(cfg):
    after = LazyConfig.apply_overrides(cfg, ["model.width=9", "n=1", "d.b.c=7"])

    assert origin(after, "model.width") == "override 'model.width=9'"
    assert origin(after, "n") == "override 'n=1'"
    assert origin(after, "d.b.c") == "override 'd.b.c=7'"
    changes = difference(cfg, after)
    assert {each.path: each.target_origin for each in changes} == {
        "model.width": "override 'model.width=9'",
        "n": "override 'n=1'",
        "d.b.c": "override 'd.b.c=7'",
    }
    assert (
        "set by override 'model.norm.eps=???'" in validate(LazyConfig.apply_overrides(cfg, ["model.norm.eps=???"]))[0]
    )


def test_a_call_can_be_replaced_by_another_in_the_form_of_hydra(cfg):
    after = LazyConfig.apply_overrides(cfg, ["model.norm={_target_:types.SimpleNamespace,a:1}"])

    assert instantiate(after.model).norm == NS(a=1)


def test_the_target_of_a_call_can_be_overridden(cfg):
    after = LazyConfig.apply_overrides(cfg, ["stages.0._target_=collections.OrderedDict"])

    assert after.stages[0]._target_ == "collections.OrderedDict"
    (change,) = difference(cfg, after)
    assert (change.kind, change.path) == ("target", "stages.0")
    assert change.target_origin == "override 'stages.0._target_=collections.OrderedDict'"
    with pytest.raises(ConfigError, match="did you mean 'OrderedDict'"):
        LazyConfig.apply_overrides(cfg, ["stages.0._target_=collections.OrderedDct"])


def test_an_absent_part_starts_from_its_default(cfg):
    defaults = {"seed": 0, "compiler": L("libbench.compilers.eager.Eager")(), "settings": Settings()}

    after = LazyConfig.apply_overrides(cfg, ["seed=3", "settings.pairs=5"], defaults=defaults)

    assert after.seed == 3
    assert after.settings == Settings(pairs=5)
    assert "compiler" not in after
    with pytest.raises(ConfigError, match="did you mean 'seed'"):
        LazyConfig.apply_overrides(cfg, ["sead=3"], defaults=defaults)


def test_overrides_are_a_list_of_texts(cfg):
    with pytest.raises(ConfigError, match="list of texts"):
        LazyConfig.apply_overrides(cfg, "n=1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("data.shapes=(60,)", "extraneous input '(' at column 13; write data.shapes=[60]"),
        ("a=(None,'b c')", "at column 3; write a=[null,'b c']"),
        ("a=[(1,2),(3,)]", "at column 4; write a=[[1,2],[3]]"),
        ("a={1,2}", "write a=[1,2]"),
        ("a={'x':(1,)}", "write a={x:[1]}"),
        ("a=it's", 'at column 5; write a="it\'s"'),
        ("a=x==1", "at column 4; write a='x==1'"),
        ("a=[1,2", "at column 7; a list is written [1,2]"),
        ("a=f(1)", "Unknown function 'f'; write a='f(1)'"),
    ],
)
def test_an_override_that_cannot_be_read_says_where_and_what_to_write(text, words):
    with pytest.raises(ConfigError) as error:
        LazyConfig.apply_overrides({"a": 1, "data": {"shapes": 1}}, [text])

    assert str(error.value).startswith(f"cannot read the override {text!r}: ")
    assert str(error.value).endswith(words) or f"{words}, a dict" in str(error.value)
    assert "expecting" not in str(error.value)
