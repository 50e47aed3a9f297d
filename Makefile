# Requires Python 3.11+ (with its headers) and make only. If there is no C++20 compiler, zig is downloaded from PyPI.
# Everything else is installed in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ENGINE := $(wildcard engine/*.hpp engine/*.cpp engine/*/*.hpp engine/*/*.cpp) CMakeLists.txt
# Modules are compiled to bytecode at their first import only: most are never imported, which saves a minute.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
export OPENBLAS_NUM_THREADS ?= 1

# The first of these compilers that supports C++20; empty if none does.
FOUND := $(shell for c in $(CXX) c++ g++ clang++; do \
	printf 'int main() { return [](auto x) requires true { return x; }(0); }' | $$c -std=c++20 -x c++ - -o /dev/null 2>/dev/null && { echo $$c; break; }; done)
ifeq ($(FOUND),)
COMPILER := $(VENV)/zig-c++
TOOLS := $(abspath $(VENV))
WITH := CXX="$(TOOLS)/zig-c++" AR="$(TOOLS)/zig-ar" \
	CMAKE_ARGS="-DCMAKE_AR=$(TOOLS)/zig-ar -DCMAKE_RANLIB=$(TOOLS)/zig-ranlib"
else
COMPILER :=
WITH := CXX="$(FOUND)"
endif

.PHONY: setup editable demo test docs mutants check bench sanitize wheel stubs pages clean

setup: $(STAMP)

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "hannan needs Python 3.11 or newer; got " + sys.version.split()[0] + " (set PYTHON=...)")'
	@$(PYTHON) engine/tools/headers.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@touch $@

# The program itself instead of `python -m ziglang`, because isolated builds hide the packages of this Python.
$(VENV)/zig-c++: $(VENV)/.made
	$(PIP) ziglang
	zig=$$($(BIN)/python -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))'); \
	for tool in c++ ar ranlib; do printf '#!/bin/sh\nexec "%s" %s "$$@"\n' "$$zig" $$tool > $(VENV)/zig-$$tool; done
	chmod +x $(VENV)/zig-c++ $(VENV)/zig-ar $(VENV)/zig-ranlib

# setuptools: the build is not isolated, and one data package has a source distribution only, which needs pkg_resources.
$(VENV)/.tools: $(VENV)/.made
	$(PIP) 'scikit-build-core>=0.10' 'nanobind>=2.4' cmake ninja 'setuptools>=70.1,<80'
	@touch $@

# Only changed files of the engine are compiled again. The demo does not install the requirements of the tests.
BUILT := pyproject.toml $(ENGINE) $(COMPILER) $(VENV)/.tools
$(VENV)/.demo: $(BUILT)
	$(WITH) $(PIP) --no-build-isolation --config-settings build-dir=build/editable --editable '.[report,data,serve]'
	@touch $@

$(STAMP): $(BUILT)
	$(WITH) $(PIP) --no-build-isolation --config-settings build-dir=build/editable --editable '.[report,data,test]'
	@touch $(VENV)/.demo $@

# Only the engine and the requirements of a game.
.PHONY: engine-only
engine-only: $(COMPILER) $(VENV)/.tools
	$(WITH) $(PIP) --no-build-isolation --config-settings build-dir=build/editable --editable .
	$(PIP) pytest mpmath

# For development: the engine is rebuilt at the next import after an edit of C++.
editable: $(COMPILER) $(VENV)/.tools
	$(WITH) $(PIP) --no-build-isolation --config-settings editable.rebuild=true --config-settings build-dir=build/editable --editable .

stubs: setup
	$(BIN)/python engine/tools/stubs.py
	$(BIN)/python engine/tools/public_names.py

# Tables and lists in docs/*.md that are generated from the package, between markers.
pages: setup
	$(BIN)/python docs/_site/generated.py

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py demo
	@echo; echo "3. Check the claims of the paper behind the learners (about a minute)"
	@$(BIN)/hannan reproduce --quick --out reproduction
	@echo; echo "Next: the three tasks in README.md, with the commands in $(BIN)."

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/language/phrases.py
	$(BIN)/python tests/language/docstrings.py
	$(BIN)/python tests/language/subjects.py
	$(BIN)/mypy
	$(BIN)/lint-imports --config .importlinter --no-cache

test: check
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

# The site, build/docs/html/index.html: no downloads, warnings are errors, and all internal links are checked.
SITE := build/docs/html
$(VENV)/.docs: $(STAMP)
	$(WITH) $(PIP) --no-build-isolation --config-settings build-dir=build/editable --editable '.[report,data,sklearn,interop,docs]'
	@touch $@

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -q -W --keep-going -j 2 -d build/docs/trees docs $(SITE)
	$(BIN)/python docs/_site/links.py $(SITE)

# The tests of the engine in a build with sanitizers, in a separate environment, because the editable install would be found
# first. -s: otherwise reports are not printed. SANITIZED: the tests to run.
SANITIZED ?= tests/engine tests/saving/test_saved_files.py
SANITIZING := build/sanitizing
sanitize: setup
	@test -n "$(FOUND)" || { echo "make sanitize needs g++ or clang++ with its sanitizers; there is none on PATH"; exit 1; }
	test -x $(SANITIZING)/bin/python || $(BIN)/python -m venv --without-pip $(SANITIZING)
	site() { $$1/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }; own=$$(site $(SANITIZING)); \
	HANNAN_SANITIZE=ON $(WITH) $(PIP) --no-build-isolation --config-settings build-dir=build/sanitize --no-deps --upgrade --target $$own . && \
	site $(VENV) > $$own/others.pth
	export LD_PRELOAD="$$($(FOUND) -print-file-name=libasan.so) $$($(FOUND) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1; \
	$(SANITIZING)/bin/python engine/tools/sanitized.py && \
	$(SANITIZING)/bin/python -m pytest -q -s -p no:cacheprovider -m "not slow" $(SANITIZED)

wheel: $(COMPILER) $(VENV)/.made
	$(WITH) $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# Mutation tests: small wrong changes in a copy of the package, each of which the tests must detect.
mutants: setup
	$(WITH) $(BIN)/python tests/mutants/run.py

bench: setup
	$(PIP) 'river>=0.22' 'pymab>=2.0' 'cvxpy>=1.5'
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist reproduction demo docs/api docs/examples docs/project
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
