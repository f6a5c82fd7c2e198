"""Texts of the two views: each says of the event what the other says of the confidence."""

from __future__ import annotations

import inspect

import pytest

from calib.evaluation.view import EVENT, PAIRS, TOP_LABEL, ConfidenceWording, View
from calib.metrics.bootstrap import Interval

PUBLIC = [name for name in vars(ConfidenceWording) if not name.startswith("_")]
ARGUMENTS = {
    "n": 30,
    "predicted": 0.25,
    "observed": 0.5,
    "positive": 1200,
    "negative": 34,
    "subject": "Platt",
    "gap": Interval(0.03, 0.01, 0.05),
    "direction": "**higher**",
    "size": "+3.0 points",
    "ratio": Interval(2.0, 1.0, 4.0),
    "odds": 1.0,
}


def text_of(wording: ConfidenceWording, name: str) -> str:
    value = getattr(wording, name)
    if not callable(value):
        return str(value)
    needed = [
        name
        for name, one in inspect.signature(value).parameters.items()
        if one.default is one.empty
    ]
    return str(value(**{name: ARGUMENTS[name] for name in needed}))


@pytest.mark.parametrize("name", PUBLIC)
def test_no_text_of_an_event_speaks_of_confidence(name: str) -> None:
    texts = [text_of(view.wording, name) for view in (TOP_LABEL, EVENT)]
    assert texts[0] != texts[1]
    if name != "scores":
        assert "risk" not in texts[0] and "event" not in texts[0]
        assert "confidence" not in texts[1] and "accuracy" not in texts[1]


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.startswith("explain")])
@pytest.mark.parametrize("view", [TOP_LABEL, EVENT])
def test_explanations_are_whole_sentences(view: View, name: str) -> None:
    text = text_of(view.wording, name)
    assert text[0].isupper() and text.endswith(".")


def test_answers_have_the_texts_of_the_confidence() -> None:
    assert PAIRS.wording is TOP_LABEL.wording


def test_numbers_stand_where_the_sentence_names_them() -> None:
    wording = EVENT.wording
    assert (
        wording.describe_means(0.25, 0.5)
        == "mean predicted risk 25.0\u00a0%, observed rate 50.0\u00a0%"
    )
    ratio = wording.describe_ratio(Interval(2.0, 1.0, 4.0), 0.25)
    assert ratio == (
        "The raw model's ratio o / u is 2.00 (1.00 to 4.00), and would be 0.250 if calibrated: "
        "the odds of the event (20.0\u00a0%)."
    )
    outcomes = wording.describe_outcomes(1200, 34)
    assert outcomes == "Predicted risk of 1,200 rows with the event and 34 without it"
