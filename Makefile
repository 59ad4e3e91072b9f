# Two commands do all set-up on a machine with Python 3.11 or newer and make: `make demo` and
# `make test`. The newest Python that runs is taken, among those that the package is tested with.
PYTHON ?= $(shell for v in 3.13 3.12 3.11; do \
	python$$v -c "import venv" 2>/dev/null && echo python$$v && break; done)
BIN := .venv/bin
STAMP := .venv/.installed
DOCS_STAMP := .venv/.installed-docs
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# One torch thread per test process; two processes on two cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2

.PHONY: demo test test-all check bench docs notebook clean

$(STAMP): pyproject.toml constraints.txt
	test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed, none was found"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --editable '.[dev]'
	touch $@

$(DOCS_STAMP): $(STAMP)
	$(INSTALL) --editable '.[docs]'
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/demo.py

test: $(STAMP)
	@$(BIN)/python --version
	$(PYTEST)

test-all: $(STAMP)
	$(PYTEST) -m ''

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

docs: $(DOCS_STAMP)
	$(BIN)/zensical build --strict --clean

# Execute the tutorial notebook again and keep its outputs.
notebook: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/jupyter-execute --inplace examples/tutorial.ipynb

clean:
	rm -rf .venv demo site examples/runs
