"""Folds of calibration rows, and the strength of a penalty that they choose."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

import calib
from calib.base import silent
from calib.calibrators import _folds
from calib.calibrators._folds import FEWEST, FOLDS, PenalisedScaling, deal, row_units
from calib.numerics import softmax
from tests.conftest import simulate


@pytest.mark.parametrize("clusters", [None, np.arange(200), np.arange(200).astype(str)])
def test_folds_are_as_large_as_each_other(clusters):
    folds = deal(row_units(200, clusters), 0)
    np.testing.assert_array_equal(np.bincount(folds), [40] * FOLDS)
    assert not np.array_equal(folds, deal(row_units(200, clusters), 1))


def test_the_names_of_clusters_decide_about_their_folds():
    """Neither the order of rows nor how many a cluster has."""
    clusters = np.random.default_rng(0).integers(0, 50, 200)
    folds = deal(row_units(200, clusters), 0)
    assert all(len(set(folds[clusters == cluster])) == 1 for cluster in clusters)
    rows = np.append(np.random.default_rng(1).permutation(200), [0, 0, 0])
    np.testing.assert_array_equal(deal(row_units(203, clusters[rows]), 0), folds[rows])


@pytest.mark.parametrize("name", ["dirichlet", "auto"])
def test_leaves_of_a_tree_are_calibrated_as_well_as_rows_that_all_but_repeat(name):
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    training, calibration, test = order[:600], order[600:1200], order[1200:]
    tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(
        pixels[training], labels[training]
    )
    logits = calib.from_outputs(tree.predict_proba(pixels), labels).logits
    losses = []
    for rows in (logits, logits + 1e-4 * np.random.default_rng(0).normal(size=logits.shape)):
        fitted = calib.calibrator(name).fit(rows[calibration], labels[calibration])
        losses.append(calib.metrics.nll(fitted.predict_proba(rows[test]), labels[test]))
    assert losses[0] == pytest.approx(losses[1], abs=0.005)


class Powers(PenalisedScaling):
    """softmax(logits / strength); what it is fitted to goes to ``fitted_to``."""

    def __init__(self, fitted_to=None):
        super().__init__()
        self.fitted_to = [] if fitted_to is None else fitted_to

    def _begin(self, logits, labels, weights):
        self.fitted_to.append(labels)

    def _finish(self, problem, strength, tolerance=0.0, progress=silent):
        self.strength = 1 if strength is None else strength

    def _predict(self, logits):
        return softmax(logits / self.strength)


def chosen(
    strengths, logits, labels, *, fitted_to=None, weights=None, clusters=None, progress=silent
):
    weights, made = np.ones(len(labels)) if weights is None else weights, Powers(fitted_to)
    assert (
        made._choose(strengths, logits, labels, weights, clusters, progress) or 0
    ) == made.penalty_
    return made


def test_the_strength_of_least_held_out_loss_is_chosen_and_the_search_ends_behind_it():
    logits, labels = simulate(500, 3, scale=2.0)
    steps, fitted_to = [], []
    strengths = [1.5, 2.0, 2.5, 3.0]
    choice = chosen(
        strengths, logits, labels, fitted_to=fitted_to, progress=lambda *step: steps.append(step)
    )
    assert choice.penalty_ == 2.0
    assert [len(rows) for rows in fitted_to] == [400] * FOLDS
    assert [number for number, _, _ in steps] == list(range(1, 4 * FOLDS + 1))  # 3.0 is not tried
    rows = np.arange(500)
    loss = {t: -np.log(softmax(logits / t)[rows, labels]) for t in (1.0, 2.0)}
    difference = loss[1.0] - loss[2.0]
    assert (choice.gain_, choice.gain_error_) == pytest.approx(
        (difference.mean(), difference.std(ddof=1) / np.sqrt(500))
    )


def test_temperature_is_kept_within_half_the_standard_error_which_copies_in_clusters_do_not_lower():
    logits, labels = simulate(60, 3, scale=1.0, seed=3)
    choice = chosen([1.02], logits, labels)
    assert choice.penalty_ == 0
    assert 0 < choice.gain_ <= choice.gain_error_ / 2
    assert f"{choice.gain_:.4f} nats lower than that of temperature scaling" in choice.choice_note_
    assert choice.choice_note_.endswith(f"with a standard error of {choice.gain_error_:.4f}.")
    copies = np.repeat(np.arange(60), 50)
    weighed = chosen([1.02], logits, labels, weights=np.full(60, 50.0))
    copied = chosen([1.02], logits[copies], labels[copies], clusters=copies)
    assert (weighed.gain_, weighed.gain_error_) == pytest.approx((choice.gain_, choice.gain_error_))
    assert (copied.gain_, copied.gain_error_) == pytest.approx((choice.gain_, choice.gain_error_))


def test_too_few_rows_or_clusters_choose_nothing():
    logits, labels = simulate(FEWEST, 3)
    assert chosen([1.0], logits[1:], labels[1:]).gain_error_ == 0
    choice = chosen([1.0], logits, labels, clusters=np.arange(FEWEST) % (FOLDS - 1))
    assert choice.penalty_ == 0
    assert f"{FEWEST} rows, and {FOLDS} clusters where there are any" in choice.choice_note_
    assert "no penalty has a lower NLL" in chosen([1.1], logits, labels).choice_note_


def test_of_very_many_outputs_some_rows_choose(monkeypatch):
    logits, labels = simulate(600, 3, scale=2.0)
    clusters = np.arange(600) // 3
    monkeypatch.setattr(_folds, "MOST_ENTRIES", 900)
    drawn = []
    assert chosen([2.0], logits, labels, fitted_to=drawn).penalty_ == 2.0
    assert len(drawn) == FOLDS
    for rows in drawn:  # half of the rows, four fifths of these; classes as they come
        assert len(rows) == 240
        np.testing.assert_allclose(
            np.bincount(rows, minlength=3), 0.4 * np.bincount(labels), atol=25
        )
    drawn.clear()
    chosen([2.0], logits, labels, fitted_to=drawn, clusters=clusters)
    assert {len(rows) % 3 for rows in drawn} == {0}


def test_of_many_outputs_two_folds_are_held_out(monkeypatch):
    logits, labels = simulate(600, 3, scale=2.0)
    monkeypatch.setattr(_folds, "MANY_ENTRIES", 1799)
    fitted_to = []
    choice = chosen([2.0], logits, labels, fitted_to=fitted_to)
    assert choice.penalty_ == 2.0
    assert [len(rows) for rows in fitted_to] == [480, 480]
    held = np.flatnonzero(deal(row_units(600), 0) < 2)
    losses = [-np.log(softmax(logits / t)[held, labels[held]]) for t in (1.0, 2.0)]
    assert choice.gain_ == pytest.approx((losses[0] - losses[1]).mean())


@pytest.mark.parametrize("name", ["order_preserving", "dirichlet", "vector"])
def test_a_method_keeps_clusters_whole(name):
    """Each row ten times over, all but the same: on its own it shows its copies' labels, as one cluster it does not."""
    logits, labels = simulate(40, 8)
    many, of_many, clusters = (
        np.repeat(logits, 10, axis=0),
        np.repeat(labels, 10),
        np.repeat(np.arange(40), 10),
    )
    many += 1e-3 * np.random.default_rng(0).normal(size=many.shape)
    leaked = calib.calibrator(name).fit(many, of_many)
    whole = calib.calibrator(name).fit(many, of_many, clusters=clusters)
    assert leaked.penalty_ > 0
    assert whole.penalty_ == 0
    assert "Temperature scaling is kept" in whole.notes()[-1]
