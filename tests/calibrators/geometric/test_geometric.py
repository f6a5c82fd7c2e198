"""Geometric separation as a calibrator: its maps, digits, every export, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from calib.calibrators.geometric import (
    Geometric,
    exact_separation,
    fast_separation,
    fit_success_map,
)
from calib.data.samples import load_sample
from calib.diagnostics import shift_data
from calib.errors import CalibrationError
from calib.export import runtime, writer
from tests.conftest import ROOT
from tests.export.test_writer import BLOCKER, run_python

VARIANTS = [
    {},
    {"exact": True, "map": "sigmoid"},
    {"distance": "l1", "reduction": "mean_pool"},
    {"reduction": "pca", "map": "sigmoid"},
    {"reduction": "kmeans"},
]


@pytest.fixture(scope="module")
def digits():
    """Calibration and test part of the sample that carries images."""
    return load_sample("digits-cnn").split(0.5, random_state=0)


def fitted(data, **params):
    return Geometric(**params).fit(
        data.logits,
        data.labels,
        features=data.features,
        train_features=data.train_features,
        train_labels=data.train_labels,
    )


def blobs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of three overlapping classes, their labels, and logits of a model that is often wrong."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 3, n)
    features = 1.2 * np.eye(3)[labels] + generator.normal(size=(n, 3)) * 0.8
    return features, labels, 3 * np.eye(3)[labels] + 2 * generator.normal(size=(n, 3))


@pytest.fixture(scope="module")
def small():
    (train_features, train_labels, _), (features, labels, logits) = blobs(150, 0), blobs(400, 1)
    return (
        {"features": features, "train_features": train_features, "train_labels": train_labels},
        logits,
        labels,
    )


# -- the maps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [False, True])
def test_the_isotonic_map_is_that_of_the_separation(small, exact):
    extras, logits, labels = small
    predicted = logits.argmax(axis=1)
    separate = exact_separation if exact else fast_separation
    separation = separate(
        extras["train_features"], extras["train_labels"], extras["features"], predicted
    )
    # Rows of equal separation count as one point with their number as its weight, as the paper fits it.
    points, where, counts = np.unique(separation, return_inverse=True, return_counts=True)
    rate = np.bincount(where, predicted == labels) / counts
    expected = IsotonicRegression(out_of_bounds="clip").fit(points, rate, sample_weight=counts)
    made = Geometric(exact=exact).fit(logits, labels, **extras)
    others, _, other_logits = blobs(300, 2)
    seen = separate(
        extras["train_features"], extras["train_labels"], others, other_logits.argmax(axis=1)
    )
    np.testing.assert_allclose(
        made.predict_confidence(other_logits, others), expected.predict(seen), atol=1e-9
    )


def test_the_sigmoid_map_is_a_logistic_regression(small):
    extras, logits, labels = small
    predicted = logits.argmax(axis=1)
    separation = fast_separation(
        extras["train_features"], extras["train_labels"], extras["features"], predicted
    )
    column = separation[:, None] / separation.std()
    regression = LogisticRegression(C=1e4, tol=1e-10, max_iter=1000).fit(
        column, predicted == labels
    )
    made = Geometric(map="sigmoid").fit(logits, labels, **extras)
    expected = regression.predict_proba(column)[:, 1]
    np.testing.assert_allclose(
        made.predict_confidence(logits, extras["features"]), expected, atol=1e-5
    )


def test_a_separation_that_tells_right_from_wrong_is_fitted_to_platts_targets():
    """Likelihood alone has no best slope there, and confidences of 1e-108 would come of it."""
    separation = np.linspace(-1, 1, 40)
    said = fit_success_map("sigmoid", separation, separation > 0).apply(separation)
    assert said.mean() == pytest.approx(0.5)
    assert said[0] > 1e-3


# -- awkward training sets -----------------------------------------------------------------------------


@pytest.mark.parametrize("map", ["isotonic", "sigmoid"])
def test_a_class_without_training_rows_is_the_least_safe(small, map):
    extras, logits, labels = small
    kept = extras["train_labels"] != 2
    without = {name: extras[name][kept] for name in ("train_features", "train_labels")}
    made = Geometric(map=map).fit(logits, labels, features=extras["features"], **without)
    confidence = made.predict_confidence(logits, extras["features"])
    absent = logits.argmax(axis=1) == 2
    assert np.ptp(confidence[absent]) == 0
    assert confidence[absent][0] == confidence.min()
    assert made.notes()[-1].startswith(
        f"{absent.sum():,} of 400 calibration rows have no finite separation"
    )


@pytest.mark.parametrize("params", [{}, {"map": "sigmoid"}])
def test_a_training_set_of_one_class_is_refused(small, params):
    """Its separations are all infinite: a confidence of them would know nothing of the inputs."""
    extras, logits, labels = small
    one = {"train_features": extras["train_features"][:5], "train_labels": np.ones(5, int)}
    with pytest.raises(
        CalibrationError,
        match=r"None of 400 .* finite separation.*\(5 rows, 1 class\).*every class",
    ):
        Geometric(**params).fit(logits, labels, features=extras["features"], **one)


# -- digits --------------------------------------------------------------------------------------------


def test_notes_count_safe_and_dangerous_rows(digits):
    calibration, _ = digits
    made = fitted(calibration)
    predicted = calibration.logits.argmax(axis=1)
    distance = np.linalg.norm(
        calibration.features.reshape(-1, 1, 64).astype(float)
        - calibration.train_features.reshape(1, -1, 64),
        axis=2,
    )
    same = calibration.train_labels == predicted[:, None]
    safe = np.where(same, distance, np.inf).min(axis=1) < np.where(same, np.inf, distance).min(
        axis=1
    )
    right = predicted == calibration.labels
    assert made.safe_ == [safe.sum(), (safe & right).sum()]
    assert made.dangerous_ == [(~safe).sum(), (~safe & right).sum()]
    first, second, third, fourth = made.notes()
    assert (
        f"{safe.sum():,} are safe, of which {100 * right[safe].mean():.1f}\xa0% are right" in first
    )
    assert "250 training rows of 64 numbers" in second
    certain = made.predict_confidence(calibration.logits, calibration.features) == 1
    assert right[certain].all()
    # The upper end of the exact 95 % interval, one-sided: m rows are all right in 5 % of samples.
    at_most = 100 * beta.ppf(0.95, 1, certain.sum())
    assert (
        f"none of {certain.sum():,} calibration rows was wrong; up to {at_most:.2g}\xa0% may be wrong"
        in third
    )
    hopeless = made.predict_confidence(calibration.logits, calibration.features) == 0
    assert hopeless.any() and not right[hopeless].any()
    assert f"exactly 0 where none of {hopeless.sum():,} calibration row" in fourth
    assert len(fitted(calibration, map="sigmoid").notes()) == 2


# -- export --------------------------------------------------------------------------------------------

PREDICT = (
    BLOCKER
    + """
