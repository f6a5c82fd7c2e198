"""The display draws the curve of :func:`calib.reliability_curve`, of what scikit-learn's displays take."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import calib
from calib.errors import CalibrationError
from calib.metrics.bootstrap import wilson_interval
from calib.sklearn import ReliabilityDisplay

X, NUMBERS = make_classification(600, n_redundant=6, n_informative=5, n_classes=3, random_state=0)
LABELS = np.array(["one", "three", "two"])[NUMBERS]
BINARY = NUMBERS == 0


def fitted(labels):
    return make_pipeline(StandardScaler(), GaussianNB()).fit(X[:300], labels[:300])


def test_two_classes_agree_with_scikit_learns_curve():
    probs = fitted(BINARY).predict_proba(X[300:])[:, 1]
    shares, means = calibration_curve(BINARY[300:], probs, n_bins=7)
    display = ReliabilityDisplay.from_predictions(
        BINARY[300:], probs, n_bins=7, binning="equal_width"
    )
    np.testing.assert_allclose(display.curve.confidence, means)
    np.testing.assert_allclose(display.curve.accuracy, shares)
    low, high = wilson_interval(shares * display.curve.count, display.curve.count)
    np.testing.assert_allclose([display.curve.low, display.curve.high], [low, high])


def test_estimators_and_their_predictions_are_drawn_alike():
    model = fitted(LABELS)
    one = ReliabilityDisplay.from_estimator(model, X[300:], LABELS[300:])
    other = ReliabilityDisplay.from_predictions(
        LABELS[300:], model.predict_proba(X[300:]), name="Pipeline"
    )
    curve = calib.reliability_curve(model.predict_proba(X[300:]), NUMBERS[300:], 7, "equal_mass")
    for display in (one, other):
        np.testing.assert_array_equal(display.curve.accuracy, curve.accuracy)
        np.testing.assert_array_equal(display.curve.confidence, curve.confidence)
        assert display.name == "Pipeline" and display.figure_.layout.title.text == "Pipeline"
        assert display.figure_.layout.xaxis.title.text == "confidence"


def test_one_class_of_several_and_the_other_of_two_are_drawn_when_named():
    probs = fitted(LABELS).predict_proba(X[300:])
    display = ReliabilityDisplay.from_predictions(LABELS[300:], probs, pos_label="two", n_bins=5)
    curve = calib.reliability_curve(probs, NUMBERS[300:], 5, "equal_mass", target=2)
    np.testing.assert_array_equal(display.curve.accuracy, curve.accuracy)
    assert display.figure_.layout.xaxis.title.text == "P(two)"
    of_two = ReliabilityDisplay.from_estimator(
        fitted(BINARY), X[300:], BINARY[300:], pos_label=False
    )
    assert of_two.curve.mean_accuracy == pytest.approx(np.mean(~BINARY[300:]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            lambda: ReliabilityDisplay.from_predictions(LABELS, np.full((600, 2), 0.5)),
            "classes=\\[",
        ),
        (
            lambda: ReliabilityDisplay.from_predictions(LABELS[:5], np.full((600, 3), 1 / 3)),
            "\\(5,\\)",
        ),
        (
            lambda: ReliabilityDisplay.from_predictions(BINARY, np.full(600, 0.5), pos_label="x"),
            "pos_label",
        ),
        (
            lambda: ReliabilityDisplay.from_predictions([0, 1, None], [0.1, 0.2, 0.3]),
            "1 of 3 labels",
        ),
        (lambda: ReliabilityDisplay.from_predictions([], []), "0 classes"),
        (lambda: ReliabilityDisplay.from_predictions([0, 1], [0.1, np.nan]), "1 of 2 rows of prob"),
        (
            lambda: ReliabilityDisplay.from_estimator(RidgeClassifier().fit(X, LABELS), X, LABELS),
            "predict_proba",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(given, said):
    with pytest.raises(CalibrationError, match=said):
        given()


def test_several_models_share_axes_of_matplotlib(rng):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = figure.add_subplot()
    labels = rng.random(300) < 0.4
    risks = {name: np.clip(rng.normal(0.4 + 0.2 * labels, 0.1), 0, 1) for name in ("one", "two")}
    displays = [
        ReliabilityDisplay.from_predictions(labels, risk, name=name, ax=ax)
        for name, risk in risks.items()
    ]
    diagonals = [line for line in ax.lines if line.get_gid() == "calibrated"]
    assert len(diagonals) == 1 and len(ax.containers) == 2
    for drawn, display in zip(ax.containers, displays, strict=True):
        x, y = drawn.lines[0].get_data()
        np.testing.assert_array_equal(x, display.curve.confidence)
        np.testing.assert_array_equal(y, display.curve.accuracy)
        (ends,) = (segments.get_segments() for segments in drawn.lines[2])
        np.testing.assert_allclose(
            [end[:, 1] for end in ends], np.c_[display.curve.low, display.curve.high]
        )
    assert [text.get_text().partition(",")[0] for text in ax.get_legend().get_texts()] == [*risks]
    assert ax.get_xlabel() == "P(True)" and displays[0].figure_ is not None  # plotly's own
