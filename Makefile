# Two commands do everything on a fresh machine: `make app` and `make test`. Both install the exact versions of
# requirements.txt and requirements-dev.txt, which `make lock` renews, each file with one of the hashes that stand there.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
PORT ?= 8501
BIN = .venv/bin
# One BLAS thread for each process: on these matrix sizes two are slower, and tests run side by side.
KEEP_COMPILED = PYTHONDONTWRITEBYTECODE=
ONE_THREAD = $(KEEP_COMPILED) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=2
# Packages are compiled where they are imported: all their files take longer than the installation itself.
PIP_OPTIONS = --quiet --disable-pip-version-check --no-compile
INSTALL = $(BIN)/python -m pip install $(PIP_OPTIONS)
COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet --python-version 3.11 --no-annotate --generate-hashes --custom-compile-command "make lock"

.PHONY: app test test-long test-seeds test-browser test-engines test-ranges test-wheel arena docs screenshots lock venv check hooks browser wheel clean

app: venv ## open the app
	$(KEEP_COMPILED) $(BIN)/python -m calib app --port $(PORT)

test: $(BIN)/.dev check browser ## everything a change must pass; OPTIONS are pytest's, as --cov=calib
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n 3 --dist loadscope -m "not long and not browser and not engines" $(OPTIONS)
	$(ONE_THREAD) $(BIN)/python -m pytest -q tests/browser -m "not long"

test-long: test-seeds test-browser ## what takes longer: many seeds, large arrays, an old NumPy, every page in a browser

test-seeds: $(BIN)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n 2 --dist loadscope -m "long and not browser and not engines"

test-browser: $(BIN)/.dev browser
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n 2 --dist loadscope --no-loadscope-reorder tests/browser -m long

test-engines: $(BIN)/python ## exports and adapters where they run, in an environment with PyTorch, torchmetrics and MLflow
	$(BIN)/python -m venv --without-pip --clear build/engines
	$(BIN)/python -m pip --python build/engines install $(PIP_OPTIONS) -r tests/engines.txt ".[fit,report,onnx,test]"
	$(ONE_THREAD) build/engines/bin/python -m pytest -q -n 2 --dist loadscope -m engines tests/adapters tests/export

test-ranges: $(BIN)/.uv ## the library on the lowest and on the newest versions that pyproject.toml allows
	$(ONE_THREAD) sh tests/ranges.sh

test-wheel: wheel ## the wheel in empty environments on each Python from 3.11 on that is here, and the extras' sizes
	sh tests/wheel.sh

arena: $(BIN)/.dev ## every method where the truth is known, and on the samples; PEERS=PYTHON adds other packages
	$(ONE_THREAD) $(BIN)/python -m benchmarks.arena $(if $(PEERS),--peers $(PEERS))

docs: $(BIN)/.dev ## the documentation site in build/site; open its index.html, no server is needed
	NO_MKDOCS_2_WARNING=1 $(ONE_THREAD) $(BIN)/python -m mkdocs build --quiet

screenshots: $(BIN)/.dev browser ## the documents' pictures of the app anew
	$(ONE_THREAD) $(BIN)/python -m site_builder.screenshots

check: $(BIN)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m site_builder.validate

hooks: $(BIN)/.dev ## ruff before each commit
	$(BIN)/pre-commit install

# The newest versions that pyproject.toml allows, resolved for the oldest Python; 3.12 and 3.13 take the same.
lock: $(BIN)/.uv ## requirements*.txt anew; run all tests afterwards
	$(COMPILE) --extra dev --upgrade -o requirements-dev.txt
	$(COMPILE) --extra app --extra gp --upgrade -c requirements-dev.txt -o requirements.txt
	$(COMPILE) --extra app --extra gpu --upgrade -c requirements-dev.txt -o requirements-gpu.txt

venv: $(BIN)/.app ## what the app needs

$(BIN)/python:
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info < (3, 14), "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=/path/to/python3.11 app"'
	$(PYTHON) -m venv .venv
	$(INSTALL) --upgrade "pip>=24.3"  # older ones read all packages' metadata once for each package: minutes

$(BIN)/.app: $(BIN)/python requirements.txt
	$(INSTALL) --require-hashes -r requirements.txt
	touch $@

$(BIN)/.dev: $(BIN)/python requirements-dev.txt  # among them what the app needs
	$(INSTALL) --require-hashes -r requirements-dev.txt
	touch $(BIN)/.app $@

$(BIN)/.uv: $(BIN)/python
	$(INSTALL) uv
	touch $@

browser: ## the browser that the browser tests drive
	@sh tests/browser/install.sh

wheel: $(BIN)/.uv ## the wheel and the source archive in dist/, checked; equal files give equal bytes
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/uv build --quiet --out-dir dist
	$(BIN)/uv tool run --quiet twine check --strict dist/*.whl dist/*.tar.gz

clean:
	rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
