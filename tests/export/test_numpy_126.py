"""Exported calibrators predict on NumPy 1.26, the oldest that pyproject.toml allows, with nothing else installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import calib
from benchmarks.exports import QUICK
from calib.base import extras_for
from calib.data.samples import load_sample
from calib.decisions import AnswerAbove, fit_sets
from calib.export import predict, writer

PREDICTS = """
import importlib.util
import numpy as np
from predict import load

assert np.__version__ == "1.26.0" and importlib.util.find_spec("calib") is None
outputs, expected = np.load("outputs.npy"), np.load("expected.npz")
for name in expected:
    made = load(name + ".npz")
    difference = np.abs(made.predict_proba(outputs, kind="logits") - expected[name]).max()
    assert difference <= 1e-9, (name, difference)
    assert {"actions", "sets"} <= set(made.answer(outputs, kind="logits"))
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
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        alone,
        "install",
        "--quiet",
        "numpy==1.26.0",
    ]
    subprocess.run([*install, "--only-binary", ":all:"], check=True)

    data, fresh = load_sample("digits-cnn").split(0.5, random_state=0)
    expected: dict[str, np.ndarray] = {}
    for name, method in calib.METHODS.items():
        if method.needs:
            continue
        made = calib.calibrator(name, **QUICK.get(name, {}))
        made.fit(data.logits, data.labels, **extras_for(made, data))
        expected[name] = made.predict_proba(fresh.logits)
        decided = {"decision": AnswerAbove(threshold=0.7), "sets": fit_sets(made, fresh, 0.1)}
        writer.save(made, tmp_path / f"{name}.npz", **decided)
    np.savez(tmp_path / "expected.npz", **expected)
    np.save(tmp_path / "outputs.npy", fresh.logits)
    shutil.copy(predict.__file__, tmp_path / "predict.py")
    done = subprocess.run([alone, "-c", PREDICTS], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(expected)
