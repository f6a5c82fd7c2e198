"""Pairs of a confidence and whether the answer is correct, and predicted classes that only check."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.data import Choices, Event, inspect, load
from tests.data.conftest import the

NAMES = np.array(["ant", "bee", "cat", "dog"])


def confidence(make):
    return make.probs.max(axis=1)


def right(make):
    return make.logits.argmax(axis=1) == make.labels


def frame(make, correct):
    return pd.DataFrame({"id": [f"q{i}" for i in range(300)], "confidence": confidence(make), "correct": correct})


WORDINGS = [
    *[("False", "True"), (0.0, 1.0), ("no", "yes"), ("Incorrect", "Correct"), ("falsch", "wahr"), (-1, 1)],
    *[("fail", "pass"), ("\u2717", "\u2713")],
]


@pytest.mark.parametrize("words", WORDINGS)
def test_correct_in_any_wording(make, words):
    data = load(make.csv(frame(make, np.array(words)[right(make).astype(int)])))
    assert data.kind == "pairs" and data.class_names == ("wrong", "correct")
    assert data.event == Event(1, "correct", data.event.reason)
    np.testing.assert_array_equal(data.correct, right(make))
    np.testing.assert_allclose(data.confidence, confidence(make), rtol=1e-12)


def test_values_that_say_nothing_are_asked_for(make):
    path = make.csv(frame(make, np.array(["alpha", "beta"])[right(make).astype(int)]))
    error = the(inspect(path), "correct_unclear")
    assert list(error.readings.values()) == [{"event": "alpha"}, {"event": "beta"}]
    np.testing.assert_array_equal(load(path, event="beta").correct, right(make))
    np.testing.assert_array_equal(load(path, event="alpha").correct, ~right(make))


@pytest.mark.parametrize("scale", ["percent", None])
def test_predicted_and_actual_make_correct_answers(make, scale):
    """Compared as labels are: without case and blanks, 2.0 as 2."""
    table = pd.DataFrame(
        {
            "predicted": NAMES[make.logits.argmax(axis=1)],
            "actual": np.char.title(NAMES[make.labels]),
            "confidence": confidence(make) * (100 if scale else 1),
        }
    )
    options = Choices(kind="pairs", outputs="confidence", labels="actual", predicted="predicted")
    data = load(make.csv(table), choices=options)
    np.testing.assert_array_equal(data.correct, right(make))
    np.testing.assert_allclose(data.confidence, confidence(make), rtol=1e-12)
    assert data.scale == scale


def test_confidences_that_tell_nothing_are_said(make):
    shuffled = np.random.default_rng(0).permutation(confidence(make))
    data = load(make.csv(frame(make, right(make)).assign(confidence=shuffled)))
    assert the(data, "labels_shuffled").level == "warning"
    assert not any(f.code == "labels_shuffled" for f in load(make.csv(frame(make, right(make)))).findings)


# Predicted classes beside outputs.


def beside(make, predicted, order=range(4)):
    """A table of outputs with a column of predicted classes; the names of the columns may be in another order."""
    columns = {f"p_{NAMES[k]}": make.probs[:, j] for j, k in enumerate(order)}
    return make.csv(pd.DataFrame({**columns, "label": NAMES[make.labels], "predicted": predicted}))


def test_predicted_classes_of_another_model_are_said(make):
    other = NAMES[np.random.default_rng(0).integers(4, size=300)]
    finding = the(load(beside(make, other), predicted="predicted"), "predicted_differs")
    assert not finding.fix and "rows" in finding.message
