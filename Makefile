# Everything runs in a virtual environment of its own; Python 3.11 is all that must be there.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test lint bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and \"fewsolves needs Python 3.11; say make PYTHON=...\")"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/fewsolves demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest -n 2

bench: $(READY)
	$(BIN)/python benchmarks/solvers.py
	$(BIN)/python benchmarks/gp_engine.py

clean:
	rm -rf .venv runs
