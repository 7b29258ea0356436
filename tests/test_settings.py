"""Settings check themselves."""

import pytest

from libbench.settings import Timer, Tolerance


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (lambda: Tolerance(rtol=-1.0), "rtol must be at least 0"),
        (lambda: Tolerance(atol=float("nan")), "atol must be at least 0"),
        (lambda: Tolerance(dtype="some"), "dtype must be 'exact' or 'any'"),
        (lambda: Tolerance(nan="maybe"), "nan must be 'equal' or 'refuse'"),
        (lambda: Tolerance(leaves={"logits": 0.1}), r"leaves\['logits'\] must be \(rtol, atol\)"),
        (lambda: Tolerance(leaves={"logits": (0.1, -1)}), r"atol of leaves\['logits'\] must be at least 0"),
        (lambda: Tolerance(metrics={"top*": -0.1}), r"metrics\['top\*'\] must be at least 0"),
        (lambda: Timer(pairs=0), "pairs must be at least 1"),
        (lambda: Timer(least=0), "least must be at least 1"),
        (lambda: Timer(pairs=5, least=5), "pairs and least cannot both be given, got 5 and 5"),
        (lambda: Timer(precision=0), "precision must lie between 0 and 1"),
        (lambda: Timer(budget=0), "budget must be above 0 seconds"),
        (lambda: Timer(warmup=-1), "warmup must be at least 0 calls"),
    ],
)
def test_a_setting_out_of_range_is_refused_with_the_range_and_the_value(setting, words):
    with pytest.raises(ValueError, match=words):
        setting()
