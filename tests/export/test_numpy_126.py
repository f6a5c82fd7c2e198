"""Exported calibrators predict on NumPy 1.26, the oldest that pyproject.toml allows, with nothing else installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import calib
from calib.data.samples import load_sample
from calib.decisions import AnswerAbove, fit_sets
from calib.export import provenance, writer
from calib.registry import extras_for
from tests.conftest import ROOT

PARAMS: dict[str, dict[str, int]] = {"gpcalib": {"max_iter": 20}, "bayes_iso": {"n_maps": 300}}

PREDICTS = """
import importlib.util, pickle, sys
import numpy as np
from calib import runtime

assert np.__version__ == "1.26.0" and importlib.util.find_spec("scipy") is None
outputs = np.load("outputs.npz")
expected, decided = np.load("expected.npz"), np.load("decided.npz")
for name in expected:
    with open(name + ".pkl", "rb") as file:
        exports = runtime.load(name + ".npz"), pickle.load(file)
    for made in exports:
        features = [outputs["features"]] if made.calibrator.needs else []
        predict = made.predict_confidence if features else made.predict_proba
        for precision, before in zip(("single", "double"), expected[name]):
            difference = np.abs(predict(outputs["logits"].astype(precision), *features) - before).max()
            assert difference <= 1e-9, (name, precision, difference)
        # Rows whose last digits differ may stand on the other side of a threshold.
        actions = made.decide(outputs["logits"], *features, kind="logits")
        assert np.mean(actions != decided[name + "/actions"]) < 0.005, name
        if made.sets is not None:
            inside = made.prediction_sets(outputs["logits"], kind="logits")
            assert np.mean(inside != decided[name + "/sets"]) < 0.001, name
print(*expected)
"""


def interpreter() -> str:
    """A Python that NumPy 1.26 was made for."""
    names = [sys.executable, "python3.11", "python3.12"]
    code = "import sys; raise SystemExit(not (3, 11) <= sys.version_info < (3, 13))"
    for path in filter(None, map(shutil.which, names)):
        if subprocess.run([path, "-c", code], capture_output=True).returncode == 0:
            return path
    pytest.skip("NumPy 1.26 needs Python 3.11 or 3.12, of which none is found")


@pytest.mark.long
def test_every_method_predicts_the_same_on_numpy_126_alone(tmp_path: Path) -> None:
    python = interpreter()
    subprocess.run([python, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    alone = tmp_path / "venv" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", alone, "install", "--quiet", "numpy==1.26.0"]
    subprocess.run([*install, "--only-binary", ":all:"], check=True)

    data, fresh = load_sample("digits-cnn").split(0.5, random_state=0)
    expected: dict[str, list[np.ndarray]] = {}
    decided: dict[str, np.ndarray] = {}
    for name in calib.METHODS:
        made = calib.calibrator(name, **PARAMS.get(name, {}))
        made.fit(data.logits, data.labels, **extras_for(made, data))
        features = [fresh.features] if made.needs else []
        predict = made.predict_confidence if features else made.predict_proba
        expected[name] = [predict(fresh.logits.astype(precision), *features) for precision in ("single", "double")]
        rule = AnswerAbove(threshold=0.7)
        sets = fit_sets(made, fresh, 0.1, score="raps") if made.gives_probabilities else None
        exported = provenance.exported(made, {"decision": rule, "sets": sets})
        decided[f"{name}/actions"] = exported.decide(fresh.logits, *features, kind="logits")
        if sets is not None:
            decided[f"{name}/sets"] = exported.prediction_sets(fresh.logits, kind="logits")
        for suffix in (".pkl", ".npz"):
            writer.save(exported, tmp_path / f"{name}{suffix}")
    np.savez(tmp_path / "expected.npz", **{name: np.stack(both) for name, both in expected.items()})
    np.savez(tmp_path / "decided.npz", **decided)
    np.savez(tmp_path / "outputs.npz", logits=fresh.logits, features=fresh.features)
    done = subprocess.run(
        [alone, "-c", PREDICTS],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(calib.METHODS)
