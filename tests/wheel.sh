#!/bin/sh
# The wheel in dist/, in empty environments on each Python that is named or found: what an installation must do
# (tests/wheel_smoke.py), prediction where NumPy is alone, the same command by uvx, every code block of the documents, and
# the sizes of the extras as pip installs them.
# PYTHONS names the interpreters. Nothing is left but what uv keeps in its cache.
set -eu
uv=$PWD/.venv/bin/uv
wheel=$(ls "$PWD"/dist/*.whl)
smoke=$PWD/tests/wheel_smoke.py
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH
export CALIB_WORKSPACE=off UV_PYTHON_DOWNLOADS=never
install() { # name of the environment, Python, extras in brackets, options
    "$uv" venv --quiet --python "$2" "$folder/$1"
    "$uv" pip install --quiet --python "$folder/$1" --only-binary :all: $4 "$wheel$3"
}
for python in ${PYTHONS:-3.11 3.12 3.13 3.14}; do
    if ! "$uv" python find --quiet --system "$python" >/dev/null; then
        echo "Python $python is not on this machine, so that the wheel was not tried there."
        continue
    fi
    here=$python
    rm -rf "$folder"/*
    install app "$python" "[app]" ""
    mkdir "$folder/empty" "$folder/other"
    cp "$smoke" "$folder/other"
    (cd "$folder/empty" && "$folder/app/bin/python" "$folder/other/wheel_smoke.py")
    install alone "$python" "" ""
    "$folder/app/bin/python" -c "import numpy as np; np.save('$folder/new.npy', np.random.default_rng(0).random(100))"
    "$folder/alone/bin/python" -c "import numpy as np, calib; c = calib.runtime.load('$folder/empty/c.zip'); c.predict_proba(np.load('$folder/new.npy'), kind='binary_probability')"
    (cd "$folder/other" && "$uv" tool run --quiet --python "$python" --from "$wheel[app]" calib settings >/dev/null)
done
rm -rf "$folder"/*
install blocks "$here" "[app,onnx,test]" ""
mkdir "$folder/documents" "$folder/documents/sample_data"
cp -R docs tests Makefile pyproject.toml requirements*.txt ./*.md "$folder/documents"
cp sample_data/README.md "$folder/documents/sample_data"
(cd "$folder/documents" && "$folder/blocks/bin/python" -m pytest -q tests/test_code_blocks.py)
for extra in "" fit report active app cluster ${LARGE:+gp}; do
    rm -rf "$folder"/*
    install extra "$here" "${extra:+[$extra]}" --compile-bytecode
    echo "extra ${extra:-none}: $(du -sm "$folder"/extra/lib | cut -f1) MB"
done
