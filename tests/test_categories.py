import pytest

from libbench.categories import Known, Rule, categorised
from libbench.scores import Sample


def known(name, **more):
    return Known(sample=Sample(name=name, passes=(1,)), **more)


def categories(found, by=None):
    return [sample.category for sample in categorised(found, by)]


def test_the_source_is_the_category_where_any_sample_has_one():
    found = [known("a/b", source="timm"), known("c/d", source=None)]

    assert categories(found) == ["timm", "other"]
    assert categories(found, "folder") == ["a", "c"]
    assert categories([known("a", tag="nlp"), known("b", tag="cv")], "tag") == ["nlp", "cv"]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["/w/samples/timm/a", "/w/samples/hf/b", "/w/samples/hf/sub/c"], ["timm", "hf", "hf"]),
        (["timm/a", "timm/b"], ["", ""]),
        (["a", "b"], ["", ""]),
        (["hf/a", "b"], ["hf", "other"]),
        ([], []),
    ],
)
def test_the_folder_is_the_first_one_that_not_all_share(names, wanted):
    assert categories([known(name) for name in names], "folder") == wanted
    assert categories([known(name) for name in names]) == wanted


def test_the_first_rule_that_fits_counts():
    rules = [Rule("big", "*large*"), Rule("timm", "timm/*")]

    found = [known("timm/vit_large"), known("timm/vit"), known("hf/bert")]
    assert categories(found, rules) == ["big", "timm", "other"]
