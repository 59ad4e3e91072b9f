# Two commands do all set-up on a machine with Python 3.11 or newer and make: `make demo` and
# `make test`. The newest Python is taken that runs here and for which everything that is pinned can
# be installed; PYTHON=... names another.
PYTHON ?=
PYTHONS := $(or $(PYTHON),python3.13 python3.12 python3.11)
BIN := .venv/bin
STAMP := .venv/.installed
DOCS_STAMP := .venv/.installed-docs
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# One torch thread per test process; two processes on two cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2

.PHONY: atlas demo test test-all test-latest wheel-test check bench results docs notebook clean

$(STAMP): pyproject.toml constraints.txt
	@if test -x $(BIN)/python; then $(INSTALL) --editable '.[dev]'; else \
	  for python in $(PYTHONS); do \
	    $$python -c "import venv" 2>/dev/null || continue; \
	    $$python -m venv .venv && $(INSTALL) --editable '.[dev]' && exit 0; \
	    echo "make: $$python cannot install what is pinned, the next one is tried" >&2; \
	    rm -rf .venv; \
	  done; \
	  echo "make: Python 3.11, 3.12 or 3.13 is needed, none of them can be used" >&2; exit 1; \
	fi
	@touch $@

$(DOCS_STAMP): $(STAMP)
	$(INSTALL) --editable '.[docs]'
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/demo.py

test: $(STAMP)
	@echo "Tested with $$($(BIN)/python --version)"
	$(PYTEST)

test-all: $(STAMP)
	$(PYTEST) -m ''

# The wheel as a user gets it: built, installed into an empty environment, and used there.
wheel-test: $(STAMP)
	$(BIN)/python .ci/wheel_test.py

# Once a month, by hand: the newest of all dependencies, without the constraints. An open range of
# torch may fetch gigabytes of CUDA packages: TORCH=torch==2.13.0 keeps it where it is.
TORCH ?= torch
test-latest: $(STAMP)
	rm -rf .venv-latest
	$(BIN)/python -m venv .venv-latest
	.venv-latest/bin/pip install --quiet --disable-pip-version-check --upgrade '$(TORCH)' --editable '.[dev]'
	@echo "Tested with $$(.venv-latest/bin/python --version) and the newest dependencies"
	OMP_NUM_THREADS=1 .venv-latest/bin/pytest --numprocesses 2

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	PATH="$(CURDIR)/$(BIN):$$PATH" pyright --verifytypes sads --ignoreexternal
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python benchmarks/geometry.py
	$(BIN)/python benchmarks/distances.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/monitor.py

# Rebuild every table and drawing of the pages of results from the rows in docs/results.
results: $(STAMP)
	$(BIN)/python -m benchmarks.results --figures
	$(BIN)/python benchmarks/learning_tables.py

docs: $(DOCS_STAMP)
	$(BIN)/zensical build --strict --clean

# Look at well-known architectures; goes on where it was stopped. `work` is large and not committed.
atlas: $(STAMP)
	$(BIN)/sads atlas benchmarks/atlas/atlas.toml --out docs/atlas

# Execute the tutorial notebook again and keep its outputs.
notebook: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/jupyter-execute --inplace examples/tutorial.ipynb

clean:
	rm -rf .venv .venv-latest demo site examples/runs
