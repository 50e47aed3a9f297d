# Only Python 3.11+ and make are assumed; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: setup demo test mutants check bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "hannan needs Python 3.11 or newer; got " + sys.version.split()[0] + " (set PYTHON=...)")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[report,data,test]'
	@touch $@

demo: setup
	$(BIN)/hannan reproduce --quick --out reproduction
	$(BIN)/python examples/electricity.py

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --config .importlinter --no-cache

test: check
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

mutants: setup
	$(BIN)/python tests/mutants/run.py

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist reproduction .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
