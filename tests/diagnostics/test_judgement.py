"""A worker's judgement of a fit is that of the library, to the bit, also after it was stored"""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calib.data.event import Event
from calib.data.predictions import Predictions
from calib.diagnostics.judgement import (
    arrays_to_judge,
    both_parts,
    class_pair,
    fit_method_and_judge,
    from_state,
    judge_fitted,
    raw_on_all_rows,
    state_of,
    views_of,
)
from calib.diagnostics.reliability import evaluation_diagram
from calib.engine import Fitted
from calib.evaluation import Evaluation
from calib.evaluation.evaluation import raw_model
from calib.evaluation.score_registry import scored_on
from calib.records import flatten, unflatten
from tests.conftest import assert_same, simulate
from tests.test_contract import VARIANTS, fitted, inputs


def rows(n_classes: int, **about: Any) -> Predictions:
    logits, labels = simulate(120, n_classes)
    names = tuple(f"class {k}" for k in range(n_classes))
    return Predictions(logits, labels, names, sha256="test", features=inputs(logits), **about)


def stored(judgement: Any) -> Any:
    """As it is read from a file into which it was written."""
    outline, arrays = flatten(state_of(judgement))
    return from_state(unflatten(json.loads(json.dumps(outline)), arrays))


@pytest.mark.parametrize("name", ["temperature", "imax", "spline", "gpcalib", "geometric"])
def test_a_worker_judges_a_method_as_the_library_does(name):
    made, test = fitted(name, VARIANTS[name][0]), rows(4)
    call = pickle.dumps((judge_fitted, made, arrays_to_judge(test, made)))
    function, sent, data = pickle.loads(call)
    judged = pickle.loads(pickle.dumps(function(sent, data=data)))
    here = Evaluation.from_predictions(made, test, "top-label")
    for back in (judged, stored(judged)):
        assert_same(back.evaluation, here)
        assert_same(back.resampled, {"top-label": scored_on(here)})
        assert_same(back.diagrams, {"top-label": evaluation_diagram(here)})


@pytest.mark.parametrize(
    ("about", "names"),
    [
        ({"event": Event(0, "class 0", "")}, ["event", "top-label"]),
        ({"clusters": np.repeat(np.arange(30), 4).astype(str)}, ["top-label"]),
        ({"weights": np.linspace(0.5, 2.0, 120), "weight_kind": "sampling"}, ["top-label"]),
        ({"weights": np.linspace(0.5, 2.0, 120)}, ["top-label"]),
        ({"kind": "pairs"}, ["pairs"]),
    ],
)
def test_what_is_known_of_the_rows_goes_with_them(about, names):
    made, test = fitted("temperature", {}, 2), rows(2, **about)
    judged = judge_fitted(made, data=arrays_to_judge(test))
    here = Evaluation.from_predictions(made, test, "top-label")
    assert list(judged.resampled) == list(judged.diagrams) == names
    for view in views_of(test):
        assert_same(judged.resampled[view.name], scored_on(here.seen(view)))
    assert_same(judged.evaluation, here)
    assert_same(stored(judged), judged)


def test_a_fit_without_test_rows_is_not_judged_and_its_time_is_that_of_the_fit_alone(monkeypatch):
    logits, labels = simulate(120, 4)
    given = {"logits": logits, "labels": labels}
    bare = fit_method_and_judge("temperature", {}, data=given, callback=lambda *_: None)
    assert isinstance(bare, Fitted)
    assert bare.judgement is None

    clock = iter([10.0, 12.0, 100.0, 170.0])
    monkeypatch.setattr("calib.diagnostics.judgement.time.perf_counter", lambda: next(clock))
    judged = fit_method_and_judge(
        "temperature", {}, data=given | arrays_to_judge(rows(4)), callback=lambda *_: None
    )
    assert (judged.seconds, judged.judgement.predict_seconds) == (2.0, 70.0)


def test_the_probabilities_of_a_class_are_those_of_the_library(monkeypatch):
    made, test = fitted("vector", {}), rows(4)
    monkeypatch.setattr("calib.diagnostics.judgement.MEMORY_ENTRIES", 4 * 50)  # in three blocks
    said, happened = class_pair(made, 2, data=arrays_to_judge(test))
    np.testing.assert_array_equal(said, made.predict_proba(test.logits)[:, 2])
    np.testing.assert_array_equal(happened, test.labels == 2)


def test_all_rows_count_by_their_weights_and_clusters():
    """A page that says "24.4 % predicted" by weights must not draw the means of plain rows."""
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(200, 2))
    data = replace(
        Predictions(logits, rng.integers(2, size=200), ("no", "yes")),
        weights=rng.gamma(1.0, size=200),
        weight_kind="sampling",
        clusters=np.repeat(np.arange(40), 5),
    )
    parts = both_parts(data.take(np.arange(120)), data.take(np.arange(120, 200)))
    found = raw_on_all_rows(raw_model(data), data=parts)
    whole = Evaluation.from_predictions(raw_model(data), data, "top-label")
    assert found.means == pytest.approx(whole.means)
    assert found.means[0] != pytest.approx(found.confidence.mean(), abs=1e-3)
    means = (one.rows.mean_of(one.confidence - one.correct) for one in (found, whole))
    assert len({round(float(mean.error), 12) for mean in means}) == 1
