"""Scores in an MLflow evaluation are those of the library."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib
from tests.conftest import simulate

pytestmark = pytest.mark.engines


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_evaluation_has_the_scores_with_their_intervals(n_classes, tmp_path, monkeypatch):
    import mlflow

    from calib.adapters.mlflow import calibration

    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    logits, labels = simulate(n=300, n_classes=n_classes)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    given = probs[:, 1] if n_classes == 2 else probs
    table = pd.DataFrame({"label": labels, "risk": list(given)})
    with mlflow.start_run() as run:
        found = mlflow.models.evaluate(
            data=table, predictions="risk", targets="label", extra_metrics=[calibration("own")]
        )
    scores = calib.scores(given, labels)
    names = {
        "NLL": "NLL",
        "Brier": "Brier",
        **({"ECE of P(event)": "ECE of P event"} if n_classes == 2 else {"ECE": "ECE"}),
    }
    for key, name in names.items():
        for end, column in (("", "value"), ("_low", "low"), ("_high", "high")):
            assert found.metrics[f"own/{name}{end}"] == pytest.approx(scores.loc[key, column])
    assert mlflow.get_run(run.info.run_id).data.metrics["own/NLL"] == pytest.approx(
        scores.loc["NLL", "value"]
    )
