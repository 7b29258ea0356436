"""Values that follow the config: derived ones, and what they and interpolations have in common."""

import subprocess
import sys
from types import SimpleNamespace as NS

import pytest
from omegaconf import OmegaConf

from libbench.config import LazyCall as L
from libbench.config import (
    LazyConfig,
    derive,
    difference,
    digest,
    flat,
    from_text,
    instantiate,
    to_text,
    validate,
)
from libbench.errors import ConfigError


def half(cfg):
    return cfg.model.layers // 2


def config(function=half):
    return {"model": L(NS)(layers=6, half=derive(function)), "again": "${model.half}"}


def test_a_derived_value_follows_overrides():
    cfg = LazyConfig.apply_overrides(config(), ["model.layers=10"])

    assert (cfg.model.half, cfg.again) == (5, 5)
    assert instantiate(cfg) == {"model": NS(layers=10, half=5), "again": 5}
    assert instantiate(cfg.model) == NS(layers=10, half=5)


def test_an_override_puts_a_plain_value_in_the_place_of_a_derived_one():
    cfg = LazyConfig.apply_overrides(config(), ["model.half=7"])

    assert instantiate(cfg.model).half == 7


def test_a_derived_value_sees_others_computed_whatever_their_order():
    cfg = {
        "c": derive(lambda cfg: cfg.b + 1),
        "b": derive(lambda cfg: cfg["a"][-1] * 2),
        "a": [1, "${n}"],
        "n": 20,
    }

    assert instantiate(cfg) == {"c": 41, "b": 40, "a": [1, 20], "n": 20}


def test_the_config_can_be_read_as_a_dict_and_as_lists():
    seen = {}

    def look(cfg):
        seen["keys"] = list(cfg.model)
        seen["items"] = cfg.model.items()
        seen["get"] = (cfg.get("nothing", 3), cfg.model.get("layers"))
        seen["in"] = ("model" in cfg, "x" in cfg, 2 in cfg.sizes)
        seen["list"] = (len(cfg.sizes), cfg.sizes[1:], cfg.sizes == [1, 2, 3], sum(cfg.sizes), cfg.sizes == (1, 2, 3))
        seen["dict"] = cfg.d == {"a": 1}
        seen["target"] = cfg.model._target_
        seen["hasattr"] = (hasattr(cfg, "model"), hasattr(cfg, "modle"))
        seen["text"] = repr(cfg.model)
        return cfg.sizes

    cfg = {"model": L(NS)(layers=6), "sizes": [1, 2, 3], "d": {"a": 1}, "copy": derive(look)}

    assert instantiate(cfg)["copy"] == [1, 2, 3]
    assert seen == {
        "keys": ["layers"],
        "items": [("layers", 6)],
        "get": (3, 6),
        "in": (True, False, True),
        "list": (3, [2, 3], True, 6, False),
        "dict": True,
        "target": NS,
        "hasattr": (True, False),
        "text": "<the config at model>",
    }


def test_a_derived_node_is_that_very_instance_and_a_new_call_is_built_once():
    cfg = {
        "model": L(NS)(n=1),
        "same": derive(lambda cfg: cfg.model),
        "new": derive(lambda cfg: L(NS)(inner=cfg.model.n, of=[cfg.model])),
        "again": "${new}",
    }

    built = instantiate(cfg)

    assert built["same"] is built["model"]
    assert built["new"].of[0] is built["model"]
    assert built["new"].inner == 1


def test_values_that_need_one_another_are_an_error_with_the_chain():
    cfg = {"x": 1, "a": derive(lambda cfg: cfg.b), "b": "${c}", "c": derive(lambda cfg: cfg.a + 1)}

    with pytest.raises(ConfigError, match="circle: a -> b -> c -> a"):
        instantiate(cfg)
    assert len(validate(cfg)) == 3


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda cfg: cfg.model.layres, ["no 'model.layres'", "did you mean 'layers'", "at model.half", "<lambda "]),
        (lambda cfg: 1 // 0, ["cannot derive model.half", "ZeroDivisionError", "test_config_deriving.py:"]),
        (lambda: 1, ["cannot derive", "TypeError"]),
    ],
)
def test_a_function_that_fails_is_told_with_its_place(function, words):
    (problem,) = {each.partition(" (at")[0]: each for each in validate(config(function))}.values()

    assert [word for word in words if word not in problem] == []
    with pytest.raises(ConfigError):
        instantiate(config(function))


def test_derive_takes_a_function():
    with pytest.raises(ConfigError, match=r"derive takes a function.*test_config_deriving.py:\d+"):
        derive(3)


