# All commands use one environment, .venv, installed from the two lock files in requirements/.
# They need only Python 3.11 (with pip) and make.
#
#   make demo    simulate the main example and draw it
#   make test    style, types, layers and all tests
#   make bench   the speed table
#   make bench-service  throughput and latency of the service, measured with wrk (five minutes)
#   make docs    the documentation site, in site/
#   make generated  rewrite the files that are generated from others
#   make lock    regenerate the lock files from pyproject.toml
#   make clean   remove .venv and everything that these commands created

.SUFFIXES:
.NOTPARALLEL:
.SECONDARY:
.DEFAULT_GOAL := help
.PHONY: help demo test style types layers pytest chromium nginx typescript bench bench-service docs generated lock clean

VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
TESTS ?=
DEMO_OPTIONS ?=

# With two --quiet options pip prints only errors.
PIP_OPTIONS := --quiet --quiet --disable-pip-version-check --no-input
PIP := $(BIN)/python -m pip $(PIP_OPTIONS)

# The first interpreter that runs and is new enough; PYTHON=... selects another one.
IS_NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(firstword $(foreach name,python3.11 python3 python,\
	$(shell $(name) -c '$(IS_NEW_ENOUGH)' >/dev/null 2>&1 && echo $(name))))

help:
	@sed -n 's/^#   make/make/p' Makefile

# --- the environment ---------------------------------------------------------------------------

# Where ensurepip is missing (some distributions package it separately), the interpreter's own pip
# installs pip into the new .venv.
define create_environment
	@test -n "$(PYTHON)" && $(PYTHON) -c '$(IS_NEW_ENOUGH)' 2>/dev/null || { \
		echo "structuredbandits needs Python 3.11 or newer and found $(or $(PYTHON),none):" \
			"install it, or run 'make $(MAKECMDGOALS) PYTHON=/path/to/python3.11'." >&2; exit 1; }
	@echo "Creating the environment $(1) with $$($(PYTHON) --version)."
	@$(PYTHON) -m venv $(1) >/dev/null 2>&1 || { \
		$(PYTHON) -m venv --without-pip --clear $(1) && \
		$(PYTHON) -m pip --python $(1)/bin/python $(PIP_OPTIONS) install pip; }
endef

$(VENV)/.created:
	$(call create_environment,$(VENV))
	@touch $@

$(VENV)/.demo: requirements/demo.txt $(VENV)/.created
	@echo "Installing the packages of $< (about a minute)."
	@$(PIP) install -r $<
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.created
	@echo "Installing the packages of $< (about two minutes)."
	@$(PIP) install -r $<
	@touch $@

# The package itself, from this folder, with the build tools of the lock file.
$(VENV)/.%-package: $(VENV)/.% pyproject.toml src/structuredbandits/_version.py
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

# --- the commands ------------------------------------------------------------------------------

demo: $(VENV)/.demo-package
	@$(BIN)/structuredbandits simulate movielens --policies ucb,ucb-s,ucb-c,ts,ts-c \
		--out demo-output $(DEMO_OPTIONS)

test: style types layers pytest

style: $(VENV)/.test-package
	@echo "Style"
	@$(BIN)/ruff format --quiet --check . || { \
		echo "Run '$(BIN)/ruff format .' to format these files." >&2; \
		$(BIN)/ruff format --check . ; exit 1; }
	@$(BIN)/ruff check --quiet .

types: $(VENV)/.test-package
	@echo "Types"
	@$(BIN)/mypy --strict src

layers: $(VENV)/.test-package
	@echo "Layers"
	@$(BIN)/lint-imports --no-logo

# TESTS="tests/frame -k lock" runs only these tests.
pytest: $(VENV)/.test-package chromium nginx typescript
	@echo "Tests"
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(TESTS)

# The web pages are tested in a real browser, which is installed if possible.
INSTALL_CHROMIUM = apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium
chromium:
	@command -v chromium >/dev/null || { \
		echo "Installing the browser Chromium for the tests of the pages (about a minute)."; \
		if test "$$(id -u)" = 0; then sh -c '$(INSTALL_CHROMIUM)'; \
		else sudo -n sh -c '$(INSTALL_CHROMIUM)'; fi >/dev/null 2>&1 || \
		echo "Chromium cannot be installed from here, so the tests of the web pages will fail:" \
			"install it (on Debian 'apt-get install chromium') and run this again." >&2; }

# The recipe of a reverse proxy is tested with a real one, which is installed in the same way.
INSTALL_NGINX = apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nginx-light
nginx:
	@PATH="$$PATH:/usr/sbin" command -v nginx >/dev/null || { \
		echo "Installing nginx for the test of the proxy (some seconds)."; \
		if test "$$(id -u)" = 0; then sh -c '$(INSTALL_NGINX)'; \
		else sudo -n sh -c '$(INSTALL_NGINX)'; fi >/dev/null 2>&1 || \
		echo "nginx cannot be installed from here, so the test of the proxy will fail:" \
			"install it (on Debian 'apt-get install nginx-light') and run this again." >&2; }

# Node.js and npm come with the packages of requirements/test.txt.
TYPESCRIPT := clients/typescript
NPM = cd $(TYPESCRIPT) && PATH="$(CURDIR)/$(BIN):$$PATH" npm --loglevel=error
$(TYPESCRIPT)/node_modules/.installed: $(TYPESCRIPT)/package-lock.json $(VENV)/.test
	@echo "Installing the packages of $<."
	@$(NPM) ci --silent
	@touch $@

typescript: $(TYPESCRIPT)/node_modules/.installed
	@$(NPM) run --silent build >/dev/null

bench: $(VENV)/.test-package
	@$(BIN)/python -m benchmarks

# If wrk is missing, it is installed from Debian's packages where possible.
bench-service: $(VENV)/.test-package
	@$(BIN)/python -m benchmarks.service

docs: $(VENV)/.test-package
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "The site is in site/index.html."

# A test fails while a generated file is out of date.
generated: $(VENV)/.test-package $(TYPESCRIPT)/node_modules/.installed
	@$(BIN)/python -m tools.generate_sync_client
	@$(BIN)/python -m tools.generate_stub
	@$(BIN)/python -m tools.generate_typescript_types

# Versions are resolved in a clean environment: first what a user installs, then, with these versions
# fixed, everything that the tests need. The lock files contain only names and versions.
LOCK_PIP = .lock/bin/python -m pip $(PIP_OPTIONS)
define freeze
	@{ echo "# $(2). Written by 'make lock' from pyproject.toml."; \
		$(LOCK_PIP) freeze --exclude structuredbandits; } > .lock/frozen.txt
	@mv .lock/frozen.txt $(1)
endef

lock:
	@rm -rf .lock
	$(call create_environment,.lock)
	@$(LOCK_PIP) install --upgrade pip
	@echo "Resolving requirements/demo.txt (about a minute)."
	@$(LOCK_PIP) install --group build .
	$(call freeze,requirements/demo.txt,What the package needs to run)
	@echo "Resolving requirements/test.txt (a few minutes)."
	@$(LOCK_PIP) install --constraint requirements/demo.txt --group dev '.[all]'
	$(call freeze,requirements/test.txt,Everything that the tests and the documentation need)
	@rm -rf .lock

clean:
	rm -rf $(VENV) .lock .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis \
		build dist site demo-output $(TYPESCRIPT)/node_modules $(TYPESCRIPT)/dist
