"""Weights of rows: a weight is how many rows a row stands for, for every method that takes them."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib.calibrators import auto
from calib.errors import CalibrationError
from calib.registry import METHODS, methods_that_take
from tests.conftest import simulate

TAKE_WEIGHTS = [name for name in methods_that_take("weights") if not METHODS[name].needs]
MEANS = ("temperature",)
"""Methods of a mean over the rows, to which the sum of the weights does not matter."""


def weighted(name: str, n_classes: int, weights: np.ndarray, **params: object) -> calib.Calibrator:
    return calib.calibrator(name, **params).fit(*simulate(len(weights), n_classes), weights=weights)


ALL_MEMBERS = auto.candidates


@pytest.fixture(autouse=True)
def members_that_weigh(monkeypatch):
    """Only members that learn from weights are tried, also of rows without."""
    monkeypatch.setattr(
        auto, "candidates", lambda *arguments: ["temperature", "platt", "structured_vector"]
    )


MAPS = ("platt", "beta", "quadratic", "isotonic", "histogram", "spline")
OPTIONS: list[tuple[str, dict[str, object]]] = [
    *[(name, {}) for name in TAKE_WEIGHTS],
    *[(name, {"share_classes": False}) for name in MAPS],
    ("platt", {"platt_correction": True}),
    ("isotonic", {"platt_correction": True}),
]


def in_folds(name: str, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Clusters that keep the copies of a row in one fold, of methods that choose by folds."""
    return {"clusters": rows} if "clusters" in METHODS[name].cls.takes else {}


@pytest.mark.parametrize(
    ("name", "params", "n_classes"),
    [*((name, {}, 2) for name in TAKE_WEIGHTS), *((name, params, 4) for name, params in OPTIONS)],
)
def test_whole_weights_are_repeated_rows(name, params, n_classes):
    logits, labels = simulate(150, n_classes)
    times = np.random.default_rng(1).integers(0, 8, 150)
    counted = calib.calibrator(name, **params).fit(logits, labels, weights=times)
    copies = np.repeat(np.arange(150), times)
    repeated = calib.calibrator(name, **params).fit(
        logits[copies], labels[copies], **in_folds(name, copies)
    )
    np.testing.assert_allclose(
        counted.predict_proba(logits), repeated.predict_proba(logits), atol=2e-6
    )


@pytest.mark.parametrize(
    "name", [*TAKE_WEIGHTS, "structured_matrix", "dirichlet", "order_preserving"]
)
def test_the_order_of_rows_changes_nothing(name):
    logits, labels = simulate(300, 4)
    first, again = (
        calib.calibrator(name).fit(logits[rows], labels[rows], **in_folds(name, rows))
        for rows in (np.arange(300), np.random.default_rng(0).permutation(300))
    )
    np.testing.assert_allclose(again.predict_proba(logits), first.predict_proba(logits), atol=1e-5)


@pytest.mark.parametrize("name", sorted({*TAKE_WEIGHTS} - {*MEANS}))
@pytest.mark.parametrize(("each", "total"), [(0.01, "3.00"), (1000.0, "300,000")])
def test_weights_that_are_no_counts_are_pointed_out(name, each, total):
    fitted = weighted(name, 3, np.full(300, each))
    (note,) = [note for note in fitted.notes() if "mean of one" in note]
    assert f"The weights of 300 rows sum to {total} and count as so many rows" in note
    again = calib.calibrator(name).set_state(fitted.get_state())
    assert note in again.notes()


@pytest.mark.parametrize("kind", ["sampling", "exposure"])
@pytest.mark.parametrize("name", ["platt", "structured_vector", "histogram", "spline"])
def test_a_population_that_weights_sum_to_is_no_number_of_rows(name, kind):
    logits, labels = simulate(300, 2)
    weights = np.random.default_rng(2).uniform(0.2, 3.0, 300)
    data = calib.Predictions(logits, labels, ("no", "yes"), weights=5e6 * weights, weight_kind=kind)
    fitted = calib.calibrator(name).fit(data)
    of_mean_one = calib.calibrator(name).fit(logits, labels, weights=weights / weights.mean())
    np.testing.assert_allclose(
        fitted.predict_proba(logits), of_mean_one.predict_proba(logits), atol=1e-6
    )
    assert not [note for note in fitted.notes() if "mean of one" in note]


@pytest.mark.parametrize("name", TAKE_WEIGHTS)
def test_rows_without_a_weight_are_no_rows(name):
    logits, labels = simulate(300, 3)
    held = np.arange(300) % 3 > 0
    part = calib.calibrator(name).fit(logits[held], labels[held], weights=np.ones(200))
    whole = calib.calibrator(name).fit(logits, labels, weights=held)
    np.testing.assert_allclose(whole.predict_proba(logits), part.predict_proba(logits), atol=1e-12)
    assert whole.notes() == part.notes()
    with pytest.raises(
        CalibrationError, match=r"has 1 row with a weight above 0; .* needs at least 2"
    ):
        calib.calibrator(name).fit(logits, labels, weights=np.arange(300) == 0)


def test_auto_names_the_members_whose_fits_cannot_weigh_rows(monkeypatch):
    few = ("temperature", "platt", "venn_abers", "ensemble_temperature")
    monkeypatch.setattr(
        auto, "candidates", lambda *given: [name for name in ALL_MEMBERS(*given) if name in few]
    )
    fitted = weighted("auto", 3, np.random.default_rng(0).uniform(0.5, 1.5, 100))
    (note,) = [
        note
        for note in fitted.notes()
        if note.startswith("Left out, as their fits cannot weigh rows: ")
    ]
    left_out = set(auto.candidates(3)) - {member["method"] for member in fitted.judged_}
    assert left_out
    assert all(METHODS[name].title in note for name in left_out)
    assert not any(note.startswith("Left out") for note in fitted.fit(*simulate(100, 3)).notes())
