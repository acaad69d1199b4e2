# Scoreline: every target sets up what it needs; a second call is quick.

# The first of these that is Python 3.11, 3.12 or 3.13; name another with `make test PYTHON=...`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& echo $$p && break; done)

VENV    := .venv
BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet -c constraints.txt
EXAMPLE := examples/handbook
LIVE    := examples/live-rag
# What the examples and the tests use, besides local models.
LIGHT   := charts,http,judge,privacy,text,zstd
MODELS  := models,minilm

export DAGSTER_DISABLE_TELEMETRY := yes
export PYTHONUTF8 := 1
# Keep compiled modules even where the machine disables them: tests start many processes.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test faults lint types bench docs site screenshots dev clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.base  ## run the example projects end to end, offline, and print their leaderboards
	@test -d $(EXAMPLE)/.scoreline || { $(BIN)/scoreline run --quiet --config $(EXAMPLE)/earlier.yaml \
		&& $(BIN)/scoreline tag v1 --config $(EXAMPLE)/scoreline.yaml; }
	@$(BIN)/scoreline run --config $(EXAMPLE)/scoreline.yaml
	@$(BIN)/scoreline labels import $(EXAMPLE)/counter/labels.jsonl --config $(EXAMPLE)/scoreline.yaml > /dev/null
	@$(BIN)/python $(LIVE)/model_server.py $(BIN)/scoreline run --config $(LIVE)/scoreline.yaml

test: $(VENV)/.dev  ## run the tests; with SCORELINE_REQUIRE_SERVICES=1 also those that take minutes (ARGS="tests/warehouse -k lock" narrows it)
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

faults: $(VENV)/.dev  ## kill runs, fill disks, stop services; takes long, needs PostgreSQL on loopback
	@SCORELINE_NIGHTLY=1 SCORELINE_REQUIRE_SERVICES=1 $(BIN)/python -m pytest -n 2 tests/faults $(ARGS)

lint: $(VENV)/.dev  ## check the style of every file
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## check the types of the packages
	@$(BIN)/mypy

bench: $(VENV)/.bench  ## measure speed and memory; `docs/benchmarks.md` says against what
	@$(BIN)/python -m benchmarks.small_runs
	@$(BIN)/python -m benchmarks.many_benchmarks --further 10 110
	@$(BIN)/python -m benchmarks.many_systems
	@$(BIN)/python -m benchmarks.end_to_end
	@$(BIN)/python -m benchmarks.report
	@$(BIN)/python -m benchmarks.judge_peers
	@$(BIN)/python -m benchmarks.asking
	@$(BIN)/python -m benchmarks.models
	@$(BIN)/python -m benchmarks.retrieval
	@$(BIN)/python -m benchmarks.answers
	@$(BIN)/python -m benchmarks.overlap
	@$(BIN)/python -m benchmarks.detectors
	@$(BIN)/python -m benchmarks.uncertainty
	@$(BIN)/python -m benchmarks.coverage
	@$(BIN)/python -m benchmarks.dagster_overhead
	@$(BIN)/python -m benchmarks.lake

docs: $(VENV)/.base  ## write the generated pages
	@$(BIN)/python -m docs.generate

site: $(VENV)/.dev  ## build the documentation as a site in build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "Open build/site/index.html"

screenshots: $(VENV)/.dev  ## take the screenshots of the documentation again; needs Chromium
	@$(BIN)/python docs/screenshots/make.py

dev: $(VENV)/.base  ## open the Dagster interface on the example project
	@$(BIN)/scoreline dev --config $(EXAMPLE)/scoreline.yaml

clean:  ## remove the environment and what the example project wrote
	rm -rf $(VENV) $(addsuffix /.scoreline,$(EXAMPLE) $(LIVE)) $(addsuffix /published,$(EXAMPLE) $(LIVE))

# The environment: one stamp for each set of extras, renewed when the pins or the project change.
# Build back ends are installed first, pinned like the rest, so that no build fetches another: hatchling for
# the project, setuptools for dependencies that come as source.
$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "Scoreline needs Python 3.11, 3.12 or 3.13; none was found. Name one: make PYTHON=/path/to/python" >&2; exit 2; }
	@echo "Setting up $(VENV) with $$($(PYTHON) --version) (once, a minute or two)"
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) could not make an environment; on Debian and Ubuntu install python3-venv first." >&2; exit 2; }
	@touch $@

$(VENV)/.build: $(VENV)/.python constraints.txt
	@$(INSTALL) hatchling editables setuptools
	@touch $@

$(VENV)/.base: $(VENV)/.build pyproject.toml constraints.txt
	@$(INSTALL) --no-build-isolation --editable ".[$(LIGHT),$(MODELS)]"
	@touch $@

$(VENV)/.dev: $(VENV)/.build pyproject.toml constraints.txt
	@$(INSTALL) --no-build-isolation --editable ".[dev,cluster,lake,$(LIGHT),$(MODELS)]"
	@touch $@ $(VENV)/.base

$(VENV)/.bench: $(VENV)/.build pyproject.toml constraints.txt
	@$(INSTALL) --no-build-isolation --editable ".[dev,bench,cluster,lake,$(LIGHT),$(MODELS)]"
	@touch $@ $(VENV)/.dev $(VENV)/.base
