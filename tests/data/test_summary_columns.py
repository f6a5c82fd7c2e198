"""A column with the predicted class, or its confidence, beside the scores of the classes is no class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.data import Choices, inspect, load, read_outputs


def table(make, names="abcd", **more):
    """Scores under plain names, as pandas writes a table of probabilities."""
    scores = pd.DataFrame(make.probs, columns=list(names))
    return scores.assign(y_true=make.labels, **more)


@pytest.mark.parametrize("name", ["y_pred", "prediction", "yhat", "pred", "predicted_label", "Predicted Class"])
@pytest.mark.parametrize("write", ["csv", "parquet"])
def test_the_predicted_class_is_left_out_and_said(make, name, write):
    path = getattr(make, write)(table(make, **{name: make.probs.argmax(axis=1), "id": np.arange(300)}))
    found = inspect(path)
    data = found.predictions
    assert found.choices.outputs == ("a", "b", "c", "d")
    assert (data.kind, data.n_classes) == ("probabilities", 4)
    np.testing.assert_allclose(data.logits, np.log(make.probs), rtol=1e-12)
    (finding,) = [f for f in data.findings if f.code == "left_out"]
    assert finding.level == "info" and name in finding.message
    np.testing.assert_allclose(read_outputs(path), make.probs, rtol=1e-15)


def test_the_confidence_is_left_out_too(make):
    assert load(make.csv(table(make, confidence=make.probs.max(axis=1)))).class_names == ("a", "b", "c", "d")


def test_a_single_score_beside_the_predicted_class(make):
    p = make.probs[:, 1]
    data = load(make.csv(pd.DataFrame({"p": p, "y_pred": (p > 0.5).astype(int), "y_true": make.binary})))
    assert data.kind == "binary_probability"
    np.testing.assert_allclose(data.logits[:, 1], np.log(p), rtol=1e-12)


def test_the_predicted_class_is_never_taken_for_the_label(make):
    found = inspect(make.csv(table(make, y_pred=make.probs.argmax(axis=1)).drop(columns="y_true")))
    assert found.findings[0].code == "no_labels"


def test_predictions_that_are_scores_stay_outputs(make):
    """netcal and many others call the outputs themselves y_pred."""
    assert load(make.npz(y_pred=make.probs, y_true=make.labels)).n_classes == 4
    assert load(make.npz(y_pred=make.probs[:, 1], y_true=make.binary)).kind == "binary_probability"
    single = pd.DataFrame({"y_pred": make.probs[:, 1], "y_true": make.binary})
    assert load(make.csv(single)).kind == "binary_probability"
    numbered = pd.DataFrame({**{f"pred_{k}": make.probs[:, k] for k in range(4)}, "y": make.labels})
    assert load(make.csv(numbered)).n_classes == 4


def test_what_is_chosen_by_hand_is_used(make):
    path = make.csv(table(make, conf=make.probs.max(axis=1)))
    found = inspect(path, choices=Choices(outputs=("a", "b", "c", "d", "conf"), kind="logits"))
    assert found.predictions.n_classes == 5
    assert not [f for f in found.findings if f.code == "left_out"]
