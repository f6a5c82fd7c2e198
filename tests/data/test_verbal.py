"""Confidences in words: asked for once per word, with a proposal that is never applied unconfirmed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.data import Choices, DataError, inspect, load, read_rows
from tests.data.conftest import the

WORDS = np.array(["Very likely", "likely", "unlikely", "almost certain"])
NUMBERS = np.array([0.875, 0.675, 0.325, 0.97])
PAIRS = Choices(kind="pairs", outputs="confidence", labels="correct")


def table(make, confidence):
    return make.csv(pd.DataFrame({"id": range(300), "confidence": confidence, "correct": make.binary == 1}))


def test_words_are_asked_for_with_their_rows_and_the_proposal_is_one_click(make):
    path = table(make, WORDS[make.labels])
    error = inspect(path, choices=PAIRS).findings[0]
    assert (error.level, error.code) == ("error", "verbal")
    for word, n in zip(WORDS, np.bincount(make.labels), strict=True):
        assert f"{word.lower()!r} ({n:,} rows)" in error.message
    assert "Directive 203" in error.action and "Kent" in error.action
    data = load(path, choices=PAIRS, **error.fix)
    assert data.kind == "pairs"
    np.testing.assert_allclose(data.confidence, NUMBERS[make.labels], rtol=1e-12)
    np.testing.assert_array_equal(data.correct, make.binary == 1)
    assert "very likely = 0.875" in the(data, "verbal").message


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_table_of_text_alone_has_its_names_in_its_first_line(make, ending):
    answers = [f"answer {k}" for k in range(300)]
    columns = {"question": "Which?", "response": answers, "certainty": WORDS[make.labels]}
    frame = pd.DataFrame({**columns, "verdict": np.array(["wrong", "correct"])[make.binary]})
    path = make.csv(frame)
    if ending == "xlsx":
        path = path.with_suffix(".xlsx")
        frame.to_excel(path, index=False)
    asked = inspect(path)
    assert asked.choices.header is True and set(asked.words) == {word.lower() for word in WORDS}
    data = load(path, **asked.findings[0].fix)
    np.testing.assert_allclose(data.confidence, NUMBERS[make.labels], rtol=1e-12)
    np.testing.assert_array_equal(data.correct, make.binary == 1)
    assert inspect(make.csv(frame, header=False)).choices.header is False


def test_words_in_no_list_are_asked_for_where_the_column_is_called_a_confidence(make):
    levels = np.array(["low", "medium", "high"])[make.labels % 3]
    frame = pd.DataFrame({"confidence": levels, "correct": make.binary == 1})
    assert inspect(make.csv(frame)).words == {"high": None, "low": None, "medium": None}
    given = ("high=0.9", "medium=0.6", "low=0.3")
    data = load(make.csv(frame), verbal=given)
    np.testing.assert_allclose(data.confidence, np.array([0.3, 0.6, 0.9])[make.labels % 3], rtol=1e-9)
    scored = load(make.csv(frame.assign(score=make.probs[:, 0])))
    np.testing.assert_allclose(scored.confidence, make.probs[:, 0], rtol=1e-9)


def test_numbers_of_ones_own_win_and_rows_without_a_word_are_left_out(make):
    words = WORDS[make.labels].astype(object)
    words[3] = None
    given = ("very likely=90%", "likely=.7", "unlikely=0.2", "almost certain=1")
    data = load(table(make, words), choices=PAIRS, verbal=given)
    np.testing.assert_allclose(
        data.confidence, np.delete(np.array([0.9, 0.7, 0.2, 1])[make.labels], 3), rtol=1e-9, atol=1e-9
    )
    assert len(data) == 299 and "row 4" in the(data, "rows_left_out").message


def test_what_gives_no_word_a_probability_is_refused(make):
    for given in ("likely", "likely=1.2", "=0.5", "likely=much"):
        found = inspect(table(make, WORDS[make.labels]), choices=PAIRS, verbal=(given,))
        assert found.findings[0].code == "verbal" and found.findings[0].action


def test_new_rows_are_read_with_the_same_words(make):
    path = table(make, WORDS[make.labels])
    words = tuple(f"{word}={number}" for word, number in zip(WORDS, NUMBERS, strict=True))
    rows = read_rows(path, Choices(verbal=words))
    np.testing.assert_allclose(rows.outputs[:, 0], NUMBERS[make.labels], rtol=1e-12)
    with pytest.raises(DataError, match="confidences in words") as raised:
        read_rows(path)
    np.testing.assert_allclose(read_rows(path, Choices(**raised.value.findings[0].fix)).outputs, rows.outputs)