import numpy as np
from calib import runtime
for name in sys.argv[1:]:
    rows = np.load("rows.npz")
    np.save(name + ".npy", runtime.load(name).predict_confidence(rows["outputs"], rows["features"]))
"""
)


def test_every_export_predicts_the_same_with_numpy_alone(digits, tmp_path):
    calibration, test = digits
    expected = {}
    for number, params in enumerate(VARIANTS):
        made = fitted(calibration, **params)
        writer.save(made.remember(calibration.output_format()), tmp_path / f"{number}.pkl")
        expected[f"{number}.pkl"] = made.predict_confidence(test.logits, test.features)
    np.savez(tmp_path / "rows.npz", outputs=test.logits, features=test.features)
    run_python(PREDICT, tmp_path, str(ROOT), *expected)
    for name, confidence in expected.items():
        said = np.load(tmp_path / f"{name}.npy")
        np.testing.assert_allclose(
            said, confidence, rtol=0, atol=1e-9, err_msg=f"{name}: {VARIANTS[int(name[0])]}"
        )


def test_an_export_that_could_not_be_read_again_is_refused(digits, monkeypatch):
    monkeypatch.setattr("calib.export.writer.LARGEST", 10_000)
    with pytest.raises(CalibrationError, match=r"carries 0\.0 GB.*smaller training set"):
        writer.to_bytes("pkl", fitted(digits[0]))


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"features": lambda a: a[:-1]}, r"shape \(399, 3\) for 400 rows of logits"),
        ({"features": lambda a: a.ravel()}, r"shape \(1200,\)"),
        ({"train_labels": lambda a: a + 1}, r"train_labels must lie in 0\.\.2.*found 1\.\.3"),
        ({"train_labels": lambda a: a - 1}, r"found -1\.\.1"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(small, changes, says):
    extras, logits, labels = small
    wrong = {**extras, **{name: change(extras[name]) for name, change in changes.items()}}
    with pytest.raises(CalibrationError, match=says):
        Geometric().fit(logits, labels, **wrong)


def test_a_prediction_needs_the_inputs_of_its_rows(small):
    extras, logits, labels = small
    made = Geometric().fit(logits, labels, **extras)
    with pytest.raises(CalibrationError, match="predicts from the inputs"):
        made.predict_confidence(logits)
    with pytest.raises(CalibrationError, match=r"shape \(399, 3\) for 400 rows"):
        made.predict_confidence(logits, extras["features"][1:])


# -- another scale -------------------------------------------------------------------------------------


def test_inputs_on_another_scale_are_refused_by_every_export(digits, tmp_path):
    calibration, test = digits
    made = fitted(calibration, reduction="mean_pool")
    writer.save(made.remember(calibration.output_format()), tmp_path / "c.pkl")
    loaded = runtime.load(tmp_path / "c.pkl")
    for wrong in (test.features / 255, test.features * 255.0):
        for confidence in (made.predict_confidence, loaded.predict_confidence):
            with pytest.raises(
                CalibrationError, match=r"(?s)reaches .* but one of .* 1; .*255.*prepare"
            ):
                confidence(test.logits, wrong)
        with pytest.raises(CalibrationError, match="prepare both in the same way"):
            shift_data.judge(loaded, replace(test, features=wrong))


def test_sets_on_different_scales_are_noted_and_either_is_taken(small):
    extras, logits, labels = small
    made = Geometric().fit(logits, labels, **{**extras, "features": extras["features"] / 255})
    assert "one was probably divided by 255" in made.notes()[0]
    made.predict_confidence(logits, extras["features"] / 255)
    made.predict_confidence(logits, extras["features"])
    with pytest.raises(CalibrationError, match="prepare both in the same way"):
        made.predict_confidence(logits, extras["features"] * 255)
    assert "255" not in " ".join(Geometric().fit(logits, labels, **extras).notes())
