# Two commands do everything on a fresh machine: `make app` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
PORT ?= 8501
BIN = .venv/bin
# One BLAS thread for each process: on these matrix sizes two are slower, and tests run side by side.
# Compiled files are kept, for tests start many processes.
ONE_THREAD = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=2
# Small things go to the C library too, in two arenas: it returns every free page when visitors have left, and Python's own
# allocator only runs of 1 MB in which nothing is left.
RETURNS_MEMORY = PYTHONMALLOC=malloc MALLOC_ARENA_MAX=2

.PHONY: app test test-long venv check browser clean

app: venv ## open the app
	@$(BIN)/python -m calib settings > /dev/null
	$(RETURNS_MEMORY) $(BIN)/streamlit run app.py --server.port $(PORT)

test: $(BIN)/.dev browser check ## everything a change must pass
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "not browser and not long"
	$(ONE_THREAD) $(BIN)/python -m pytest -q -m browser

test-long: $(BIN)/.dev ## statistics over many seeds, large arrays, every combination of options
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n 2 --dist loadgroup -m long

check: $(BIN)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

venv: $(BIN)/.app ## what the app needs

$(BIN)/python:
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info < (3, 14), "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=/path/to/python3.11 app"'
	$(PYTHON) -m venv .venv

$(BIN)/.app: $(BIN)/python requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(BIN)/.dev: $(BIN)/.app requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

browser: ## the browser that the browser tests drive
	@sh tests/browser/install.sh

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
