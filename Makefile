# Everything here needs Python >= 3.11 and make only: the first target that you run creates .venv.
#   make demo    the demo: an interactive analysis of 31,857 records
#   make demo-spark  the demo on a local Spark; needs Java 17
#   make test    the quick tests, in at most 8 minutes on 2 cores
#   make test-slow  those of up to 2 minutes each, in at most 25; stops after 50, or: MINUTES=20
#   make test-all   all tests, also those that are longer; takes hours
#   make test-opendp  those of the bridge to OpenDP, which the others skip; installs it elsewhere
#   make check   lint, format, types
#   make mutants  wrong changes of the packages, each of which a test has to find; takes about
#                10 minutes on 2 cores; of one room: ROOM=ledgers
#   make bench   time and memory of everything, beside OpenDP and numpy; takes some minutes;
#                one group: ONLY=rules; about many rows: ONLY=tables, large_tables
#   make figure2 how many counts a budget returns; takes hours, continues if interrupted;
#                a shorter run: TRIALS=20
#   make house   how many lines, modules, names and words there are
#   make notebooks  run the notebooks and save their outputs; one of them: ONLY=3_choosing_a_rule
#   make docs    build the site in build/site; to read it: python -m http.server -d build/site
#   make claims  bring the generated parts of docs/claims.md up to date
#   make texts   add a text of each new tag of the codec, which a test keeps readable
#   make vectors  write the conformance vectors anew: docs/vectors.md
#   make api     write tests/api.txt, the public names and signatures, anew
#   make dist    build the release in dist, and try it out where the sources are not; needs a network;
#                without bills of materials: BILLS=no
#   make recipes run docs/recipes.md and save what it prints
#   make clean   delete .venv and every cache
# Another interpreter: make PYTHON=/path/to/python3.12 test

VENV := .venv
BIN := $(VENV)/bin
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
PYTHON ?= $(shell for each in $(CANDIDATES); do \
	$$each -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$each && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo demo-spark test test-slow test-all test-opendp mutants check format bench figure2 house notebooks docs claims texts vectors recipes api dist clean

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

demo: $(VENV)/.installed-demo
	@$(BIN)/python notebooks/demo.py

demo-spark: $(VENV)/.installed-demo $(VENV)/.installed-spark
	@$(BIN)/python notebooks/demo.py --spark

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto

test-slow: $(VENV)/.installed-test
	$(BIN)/python -m tests.slowly $(if $(MINUTES),--minutes $(MINUTES))

test-all: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto -m ""

mutants: $(VENV)/.installed-test
	@$(BIN)/python -m tests.mutants $(if $(ROOM),--room $(ROOM))

OPENDP := build/peers/opendp

test-opendp: $(OPENDP)/.installed
	$(OPENDP)/bin/python -m pytest tests/unit/mechanisms/opendp

$(OPENDP)/.installed: pyproject.toml | $(BIN)/python
	@$(BIN)/python -m venv $(OPENDP)
	@$(OPENDP)/bin/python -m pip --disable-pip-version-check -qq install --editable ".[opendp,table]" hypothesis pytest
	@touch $@

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench
	@$(BIN)/python -m benchmarks $(ONLY)

figure2: $(VENV)/.installed-figure2
	@$(BIN)/python -m benchmarks.figure2 $(if $(TRIALS),--trials $(TRIALS))

house: $(VENV)/.installed-test
	@$(BIN)/python -m benchmarks.house

notebooks: $(VENV)/.installed-test
	@$(BIN)/python tests/test_notebooks.py $(ONLY)

docs: $(VENV)/.installed-docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file .mkdocs.yml

claims: $(VENV)/.installed-test
	$(BIN)/python tests/test_readme.py

texts: $(VENV)/.installed-test
	@$(BIN)/python -m tests.unit.curator.codec.test_schema

vectors: $(VENV)/.installed-test
	@$(BIN)/python -m tests.vectors.generate

recipes: $(VENV)/.installed-test
	@PYTHONPATH=. $(BIN)/python tests/test_recipes.py

api: $(VENV)/.installed-test
	@$(BIN)/python -m tests.test_api

dist: $(VENV)/.installed-test
	@$(BIN)/python -m tests.releases $(if $(filter no,$(BILLS)),--no-bills)

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# One stamp per extra, so that `make demo` installs no test tools and nothing is installed twice.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	@echo "installing queryable-dp[$*] into $(VENV) ..."
	@$(PIP) install --editable ".[$*]"
	@touch $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { \
		echo "No Python >= 3.11 found. Install one, or give its path: make PYTHON=/path/to/python" >&2; \
		exit 1; }
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' || { \
		echo "$(PYTHON) is not a Python >= 3.11. Give the path of one: make PYTHON=/path/to/python" >&2; \
		exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot make a virtual environment (on Debian: install python3-venv)." >&2; \
		exit 1; }
