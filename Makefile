# Everything runs in a virtual environment of its own; Python 3.11, 3.12 or 3.13 is all that must be there.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/ready
# what Python has compiled is kept, whatever the shell says: the suite starts hundreds of processes
unexport PYTHONDONTWRITEBYTECODE
PAGES := $(wildcard *.md docs/*.md docs/methods/*.md examples/*.md results/*.md results/real/*.md)

.PHONY: demo test suite kernels faults fuzz lint bench dist docs look materials lock versions peers clean

$(READY): pyproject.toml studies/pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and \"fewsolves needs Python 3.11; say make PYTHON=...\")"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]' --editable studies
	touch $(READY)

demo: $(READY)
	$(BIN)/fewsolves demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ruff format --check --line-length 88 $(PAGES)
	$(BIN)/codespell
	$(BIN)/python .ci/words.py
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY)
	$(MAKE) -j2 lint kernels
	$(MAKE) suite

# machine code that tests use is compiled once, beside the lints, and not by each process of the tests
kernels: $(READY)
	$(BIN)/python .ci/kernels.py

# tests, with the examples of docstrings and pages (tests/test_docs.py);
# the paper's experiments and the studies of real data at their smallest come last, really run, side by side
suite: $(READY)
	$(BIN)/pytest -n 2
	rm -rf runs/paper-quick runs/real-quick
	$(BIN)/fewsolves real all --quick > /dev/null & real=$$!; \
	  $(BIN)/fewsolves paper all --quick --jobs 2 > /dev/null; paper=$$?; wait $$real && exit $$paper

# the long tier of tests/faults: errors at each system call, schedules of budgets, Ray; then a thousand kills and a hundred
# thousand mutated files, some hours, in rounds that go on where they were stopped (runs/faults.jsonl)
faults: $(READY)
	$(BIN)/pytest -m faults tests studies/tests
	$(BIN)/python tests/faults/campaign.py --out runs/faults.jsonl --kills 1000 --mutations 100000

# our methods again beside those of PyEPO and PyDFLT, after a change of one of them, then the figures of the pages; about
# twelve minutes of CPU. A command that was stopped continues when it is given again at the same commit
peers: $(READY)
	$(BIN)/python -m fewsolves_studies.measure.beside_peers --again ours
	$(BIN)/python -m fewsolves_studies.measure.beside_pyepo --again ours
	$(BIN)/python -m fewsolves_studies.measure.facts

# coverage-guided fuzzing of every kind of file that is read, an hour each (SECONDS=); needs atheris, which has no wheel for every Python
SECONDS ?= 3600
fuzz: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[fuzz]'
	$(BIN)/python tests/faults/fuzz/run.py --seconds $(SECONDS)

# the tests of the package itself with the oldest versions that pyproject.toml allows, or with the newest (VERSIONS=newest);
# KEEP=torch==2.13.0 keeps that one: torch 2.4 for Linux is gigabytes, for GPUs
VERSIONS ?= oldest
# an old matplotlib calls what a new pyparsing would call otherwise: no fault of ours, and nothing that a user sees
OTHERS := $(if $(filter oldest,$(VERSIONS)),-W ignore::DeprecationWarning)
versions:
	$(PYTHON) -m venv .venv-$(VERSIONS)
	$(PYTHON) .ci/versions.py $(VERSIONS) $(KEEP) > .venv-$(VERSIONS)/wanted.txt
	.venv-$(VERSIONS)/bin/pip install --quiet --constraint .venv-$(VERSIONS)/wanted.txt \
	  --editable '.[cli,report,parquet,torch]' --editable studies hypothesis pandas pytest pytest-timeout pytest-xdist
	.venv-$(VERSIONS)/bin/pytest -n 2 $(OTHERS) tests/methods/gp_surrogate/gp tests/ledger tests/oracle tests/execution tests/methods/gp_surrogate/surrogate tests/test_estimator.py

# a bill of materials of constraints.txt (CycloneDX)
materials: $(READY)
	mkdir -p dist
	$(BIN)/python .ci/versions.py materials > dist/bom.json

# lock files with hashes for each Python, locks/linux-*.txt, and a check of them against constraints.txt
lock: $(READY)
	for version in 3.11 3.12 3.13; do $(BIN)/python .ci/lock.py $$version > locks/linux-$$version.txt || exit 1; done
	$(BIN)/python .ci/lock.py check

bench: $(READY)
	$(BIN)/python -m fewsolves_studies.measure.solvers
	$(BIN)/python -m fewsolves_studies.measure.gp_engine
	$(BIN)/python -m fewsolves_studies.measure.ledger

# the documentation site, in build/docs/html: no network, warnings are errors. The examples of its gallery run when they or
# the package have changed: ten minutes the first time, one after that
SITE := .venv/site
$(SITE): $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $(SITE)

docs: $(SITE)
	$(BIN)/python docs/site/build.py

# every page of it in Chromium, in light and dark, wide and as on a phone: pictures in build/docs/look
look: docs
	$(BIN)/python docs/site/look.py

# a wheel and an sdist in dist/, tried in an empty environment
dist: $(READY)
	$(BIN)/python .ci/dist.py

clean:
	rm -rf .venv .venv-oldest .venv-newest runs dist build
