"""``python -m calib gate``: a limit is broken by more than chance, or holds."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calib
from calib.cli.gate import FAILED, UNDECIDED, judge_limits
from calib.evaluation import Evaluation, score_intervals
from calib.evaluation.compare import SAME_DATA
from tests.cli.conftest import run
from tests.conftest import simulate


def test_the_status_is_that_of_the_interval_and_not_of_the_value(file, capsys) -> None:
    data = calib.load(file)
    judged = Evaluation.from_predictions(
        calib.calibrator("identity").fit(data.logits, data.labels), data
    )
    value, low, _ = score_intervals(judged)["ECE"]
    assert run("gate", file, "--max-ece", low * 0.99) == FAILED
    assert "fails" in capsys.readouterr().out
    between = (low + value) / 2
    assert low < between < value and run("gate", file, "--max-ece", between) == 0
    assert "chance" in capsys.readouterr().out
    assert run("gate", file, "--max-ece", value * 1.01) == 0
    assert "chance" not in capsys.readouterr().out


def test_a_calibrator_is_judged_in_place_of_the_model(file, tmp_path, capsys) -> None:
    assert run("fit", file, "--method", "temperature", "--out", tmp_path / "c.npz") == 0
    logits, labels = simulate(seed=1)
    np.savez(tmp_path / "fresh.npz", logits=logits, labels=labels)
    assert run("gate", tmp_path / "fresh.npz", "--max-ece", 0.05) == FAILED
    assert (
        run("gate", tmp_path / "fresh.npz", "--max-ece", 0.05, "--calibrator", tmp_path / "c.npz")
        == 0
    )
    assert SAME_DATA not in capsys.readouterr().out
    run("gate", file, "--max-ece", 0.05, "--calibrator", tmp_path / "c.npz")
    assert SAME_DATA in capsys.readouterr().out


@pytest.mark.long
def test_a_calibrated_model_seldom_fails_at_a_limit_of_nothing() -> None:
    rng, failed = np.random.default_rng(0), 0
    for _ in range(40):
        probs = rng.dirichlet([0.5, 0.5, 0.5], 300)
        labels = (rng.random((300, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=2)
        method = calib.calibrator("identity").fit(np.log(probs), labels)
        judged = Evaluation.from_calibrator(method, np.log(probs), labels)
        failed += judge_limits(judged, {"ECE": 0.0})[0]["verdict"] == "fails"
    assert failed <= 4  # 2.5 % of 40; five or more have a probability of .004 at 5 %


@pytest.mark.parametrize("limit", [0.0, 0.999], ids=["too low to keep", "too high to break"])
@pytest.mark.parametrize(
    ("rows", "why"), [(1, "1 row cannot tell"), (80, "all labels are of one class")]
)
def test_rows_that_cannot_say_are_undecided_and_neither_pass_nor_fail(
    rows, why, limit, tmp_path, capsys
) -> None:
    np.savez(
        tmp_path / "few.npz",
        logits=simulate(n=rows, n_classes=3)[0],
        labels=np.zeros(rows, dtype=int),
    )
    assert run("gate", tmp_path / "few.npz", "--max-ece", limit) == UNDECIDED
    printed = capsys.readouterr().out
    assert (
        printed.startswith(f"On {rows} row{'s' * (rows > 1)}:\n") and f"undecided: {why}" in printed
    )
    assert run("gate", tmp_path / "few.npz", "--max-ece", limit, "--json") == UNDECIDED
    said = json.loads(capsys.readouterr().out)
    assert (
        said["passed"] is None
        and said["scores"][0]["verdict"] == "undecided"
        and why in said["scores"][0]["why"]
    )


def test_a_limit_of_a_score_that_is_not_there_is_refused() -> None:
    said = np.linspace(0.5, 0.99, 40)
    right, classes = np.arange(40) % 3 > 0, np.zeros(40, dtype=int)
    confidence_alone = Evaluation(said, right, classes, np.where(right, 0, 1), 3)
    with pytest.raises(calib.CalibrationError, match="40 rows have no NLL; leave out its limit"):
        judge_limits(confidence_alone, {"NLL": 0.5})
