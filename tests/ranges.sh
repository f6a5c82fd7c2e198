#!/bin/sh
# The library's and the engine's tests on the lowest versions that pyproject.toml allows, with Python 3.11, and on the newest, with 3.13
# or else the newest Python that runs here. OLD and NEW name others. Warnings are no errors here: old packages
# warn of what newer ones mended, and the other way round.
set -eu
check() { # resolution, Python
    .venv/bin/uv venv --quiet --clear --python "$2" "build/$1"
    .venv/bin/uv pip install --quiet --python "build/$1" --resolution "$1" --only-binary :all: \
        -r pyproject.toml --extra gp --extra cluster --extra test
    .venv/bin/uv pip list --python "build/$1"
    "build/$1/bin/python" -m pytest -q -n 2 --dist loadfile -m "not long and not browser and not engines" -W default \
        tests/calibrators tests/data tests/metrics tests/test_contract.py tests/export/test_writer.py tests/export/test_runtime.py \
        tests/test_sklearn.py tests/engine
}
newest() {
    for python in python3.13 python3.12 python3.11; do
        if "$python" -c "" 2>/dev/null; then
            command -v "$python"
            return
        fi
    done
}
check lowest-direct "${OLD:-.venv/bin/python}"
check highest "${NEW:-$(newest)}"
