# Needs Python >= 3.10 and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Of the output of a verbose install, the lines about kernels show the progress; all of it is in the log.
LOG := $(VENV)/install.log
INSTALL = PYTHONUNBUFFERED=1 $(PIP) install -v -e $(1) > $(LOG) 2>&1 & pid=$$!; \
	tail -n +1 -f $(LOG) --pid=$$pid 2>/dev/null | grep --line-buffered -o 'sapwood: compiled.*'; \
	wait $$pid || { tail -n 40 $(LOG); exit 1; }

.PHONY: demo demo-cluster test coverage test-cluster test-bounds bounds-kernels bounds-fits lint docs bench bench-full clean help

help:
	@echo "make demo   train on census data, show what was learned, write demo-output/"
	@echo "make demo-cluster  train on a Dask cluster of two workers, one of which is killed on the way"
	@echo "make test   lint, spelling, types, layers and all tests"
	@echo "make test-cluster  all tests on Dask clusters: 20 kills at random moments, the grid of workers and partitions (ten minutes)"
	@echo "make test-bounds  some of the tests with every index of every kernel checked"
	@echo "make coverage  the fraction of lines that some of the tests run, kernels in Python mode (a quarter of an hour)"
	@echo "make lint   lint, spelling, types and layers alone"
	@echo "make docs   regenerate the pages in docs/ that come from declarations"
	@echo "make bench  run the quick benchmarks (ten minutes) and write their figures"
	@echo "make bench-full  run all of them (hours)"
	@echo "make clean  remove what the other commands made"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 10) else "Sapwood needs Python 3.10 or later; give one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

# A stamp is out of date when the description of the package or its build is newer.
$(VENV)/installed: pyproject.toml $(wildcard build_hook.py) | $(BIN)/python
	@echo "Installing into $(VENV) and compiling the kernels: a minute or two, once"
	@$(call INSTALL,.)
	@touch $@

$(VENV)/installed-test: pyproject.toml $(wildcard build_hook.py) | $(BIN)/python
	@echo "Installing what the tests need into $(VENV) and compiling the kernels: a few minutes, once"
	@$(call INSTALL,'.[test]')
	@touch $@ $(VENV)/installed

# The kernels are compiled by the install; when they change, Numba compiles them if it is there, else a new install does.
$(VENV)/kernels: $(shell find src/sapwood/kernels src/sapwood/objectives/losses src/sapwood/native -name '*.py') | $(VENV)/installed
	@$(BIN)/python -c 'from sapwood.native.runtime.library import library; library()' 2>/dev/null || $(PIP) install --quiet -e .
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed-test
	$(PIP) install --quiet -e '.[test,peers]'
	@touch $@

demo: $(VENV)/installed $(VENV)/kernels
	$(BIN)/python -m sapwood.demo

$(VENV)/installed-dask: $(VENV)/installed
	@$(call INSTALL,'.[dask]')
	@touch $@

demo-cluster: $(VENV)/installed-dask $(VENV)/kernels
	$(BIN)/python -m sapwood.dask.demo

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest

# With those that `make test` leaves out; figures are printed as they come.
test-cluster: $(VENV)/installed-test
	$(BIN)/python -m pytest tests/dask -m "cluster or not cluster" --capture=no

# Lines of kernels are seen in Python mode only, which is slow: some of the tests of kernels run in it, then some of all
# tests with compiled kernels.
COVERAGE := COVERAGE_FILE=build/coverage $(BIN)/python -m coverage

coverage: $(VENV)/installed-test
	@mkdir -p build
	-SAPWOOD_KERNELS=python $(COVERAGE) run -p -m pytest tests/kernels tests/objectives/losses --every 20 --timeout 60
	-$(COVERAGE) run -p -m pytest --every 8
	$(COVERAGE) combine -q
	$(COVERAGE) report --skip-empty --format total
	$(COVERAGE) report --skip-empty --skip-covered --include '*/kernels/*'

# Kernels are memory-unsafe like C. Compiled by Numba with bounds checks, an index out of range is an IndexError.
BOUNDS := SAPWOOD_KERNELS=jit SAPWOOD_BOUNDSCHECK=1 $(BIN)/python -m pytest

bounds-kernels: $(VENV)/installed-test
	$(BOUNDS) tests/kernels tests/objectives/losses

bounds-fits: $(VENV)/installed-test
	$(BOUNDS) tests/combinations/test_grid.py tests/model/predict/test_row_predictor.py tests/model/predict/test_batch_predictor.py

test-bounds: $(VENV)/installed-test
	$(MAKE) --jobs=2 bounds-kernels bounds-fits

docs: $(VENV)/installed $(VENV)/kernels
	$(BIN)/python docs/generate.py

bench: $(VENV)/installed-bench
	$(BIN)/python -m bench

bench-full: $(VENV)/installed-bench
	$(BIN)/python -m bench --full

clean:
	rm -rf $(VENV) build dist demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf src/sapwood/native/lib src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
