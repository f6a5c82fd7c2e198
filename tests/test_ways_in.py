"""The same rows have the same scores whichever way they come in; docs/guide/scales.md says how zeros and sums count."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import calib
from calib import metrics
from calib.numerics import softmax
from calib.sklearn.evaluation import brier_scorer, ece_scorer, nll_scorer

SCORES = ("NLL", "Brier", "ECE")


def drawn(n: int, n_classes: int, decimals: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident probabilities rounded to some decimals, many to 0, and labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, n_classes))
    labels = np.array([rng.choice(n_classes, p=row) for row in softmax(logits)])
    return softmax(4 * logits).round(decimals), labels


def by_hand(probs: np.ndarray, labels: np.ndarray) -> tuple[float, float, float]:
    """NLL, Brier score and ECE of rows divided by their sums, in which zeros are zeros."""
    probs = probs / probs.sum(axis=1, keepdims=True)
    truth = np.eye(probs.shape[1])[labels]
    confidence, correct = probs.max(axis=1), probs.argmax(axis=1) == labels
    inside = np.minimum(np.floor(confidence * 15 + 1e-6), 14)
    gaps = [np.sum(confidence[inside == b] - correct[inside == b]) for b in range(15)]
    of_label = np.maximum((probs * truth).sum(axis=1), 1e-15)
    return (
        -np.log(of_label).mean(),
        ((probs - truth) ** 2).sum(axis=1).mean(),
        np.abs(gaps).sum() / len(labels),
    )


def from_arrays(probs, labels, folder):
    return metrics.nll(probs, labels), metrics.brier(probs, labels), calib.ece(probs, labels)


def from_table(probs, labels, folder):
    return calib.scores(probs, labels, ci=False).loc[list(SCORES), "value"]


def from_frame(probs, labels, folder):
    frame = pd.DataFrame(probs, columns=[f"class{k}" for k in range(probs.shape[1])])
    return calib.scores(calib.from_outputs(frame, labels), ci=False).loc[list(SCORES), "value"]


def from_predictions(probs, labels, folder):
    data = calib.from_outputs(probs, labels)
    return from_arrays(data.probs, data.labels, folder)


def from_npz(probs, labels, folder):
    np.savez(folder / "rows.npz", probs=probs, labels=labels)
    return calib.scores(calib.load(folder / "rows.npz"), ci=False).loc[list(SCORES), "value"]


def from_csv(probs, labels, folder):
    frame = pd.DataFrame(probs, columns=[f"p_{k}" for k in range(probs.shape[1])]).assign(
        label=labels
    )
    frame.to_csv(folder / "rows.csv", index=False)
    return calib.scores(calib.load(folder / "rows.csv"), ci=False).loc[list(SCORES), "value"]


def raw_rows(table):
    return table[table["method"] == "identity"].set_index("score").loc[list(SCORES), "value"]


def from_comparison(probs, labels, folder):
    data = calib.from_outputs(probs, labels)
    return raw_rows(
        calib.compare(
            {"temperature": calib.calibrator("temperature")}, data.take(range(100)), data
        ).table
    )


def from_report(probs, labels, folder):
    return raw_rows(calib.report(probs, labels, path=folder / "report.html", methods=[]).table)


def from_scorers(probs, labels, folder):
    model = SimpleNamespace(predict_proba=lambda rows: probs, classes_=np.arange(probs.shape[1]))
    return [-scorer(model, probs, labels) for scorer in (nll_scorer, brier_scorer, ece_scorer)]


WAYS = (
    *(from_arrays, from_table, from_frame, from_predictions, from_npz, from_csv),
    *(from_comparison, from_report, from_scorers),
)


@pytest.mark.parametrize("way", WAYS)
def test_scores_of_the_same_rows_are_the_same_numbers(way, tmp_path):
    probs, labels = drawn(800, 10, decimals=4, seed=0)
    of_label = probs[np.arange(len(labels)), labels]
    assert (of_label == 0).any() and 1e-4 < np.abs(probs.sum(axis=1) - 1).max() < 1e-3
    np.testing.assert_allclose(way(probs, labels, tmp_path), by_hand(probs, labels), rtol=1e-12)


@pytest.mark.parametrize("decimals", [1, 2])
def test_an_events_scores_are_the_same_numbers(decimals, tmp_path):
    probs, labels = drawn(500, 2, decimals, seed=1)
    risk = probs[:, 1]
    expected = [
        -np.log(np.maximum(probs[np.arange(500), labels], 1e-15)).mean(),
        np.mean((risk - labels) ** 2),
    ]
    np.savez(tmp_path / "rows.npz", p=risk, y=labels)
    for data in (calib.from_outputs(risk, labels), calib.load(tmp_path / "rows.npz")):
        table = calib.scores(data, ci=False)["value"]
        np.testing.assert_allclose(table[["NLL", "Brier"]], expected, rtol=1e-12)
        assert table["ECE of P(event)"] == pytest.approx(calib.ece(risk, labels), rel=1e-12)
        np.testing.assert_allclose(data.probs[:, 1], risk, atol=1e-15)
    assert metrics.nll(risk, labels) == pytest.approx(expected[0])
    assert metrics.brier(risk, labels) == pytest.approx(expected[1])


@pytest.mark.parametrize(("n_classes", "decimals"), [(10, 3), (3, 1), (2, 2)])
def test_fits_take_the_same_logits_of_arrays_and_of_data(n_classes, decimals):
    probs, labels = drawn(600, n_classes, decimals, seed=2)
    probs /= probs.sum(axis=1, keepdims=True)
    data = calib.from_outputs(probs, labels)
    np.testing.assert_array_equal(calib.logits(probs), data.logits)
    np.testing.assert_array_equal(calib.logits(probs[:1], floor=data.floor), data.logits[:1])
    assert np.exp(data.logits[probs == 0]) == pytest.approx(
        probs[probs > 0].min() / 2 / (n_classes - 1)
    )


def test_zeros_of_rounded_probabilities_leave_the_temperature():
    """Rounding to three decimals is no reason for another temperature: that of the exact probabilities is 4."""
    probs, labels = drawn(2000, 10, decimals=3, seed=3)
    fitted = calib.calibrator("temperature").fit(
        calib.logits(probs / probs.sum(axis=1, keepdims=True)), labels
    )
    assert 3 < fitted.temperature_ < 5 and not fitted.notes()
