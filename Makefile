# `make demo` and `make test` need nothing but Python 3.11, pip, make and g++: each makes .venv,
# installs what is missing, and runs. A second run starts at once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# What is installed, as stamps that depend on the files that say what to install.
RUN_STAMP := $(VENV)/.stamp-run
TEST_STAMP := $(VENV)/.stamp-test
DOCS_STAMP := $(VENV)/.stamp-docs

# Without a CUDA toolkit the CUDA compiler comes from PyPI.
RUN_EXTRAS := $(if $(shell command -v nvcc),,[nvcc])

.DEFAULT_GOAL := help
.PHONY: help demo test lint typecheck unit lit format bench docs clean

help: ## show this text
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1\t\2/' | expand -t 12

demo: $(RUN_STAMP) ## compile ResNet-18, run it, compare it with PyTorch
	$(BIN)/python examples/resnet18.py

test: lint typecheck unit lit ## everything below that can fail

lint: $(TEST_STAMP) ## check the style
	$(BIN)/ruff check
	$(BIN)/ruff format --check

typecheck: $(TEST_STAMP) ## check the types of hidet/
	$(BIN)/basedpyright

unit: $(TEST_STAMP) ## run tests/, and lit_tests/ without processes
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

# Each form of a RUN line once: what the other files say, `unit` has run without processes.
COMMANDS := tools dialects/task/ops.mlir dialects/task/verify.mlir backend/printer/scf.mlir \
    frontends/script/warps.py

lit: $(TEST_STAMP) ## run some of lit_tests/ with lit, as commands of a shell
	$(BIN)/lit -q $(addprefix lit_tests/,$(COMMANDS))

format: $(TEST_STAMP) ## bring the style in order
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(RUN_STAMP) ## measure against PyTorch
	$(BIN)/python benchmarks/run.py

docs: $(DOCS_STAMP) ## write the pages and the API reference as a site, build/docs
	$(BIN)/mkdocs build --strict

clean: ## remove what make has made
	rm -rf $(VENV) build .pytest_cache .ruff_cache .hypothesis

$(RUN_STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed; name one: make PYTHON=..." \
	    if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q -c constraints.txt torch
	$(PIP) install -q -c constraints.txt -e '.$(RUN_EXTRAS)'
	@touch $@

$(TEST_STAMP): $(RUN_STAMP)
	$(PIP) install -q -c constraints.txt -e '.[test,models]'
	@touch $@

$(DOCS_STAMP): $(RUN_STAMP)
	$(PIP) install -q -c constraints.txt -e '.[docs]'
	@touch $@
