"""``python -m calib check``: a saved calibrator on new data."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib.diagnostics.shift import calibration_shift, recorded_scores, verdict
from calib.diagnostics.shift_data import judge
from calib.export.runtime import load
from calib.formatting import for_terminal
from tests.cli.conftest import run
from tests.conftest import simulate


@pytest.fixture
def outputs(tmp_path):
    """Rows to fit on and fresh ones of the same model."""
    paths = tmp_path / "old.npz", tmp_path / "fresh.npz"
    for seed, path in enumerate(paths):
        logits, labels = simulate(n=400, seed=seed)
        np.savez(path, logits=logits, labels=labels)
    return paths


def test_it_says_what_the_page_says(outputs, tmp_path, capsys) -> None:
    saved = tmp_path / "calibrator.zip"
    assert run("fit", outputs[0], "--method", "temperature", "--out", saved) == 0
    capsys.readouterr()
    assert run("check", saved, outputs[1]) == 0
    said = capsys.readouterr().out
    exported = load(saved)
    data = calib.load(outputs[1])
    raw, now = judge(exported, data)
    before, _ = recorded_scores(exported.metadata)
    assert {"NLL", "Brier", "accuracy", "ECE"} == set(before)
    for sentence in verdict(calibration_shift(now, raw, before), "Temperature"):
        assert for_terminal(sentence.replace("**", "")) in said
    assert "On 400 new rows" in said
    assert said.count("->") == len(before)


def test_it_looks_after_every_batch_of_rows_or_of_weeks(outputs, tmp_path, capsys) -> None:
    saved = tmp_path / "calibrator.npz"
    assert run("fit", outputs[0], "--method", "temperature", "--out", saved) == 0
    capsys.readouterr()
    assert run("check", saved, outputs[1], "--batch", 100) == 0
    assert "in 4 batches" in capsys.readouterr().out
    with np.load(outputs[1]) as file:
        np.savez(tmp_path / "dated.npz", **file, week=np.arange(400) // 50)
    assert run("check", saved, tmp_path / "dated.npz") == 0
    assert "in 8 batches" in capsys.readouterr().out
