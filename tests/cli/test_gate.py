"""``python -m calib gate``: a limit is broken by more than chance, or holds."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import calib
from calib.cli.gate import FAILED, UNDECIDED, judge_baseline, judge_limits, rows_that_decide
from calib.evaluation import Evaluation, score_intervals
from calib.evaluation.compare import SAME_DATA
from calib.evaluation.evaluation import raw_model
from calib.evaluation.score_registry import scored_on
from calib.metrics.bootstrap import Interval
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


def written_groups(folder) -> str:
    """A table on average right, whose predictions are too low in the south."""
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.1, 0.6, 4000)
    region = rng.choice(["north", "south"], 4000, p=[0.85, 0.15])
    happened = rng.random(4000) < np.where(region == "south", risk + 0.2, risk - 0.03)
    path = folder / "risks.csv"
    lines = [f"{p:.6f},{int(y)},{r}" for p, y, r in zip(risk, happened, region, strict=True)]
    path.write_text("\n".join(["risk,happened,region", *lines]))
    return str(path)


def test_each_group_is_held_to_the_limits_and_named(tmp_path, capsys) -> None:
    file = written_groups(tmp_path)
    options = ("--max-gap", 0.06, "--read", "group=region")
    assert run("gate", file, *options) == 0
    capsys.readouterr()
    assert run("gate", file, *options, "--each-group", "--json") == FAILED
    scores = json.loads(capsys.readouterr().out)["scores"]
    verdicts = {each["group"]: each["verdict"] for each in scores}
    assert verdicts == {None: "passes", "north": "passes", "south": "fails"}


def test_groups_that_the_file_lacks_are_named_as_what_is_missing(file, capsys) -> None:
    assert run("gate", file, "--max-ece", 0.5, "--each-group") == 1
    assert "--read group=COLUMN" in capsys.readouterr().err


@pytest.mark.parametrize(("factor", "verdict"), [(0.99, "passes"), (1.01, "fails")])
def test_a_baseline_is_compared_as_two_independent_means_are(factor, verdict) -> None:
    logits, labels = simulate(400, 3)
    method = calib.calibrator("identity").fit(logits, labels)
    judged = Evaluation.from_calibrator(method, logits, labels)
    losses = -np.log(calib.numerics.softmax(logits)[np.arange(400), labels])
    error, before_error = losses.std() / 20, 0.02
    before = losses.mean() - factor * 1.96 * math.hypot(
        error, before_error
    )  # z = 1.96 at a factor of 1
    baseline = Interval(before, before - 1.96 * before_error, before + 1.96 * before_error)
    (found,) = judge_baseline(judged, {"NLL": baseline})
    assert found["verdict"] == verdict


def test_the_json_of_a_gate_is_the_baseline_of_the_next(file, tmp_path, capsys) -> None:
    run("gate", file, "--max-ece", 1, "--max-nll", 9, "--json")
    (tmp_path / "before.json").write_text(capsys.readouterr().out)
    assert run("gate", file, "--not-worse-than", tmp_path / "before.json") == 0
    assert capsys.readouterr().out.count("before: passes") == 2
    (tmp_path / "before.json").write_text("{}")
    assert run("gate", file, "--not-worse-than", tmp_path / "before.json") == 1
    assert "is no result of a gate" in capsys.readouterr().err


def test_four_times_the_rows_halve_an_interval() -> None:
    assert rows_that_decide(Interval(0.03, 0.01, 0.05), 0.04, 1000) == 4000
    assert rows_that_decide(Interval(0.03, 0.01, 0.05), 0.06, 1000) is None


def test_a_summary_is_appended_with_its_table_and_diagram(file, tmp_path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    assert run("gate", file, "--max-ece", 0.001, "--max-nll", 9, "--summary", path) == FAILED
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "before" and lines[1] == "### 🔴 Calibration fails"
    assert sum(line.startswith("| 🔴 | ECE |") for line in lines) == 1
    assert sum(line.startswith("| 🟢 | NLL |") for line in lines) == 1
    data = calib.load(file)
    confidence = calib.numerics.softmax(data.logits).max(axis=1)
    correct = data.logits.argmax(axis=1) == data.labels
    parts = np.array_split(np.argsort(confidence, kind="stable"), 10)
    (bars,) = [line for line in lines if line.startswith("  bar")]
    shares = [float(value) for value in bars.strip(" bar[]").split(", ")]
    np.testing.assert_allclose(shares, [correct[part].mean() for part in parts], atol=6e-4)


def test_each_task_is_held_to_the_limits_with_joint_intervals(tmp_path, capsys) -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 0.7, (500, 3)).round(3)
    happened = (rng.random((500, 3)) < p).astype(int).astype(str)
    happened[:, 2] = ""
    p[:, 1] += 0.25
    rows = [",".join([*map(str, a), *b]) for a, b in zip(p, happened, strict=True)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["fraud_p,churn_p,spam_p,fraud,churn,spam", *rows]))
    assert run("gate", path, "--max-gap", 0.1, "--each-task", "--json") == FAILED
    found = json.loads(capsys.readouterr().out)
    assert {each["group"]: each["verdict"] for each in found["scores"]} == {
        "fraud": "passes",
        "churn": "fails",
    }
    assert found["notes"] == ["spam is not judged: no labels."]
    churn = calib.load(path, roles={"outcome": "churn", "outputs": "churn_p"})
    judged = Evaluation.from_predictions(raw_model(churn), churn)
    joint = scored_on(judged).intervals(0.975)["gap"]
    assert found["scores"][1]["interval"] == pytest.approx([joint.low, joint.high])
    assert run("gate", path, "--max-gap", 0.4, "--each-task") == 0
    assert "2 tasks over 500 rows:" in capsys.readouterr().out
    assert run("gate", path, "--max-gap", 0.4, "--each-task", "--each-group") == 2
