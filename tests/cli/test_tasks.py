"""``tasks``: every problem of one file, with labels beside, and the thresholds that a program loads."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import run


@pytest.fixture
def table() -> pd.DataFrame:
    """Two calibrated questions and one whose probabilities are 15 points too high."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 0.8, (800, 3)).round(3)
    happened = (rng.random((800, 3)) < p).astype(int)
    p[:, 1] += 0.15
    columns = {"id": [f"r{i}" for i in range(800)]}
    for j, name in enumerate(("fraud", "churn", "spam")):
        columns |= {name: happened[:, j], f"{name}_p": p[:, j]}
    return pd.DataFrame(columns)


@pytest.mark.parametrize("isolate", ["--isolate", "--no-isolate"])
def test_the_task_that_is_off_is_named(tmp_path, capsys, table, isolate):
    table.to_csv(tmp_path / "log.csv", index=False)
    assert run("tasks", tmp_path / "log.csv", isolate) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 tasks (labels) over 800 rows."
    assert lines[2].startswith("churn")
    assert lines[-1] == "Miscalibrated: churn."
    assert run("tasks", tmp_path / "log.csv", isolate, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["rows"], found["miscalibrated"]) == ("labels", 800, ["churn"])
    churn = found["tasks"][0]
    gap = (table["churn_p"] - table["churn"]).mean()
    assert churn["gap"]["value"] == pytest.approx(gap) and churn["gap"]["interval"][0] > 0.05


def test_labels_by_id_and_thresholds_for_a_program(tmp_path, capsys, table):
    labels = table[["id", "fraud", "churn", "spam"]].iloc[::-1][:500]
    outputs = table.drop(columns=["fraud", "churn", "spam"])
    outputs.to_csv(tmp_path / "outputs.csv", index=False)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    files = [tmp_path / "outputs.csv", "--labels", tmp_path / "labels.csv"]
    out = tmp_path / "thresholds.json"
    assert run("tasks", *files, "--target-accuracy", "0.8", "--out", out) == 0
    printed = capsys.readouterr().out
    assert "fraud: 300 without a label, left out." in printed
    assert "at least 80 % right" in printed and str(out) in printed
    stored = json.loads(out.read_text())
    assert set(stored) == {"fraud", "churn", "spam"}
    own, spam = table.iloc[300:], stored["spam"]
    confidence = np.maximum(own["spam_p"], 1 - own["spam_p"])
    right = (own["spam_p"] >= 0.5) == own["spam"]
    answered = confidence >= spam["threshold"]
    assert spam["accuracy"] == pytest.approx(right[answered].mean())
    assert spam["coverage"] == pytest.approx(answered.mean()) and spam["rows"] == 500

    pd.concat([labels, labels[-1:]]).to_csv(tmp_path / "labels.csv", index=False)
    assert run("tasks", *files) == 1
    assert "Lines 501 and 502 of labels.csv have the same id, 'r300'" in capsys.readouterr().err


def test_a_bundle_has_a_calibrator_and_a_threshold_for_each_task(tmp_path, capsys, table):
    table.insert(1, "model", "m-1.0")
    table.to_csv(tmp_path / "log.csv", index=False)
    out = tmp_path / "tasks.zip"
    options = ["--method", "platt", "--target-accuracy", "0.75", "--out-bundle", out]
    assert run("tasks", tmp_path / "log.csv", *options) == 0
    printed = capsys.readouterr().out
    assert "Model: m-1.0." in printed and "Calibrators of 3 tasks" in printed
    with zipfile.ZipFile(out) as bundle:
        contents = json.loads(bundle.read("tasks.json"))
        assert {entry["file"] for entry in contents.values()} < {*bundle.namelist()}
    assert {entry["rows"] for entry in contents.values()} == {400}
    assert all(entry["model"] == "m-1.0" for entry in contents.values())
    assert run("tasks", tmp_path / "log.csv", *options, "--json") == 0
    assert json.loads(capsys.readouterr().out)["bundle"] == contents
    assert run("tasks", tmp_path / "log.csv", "--out-bundle", tmp_path / "tasks.json") == 2
    assert run("tasks", tmp_path / "log.csv", "--out-bundle", out, "--method", "plat") == 2


def test_a_model_that_changes_within_the_file_is_named(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [
        {
            "id": i,
            "model": f"m-1.{int(i >= 60)}",
            "answers": {
                name: {"type": "predicate", "probability": round(float(rng.random()), 2)}
                for name in ("a", "b")
            },
            "labels": {"a": bool(rng.random() < 0.5), "b": bool(rng.random() < 0.5)},
        }
        for i in range(120)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run("tasks", tmp_path / "log.jsonl") == 0
    assert "m-1.0, m-1.1; the model changed within the file" in capsys.readouterr().out


def test_what_the_command_cannot_do_is_said(tmp_path, capsys, table):
    table[["fraud", "fraud_p"]].to_csv(tmp_path / "log.csv", index=False)
    assert run("tasks", tmp_path / "log.csv") == 1
    assert "one problem, or none" in capsys.readouterr().err
    assert run("tasks", tmp_path / "log.csv", "--out", tmp_path / "t.json") == 2
    assert "--target-accuracy 0.95" in capsys.readouterr().err
    assert run("tasks", tmp_path / "log.csv", "--read", "kind=logits") == 2
    assert run("tasks", tmp_path / "log.csv", "--test", tmp_path / "log.csv") == 2
