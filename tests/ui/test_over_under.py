"""The Over/underconfidence page, with its numbers and with uploads that leave some of them undefined."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib import metrics
from calib.diagnostics.subgroups import by_band
from calib.evaluation import evaluate
from calib.numerics import softmax
from calib.ui.session import OpenSession
from tests.conftest import simulate
from tests.ui.conftest import FITTED, charts, clean, open_page, said, twice

PAGE = "pages/3_Over_underconfidence.py"
FIGURES = 8
"""With one method: u, o, ratio, chain, plane, bands, any number of bins, classes; a density for each is extra."""


def finding(app: AppTest) -> str:
    return app.markdown[0].value


def table(app: AppTest, column: str):
    return next(frame.value for frame in app.dataframe if column in frame.value.columns)


def closer(app: AppTest):
    return next(control for control in app.segmented_control if control.label == "Method")


def test_raw_predictions_alone(with_sample: OpenSession) -> None:
    app = open_page(PAGE, with_sample)
    assert clean(app)
    assert len(charts(app)) == FIGURES + 1
    evaluation = evaluate(softmax(with_sample.test.logits), with_sample.test.labels)
    assert f"overconfident by {100 * evaluation.signed_gap:.1f} points" in finding(app)
    ratio = metrics.over_under_ratio(*evaluation.pair)
    assert f"ratio o / u is {ratio:.1f} " in finding(app)
    assert "calibrators" not in finding(app)


def test_every_method_is_shown_before_and_after(with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
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


def test_the_table_of_bands_adds_up(with_fits: OpenSession) -> None:
    bands = table(open_page(PAGE, with_fits), "0.99 to 1")
    raw = by_band(evaluate(softmax(with_fits.test.logits), with_fits.test.labels))
    first = bands.iloc[0]
    assert first["method"] == "Uncalibrated"
    assert first["gap"] == f"{100 * raw.contribution.sum():+.1f}"
    assert first["0.99 to 1"].startswith(f"{100 * raw.contribution[4]:+.1f}")
    assert first["0.99 to 1"].endswith(f"[{100 * raw.share[4]:.0f} %]")


def test_the_bins_are_a_choice_and_one_bin_makes_all_equal(with_sample: OpenSession) -> None:
    app = open_page(PAGE, with_sample)
    app.number_input(key="confidence/bins").set_value(1).run()
    assert clean(app)
    app.selectbox(key="confidence/binning").select("equal_mass").run()
    assert clean(app)
    assert "1 equal mass bins" in said(app)


def test_every_scheme_of_bins_is_offered_by_name(with_sample: OpenSession) -> None:
    app = open_page(PAGE, with_sample)
    choice = app.selectbox(key="confidence/binning")
    assert choice.options == ["equal width", "equal mass", "k-means", "I-Max"]
    choice.select("imax").run()
    assert clean(app)
    assert "15 I-Max bins" in said(app)
    app = open_page("pages/2_Reliability.py", with_sample)
    assert app.selectbox(key="rel/binning").value == "equal_mass"
    app.selectbox(key="rel/binning").select("imax").run()
    assert not app.exception
    assert not app.error
    assert "15 I-Max bins" in said(app)


def test_classes_by_label_and_with_more_rows_than_any_has(with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
    app.segmented_control(key="confidence/by").set_value("label").run()
    assert clean(app)
    assert "Of 10 true classes" in said(app)
    assert "even a calibrated model is overconfident" in said(app)
    n_charts = len(charts(app))
    app.number_input(key="confidence/least").set_value(10_000).run()
    assert clean(app)
    assert "No true class has 10,000 rows; the largest has" in said(app)
    assert len(charts(app)) == n_charts - 1


def test_a_closer_look_at_another_method(with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
    assert "beneath it Temperature" in said(app)
    gpcalib = next(key for key, spec in with_fits.specs.items() if spec.method == "gpcalib")
    closer(app).set_value(gpcalib).run()
    assert clean(app)
    assert "beneath it GPcalib" in said(app)
    closer(app).set_value("raw").run()
    assert clean(app)
    assert "beneath it" not in said(app)


def test_all_right() -> None:
    logits = np.tile([4.0, 0.0, 0.0], (40, 1))
    app = open_page(PAGE, twice(logits, np.zeros(40, int)))
    assert clean(app)
    assert "none of 40 predictions is wrong" in finding(app)
    assert "neither over- nor underconfident" in finding(app)
    assert "Too few to resample: Uncalibrated (0 wrong predictions, 40 right)" in said(app)
    assert len(charts(app)) == FIGURES + 1


def test_all_wrong() -> None:
    logits = np.tile([4.0, 0.0, 0.0], (40, 1))
    app = open_page(PAGE, twice(logits, np.ones(40, int)))
    assert clean(app)
    assert "none of 40 predictions is right" in finding(app)
    assert "overconfident by 96.5 points" in finding(app)


def test_never_in_doubt() -> None:
    logits = np.where(np.arange(2) == 0, 900.0, 0.0) * np.ones((100, 1))
    app = open_page(PAGE, twice(logits, (np.arange(100) < 20).astype(int)))
    assert clean(app)
    assert "(u = 0)" in finding(app)


def test_ten_rows() -> None:
    logits, labels = simulate(n=10, n_classes=3)
    app = open_page(PAGE, twice(logits, labels))
    assert clean(app)
    assert "Too few to resample" in said(app)
    most = np.bincount(logits.argmax(axis=1)).max()
    assert most < 10
    assert f"No predicted class has 10 rows; the largest has {most}." in said(app)


def test_one_class_in_the_labels() -> None:
    rng = np.random.default_rng(0)
    logits = np.c_[2 + rng.random(300), rng.random((300, 2)) + 1.5]
    app = open_page(PAGE, twice(logits, np.zeros(300, int)))
    assert clean(app)
    app.segmented_control(key="confidence/by").set_value("label").run()
    assert clean(app)
    assert "Of 1 true class, " in said(app)
    assert "2 classes without rows." in said(app)


def test_one_class_predicted() -> None:
    rng = np.random.default_rng(0)
    logits = np.c_[3 + rng.random(300), rng.random((300, 2))]
    app = open_page(PAGE, twice(logits, rng.integers(0, 3, 300)))
    assert clean(app)
    assert "2 classes never predicted." in said(app)


def test_a_thousand_classes() -> None:
    app = open_page(PAGE, twice(*simulate(n=3000, n_classes=1000, scale=4.0)))
    assert clean(app)
    app.number_input(key="confidence/least").set_value(2).run()
    assert clean(app)
    assert len(charts(app)) == FIGURES + 1
    assert "The first 20 are drawn." in said(app)


@pytest.mark.parametrize("labels", [np.r_[0, 1], np.r_[0, 0]])
def test_two_rows(labels: np.ndarray) -> None:
    app = open_page(PAGE, twice(np.array([[1.0, 0.0], [0.5, 0.0]]), labels))
    assert clean(app)
