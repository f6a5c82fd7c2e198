"""The Over- and underconfidence page: its numbers and its classes."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from calib.numerics import softmax
from calib.ui.session import OpenSession
from tests.ui.conftest import FITTED, charts, clean, open_page, table, unfold

PAGE = "pages/6_Over_underconfidence.py"
FIRST, ALL = 1, 4
"""Figures at first sight, which is the ratio, and with all questions opened."""
FOLDED = ("bands", "classes", "theorem")


def opened(session: OpenSession, *parts: str) -> AppTest:
    """The page with some further questions opened, or all."""
    app = open_page(PAGE, session)
    assert clean(app)
    assert len(charts(app)) == FIRST
    return unfold(app, *(f"confidence/{part}" for part in parts or FOLDED))


def finding(app: AppTest) -> str:
    return " ".join(element.value for element in app.markdown[:5])


def test_every_method_is_shown_before_and_after(fits_to_read: OpenSession) -> None:
    app = opened(fits_to_read)
    assert clean(app)
    assert len(charts(app)) == ALL
    assert f"of {len(FITTED)} calibrators" in finding(app) or all(
        m in finding(app) for m in ("is off by **+", "is off by **−")
    )


def test_classes_are_those_that_the_raw_model_predicts_of_the_test_rows(
    fits_to_read: OpenSession,
) -> None:
    app = unfold(opened(fits_to_read, "classes"), "classes/numbers")
    assert clean(app)
    shown = table(app, "class").set_index("class")
    test = fits_to_read.test
    assert shown["rows"].sum() == len(test)
    assert shown.loc["digit 3", "rows"] == (test.logits.argmax(axis=1) == 3).sum()


def test_the_small_table_has_the_means_of_wrong_and_right_predictions(
    fits_to_read: OpenSession,
) -> None:
    shown = table(open_page(PAGE, fits_to_read), "odds").set_index("method")
    test = fits_to_read.test
    confidence = softmax(test.logits).max(axis=1)
    right = test.logits.argmax(axis=1) == test.labels
    row = shown.loc["Uncalibrated"]
    assert float(row["o"]) == pytest.approx(confidence[~right].mean(), rel=5e-3)
    assert float(row["u"]) == pytest.approx((1 - confidence[right]).mean(), rel=5e-3)
    assert len(shown) == 1 + len(FITTED)
    # First, since a phone cuts the last columns.
    assert shown.columns[0] == "gap, points"
    gap = 100 * (confidence.mean() - right.mean())
    assert float(row["gap, points"]) == pytest.approx(gap, abs=0.051)
