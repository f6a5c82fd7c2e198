"""Pairs of a confidence and whether the answer is correct."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calib.data import Choices, Event, inspect, load
from tests.data.conftest import the

NAMES = np.array(["ant", "bee", "cat", "dog"])


def confidence(make):
    return make.probs.max(axis=1)


def right(make):
    return make.logits.argmax(axis=1) == make.labels


def frame(make, correct):
    return pd.DataFrame(
        {"id": [f"q{i}" for i in range(300)], "confidence": confidence(make), "correct": correct}
    )


def test_correct_in_any_wording(make):
    words = [
        ("False", "True"),
        (0.0, 1.0),
        ("no", "yes"),
        ("Incorrect", "Correct"),
        ("falsch", "wahr"),
        (-1, 1),
    ]
    for pair in [*words, ("fail", "pass"), ("\u2717", "\u2713")]:
        data = load(make.csv(frame(make, np.array(pair)[right(make).astype(int)])))
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


def test_predicted_and_actual_make_correct_answers(make):
    """Compared as labels are: without case and blanks, 2.0 as 2."""
    predicted, actual = NAMES[make.logits.argmax(axis=1)], np.char.title(NAMES[make.labels])
    table = pd.DataFrame(
        {"predicted": predicted, "actual": actual, "confidence": confidence(make) * 100}
    )
    options = Choices(kind="pairs", outputs="confidence", labels="actual", predicted="predicted")
    data = load(make.csv(table), choices=options)
    np.testing.assert_array_equal(data.correct, right(make))
    np.testing.assert_allclose(data.confidence, confidence(make), rtol=1e-12)
    assert data.scale == "percent"
