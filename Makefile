# Every target does its own set-up in $(VENV); only pip needs the network.
#   make demo       audit the embedded example and write a page
#   make test       run the tests on all cores  (ARGS="-n 0 tests/example" is passed on to pytest)
#   make lint       style, types and layers
#   make benchmark  run the benchmarks
#   make reproduce  figures of the papers, into out/ (SEEPAGE_DATA names the folder of the data)
#   make clean      remove what the targets above made

VENV ?= .venv
# Leave empty to take the newest of python3.13, 3.12, 3.11 and python3 that can be used.
PYTHON ?=
PIPFLAGS ?= -q
ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check $(PIPFLAGS)
DEMO := seepage-demo.html
BENCHMARKS := $(wildcard benchmarks/*.py)
REPRODUCE := $(filter-out reproduce/common.py,$(wildcard reproduce/*.py))

.PHONY: help demo test lint benchmark reproduce clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.package
	$(BIN)/seepage audit --example --html $(DEMO)
	@echo "The page is at $(CURDIR)/$(DEMO); open it in a browser."

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --maxprocesses 8 $(ARGS)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

benchmark: $(VENV)/.package
	@test -n "$(BENCHMARKS)" || { echo "expected benchmarks/*.py, got none" >&2; exit 1; }
	@set -e; for script in $(BENCHMARKS); do echo "$$script"; $(BIN)/python "$$script" $(ARGS); done

reproduce: $(VENV)/.package
	@set -e; for script in $(REPRODUCE); do echo "$$script"; $(BIN)/python "$$script" $(ARGS); done

clean:
	rm -rf $(VENV) build dist $(DEMO)
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks reproduce scripts docs -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: what is installed is installed again when pyproject.toml changes.
$(VENV)/.test: $(VENV)/.package
	@echo "installing what the tests need into $(VENV) ..."
	@$(PIP) --group test
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	@echo "installing what the checks of style and types need into $(VENV) ..."
	@$(PIP) --group lint
	@touch $@

$(VENV)/.package: pyproject.toml $(VENV)/.created
	@echo "installing seepage and the packages it uses into $(VENV), a minute or more ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.created:
	@scripts/make-venv "$(VENV)" $(PYTHON)
	@echo "installing a current pip into $(VENV) ..."
	@$(PIP) --upgrade "pip>=25.1"
	@touch $@
