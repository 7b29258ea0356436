# Every target sets up .venv by itself and leaves it alone while it fits.
#   PYTHON=python3.12   the interpreter to make it from
#   TORCH=system        the torch that this interpreter has, instead of the one in constraints.txt
#   ARGS=...            more arguments for demo and test
#   JOBS=2              processes that the tests are shared among
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := test
.PHONY: demo test lint bench clean venv

PYTHON ?= python3
TORCH ?= pinned
ARGS ?=
JOBS ?= 2
BIN := .venv/bin/python

# Another folder, interpreter or torch makes a new .venv; other requirements only update it.
BASE := $(CURDIR) | $(PYTHON) | $(TORCH)
WANT := $(BASE) | $(shell cat pyproject.toml constraints.txt | cksum)

demo: venv
	@$(BIN) tools/diff.py --ref projects/digits/configs/eager.py --tgt projects/digits/configs/inductor.py $(ARGS)

test: venv
	@$(BIN) -m pytest -n $(JOBS) --dist loadfile $(ARGS)

lint: venv
	@$(BIN) -m ruff check .
	$(BIN) -m ruff format --check .
	$(BIN) -m mypy

bench: venv
	@for script in tests/benchmarks/*.py; do
		echo "== $$script"
		$(BIN) "$$script"
	done

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is written last and removed first, so that an interrupted set-up is seen and done again from nothing.
venv:
	@fits() { [ -x $(BIN) ] && [[ "$$(cat .venv/made-from 2> /dev/null)" == "$$1"* ]]; }
	fail() { echo "error: $$1" >&2; exit 1; }
	site() { "$$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
	! fits "$(WANT)" || exit 0
	exec 9< Makefile
	flock 9
	! fits "$(WANT)" || exit 0
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
		fail "libbench needs Python 3.11 or newer, got '$(PYTHON)'; name another one: make PYTHON=..."
	case "$(TORCH)" in
		pinned) flags= ;;
		system)
			flags=--system-site-packages
			torch=$$($(PYTHON) -c 'from importlib.metadata import version; print(version("torch"))' 2> /dev/null) ||
				fail "TORCH=system, but '$(PYTHON)' has no torch; install one for it, or leave TORCH=system out" ;;
		*) fail "TORCH must be 'pinned' or 'system', got '$(TORCH)'" ;;
	esac
	echo "setting up .venv, which takes a few minutes the first time" >&2
	if fits "$(BASE) |"; then rm .venv/made-from; else $(PYTHON) -m venv --clear $$flags .venv; fi
	cp constraints.txt .venv/constraints.txt
	if [ "$(TORCH)" = system ]; then
		# An interpreter out of another venv would not hand on what is installed there.
		echo "import site; site.addsitedir('$$(site $(PYTHON))')" > "$$(site $(BIN))/system.pth"
		{ grep -v '^torch' constraints.txt; echo "torch==$$torch"; } > .venv/constraints.txt
	fi
	$(BIN) -m pip install -qq --disable-pip-version-check -c .venv/constraints.txt -e '.[dev]'
	echo "$(WANT)" > .venv/made-from
