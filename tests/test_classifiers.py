"""Calibrators are classifiers: scikit-learn's tools take them, and its checks pass where outputs are any numbers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import calib
from calib.calibrators.temperature import TemperatureScaling
from tests.conftest import ROOT

QUICK = {"gpcalib": {"max_iter": 5}, "bayes_iso": {"n_maps": 100}}
SLOW = ("gpcalib", "bayes_iso", "order_preserving", "structured_matrix", "dirichlet", "auto")
NAMES = [name for name, method in calib.METHODS.items() if not method.needs]

COLUMNS = "it gives two columns and three labels, and outputs have a column for each class"
WORDS = "it looks for words of scikit-learn in an error that is told in other words"
EXCLUDED = {
    **dict.fromkeys(
        ("check_estimators_overwrite_params", "check_estimators_fit_returns_self",
         "check_readonly_memmap_input", "check_classifiers_classes", "check_classifiers_train"), COLUMNS,
    ),
    **dict.fromkeys(
        ("check_n_features_in_after_fitting", "check_complex_data", "check_estimators_empty_data_messages",
         "check_classifiers_regression_target", "check_fit2d_1sample", "check_fit2d_predict1d",
         "check_requires_y_none"), WORDS,
    ),
    "check_fit_score_takes_y": "the arguments are outputs and labels, not X and y",
    "check_estimators_unfitted": "the error is calib's own, which needs no scikit-learn",
    "check_dtype_object": "objects that are no numbers are refused",
    "check_supervised_y_2d": "labels of shape (n, 1) are refused",
    "check_classifiers_one_label": "a class without rows keeps its column",
    "check_classifiers_one_label_sample_weights": "a class without rows keeps its column",
}  # fmt: skip
"""Checks that do not hold, with the reason."""


class AnyNumbers(TemperatureScaling):
    """Takes all outputs for logits, also those in [0, 1]."""

    def fit(self, X, y, **extras):
        return super().fit(X, y, kind="logits", **extras)


def data(n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits, probabilities and labels with names of three classes."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 3
    logits = rng.normal(size=(n, 3)) * 2
    logits[np.arange(n), codes] += 2
    return logits, softmax(logits, axis=1), np.array(["cat", "dog", "owl"])[codes]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.long] * (n in SLOW)) for n in NAMES]
)
def test_tools_of_scikit_learn_take_every_method(name):
    logits, probs, labels = data()
    made = calib.calibrator(name, **QUICK.get(name, {}))
    assert is_classifier(made)
    outside = cross_val_predict(made, probs, labels, cv=2, method="predict_proba")
    by_hand = np.empty_like(outside)
    for rows in _folds(labels):
        by_hand[rows] = clone(made).fit(probs[~rows], labels[~rows]).predict_proba(probs[rows])
    np.testing.assert_allclose(outside, by_hand)
    search = GridSearchCV(made, {"random_state": [0, 1]}, cv=2, scoring="neg_log_loss")
    search.fit(logits, labels)
    assert set(search.best_estimator_.predict(logits)) <= set(labels)
    whole = make_pipeline(FunctionTransformer(), made).fit(probs, labels)
    accuracy = np.mean(whole.predict(probs) == labels)
    assert whole.score(probs, labels) == pytest.approx(accuracy)
    assert len(cross_val_score(made, logits, labels, cv=2)) == 2


def _folds(labels):
    """Masks of the test rows of two stratified folds, as scikit-learn deals them."""
    from sklearn.model_selection import StratifiedKFold

    for _, test in StratifiedKFold(2).split(labels, labels):
        yield np.isin(np.arange(len(labels)), test)


def test_sample_weight_means_weights():
    logits, _, labels = data()
    weights = 1.0 + np.arange(60) % 3
    one = calib.calibrator("platt").fit(logits, labels, weights=weights)
    other = calib.calibrator("platt").fit(logits, labels, sample_weight=weights)
    np.testing.assert_array_equal(one.predict_proba(logits), other.predict_proba(logits))
    plain = calib.calibrator("bbq").fit(logits, labels, sample_weight=np.full(60, 2.0))
    np.testing.assert_array_equal(
        plain.predict_proba(logits),
        calib.calibrator("bbq").fit(logits, labels).predict_proba(logits),
    )


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn_pass_where_outputs_may_be_any_numbers():
    found = check_estimator(
        AnyNumbers(), expected_failed_checks=EXCLUDED, on_skip=None, on_fail=None
    )
    failed = {each["check_name"]: each["exception"] for each in found if each["status"] == "failed"}
    assert not failed
    expected = {each["check_name"] for each in found if each["status"] == "xfail"}
    assert expected == set(EXCLUDED)


def test_tags_do_not_import_scikit_learn_before_it_asks():
    code = (
        "import sys, calib; fitted = calib.calibrator('temperature').fit([[0.9, 0.1], [0.2, 0.8]], [0, 1]);"
        "print(fitted.classes_, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[0 1] False", done.stderr
