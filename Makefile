# Two commands: `make demo` runs the main job in small, `make test` passes the tests.
# Both set up everything they need in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-thorough test-pythons test-browser tests kernels lint types docs bench bench-record bench-history lock sbom \
	format clean

help:
	@echo "make demo    publish a small hospital over several months and look at what it reveals"
	@echo "make test    run all checks: ruff, mypy, tests (docs and examples included)"
	@echo "make test-thorough    the same with many more random tables, streams, seeds and ways to fail"
	@echo "make test-pythons     a short check on each of Python 3.11, 3.12 and 3.13 that is installed"
	@echo "make test-browser     open the pages in chromium, which is installed where it is missing and that is permitted"
	@echo "make lock    choose the versions of all dependencies anew, where they have to change; UPGRADE=1 takes the newest"
	@echo "make sbom    what a user installs with the library, as CycloneDX"
	@echo "make lint | types | docs | bench | format | clean"

# What is installed is what the files in requirements/ say, each file by its hash. Nothing is built from source: that would
# fetch what no lock names. The project itself is built with what is there by then.
LOCKED := --quiet --disable-pip-version-check --require-hashes --only-binary :all:
OURSELVES := --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --editable . --editable studies

$(VENV)/.ready: pyproject.toml studies/pyproject.toml requirements/installer.txt requirements/development.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(LOCKED) --requirement requirements/installer.txt
	$(BIN)/python -m pip install $(LOCKED) --requirement requirements/development.txt
	$(BIN)/python -m pip install $(OURSELVES)
	touch $@

demo: $(VENV)/.ready
	rm -rf build/demo
	mkdir -p build
	$(BIN)/reissue demo build/demo

# What runs beside each other leaves no processor unused: first mypy and the compiler, then the tests.
test: $(VENV)/.ready lint
	@$(MAKE) --no-print-directory -j 2 types kernels
	@$(MAKE) --no-print-directory tests PROFILE=$(PROFILE)

test-thorough: PROFILE := thorough
test-thorough: test

PROFILE := quick

tests: $(VENV)/.ready kernels
	$(BIN)/python -m pytest -n auto --dist worksteal --hypothesis-profile=$(PROFILE)

# Its own command, as it sets up an environment for each: `make test-pythons PYTHONS="3.12 3.13"`.
PYTHONS := 3.11 3.12 3.13

test-pythons:
	$(PYTHON) tools/pythons.py $(PYTHONS)

# `make test` opens pages too, where a chromium is on the path.
test-browser: $(VENV)/.ready
	@command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get -qq update && apt-get -qq install -y chromium; } \
		|| echo "no chromium is here and it cannot be installed: pages are not opened in a browser"
	$(BIN)/python -m pytest -q tests/browser

# Once for all processes of the tests; little happens where no kernel changed.
kernels: $(VENV)/.ready
	$(BIN)/reissue warm-up

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

docs: $(VENV)/.ready
	$(BIN)/mkdocs build --strict --site-dir build/site

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The peers that are measured beside us want older libraries, so they get an environment of their own. One of them asks
# for one old version of a library that only its commands use; we do not follow (requirements/bench-overrides.txt), which
# pip would refuse: so it is told to look at nothing but the lock.
$(VENV)-bench/.ready: pyproject.toml studies/pyproject.toml requirements/installer.txt requirements/bench.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install $(LOCKED) --requirement requirements/installer.txt
	$(VENV)-bench/bin/python -m pip install $(LOCKED) --no-deps --requirement requirements/bench.txt
	$(VENV)-bench/bin/python -m pip install $(OURSELVES)
	touch $@

# With ARX=path/to/libarx.jar the peers have ARX among them.
bench: $(VENV)-bench/.ready
	$(VENV)-bench/bin/python benchmarks/near_the_floor.py
	$(VENV)-bench/bin/python benchmarks/publish.py $(if $(ARX),--arx $(ARX))
	$(VENV)-bench/bin/python benchmarks/quality.py
	$(VENV)-bench/bin/python benchmarks/queries.py
	$(VENV)-bench/bin/python benchmarks/series.py
	$(VENV)-bench/bin/python benchmarks/audit.py
	$(VENV)-bench/bin/python benchmarks/incremental.py --large
	$(VENV)-bench/bin/python benchmarks/cor_split.py
	$(VENV)-bench/bin/python benchmarks/minimality.py
	$(VENV)-bench/bin/python benchmarks/hd_composition.py
	$(VENV)-bench/bin/python benchmarks/alternatives.py
	$(VENV)-bench/bin/python benchmarks/analyse.py

# What is recorded is measured in the environment of the tests: `make bench-record VERSION=0.2.0`.
bench-record: $(VENV)/.ready
	$(if $(VERSION),,$(error say which version: make bench-record VERSION=0.2.0))
	$(BIN)/python benchmarks/near_the_floor.py --wait 10 --record $(VERSION)
	$(BIN)/python benchmarks/chart.py

bench-history: $(VENV)/.ready
	$(BIN)/python benchmarks/versions.py
	$(BIN)/python benchmarks/chart.py

# One lock for all Pythons and platforms: the same versions everywhere, with the hashes of all their files and no address.
# What is locked stays as it is where it still fits; with UPGRADE=1 it does not. uv knows nothing of pip's settings, so it
# is told which index pip uses.
COMPILE = $(VENV)-lock/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 --fork-strategy fewest \
	--only-binary :all: --generate-hashes --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

$(VENV)-lock/.ready: requirements/installer.txt requirements/locking.txt
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install $(LOCKED) --requirement requirements/installer.txt
	$(VENV)-lock/bin/python -m pip install $(LOCKED) --requirement requirements/locking.txt
	touch $@

lock: export UV_DEFAULT_INDEX = $(or $(PIP_INDEX_URL),$(shell $(PYTHON) -m pip config get global.index-url 2>/dev/null))
lock: $(VENV)-lock/.ready
	$(COMPILE) --group installer --output-file requirements/installer.txt
	$(COMPILE) --group lock --output-file requirements/locking.txt
	$(COMPILE) pyproject.toml --all-extras --group build --group test --output-file requirements/development.txt
	cp requirements/development.txt requirements/runtime.txt
	$(COMPILE) pyproject.toml --all-extras --output-file requirements/runtime.txt
	$(COMPILE) pyproject.toml --extra pandas --group build --group bench --override requirements/bench-overrides.txt \
		--output-file requirements/bench.txt
	$(VENV)-lock/bin/python tools/sbom.py

sbom: $(VENV)-lock/.ready
	$(VENV)-lock/bin/python tools/sbom.py

clean:
	rm -rf $(VENV) $(VENV)-bench $(VENV)-lock build .mypy_cache .pytest_cache .ruff_cache
