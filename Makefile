# On a machine with Python, pip and make: `make tournament` plays, `make test` tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: tournament test test-long lint format bench clean

tournament: $(READY)
	$(BIN)/pickosim tournament --games 4000

# The kernels are compiled once before, and not by every worker.
test: $(READY)
	$(BIN)/python -c "from pickosim.studies.warm import warm_up; warm_up()"
	$(BIN)/pytest -n 2 -m "not long"

test-long: $(READY)
	$(BIN)/pytest -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/pickosim bench

clean:
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Versions come from constraints.txt: the ones that CI uses.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@
