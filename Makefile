# Every target sets up what it needs in .venv; a second run starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
DYNAMAX := .venv-dynamax
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo test test-slow checks tests lint docs figures bench clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/demo.stamp ## install, build a real corpus, train, evaluate, predict
	@$(BIN)/labelwood demo

# Side by side, since the linters and the docs use one core only.
test: $(VENV)/dev.stamp ## everything that CI runs: lint, types, import layers, docs, tests
	@$(MAKE) --no-print-directory --jobs=2 checks tests

checks: lint docs

tests: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-slow: $(VENV)/dev.stamp ## long simulations and scale runs
	$(BIN)/python -m pytest -m slow -n 2

lint: $(VENV)/dev.stamp ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/dev.stamp ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

figures: $(VENV)/dev.stamp ## draw the figures of the docs again
	$(BIN)/python -m benchmarks.figures

bench: $(VENV)/dev.stamp $(PEERS)/peers.stamp $(DYNAMAX)/dynamax.stamp ## ratios against the peers, in one run
	$(BIN)/python -m benchmarks $(BENCH)

clean: ## remove what the targets made
	rm -rf $(VENV) $(PEERS) $(DYNAMAX) site dist labelwood-demo bench-results
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/venv.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "labelwood needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "setting up $(VENV) (first run only)"
	@$(PYTHON) -m venv --clear $(VENV) || \
	  { rm -rf $(VENV); echo "no venv module: install it (on Debian: apt-get install python3-venv)"; exit 1; }
	@touch $@

$(VENV)/demo.stamp: pyproject.toml | $(VENV)/venv.stamp
	$(PIP) install -e .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(VENV)/venv.stamp
	$(PIP) install -e '.[dev]'
	@touch $@ $(VENV)/demo.stamp

# The peers pin old libraries, so they live apart; the linear parts of PECOS and LibMultiLabel
# need none of their deep-learning dependencies.
$(PEERS)/peers.stamp: benchmarks/peers.txt | $(VENV)/venv.stamp
	@$(PYTHON) -m venv --clear $(PEERS)
	$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install -r benchmarks/peers.txt
	$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps 'libpecos>=1.2' 'libmultilabel>=0.8'
	@touch $@

# dynamax needs newer libraries than the other peers; where it does not install, its row says so.
$(DYNAMAX)/dynamax.stamp: | $(VENV)/venv.stamp
	@$(PYTHON) -m venv --clear $(DYNAMAX)
	-$(DYNAMAX)/bin/python -m pip --disable-pip-version-check --quiet install 'dynamax>=1.0' threadpoolctl
	@touch $@
