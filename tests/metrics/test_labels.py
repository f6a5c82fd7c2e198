"""Labels as people have them: texts, booleans, -1 and 1, 1 to K, categories; the same for every public function."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import calib
from calib import decisions, metrics
from calib.errors import CalibrationError, CalibrationWarning

pytestmark = pytest.mark.usefixtures("few_simulations")

GENERATOR = np.random.default_rng(4)
SEVERAL = GENERATOR.dirichlet([1.0, 1.0, 1.0], 90)
CLASSES = np.array([GENERATOR.choice(3, p=row) for row in SEVERAL])
RISK = GENERATOR.random(90)
EVENT = (GENERATOR.random(90) < RISK).astype(int)
CODED_CLASSES = {
    "texts": np.array(["ant", "bee", "cat"])[CLASSES],
    "objects": np.array(["ant", "bee", "cat"], dtype=object)[CLASSES],
    "from one": CLASSES + 1,
    "hundreds": np.array([-100, 0, 700])[CLASSES],
    "floats": CLASSES.astype(float),
    "categories": pd.Series(np.array(["ant", "bee", "cat"])[CLASSES], dtype="category"),
    "list": np.array(["ant", "bee", "cat"])[CLASSES].tolist(),
}
CODED_EVENTS = {
    "texts": np.where(EVENT, "yes", "no"),
    "signs": 2 * EVENT - 1,
    "from one": EVENT + 1,
    "booleans": EVENT.astype(bool),
    "floats": EVENT.astype(float),
    "categories": pd.Series(np.where(EVENT, "yes", "no"), dtype="category"),
}
COSTS = decisions.Costs(false_alarm=1, miss=3)
OF_CLASSES = {
    "ece": calib.ece,
    "ece of classes": lambda p, y: calib.ece(p, y, of="classwise"),
    "nll": metrics.nll,
    "brier": metrics.brier,
    "accuracy": metrics.accuracy,
    "top 2": lambda p, y: metrics.top_k_accuracy(p, y, k=2),
    "smooth": metrics.smooth_ece,
    "debiased": metrics.debiased_ece,
    "gap": metrics.confidence_gap,
    "over": metrics.overconfidence,
    "corp": lambda p, y: metrics.corp(p, y, target=1).score,
    "cumulative": lambda p, y: metrics.cumulative_test(p, y).kuiper,
    "scores": lambda p, y: calib.scores(p, y, ci=False)["value"].tolist(),
    "curve": lambda p, y: calib.reliability_curve(p, y).ece,
    "groups": lambda p, y: calib.find_groups(p, y, np.arange(90) % 3, least_rows=10).average,
    "sets": lambda p, y: decisions.conformal_sets(p, y).quantiles.tolist(),
}
OF_EVENTS = {
    "ece": calib.ece,
    "nll": metrics.nll,
    "brier": metrics.brier,
    "accuracy": metrics.accuracy,
    "auroc": metrics.auroc,
    "precision": metrics.average_precision,
    "corp": lambda p, y: metrics.corp(p, y).score,
    "panel": lambda p, y: metrics.risk_model(p, y, n_resamples=0)["oe"].value,
    "benefit": lambda p, y: metrics.net_benefit(p, y, [0.3]).model.value[0],
    "scores": lambda p, y: calib.scores(p, y, ci=False)["value"].tolist(),
    "curve": lambda p, y: calib.reliability_curve(p, y).ece,
    "groups": lambda p, y: calib.find_groups(p, y, np.arange(90) % 3, least_rows=10).average,
    "decision": lambda p, y: (
        decisions.event_decision(p, p**2, y, decisions.Goal(costs=COSTS)).outcome.cost
    ),
    "rows": lambda p, y: decisions.rows_needed(p, y)[0].rows,
    "outcome": lambda p, y: decisions.outcome_of(p >= 0.5, y, COSTS).cost,
    "rate": lambda p, y: decisions.estimate_rate(p, y, p, n_resamples=5).rate,
}


@pytest.mark.parametrize("coding", CODED_CLASSES)
@pytest.mark.parametrize("function", OF_CLASSES)
def test_classes_may_be_coded_in_any_way(function, coding):
    call = OF_CLASSES[function]
    np.testing.assert_equal(call(SEVERAL, CODED_CLASSES[coding]), call(SEVERAL, CLASSES))


@pytest.mark.parametrize("coding", CODED_EVENTS)
@pytest.mark.parametrize("function", OF_EVENTS)
def test_an_event_is_the_second_of_two_labels(function, coding):
    call = OF_EVENTS[function]
    np.testing.assert_equal(call(RISK, CODED_EVENTS[coding]), call(RISK, EVENT))


@pytest.mark.parametrize("function", OF_CLASSES)
def test_columns_that_are_called_as_the_labels_are_theirs(function):
    table = pd.DataFrame(SEVERAL, columns=["dog", "cat", "ant"])
    call = OF_CLASSES[function]
    named = call(table, np.array(["dog", "cat", "ant"])[CLASSES])
    np.testing.assert_allclose(named, call(SEVERAL, CLASSES), rtol=1e-13)


@pytest.mark.parametrize("function", [f for f in OF_CLASSES if f not in ("sets", "costs")])
def test_swapped_arguments_are_called_so(function):
    with pytest.raises(CalibrationError, match=r"calib takes \(probs, labels\), scikit-learn"):
        OF_CLASSES[function](CLASSES, SEVERAL)


@pytest.mark.parametrize("function", [f for f in OF_EVENTS if f not in ("decision", "outcome")])
@pytest.mark.parametrize("coding", ["texts", "floats", "signs"])
def test_swapped_arguments_of_an_event_are_called_so(function, coding):
    with pytest.raises(CalibrationError, match=r"calib takes \(probs, labels\), scikit-learn"):
        OF_EVENTS[function](CODED_EVENTS[coding], RISK)


def test_tables_with_the_same_rows_in_another_order_are_refused():
    risk = pd.Series(RISK)
    with pytest.raises(CalibrationError, match=r"labels\.loc\[outputs\.index\]"):
        metrics.brier(risk, pd.Series(EVENT)[::-1])
    assert metrics.brier(risk, pd.Series(EVENT)) == metrics.brier(RISK, EVENT)


def test_labels_that_count_from_one_are_pointed_out_where_the_last_class_is_absent():
    chosen = CLASSES < 2
    sure = 0.9 * np.eye(3)[CLASSES] + 0.1 / 3
    with pytest.warns(CalibrationWarning, match=r"pass labels - 1"):
        calib.ece(sure[chosen], CLASSES[chosen] + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calib.ece(sure[CLASSES > 0], CLASSES[CLASSES > 0])


def test_correct_is_true_or_false():
    with pytest.raises(CalibrationError, match=r"correct must be True or False.*'wrong'"):
        calib.ece(confidence=[0.9, 0.8], correct=["wrong", "right"])


def test_several_classes_beside_the_probability_of_one():
    with pytest.raises(CalibrationError, match=r"3 different values.*labels == k"):
        calib.ece(SEVERAL[:, 1], CLASSES)
