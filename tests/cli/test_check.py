"""``python -m calib check``: a saved calibrator on new data."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib.cli import main
from calib.decisions.sample_size import rows_needed
from calib.diagnostics.shift import calibration_shift, recorded_scores, verdict
from calib.diagnostics.shift_data import judge
from calib.export.runtime import load
from calib.formatting import for_terminal
from tests.conftest import simulate


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def outputs(tmp_path):
    """Rows to fit on and fresh ones of the same model."""
    paths = tmp_path / "old.npz", tmp_path / "fresh.npz"
    for seed, path in enumerate(paths):
        logits, labels = simulate(n=400, seed=seed)
        np.savez(path, logits=logits, labels=labels)
    return paths


@pytest.mark.parametrize("ending", ["pkl", "zip"])
def test_it_says_what_the_page_says(outputs, tmp_path, capsys, ending: str) -> None:
    saved = tmp_path / f"calibrator.{ending}"
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


def test_without_recorded_scores_there_is_no_before(outputs, tmp_path, capsys) -> None:
    fitted = calib.calibrator("temperature").fit(*simulate())
    calib.export.save(fitted, tmp_path / "bare.npz")
    assert run("check", tmp_path / "bare.npz", outputs[1]) == 0
    said = capsys.readouterr().out
    assert "->" not in said
    assert "since it was judged" not in said


def test_wrong_files_are_one_sentence(outputs, tmp_path, capsys) -> None:
    saved = tmp_path / "calibrator.npz"
    assert run("fit", outputs[0], "--method", "temperature", "--out", saved) == 0
    np.savez(tmp_path / "other.npz", logits=np.eye(9) - 0.5, labels=np.arange(9))
    capsys.readouterr()
    assert run("check", saved, tmp_path / "other.npz") == 1
    assert "have 9 classes and the calibrator 4" in capsys.readouterr().err
    assert run("check", saved, tmp_path / "absent.npz") == 1
    assert "cannot be opened" in capsys.readouterr().err
    assert run("check", tmp_path / "absent.pkl", outputs[1]) == 1
    assert "was not found" in capsys.readouterr().err


def test_labels_in_a_file_of_their_own(outputs, tmp_path, capsys) -> None:
    saved = tmp_path / "calibrator.npz"
    assert run("fit", outputs[0], "--method", "temperature", "--out", saved) == 0
    with np.load(outputs[1]) as file:
        np.save(tmp_path / "logits.npy", file["logits"])
        np.save(tmp_path / "labels.npy", file["labels"])
    capsys.readouterr()
    assert run("check", saved, outputs[1]) == 0
    one = capsys.readouterr().out
    assert run("check", saved, tmp_path / "logits.npy", "--labels", tmp_path / "labels.npy") == 0
    assert capsys.readouterr().out == one


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


def test_without_labels_it_says_what_to_expect(outputs, tmp_path, capsys) -> None:
    saved = tmp_path / "calibrator.npz"
    assert run("fit", outputs[0], "--method", "temperature", "--out", saved) == 0
    with np.load(outputs[1]) as file:
        np.save(tmp_path / "logits.npy", file["logits"])
        confidence = load(saved).confidence(file["logits"])
    capsys.readouterr()
    assert run("check", saved, tmp_path / "logits.npy") == 0
    said = capsys.readouterr().out
    assert f"an accuracy of {100 * confidence.mean():.1f} %" in said
    assert "->" not in said
    assert run("check", saved, outputs[1], "--unlabelled") == 0
    assert capsys.readouterr().out == said


def test_the_plan_is_that_of_the_library(tmp_path, capsys) -> None:
    generator = np.random.default_rng(0)
    probs = generator.beta(1, 8, 3000).round(4).clip(0.001)
    came = generator.random(3000) < probs
    table = "p_default,default\n" + "\n".join(f"{p},{int(y)}" for p, y in zip(probs, came, strict=True))
    (tmp_path / "loans.csv").write_text(table)
    assert run("plan", tmp_path / "loans.csv", "--threshold", 0.2, "--slope", 0.4) == 0
    said = capsys.readouterr().out
    for one in rows_needed(probs, came, 0.2, {"slope": 0.4}):
        assert f"{one.rows:,}" in said
