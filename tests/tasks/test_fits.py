"""A calibrator for each task, its threshold on rows of its own, and the bundle that a program loads."""

from __future__ import annotations

import importlib.util
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import calib
from calib.tasks import fit_tasks, tasks_of


@pytest.fixture(scope="module")
def tasks():
    """A calibrated question, one that is stated too high, and one without labels, of one model."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 1, (2400, 3)).round(3)
    happened = (rng.random((2400, 3)) < p ** [1, 2, 1]).astype(float)
    happened[:, 2] = np.nan
    columns = {"id": np.arange(2400), "model": "m-1.0"}
    for j, name in enumerate(("fraud", "../churn", "spam")):
        columns |= {name: happened[:, j], f"{name}_p": p[:, j]}
    return tasks_of(pd.DataFrame(columns))


def unzipped(bundle: bytes, folder):
    (folder / "tasks.zip").write_bytes(bundle)
    with zipfile.ZipFile(folder / "tasks.zip") as archive:
        archive.extractall(folder)
    spec = importlib.util.spec_from_file_location("bundled", folder / "predict.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_program_loads_one_calibrator_a_task(tasks, tmp_path):
    fitted = fit_tasks(tasks, "platt", target_accuracy=0.8)
    assert [*fitted] == ["fraud", "../churn"] and fitted.reasons == {"spam": "no labels"}
    loaded = unzipped(fitted.to_bytes(), tmp_path).load_tasks()
    contents = json.loads((tmp_path / "tasks.json").read_text())
    assert [*loaded] == [*contents] == [*fitted]
    assert all("/" not in entry["file"] for entry in contents.values())
    for name, data in tasks.items():
        learned, test = data.split(0.5, random_state=0)
        own = calib.calibrator("platt").fit(learned)
        score = test.probs[:, 1]
        probs = loaded[name].predict_proba(score)
        np.testing.assert_allclose(probs, own.predict_proba(test), atol=1e-9)
        row = contents[name]
        sure = probs.max(axis=1) >= row["threshold"] - 1e-12
        right = probs.argmax(axis=1) == test.labels
        assert row["accuracy"] == pytest.approx(right[sure].mean())
        assert row["coverage"] == pytest.approx(sure.mean())
        assert (row["rows"], row["model"]) == (len(test), "m-1.0")
        actions = loaded[name].decide(score)
        np.testing.assert_array_equal(actions, np.where(sure, probs.argmax(axis=1), -1))


def test_without_a_target_there_are_calibrators_alone(tasks, tmp_path):
    fitted = fit_tasks(tasks, "temperature")
    loaded = unzipped(fitted.to_bytes(), tmp_path).load_tasks(tmp_path)
    assert {*fitted.contents()["fraud"]} == {"file", "method"}
    assert loaded["fraud"].record["decision"] is None
    assert fitted["fraud"].metadata["model"] == "m-1.0"


def test_what_cannot_be_fitted_has_a_reason(tasks):
    fitted = fit_tasks(tasks, "geometric")
    assert not fitted and {*fitted.reasons} == {"fraud", "../churn", "spam"}
    with pytest.raises(calib.CalibrationError, match="No task has a calibrator"):
        fitted.to_bytes()
    with pytest.raises(ValueError, match="target_accuracy"):
        fit_tasks(tasks, target_accuracy=95)


@pytest.mark.long
def test_promises_of_calibrated_confidences_hold_together():
    """Of 100 logs with three overconfident questions at most 5 % (and noise) break one of their promises."""
    rng = np.random.default_rng(1)
    broken = certified = 0
    for draw in range(100):
        p = rng.uniform(0, 1, (400, 3)).round(3)
        truth = p**1.5
        happened = (rng.random((400, 3)) < truth).astype(int)
        columns = {f"q{j}": happened[:, j] for j in range(3)}
        columns |= {f"q{j}_p": p[:, j] for j in range(3)}
        tasks = tasks_of(pd.DataFrame(columns))
        fitted = fit_tasks(tasks, "platt", target_accuracy=0.8, delta=0.05, random_state=draw)
        grid = np.linspace(0.0005, 0.9995, 1000)
        worst = 1.0
        for calibrator in fitted.values():
            if calibrator.decision is None:
                continue
            certified += 1
            probs = calibrator.predict_proba(grid)
            sure = probs.max(axis=1) >= calibrator.decision.threshold
            chance = np.where(probs[:, 1] >= 0.5, grid**1.5, 1 - grid**1.5)
            worst = min(worst, chance[sure].mean() if sure.any() else 1.0)
        broken += worst < 0.8
    assert certified > 150
    assert broken <= 5 + 2 * np.sqrt(100 * 0.05 * 0.95)
