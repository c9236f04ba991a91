# Every target does its own set-up in $(VENV); only pip needs the network.
#   make demo       audit the embedded example and write a page
#   make test       run the tests on all cores  (ARGS="-n 0 tests/example" is passed on to pytest)
#                   (HEAVY=1 also installs the large packages of engines and attackers: PySpark, PyTorch)
#   make lint       style, types and layers
#   make benchmark  run the benchmarks
#   make reproduce  tables and figures of the papers beside ours, into out/
#                   (SEEPAGE_DATA names the folder of the data; ARGS=--keep renews the docs)
#   make clean      remove what the targets above made

VENV ?= .venv
# Leave empty to take the newest of python3.13, 3.12, 3.11 and python3 that can be used.
PYTHON ?=
PIPFLAGS ?= -q
ARGS ?=
HEAVY ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check $(PIPFLAGS)
DEMO := seepage-demo.html
BENCHMARKS := $(filter-out benchmarks/shared.py,$(wildcard benchmarks/*.py))

.PHONY: help demo heavy test lint benchmark reproduce clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.package
	$(BIN)/seepage audit --example --html $(DEMO)
	@echo "The page is at $(CURDIR)/$(DEMO); open it in a browser."

heavy: $(VENV)/.heavy

test: $(VENV)/.test $(if $(HEAVY),$(VENV)/.heavy)
	$(BIN)/python -m pytest -n auto --maxprocesses 8 --dist loadgroup $(ARGS)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

benchmark: $(VENV)/.package
	@test -n "$(BENCHMARKS)" || { echo "expected benchmarks/*.py, got none" >&2; exit 1; }
	@set -e; for script in $(BENCHMARKS); do echo "$$script"; $(BIN)/python "$$script" $(ARGS); done

reproduce: $(VENV)/.package
	$(BIN)/python reproduce/run.py $(ARGS)

clean:
	rm -rf $(VENV) build dist $(DEMO)
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks reproduce scripts docs -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: what is installed is installed again when pyproject.toml changes.
$(VENV)/.test: $(VENV)/.package
	@echo "installing what the tests need into $(VENV) ..."
	@$(PIP) --group test
	@touch $@

$(VENV)/.heavy: $(VENV)/.test
	@echo "installing the large packages of engines and attackers into $(VENV), some minutes ..."
	@$(PIP) --group heavy
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