def test_both_forms_are_shown():
    lines = {line.path: line.text for line in flat(config(lambda cfg: cfg.model.layers // 2))}

    assert lines["model.half"].startswith("3 (derived by <lambda ")
    assert lines["again"] == "3 (from ${model.half})"
    assert flat(config())[2].text == "3 (derived by test_config_deriving.half)"


def test_the_difference_is_that_of_the_functions_and_of_what_they_read():
    def lines(one, two):
        return [(each.path, each.kind, each.counted) for each in difference(one, two)]

    assert lines(config(), LazyConfig.apply_overrides(config(), ["model.layers=10"])) == [
        ("model.layers", "changed", True)
    ]
    assert lines(config(), config(lambda cfg: cfg.model.layers - 3)) == [("model.half", "form", False)]
    assert lines(config(), config(lambda cfg: cfg.model.layers - 4)) == [("model.half", "changed", True)]
    assert lines(config(), LazyConfig.apply_overrides(config(), ["model.half=3"])) == [("model.half", "form", False)]
    (change,) = difference(config(), LazyConfig.apply_overrides(config(), ["model.half=4"]))
    assert (change.reference, change.target) == ("3 (derived by test_config_deriving.half)", "4")


def test_a_named_function_is_saved_by_its_name_and_a_lambda_is_refused():
    for form in ("yaml", "json"):
        again = from_text(to_text(config(), form=form), form=form)

        assert difference(config(), again) == ()
        assert again.model.half == 3
    with pytest.raises(ConfigError, match=r"cannot save derived by <lambda .*at model.half"):
        to_text(config(lambda cfg: 1))
    assert "!opaque 1 (derived by <lambda " in to_text(config(lambda cfg: 1), opaque=True)


def test_a_name_that_is_not_allowed_is_not_derived_by():
    with pytest.raises(ConfigError, match="not allowed"):
        from_text("a: !derive 'os:system'", allow=["torch"])


def test_the_digest_of_a_derived_value_is_the_same_in_every_process(tmp_path):
    (tmp_path / "a.py").write_text(
        "from libbench.config import derive\nx = 1\ny = derive(lambda cfg: cfg.x in {'a', 'b', 'c', 1})\n"
    )
    code = f"from libbench.config import LazyConfig, digest; print(digest(LazyConfig.load({str(tmp_path / 'a.py')!r})))"
    seeds = ("1", "2", "3")

    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in seeds
    }  # fmt: skip

    assert len(found) == 1
    assert digest(LazyConfig.load(tmp_path / "a.py")) in found.pop()


def test_an_imported_config_derives_from_the_one_that_imports_it(tmp_path):
    (tmp_path / "base.py").write_text(
        "from types import SimpleNamespace as NS\nfrom libbench.config import LazyCall as L, derive\n"
        "model = L(NS)(layers=6, half=derive(lambda cfg: cfg.model.layers // 2))\n"
    )
    (tmp_path / "a.py").write_text("from .base import model\nmodel.layers = 8\n")

    assert LazyConfig.load(tmp_path / "a.py").model.half == 4


def test_resolvers_of_every_kind_see_derived_values(tmp_path, monkeypatch):
    monkeypatch.setenv("LIBBENCH_WIDTH", "7")
    (tmp_path / "a.py").write_text(
        "from omegaconf import OmegaConf\nfrom libbench.config import derive\n"
        "OmegaConf.register_new_resolver('twice_of_test', lambda x: 2 * x, replace=True)\n"
        "n = 4\n"
        "d = derive(lambda cfg: cfg.n + 1)\n"
        "env = '${oc.env:LIBBENCH_WIDTH}'\n"
        "number = '${oc.decode:${oc.env:LIBBENCH_WIDTH}}'\n"
        "default = '${oc.env:LIBBENCH_NOT_SET,3}'\n"
        "chosen = '${oc.select:nothing,5}'\n"
        "picked = '${oc.select:d}'\n"
        "made = '${oc.create:{a:1}}'\n"
        "keys = '${oc.dict.keys:made_of}'\n"
        "made_of = {'x': 1}\n"
        "twice = '${twice_of_test:${d}}'\n"
        "text = 'width ${n} of ${d}'\n"
        "deep = derive(lambda cfg: cfg.twice + cfg.number)\n"
    )
    try:
        built = instantiate(LazyConfig.apply_overrides(LazyConfig.load(tmp_path / "a.py"), ["n=5"]))
    finally:
        OmegaConf.clear_resolver("twice_of_test")

    assert built == {
        "n": 5, "d": 6, "env": "7", "number": 7, "default": "3", "chosen": 5, "picked": 6, "made": {"a": 1},
        "keys": ["x"], "made_of": {"x": 1}, "twice": 12, "text": "width 5 of 6", "deep": 19,
    }  # fmt: skip


def test_a_config_with_lambdas_runs_in_a_child_process(config):
    from libbench.diff import Plan, diff

    file = config(
        "a",
        """
        from libbench.config import derive
        width = 4
        model.in_features = derive(lambda cfg: cfg.width)
        data.shapes = derive(lambda cfg: (cfg.width,))
        """,
    )

    comparison = diff(file, file, Plan(speed=False))

    assert comparison.reference.failure is None
    assert comparison.exit_code == 0
