# make demo and make test each do all the set-up themselves, in .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

DOCS_READY := .venv/.docs-ready

# Tests start many processes: each would read and compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-slow test-release kill-test mutants lint warm-up format lock clean benchmarks docs

demo: $(READY)
	$(BIN)/python examples/demo.py demo-output

# Types are checked while kernels are compiled; both are done before tests begin.
test: $(READY)
	@$(MAKE) --no-print-directory -j2 lint warm-up
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slow: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'hypothesis and not slow' --hypothesis-profile=complete

# Needs the package index: installs the built wheel with and without extras, as a user would.
test-release: $(READY)
	$(BIN)/python -m pytest -m release tests/root/test_release.py

kill-test: $(READY)
	$(BIN)/python tests/campaigns/killtest.py --moments 200
	$(BIN)/python -m pytest -m slow tests/service/test_processes.py -k killed

# Small changes of the source, each of which a test must notice.
mutants: $(READY)
	$(BIN)/python tests/mutants/run.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/flake8 src
	$(BIN)/mypy
	$(BIN)/lint-imports

warm-up: $(READY)
	$(BIN)/latesum warm-up

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmarks: $(READY)
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/blocks.py
	$(BIN)/python benchmarks/delays.py
	$(BIN)/python benchmarks/policies.py
	$(BIN)/python benchmarks/attributed.py
	$(BIN)/python benchmarks/service.py

# The site, in docs/_build/html; after its set-up nothing is fetched. Notebooks are run, warnings are errors.
docs: $(DOCS_READY) warm-up
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "The site: docs/_build/html/index.html"

$(DOCS_READY): $(READY) requirements/docs.lock
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/docs.lock
	touch $(DOCS_READY)

$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "latesum needs Python 3.11 or newer; say which one with: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(READY)

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-annotate --no-header --no-emit-package latesum

lock: $(READY)
	$(LOCK) --upgrade --extra all -o requirements/dev.lock pyproject.toml requirements/dev.in
	$(LOCK) --upgrade -c requirements/dev.lock -o requirements/docs.lock requirements/docs.in
	$(LOCK) --upgrade -c requirements/dev.lock -o requirements/build.lock requirements/build.in
	$(LOCK) --upgrade -c requirements/dev.lock --extra cli --extra server --extra postgres --extra excel --extra parquet \
	  -o requirements/service.lock pyproject.toml

clean:
	rm -rf .venv demo-output docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
