"""Runs of active learning: which rows are asked for, what for, and when a run ends."""

from __future__ import annotations

import itertools
from unittest.mock import Mock

import numpy as np
import pytest

from calib.active_learning import Plan, simulate, simulation
from calib.active_learning.simulation import ARMS, Pool, pool_from_predictions, shuffled
from calib.calibrators.gpcalib import GPCalib
from calib.canonical import to_canonical, zero_floor
from calib.data.predictions import Predictions
from calib.errors import CalibrationError, FitCancelled
from calib.numerics import softmax
from calib.registry import calibrator

QUICK = {
    "classifier": "naive_bayes",
    "calibrator": "temperature",
    "pretraining": 40,
    "batch": 30,
    "threshold": 0.1,
}


def plan(**changes) -> Plan:
    return Plan(**{**QUICK, **changes})


def naive(plan: Plan, pool: Pool, seed: int) -> list[tuple[int, int, float]]:
    """Labels, calibration rows and error of each round at set points, straight from the description in the paper."""
    from sklearn.naive_bayes import GaussianNB

    line = list(shuffled(pool, seed))
    train, calibrate = line[: plan.pretraining], []
    line, found, last = line[plan.pretraining :], [], None
    for number in itertools.count():
        model = GaussianNB().fit(pool.features[train], pool.labels[train])
        probs = {name: model.predict_proba(pool.features[rows]) for name, rows in (("line", line), ("cal", calibrate))
                 if len(rows)}  # fmt: skip
        seen = np.concatenate(list(probs.values()))
        floor = zero_floor(seen)
        chain = softmax
        if calibrate:
            fitted = calibrator(plan.calibrator, random_state=seed)
            fitted.fit(to_canonical(probs["cal"], "probabilities", floor), pool.labels[calibrate])
            chain = fitted.predict_proba
        test = chain(to_canonical(model.predict_proba(pool.test_features), "probabilities", floor))
        found.append(
            (
                len(train) + len(calibrate),
                len(calibrate),
                float(np.mean(test.argmax(1) != pool.test_labels)),
            )
        )
        p = chain(to_canonical(probs["line"], "probabilities", floor))
        unsure = [
            row
            for row, own in zip(line, p, strict=True)
            if -(own * np.log(own)).sum() / np.log(3) > 0.1
        ]
        batch = unsure[: plan.batch]
        if not batch or (last is not None and len(last) < plan.batch):
            return found
        (calibrate if number % plan.every == 0 else train).extend(batch)
        line = [row for row in line if row not in set(batch)]
        last = batch


def test_against_the_description_step_by_step(pool):
    made = plan(every=3)
    rounds = simulate(made, "set_points", pool, random_state=5)
    assert len(rounds) > 4
    expected = naive(made, pool, 5)
    assert [(now.n_labels, now.n_calibration) for now in rounds] == [own[:2] for own in expected]
    np.testing.assert_allclose(
        [now.error for now in rounds], [own[2] for own in expected], atol=1e-12
    )


@pytest.mark.parametrize("arm", ARMS)
def test_the_same_seed_gives_the_same_run_and_another_does_not(pool, arm):
    made = plan()
    first = simulate(made, arm, pool, random_state=1)
    assert repr(simulate(made, arm, pool, random_state=1)) == repr(first)
    assert repr(simulate(made, arm, pool, random_state=2)) != repr(first)


@pytest.mark.parametrize(
    ("arm", "changes", "labels"),
    [
        ("set_points", {"threshold": 1.0}, [40]),  # nobody is so unsure
        *((arm, {"budget": 0}, [40]) for arm in ARMS),
        ("set_points", {"budget": 100}, [40, 70, 100, 130, 140]),
        ("plain", {"pretraining": 500}, [400]),
    ],
)
def test_where_a_run_ends(pool, arm, changes, labels):
    rounds = simulate(plan(**changes), arm, pool)
    assert [now.n_labels for now in rounds][: len(labels)] == labels
    assert len(rounds) == len(labels)


def test_too_few_rows_for_the_calibrator_leave_the_model_raw_and_say_so(pool):
    rounds = simulate(plan(batch=1, every=1, budget=2), "set_points", pool)
    assert "needs at least 2" in rounds[1].note and not rounds[2].note
    assert rounds[1].nll == rounds[0].nll


def test_a_pool_without_rows_is_refused(pool):
    with pytest.raises(CalibrationError, match="there are 0 and"):
        Pool(
            pool.features[:0], pool.labels[:0], pool.test_features, pool.test_labels, pool.n_classes
        )


def test_progress_and_cancelling(pool):
    seen = []
    rounds = simulate(plan(budget=90), "set_points", pool, callback=lambda *now: seen.append(now))
    told = [
        now for now, _ in itertools.groupby(seen)
    ]  # a fit within a round tells the round before it again
    assert told == [(now.n_labels, 130, now.error) for now in rounds]
    with pytest.raises(FitCancelled):
        simulate(plan(), "plain", pool, callback=Mock(side_effect=FitCancelled))


def test_a_training_set_is_the_pool(rng):
    features, labels = rng.normal(size=(150, 2, 3)), rng.integers(3, size=150)
    inputs = {
        "features": features[90:],
        "train_features": features[:90],
        "train_labels": labels[:90],
    }
    pool = pool_from_predictions(
        Predictions(np.zeros((60, 3)), labels[90:], ("a", "b", "c"), **inputs)
    )
    np.testing.assert_array_equal(pool.features, features[:90].reshape(90, 6))
    np.testing.assert_array_equal(pool.test_features, features[90:].reshape(60, 6))
    assert (len(pool), pool.n_classes) == (90, 3)


def test_active_calibration_asks_for_the_rows_of_largest_latent_uncertainty(
    pool, monkeypatch
) -> None:
    settings = {**QUICK, "calibrator": "gpcalib", "budget": 150, "every": 2}
    asked: list[tuple[np.ndarray, np.ndarray]] = []

    def uncertainty(gp, logits):
        doubt = np.random.default_rng(len(asked)).random(len(logits))
        asked.append((doubt, logits))
        return doubt

    monkeypatch.setattr(simulation, "latent_uncertainty", uncertainty)
    fits: list[np.ndarray] = []
    fit = GPCalib.fit
    monkeypatch.setattr(
        GPCalib, "fit", lambda gp, rows, *a, **k: fits.append(rows) or fit(gp, rows, *a, **k)
    )
    rounds = simulate(Plan(**settings), "latent", pool, random_state=1)
    assert [each.spent for each in rounds[1:5]] == ["calibration", "training"] * 2
    doubt, logits = asked[0]
    chosen = {tuple(row) for row in logits[np.argsort(-doubt)[:30]].round(9)}
    new = fits[2][30:].round(9)  # after the first batch, after training, after the second batch
    assert {tuple(row) for row in new} == chosen


def test_without_gpcalib_active_calibration_is_that_at_set_points(pool) -> None:
    assert simulate(plan(), "latent", pool) == simulate(plan(), "set_points", pool)
