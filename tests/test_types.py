"""Types of the public names, as mypy sees them: right calls pass ``--strict``, wrong ones are refused."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

RIGHT = """
import numpy as np
import calib
from calib import decisions, metrics
from calib.calibrators import TemperatureScaling

probs, labels = np.array([[0.9, 0.1], [0.2, 0.8]]), ["no", "yes"]
value: float = metrics.nll(probs, labels)
low: float = metrics.nll(probs, labels, ci=True).low
error: float = calib.ece(probs, labels)
high: float = calib.ece(probs, labels, of="top", ci=True).high
gap: float = metrics.confidence_gap(confidence=[0.9], correct=[True], signed=True)
fitted: TemperatureScaling = calib.calibrator("temperature").fit(probs, labels)
cut: float = decisions.recalibrated_cut(probs[:, 1], labels, decisions.Costs(1, 9).cut).value
data: calib.Predictions = calib.from_outputs(probs, labels)
found: calib.Comparison = calib.compare({"temperature": fitted}, data, data)
"""
WRONG = (
    'calib.calibrator("temprature")',
    'calib.ece([0.1], [0], of="topp")',
    "metrics.nll([0.1], [0], ci=True) + 1.0",
    "metrics.nll([0.1], [0]).low",
    'decisions.Costs(false_alarm="1", miss=9)',
    "metrics.no_such_score",
    'calib.calibrator("temperature").predict_probas([[0.1, 0.9]])',
)


@pytest.mark.long
def test_right_calls_pass_and_wrong_ones_are_refused(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(
        "\n".join(["import calib", "from calib import decisions, metrics", *WRONG])
    )
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=silent"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *map(str, tmp_path.iterdir())],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    refused = re.findall(r"(\w+)\.py:(\d+): error", done.stdout)
    assert refused and all(file == "wrong" for file, _ in refused), done.stdout + done.stderr
    assert {int(line) for _, line in refused} == {*range(3, 3 + len(WRONG))}
