"""``python -m calib check``: a saved calibrator on new data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib
from calib.diagnostics.shift import calibration_shift, recorded_scores, verdict
from calib.diagnostics.shift_data import judge
from calib.export.runtime import load
from calib.formatting import for_terminal
from calib.settings import studio
from tests.cli.conftest import run
from tests.conftest import simulate


def test_it_says_what_the_page_says_and_looks_after_every_batch_of_rows_or_of_weeks(
    file, tmp_path, capsys
) -> None:
    saved, fresh = tmp_path / "calibrator.zip", tmp_path / "fresh.npz"
    logits, labels = simulate(seed=1)
    np.savez(fresh, logits=logits, labels=labels)
    assert run("fit", file, "--method", "temperature", "--out", saved) == 0
    capsys.readouterr()
    assert run("check", saved, fresh) == 0
    said = capsys.readouterr().out
    exported = load(saved)
    data = calib.load(fresh)
    raw, now = judge(exported, data)
    before, _ = recorded_scores(exported.metadata)
    assert {"NLL", "Brier", "accuracy", "ECE"} == set(before)
    for sentence in verdict(calibration_shift(now, raw, before), "Temperature"):
        assert for_terminal(sentence.replace("**", "")) in said
    assert "On 400 new rows" in said
    assert said.count("->") == len(before)
    assert run("check", saved, fresh, "--batch", 100) == 0
    assert "in 4 batches" in capsys.readouterr().out
    np.savez(tmp_path / "dated.npz", logits=logits, labels=labels, week=np.arange(400) // 50)
    assert run("check", saved, tmp_path / "dated.npz") == 0
    assert "in 8 batches" in capsys.readouterr().out
    np.save(tmp_path / "new.npy", logits)
    assert run("check", saved, tmp_path / "new.npy", "--batch", 50) == 0
    assert "note: No batch was looked at" in capsys.readouterr().out


@pytest.fixture
def loans(tmp_path, monkeypatch) -> pd.DataFrame:
    """Risks, outcomes and the week of each row in a column that no name tells, and a calibrator fitted on them."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    risk = generator.beta(2, 8, 500)
    came = (generator.random(500) < risk).astype(int)
    table = pd.DataFrame({"risk": risk, "outcome": came, "scored": np.arange(500) // 50})
    table.to_csv("loans.csv", index=False)
    assert run("fit", "loans.csv", "--method", "platt", "--out", "c.npz") == 0
    return table


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (
            [f"{k % 12 + 1:02d}/{k % 11 + 1:02d}/2026" for k in range(500)],
            "may name its day or its month first",
        ),
        (pd.to_timedelta(np.arange(500), unit="D"), "holds values of type duration"),
    ],
    ids=["ambiguous", "durations"],
)
def test_times_that_cannot_be_used_are_said_and_so_are_the_batches(
    loans, times, said, capsys
) -> None:
    loans.assign(scored=times).to_parquet("new.parquet", index=False)
    capsys.readouterr()
    assert run("check", "c.npz", "new.parquet", "--read", "time=scored") == 0
    found = capsys.readouterr()
    assert said in found.err and "left out" in found.err
    assert "Choose another column" in found.err
    assert "after every batch, of rows in the order of the file" in found.out
    assert run("check", "c.npz", "loans.csv", "--read", "time=scored") == 0
    said = capsys.readouterr().out
    assert "of weeks, days or numbers of the column of times" in said
    assert "These are the data that the calibrator was fitted on" in said


def test_rows_of_one_class_cannot_tell_as_gate_says_of_them(loans, capsys) -> None:
    loans.assign(outcome=0).to_csv("new.csv", index=False)
    assert run("gate", "new.csv", "--max-ece", "0.5", "--calibrator", "c.npz") == 4
    why = "all labels are of one class, give rows of the others too"
    assert why in capsys.readouterr().out
    assert run("check", "c.npz", "new.csv") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Whether Platt is still calibrated cannot be said: {why}.")
    assert "after every batch" not in said


def test_the_columns_of_the_fit_need_not_say_which_one_holds_the_labels(tmp_path, capsys):
    sample = studio() / "sample_data" / "wine-forest.xlsx"
    assert run("fit", sample, "--method", "temperature", "--out", tmp_path / "c.npz") == 0
    assert run("check", tmp_path / "c.npz", sample) == 0
    assert "On 178 new rows" in capsys.readouterr().out
