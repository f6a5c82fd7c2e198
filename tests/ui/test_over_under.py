"""The Over/underconfidence page, with its numbers and with uploads that leave some of them undefined."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib import metrics
from calib.diagnostics.subgroups import by_band
from calib.evaluation import evaluate
from calib.formatting import percent
from calib.numerics import softmax
from calib.ui.session import OpenSession
from tests.conftest import simulate
from tests.ui.conftest import FITTED, charts, clean, group, open_page, said, table, twice, unfold

PAGE = "pages/6_Over_underconfidence.py"
FIRST = 3
"""Figures at first sight: the ratio, u and o."""
FOLDED = {"numbers": 0, "bands": 1, "classes": 1, "groups": 1, "densities": 0, "theorem": 1}
"""Figures that each further question adds with one method; a density for each is extra."""
FIGURES = FIRST + sum(FOLDED.values())


def opened(session: OpenSession, *parts: str) -> AppTest:
    """The page with some further questions opened, or all."""
    app = open_page(PAGE, session)
    assert clean(app)
    assert len(charts(app)) == FIRST
    return unfold(app, *(f"confidence/{part}" for part in parts or FOLDED))


def finding(app: AppTest) -> str:
    return app.markdown[0].value


def test_raw_predictions_alone(sample_to_read: OpenSession) -> None:
    app = opened(sample_to_read)
    assert clean(app)
    assert len(charts(app)) == FIGURES + 1
    evaluation = evaluate(softmax(sample_to_read.test.logits), sample_to_read.test.labels)
    assert f"overconfident by {100 * evaluation.signed_gap:.1f} points" in finding(app)
    ratio = metrics.over_under_ratio(*evaluation.pair)
    assert f"ratio o / u is {ratio:.1f} " in finding(app)
    assert "calibrators" not in finding(app)


def test_every_method_is_shown_before_and_after(fits_to_read: OpenSession) -> None:
    app = opened(fits_to_read)
    assert clean(app)
    assert len(charts(app)) == FIGURES + 1 + len(FITTED)
    assert f"of {len(FITTED)} calibrators" in finding(app) or all(
        m in finding(app) for m in ("is **over", "is **under")
    )
    numbers = table(app, "change of o / u")
    assert len(numbers) == 1 + len(FITTED)
    assert numbers["change of o"].tolist()[0] == "–"
    assert all(cell.startswith(("+", "-")) for cell in numbers["change of o"].tolist()[1:])
    assert all(cell.startswith("×") for cell in numbers["change of o / u"].tolist()[1:])


def test_the_table_of_bands_adds_up(fits_to_read: OpenSession) -> None:
    bands = table(opened(fits_to_read, "bands"), "0.99 to 1")
    raw = by_band(evaluate(softmax(fits_to_read.test.logits), fits_to_read.test.labels))
    first = bands.iloc[0]
    assert first["method"] == "Uncalibrated"
    assert first["gap"] == f"{100 * raw.contribution.sum():+.1f}"
    assert first["0.99 to 1"].startswith(f"{100 * raw.contribution[4]:+.1f}")
    assert first["0.99 to 1"].endswith(f"[{percent(raw.share[4], 0)}]")


def test_number_and_scheme_of_bins_are_a_choice(sample_to_read: OpenSession) -> None:
    app = opened(sample_to_read, "theorem")
    app.number_input(key="confidence/bins").set_value(1)
    app.selectbox(key="confidence/binning").select("equal_mass").run()
    assert clean(app)
    assert "1 equal mass bins" in said(app)
    app.number_input(key="confidence/bins").set_value(15)
    choice = app.selectbox(key="confidence/binning")
    assert choice.options == ["equal width", "equal mass", "k-means", "I-Max"]
    choice.select("imax").run()
    assert clean(app)
    assert "15 I-Max bins" in said(app)
    app = open_page("pages/3_Reliability.py", sample_to_read)
    assert app.selectbox(key="rel/binning").value == "equal_mass"
    app.selectbox(key="rel/binning").select("imax").run()
    assert not app.exception
    assert not app.error
    assert "15 I-Max bins" in said(app)


def test_classes_by_label_and_with_more_rows_than_any_has(fits_to_read: OpenSession) -> None:
    app = opened(fits_to_read, "classes")
    app.segmented_control(key="confidence/by").set_value("label").run()
    assert clean(app)
    assert "Of 10 true classes" in said(app)
    assert "even a calibrated model is overconfident" in said(app)
    n_charts = len(charts(app))
    app.number_input(key="confidence/least").set_value(10_000).run()
    assert clean(app)
    assert "No true class has 10,000 rows; the largest has" in said(app)
    assert len(charts(app)) == n_charts - 1


def test_a_closer_look_at_another_method(fits_to_read: OpenSession) -> None:
    app = opened(fits_to_read, "bands")
    gpcalib = next(key for key, spec in fits_to_read.specs.items() if spec.method == "gpcalib")
    group(app, "confidence/closer").set_value(gpcalib).run()
    assert clean(app)
    assert "beneath it GPcalib" in said(app)
    group(app, "confidence/closer").set_value("raw").run()
    assert clean(app)
    assert "beneath it" not in said(app)


def drawn_from(*means: float) -> np.ndarray:
    """Logits of 300 rows, the first of three classes the largest by far."""
    generator = np.random.default_rng(0)
    return np.c_[means[0] + generator.random(300), means[1] + generator.random((300, 2))]


THREE = np.tile([4.0, 0.0, 0.0], (40, 1))
TEN_ROWS = simulate(n=10, n_classes=3)
ODD = {
    "all right": (
        THREE,
        np.zeros(40, int),
        ["none of 40", "neither over- nor under", "(0 wrong"],
    ),
    "all wrong": (THREE, np.ones(40, int), ["none of 40", "overconfident by 96.5 points"]),
    "never in doubt": (np.tile([900.0, 0.0], (100, 1)), (np.arange(100) < 20).astype(int), ["(u = 0)"]),
    "ten rows": (*TEN_ROWS, ["No predicted class has 10 rows", f"{np.bincount(TEN_ROWS[0].argmax(axis=1)).max()}."]),
    "two rows": (np.array([[1.0, 0.0], [0.5, 0.0]]), np.r_[0, 1], []),
    "two rows of one class": (np.array([[1.0, 0.0], [0.5, 0.0]]), np.r_[0, 0], []),
    "one class predicted": (drawn_from(3, 0), np.arange(300) % 3, ["2 classes never predicted"]),
    "one class in the labels": (drawn_from(2, 1.5), np.zeros(300, int), []),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_data(name: str) -> None:
    logits, labels, words = ODD[name]
    app = opened(twice(logits, labels))
    assert clean(app)
    assert all(part in said(app) for part in words)
    if name == "all right":
        assert len(charts(app)) == FIGURES + 1
    if name == "one class in the labels":
        app.segmented_control(key="confidence/by").set_value("label").run()
        assert clean(app)
        assert "Of 1 true class, " in said(app)
        assert "2 classes without rows." in said(app)


@pytest.mark.long
def test_a_thousand_classes() -> None:
    app = opened(twice(*simulate(n=3000, n_classes=1000, scale=4.0)))
    assert clean(app)
    app.number_input(key="confidence/least").set_value(2).run()
    assert clean(app)
    assert len(charts(app)) == FIGURES + 1
    assert "The first 20 are drawn." in said(app)
