"""A calibrated model is a scikit-learn classifier: its checks, its searches, its numbers, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import calib
from calib.errors import CalibrationError
from calib.metrics import brier, ece, nll
from calib.metrics.calibration_error import classwise_ece
from calib.numerics import log_softmax
from calib.sklearn import (
    CalibratedModel,
    Scorer,
    brier_scorer,
    ece_scorer,
    nll_scorer,
)

FURTHER_FOLDS: list[dict[str, Any]] = [
    {"n_jobs": 2}, *({"ensemble": True, "cv": cv} for cv in (ShuffleSplit(3, random_state=0), TimeSeriesSplit(3))),
]  # fmt: skip
FOLDS = [
    {"ensemble": True},
    *(pytest.param(folds, marks=pytest.mark.long) for folds in FURTHER_FOLDS),
]
SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def simulated(n_classes: int, n: int = 450) -> tuple[Any, Any]:
    """Rows of four informative columns and their classes, of which one in five is drawn anew."""
    return make_classification(
        n,
        n_features=6,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        flip_y=0.2,
        random_state=1,
    )


@pytest.fixture(scope="module")
def binary() -> tuple[Any, Any]:
    return simulated(2, 750)


@pytest.fixture(scope="module")
def named() -> tuple[Any, Any]:
    X, y = simulated(3)
    return X, np.array(["ham", "spam", "unsure"])[y]


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize(
    "model",
    [
        CalibratedModel(GaussianNB()),
        *(
            pytest.param(model, marks=pytest.mark.long)
            for model in (
                CalibratedModel(LinearSVC(random_state=0), method="isotonic"),
                CalibratedModel(GaussianNB(), ensemble=True),
                *(CalibratedModel(GaussianNB(), method=name) for name in ("auto", "imax")),
            )
        ),
    ],
    ids=str,
)
def test_scikit_learn_finds_a_classifier_that_keeps_its_rules(model):
    found = check_estimator(model, on_skip=None)
    assert len(found) > 40
    skipped = {check["check_name"] for check in found if check["status"] != "passed"}
    assert skipped <= {"check_array_api_input"}


@pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "folds"])
@pytest.mark.parametrize(
    "base", [LinearSVC(random_state=0), LogisticRegression()], ids=["scores", "probabilities"]
)
class TestTheNumbersOfScikitLearn:
    """Both fit the same map of the same out-of-fold scores; of a logistic regression the log-odds are the scores."""

    def pair(
        self, binary, base, frozen, theirs, ours, cv=3, ensemble=False, n_jobs=None, **parameters
    ):
        X, y = binary
        estimator = FrozenEstimator(base.fit(X[:250], y[:250])) if frozen else base
        X, y = X[250:500], y[250:500]
        reference = CalibratedClassifierCV(estimator, method=theirs, cv=cv, ensemble=ensemble).fit(
            X, y
        )
        own = CalibratedModel(
            estimator, method=ours, cv=cv, parameters=parameters, ensemble=ensemble, n_jobs=n_jobs
        )
        return reference, own.fit(X, y)

    @pytest.mark.parametrize("folds", FOLDS)
    def test_sigmoid(self, binary, base, frozen, folds):
        # Their targets are Platt's, which are an option here. Their optimiser stops at about 1e-8.
        theirs, ours = self.pair(
            binary, base, frozen, "sigmoid", "platt", platt_correction=True, **folds
        )
        if not (
            frozen and folds.get("ensemble")
        ):  # theirs fits one map for each fold of a frozen estimator too
            np.testing.assert_allclose(
                ours.predict_proba(binary[0]), theirs.predict_proba(binary[0]), atol=1e-6
            )
            np.testing.assert_array_equal(ours.predict(binary[0]), theirs.predict(binary[0]))

    def test_isotonic(self, binary, base, frozen):
        # Theirs reaches 0 and 1; here the steps end 1 / (n + 2) away, and so do the lines from them to the next step.
        theirs, ours = self.pair(binary, base, frozen, "isotonic", "isotonic")
        margin = 1 / 252
        steps = np.unique(theirs.calibrated_classifiers_[0].calibrators[0].y_thresholds_)
        assert ours.calibrator_.margin_ == margin and (steps.min(), steps.max()) == (0, 1)
        expected = theirs.predict_proba(binary[0])
        inner = (expected[:, 1] >= steps[1]) & (expected[:, 1] <= steps[-2])
        assert 0.5 < inner.mean() < 1
        np.testing.assert_allclose(ours.predict_proba(binary[0])[inner], expected[inner], atol=1e-9)
        np.testing.assert_allclose(ours.predict_proba(binary[0]), expected, atol=margin + 1e-9)

    @pytest.mark.skipif(SKLEARN < (1, 8), reason="scikit-learn has temperature scaling from 1.8 on")
    def test_temperature(self, binary, base, frozen):
        theirs, ours = self.pair(binary, base, frozen, "temperature", "temperature")
        np.testing.assert_allclose(
            ours.predict_proba(binary[0]), theirs.predict_proba(binary[0]), atol=1e-6
        )


def test_a_search_over_methods_in_a_pipeline_takes_the_best_of_them(named):
    X, y = named
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    methods = ["identity", "temperature", "isotonic"]
    pipeline = make_pipeline(StandardScaler(), CalibratedModel(GaussianNB(), cv=2))
    search = GridSearchCV(
        pipeline, {"calibratedmodel__method": methods}, cv=2, scoring=nll_scorer
    ).fit(table, y)
    expected = []
    for method in methods:
        losses = []
        for train, test in StratifiedKFold(2).split(X, y):
            model = pipeline.set_params(calibratedmodel__method=method).fit(
                table.iloc[train], y[train]
            )
            losses.append(log_loss(y[test], model.predict_proba(table.iloc[test])))
        expected.append(-np.mean(losses))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-9)
    assert search.best_params_["calibratedmodel__method"] == methods[int(np.argmax(expected))]


def test_a_search_sets_the_parameters_of_the_method(named):
    choices = [{"n_bins": 3, "share_classes": False}, {"n_bins": 7}]
    model = CalibratedModel(GaussianNB(), method="scaling_binning", cv=2)
    search = GridSearchCV(model, {"parameters": choices}, cv=2, scoring=nll_scorer).fit(*named)
    assert [each["parameters"] for each in search.cv_results_["params"]] == choices
    found = search.best_estimator_.calibrator_
    assert search.best_params_["parameters"].items() <= found.get_params().items()


def test_out_of_fold_outputs_are_calibrated_and_the_estimator_is_fitted_on_all_rows(named):
    X, y = named
    outputs = np.empty((len(y), 3))
    for train, test in StratifiedKFold(4).split(X, y):
        outputs[test] = GaussianNB().fit(X[train], y[train]).predict_log_proba(X[test])
    codes = np.unique(y, return_inverse=True)[1]
    expected = calib.calibrator("vector", random_state=3).fit(outputs, codes)
    model = CalibratedModel(GaussianNB(), method="vector", cv=4, random_state=3).fit(X, y)
    whole = GaussianNB().fit(X, y)
    probs = model.predict_proba(X)
    np.testing.assert_array_equal(probs, expected.predict_proba(whole.predict_log_proba(X)))
    np.testing.assert_array_equal(
        model.predict(X), np.array(["ham", "spam", "unsure"])[probs.argmax(axis=1)]
    )


@pytest.mark.parametrize(
    ("base", "kind"),
    [
        (RandomForestClassifier(5, random_state=0), "log_probabilities"),
        (KNeighborsClassifier(5), "probabilities"),
        (LinearSVC(random_state=0), "logits"),
    ],
)
def test_a_saved_model_and_an_exported_calibrator_give_the_same_numbers(
    named, tmp_path: Path, base, kind
):
    X, y = named
    model = CalibratedModel(base, method="isotonic", cv=3).fit(X[:300], y[:300])
    joblib.dump(model, tmp_path / "model.joblib")
    probs = model.predict_proba(X)
    np.testing.assert_array_equal(joblib.load(tmp_path / "model.joblib").predict_proba(X), probs)

    path = calib.export.save(model.calibrator_, tmp_path / "calibrator.npz")
    raw = {
        "log_probabilities": "predict_log_proba",
        "probabilities": "predict_proba",
        "logits": "decision_function",
    }
    with np.errstate(divide="ignore"):
        outputs = getattr(model.estimator_, raw[kind])(X)
    exported = calib.runtime.load(path)
    assert (exported.kind, exported.class_names) == (kind, ("ham", "spam", "unsure"))
    np.testing.assert_allclose(exported.predict_proba(outputs), probs, rtol=0, atol=1e-12)
    if (
        kind != "logits"
    ):  # the floor follows the smallest share of the out-of-fold outputs, of 5 neighbours 1/5
        assert np.isfinite(exported.floor) and exported.floor > 0
    if kind == "probabilities":
        assert exported.floor == pytest.approx(0.2 / 2 / 2)


def test_a_frozen_model_may_know_more_classes_than_the_calibration_rows(named):
    X, y = named
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    two = y != "ham"
    assert CalibratedModel(frozen).fit(X[two], y[two]).predict_proba(X).shape == (len(X), 3)
    with pytest.raises(CalibrationError, match="'eggs'"):
        CalibratedModel(frozen).fit(X, np.where(two, y, "eggs"))


class Recorder(GaussianNB):
    """Remembers by the first column which rows each fit was given, and with which weights."""

    seen: list[tuple[Any, Any]]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        Recorder.seen.append((X[:, 0].astype(int), sample_weight))
        return super().fit(X, y, sample_weight)


def test_groups_stay_in_one_fold():
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 4)
    y = generator.integers(2, size=120)
    Recorder.seen = []
    CalibratedModel(Recorder(), cv=3).fit(
        np.c_[groups, generator.normal(size=(120, 2))], y, groups=groups
    )
    *folds, whole = [np.bincount(rows, minlength=30) for rows, _ in Recorder.seen]
    assert len(folds) == 3 and all(set(fold) == {0, 4} for fold in folds) and set(whole) == {4}
    np.testing.assert_array_equal(sum(folds), 8)
    # A splitter of one's own is given the groups as they are, and metadata routing brings them.
    with sklearn.config_context(enable_metadata_routing=True):
        model = CalibratedModel(GaussianNB(), cv=GroupKFold(3)).set_fit_request(groups=True)
        X = generator.normal(size=(120, 2))
        assert np.isfinite(
            cross_val_score(model, X, y, cv=2, params={"groups": groups}, scoring=ece_scorer)
        ).all()


def test_weights_reach_the_estimator_and_methods_that_take_them(named):
    X, y = named
    X = np.c_[np.arange(len(y)), X]
    weights = 1.0 + np.arange(len(y)) % 3
    Recorder.seen = []
    model = CalibratedModel(Recorder(), method="identity", cv=3).fit(X, y, sample_weight=weights)
    assert len(Recorder.seen) == 4
    for rows, given in Recorder.seen:
        np.testing.assert_array_equal(given, weights[rows])
    expected = GaussianNB().fit(X, y, weights).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    # The mean of methods is that which the same weights and clusters give it directly.
    frozen, some, clusters = (
        FrozenEstimator(GaussianNB().fit(X, y)),
        slice(120),
        np.arange(120) // 4,
    )
    model = CalibratedModel(frozen, method="auto", parameters={"keep_accuracy": True})
    model.fit(X[some], y[some], groups=clusters, sample_weight=weights[some])
    outputs, codes = frozen.predict_log_proba(X[some]), np.unique(y, return_inverse=True)[1][some]
    direct = calib.calibrator("auto", keep_accuracy=True)
    direct.fit(outputs, codes, clusters=clusters, weights=weights[some])
    assert model.calibrator_.parts() == direct.parts()
    with pytest.raises(CalibrationError, match=r"from 1 to 3.*temperature.*auto"):
        CalibratedModel(GaussianNB(), method="gpcalib").fit(X, y, sample_weight=weights)
    CalibratedModel(GaussianNB(), cv=2).fit(
        X, y, sample_weight=np.full(len(y), 2.0)
    )  # all alike say nothing
    # scikit-learn's own error named neither the fold nor what to change.
    with pytest.raises(
        CalibrationError, match=r"fold 3 of 3 holds no row of class .* with a weight above 0; use"
    ):
        CalibratedModel(GaussianNB(), cv=KFold(3)).fit(
            X, y, sample_weight=np.arange(len(y)) >= 2 * len(y) / 3
        )


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (CalibratedModel(GaussianNB(), method="isotnic"), "no calibrator 'isotnic'"),
        (CalibratedModel(GaussianNB(), method="geometric"), "features"),
        (CalibratedModel(GaussianNB(), parameters={"bins": 3}), "bins"),
        (CalibratedModel(GaussianNB(), parameters=[1]), "must be a dictionary"),
        (CalibratedModel(GaussianNB(), parameters={1: 2}), "must be a dictionary"),
        (CalibratedModel(GaussianNB(), cv=[]), r"cv=\[\] gives no folds"),
        (CalibratedModel(GaussianNB(), cv=[(np.arange(5), np.arange(450))]), "fold 1 of 1"),
        (
            CalibratedModel(GaussianNB(), cv=LeaveOneOut(), ensemble=True),
            "fold 1 of 450 holds 1 row with",
        ),
        (CalibratedModel(StandardScaler()), "StandardScaler has neither"),
        (CalibratedModel(SVC(decision_function_shape="ovo"), cv=2), "6 columns for 4 classes"),
    ],
)
def test_what_cannot_be_done_is_said(model, match):
    X, y = simulated(4)
    with pytest.raises(CalibrationError, match=match):
        model.fit(X, np.sort(y) if match == "fold 1 of 1" else y)


def test_scorers_are_the_metrics_of_all_columns(named):
    X, y = named
    model = GaussianNB().fit(X, y)
    probs, codes = model.predict_proba(X), np.unique(y, return_inverse=True)[1]
    assert ece_scorer(model, X, y) == -ece(probs, codes)
    assert Scorer(ece, {"n_bins": 5})(model, X, y) == -ece(probs, codes, n_bins=5)
    squares = ((probs - np.eye(3)[codes]) ** 2).sum(axis=1)
    assert brier_scorer(model, X, y) == pytest.approx(-squares.mean())
    # Rows without one of the classes keep their columns.
    some = y != "ham"
    assert nll_scorer(model, X[some], y[some]) == -nll(probs[some], codes[some])
    assert nll_scorer(model, X, y) == pytest.approx(
        np.take_along_axis(log_softmax(np.log(probs)), codes[:, None], 1).mean()
    )
    weights = np.arange(450) % 3
    for scorer, metric in (
        (nll_scorer, nll),
        (ece_scorer, ece),
        (Scorer(ece, {"of": "classwise"}), classwise_ece),
    ):
        assert scorer(model, X, y, sample_weight=weights) == -metric(probs, codes, weights=weights)
    assert brier(probs, codes) == pytest.approx(squares.mean())
    of_ham = np.c_[1 - probs[:, 0], probs[:, 0]]
    assert brier(of_ham, (y == "ham").astype(int)) == pytest.approx(
        brier_score_loss(y == "ham", probs[:, 0])
    )
    with pytest.raises(CalibrationError, match=r"1 of 450 labels.*'eggs'"):
        nll_scorer(model, X, np.append(y[1:], "eggs"))


def test_metadata_are_routed_to_the_estimator_and_the_scorer(named):
    X, y = named
    X, weights = np.c_[np.arange(len(y)), X], 1.0 + np.arange(len(y)) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Recorder().set_fit_request(sample_weight=True)
        model = CalibratedModel(estimator, cv=3).set_fit_request(sample_weight=True)
        scorer = nll_scorer.set_score_request(sample_weight=True)
        Recorder.seen = []
        found = cross_val_score(
            model, X, y, cv=2, scoring=scorer, params={"sample_weight": weights}
        )
        assert len(Recorder.seen) == 8
        for rows, given in Recorder.seen:
            np.testing.assert_array_equal(given, weights[rows])
        train, test = next(StratifiedKFold(2).split(X, y))
        fitted = model.fit(X[train], y[train], sample_weight=weights[train])
        assert found[0] == nll_scorer(fitted, X[test], y[test], sample_weight=weights[test])
        asked = CalibratedModel(Recorder(), cv=3).set_fit_request(sample_weight=True)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            asked.fit(X, y, sample_weight=weights)


def test_identity_is_the_estimator_as_it_is_with_its_exact_zeros():
    X, y = make_classification(300, random_state=0)
    tree = KNeighborsClassifier(5).fit(X[:150], y[:150])
    made = CalibratedModel(FrozenEstimator(tree), method="identity").fit(X[150:], y[150:])
    raw = tree.predict_proba(X)
    assert (raw == 0).any()
    np.testing.assert_allclose(made.predict_proba(X), raw, atol=1e-12)


def test_prefit_is_answered_with_the_estimator_that_replaced_it():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(CalibrationError, match=r"given as sklearn\.frozen\.FrozenEstimator"):
        CalibratedModel(GaussianNB(), cv="prefit").fit(X, y)
