"""Calibrators as MLflow models: loaded by MLflow where it is installed, and as MLflow does it everywhere."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import calib
from benchmarks.exports import simulated
from calib.errors import CalibrationError
from calib.export.writer import to_mlflow


@pytest.fixture(scope="module")
def fitted():
    return calib.calibrator("isotonic").fit(*simulated(200, 3))


def test_the_folder_holds_all_that_it_runs(fitted, tmp_path):
    folder = to_mlflow(fitted, tmp_path / "model")
    with pytest.raises(CalibrationError, match="new folder"):
        to_mlflow(fitted, folder)
    flavour = json.loads((folder / "MLmodel").read_text())["flavors"]["python_function"]
    rows = simulated(20, 3, seed=2)[0]
    np.save(tmp_path / "rows.npy", rows)
    # What MLflow does: the folder of the code comes first, and its module loads the folder of the data.
    script = f"""
import sys, importlib
sys.path.insert(0, {str(folder / flavour["code"])!r})
import numpy as np
model = importlib.import_module({flavour["loader_module"]!r})._load_pyfunc({str(folder / flavour["data"])!r})
np.save("probs.npy", model.predict(np.load("rows.npy")))
assert not {{"calib", "scipy", "pandas", "sklearn"}} & set(sys.modules)
"""
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    np.testing.assert_allclose(
        np.load(tmp_path / "probs.npy"), fitted.predict_proba(rows), atol=1e-12
    )


@pytest.mark.filterwarnings("default")  # of MLflow's own modules
@pytest.mark.engines
def test_mlflow_loads_it_and_predicts_the_same(fitted, tmp_path):
    from mlflow import pyfunc

    model = pyfunc.load_model(str(to_mlflow(fitted, tmp_path / "model")))
    rows = simulated(20, 3, seed=2)[0]
    np.testing.assert_allclose(model.predict(rows), fitted.predict_proba(rows), atol=1e-12)
