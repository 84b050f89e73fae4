# Two commands: `make demo` runs the main job in small, `make test` passes the tests.
# Both set up everything they need in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-thorough tests kernels lint types docs bench bench-record bench-history format clean

help:
	@echo "make demo    publish a small hospital over several months and look at what it reveals"
	@echo "make test    run all checks: ruff, mypy, tests (docs and examples included)"
	@echo "make test-thorough    the same with many more random tables, streams, seeds and ways to fail"
	@echo "make lint | types | docs | bench | format | clean"

$(VENV)/.ready: pyproject.toml studies/pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[pandas,duckdb,charts,excel]" --editable studies --group test
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

# The peers that are measured beside us want older libraries, so they get an environment of their own.
$(VENV)-bench/.ready: pyproject.toml studies/pyproject.toml
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(VENV)-bench/bin/python -m pip install --quiet --editable ".[pandas]" --editable studies --group bench
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

# What is recorded is measured in the environment of the tests: `make bench-record VERSION=0.2.0`.
bench-record: $(VENV)/.ready
	$(if $(VERSION),,$(error say which version: make bench-record VERSION=0.2.0))
	$(BIN)/python benchmarks/near_the_floor.py --wait 10 --record $(VERSION)
	$(BIN)/python benchmarks/chart.py

bench-history: $(VENV)/.ready
	$(BIN)/python benchmarks/versions.py
	$(BIN)/python benchmarks/chart.py

clean:
	rm -rf $(VENV) $(VENV)-bench build .mypy_cache .pytest_cache .ruff_cache
