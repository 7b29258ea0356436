"""What importing modules takes, apart from what is done with them."""

import importlib
import sys
import time

import pytest

from libbench.imported import imports_timed

BOTTOM = "import time\ntime.sleep(0.05)\n"


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Make two modules, of which one imports the other, which takes its time."""
    (tmp_path / "slow_below.py").write_text(BOTTOM)
    (tmp_path / "slow_above.py").write_text("import slow_below\n")
    (tmp_path / "slow_broken.py").write_text(f"{BOTTOM}raise ValueError('no')\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("slow_below", "slow_above", "slow_broken"):
        sys.modules.pop(name, None)


def test_what_a_module_imports_in_turn_is_counted_once_and_all_else_is_not(modules):
    begin = time.perf_counter()
    with imports_timed() as spent:
        importlib.import_module("slow_above")
        time.sleep(0.05)
        import slow_above  # noqa: F401  # it is there already
    wall = time.perf_counter() - begin

    assert 0.05 <= spent() <= wall - 0.05


def test_an_import_that_fails_is_counted_and_afterwards_imports_are_what_they_were(modules):
    before = importlib._bootstrap._find_and_load

    with pytest.raises(ValueError, match="no"), imports_timed() as spent:
        importlib.import_module("slow_broken")

    assert spent() >= 0.05
    assert importlib._bootstrap._find_and_load is before
