# On a machine with Python, pip and make: `make tournament` plays, `make test` tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two sets of packages: what pickosim needs to play, and what its development needs besides.
READY := $(VENV)/.ready
DEV_READY := $(VENV)/.ready-dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
LOWEST := .venv-lowest

.PHONY: tournament test test-long test-wheel test-cluster test-lowest lint format docs shown coverage ladder pictures weights bench clean

tournament: $(READY)
	$(BIN)/pickosim tournament --games 4000

# A file is tested by one process, which makes its fixtures once; tests/conftest.py puts the longest files first.
PYTEST := pytest -n 2 --dist loadfile --no-loadscope-reorder

# The kernels are compiled once before, and not by every worker.
test: $(DEV_READY)
	$(BIN)/python tests/warm_up.py
	$(BIN)/$(PYTEST) -m "not long"

test-long: $(DEV_READY)
	$(BIN)/$(PYTEST) --timeout 7200

# The wheel, installed in a clean environment outside the checkout, plays there.
test-wheel: $(DEV_READY)
	$(BIN)/python tests/wheel_smoke.py

# A cluster of hosts with nothing in common: network namespaces, so this needs root and iproute2.
test-cluster: $(READY)
	$(BIN)/python tests/cluster_hosts.py

# With the lowest versions that pyproject.toml allows: the commands and what each dependency is used for.
# Kernels are compiled by another Numba, which would overwrite the ones in the checkout.
test-lowest: export NUMBA_CACHE_DIR = $(abspath $(LOWEST))/kernels
test-lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/python -c "from pickosim.games.batch import warm_up; warm_up()"
	$(LOWEST)/bin/$(PYTEST) -m "not long" \
	    tests/test_help.py tests/test_rules.py tests/test_cli.py tests/test_tables.py tests/test_dask.py \
	    tests/test_charts.py tests/test_report.py

lint: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV_READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Pages and schemas that are generated from the code; a test checks that they are current.
docs: $(DEV_READY)
	$(BIN)/python tools/documents.py .

# Output of commands that README.md and docs/ show, from the commands themselves.
shown: $(READY)
	$(BIN)/python tests/shown.py README.md docs/*.md

# How often intervals cover the truth: measures the table of docs/statistics.md (three minutes).
coverage: $(DEV_READY)
	$(BIN)/python tests/interval_coverage.py docs/statistics.md

# The fixed ratings of the built-in bots, with which `pickosim rank` compares (a few minutes).
ladder: $(READY)
	$(BIN)/python tools/play_ladders.py

# The pictures in experiments/, from a run of each experiment: `pickosim run experiments/NAME.toml --out runs/NAME`.
pictures: $(DEV_READY)
	$(BIN)/python tools/pictures.py runs

# Trains the champion's weights for three and more players on; `make weights/classic-3` trains one of them. (The net for five
# players in Extrawurm is that of version 0.3: see docs/champion.md.)
weights: $(addprefix weights/,classic-3 classic-4 classic-5 extrawurm-3 extrawurm-4)

# A training does not overwrite another one, so what was made before is removed. The shipped nets were trained on from those
# of version 0.3: `git checkout e565ec9 -- strategies/weights` before.
TRAINING ?= --games 40k --rounds 8 --test-games 20k --seed 24 --workers 1
# What made the two for three players, by the code of commits 400453e and 83e99eb.
weights/classic-3: TRAINING = --games 40k --rounds 4 --test-games 30k --final-games 3k --seed 24
weights/extrawurm-3: TRAINING = --games 20k --rounds 3 --test-games 12k --final-games 3k --seed 24
weights/%: $(READY)
	rm -rf runs/weights/$*.run runs/weights/$*.npz
	$(BIN)/pickosim train --rules $(firstword $(subst -, ,$*)) --players $(lastword $(subst -, ,$*)) \
	    $(TRAINING) --out runs/weights/$*.npz
	cp runs/weights/$*.npz strategies/weights/

bench: $(READY)
	$(BIN)/pickosim bench

clean:
	rm -rf $(VENV) $(LOWEST) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Versions come from constraints.txt: the ones that CI uses.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(DEV_READY): $(READY)
	$(PIP) -e '.[dev]'
	touch $@

# uv, as pip has no way to ask for the lowest versions.
$(LOWEST)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct -e '.[dask,report]'
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST) -c constraints.txt \
	    hypothesis playwright pytest pytest-timeout pytest-xdist
	touch $@
