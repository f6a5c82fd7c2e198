"""What each method makes of more rows: what it says, and that a fit goes on from an earlier one to the same numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import calib
from calib.base import CalibrationError
from calib.export.model_card import model_card
from calib.export.runtime import ExportedCalibrator
from calib.registry import METHODS
from tests.conftest import ROOT, simulate

CONFIGURATIONS = {
    "temperature": {},
    "vector": {"strength": "fixed", "penalty": 3.0},
    "structured_vector": {},
    "structured_matrix": {},
    "dirichlet": {"strength": "fixed", "target": "odir", "penalty": 0.01},
    "order_preserving": {"strength": "fixed"},
}
"""One of each method that starts from an earlier fit, whose optimum is far from temperature scaling."""


def counted(name: str, logits: np.ndarray, labels: np.ndarray, **extras) -> tuple[calib.Calibrator, int]:
    """The fit, and the steps of its search."""
    steps = []
    fitted = calib.calibrator(name, **CONFIGURATIONS[name])
    fitted.fit(logits, labels, callback=lambda *progress: steps.append(progress), **extras)
    return fitted, len(steps)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_fit_from_an_earlier_one_ends_at_the_same_numbers_in_fewer_steps(name):
    cold_steps, warm_steps = 0, 0
    for seed in range(3):
        logits, labels = simulate(1100, 6, seed=seed)
        logits += np.linspace(-1, 1, 6) * logits[:, :1] / 3  # classes differ, so that there is something to learn
        earlier, _ = counted(name, logits[:1000], labels[:1000])
        cold, steps = counted(name, logits, labels)
        cold_steps += steps
        warm, steps = counted(name, logits, labels, start=earlier)
        warm_steps += steps
        np.testing.assert_allclose(warm.predict_proba(logits), cold.predict_proba(logits), rtol=0, atol=3e-6)
        assert not np.allclose(earlier.predict_proba(logits), cold.predict_proba(logits), rtol=0, atol=3e-6)
    assert warm_steps < cold_steps
    again = earlier.fit(logits, labels, start=earlier)  # itself, which is changed by the fit
    np.testing.assert_allclose(again.predict_proba(logits), cold.predict_proba(logits), rtol=0, atol=3e-6)


@pytest.mark.parametrize("name", [name for name in CONFIGURATIONS if name != "temperature"])
def test_a_start_without_rows_of_a_class_serves_too(name):
    logits, labels = simulate(400, 5)
    few = labels < 3
    earlier = calib.calibrator(name, **CONFIGURATIONS[name]).fit(logits[few], labels[few])
    cold, warm = (counted(name, logits, labels, **extras)[0] for extras in ({}, {"start": earlier}))
    np.testing.assert_allclose(warm.predict_proba(logits), cold.predict_proba(logits), rtol=0, atol=3e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 500.0])
def test_a_temperature_far_from_the_start_is_found(scale):
    logits, labels = simulate(300, 4)
    best = calib.calibrator("temperature").fit(logits * scale, labels).temperature_
    start = calib.calibrator("temperature").fit(logits, labels)
    assert calib.calibrator("temperature").fit(logits * scale, labels, start=start).temperature_ == pytest.approx(best)


def test_at_their_bounds_temperatures_stay_there():
    logits, _ = simulate(300, 4)
    start = calib.calibrator("temperature").fit(*simulate(300, 4))
    for labels in (logits.argmax(axis=1), logits.argmin(axis=1)):
        cold = calib.calibrator("temperature").fit(logits, labels)
        assert cold.at_bound
        assert calib.calibrator("temperature").fit(logits, labels, start=start).temperature_ == cold.temperature_


def test_only_an_earlier_fit_of_the_same_kind_is_a_start():
    logits, labels = simulate(60, 4)
    other = calib.calibrator("vector").fit(logits, labels)
    classes = calib.calibrator("temperature").fit(logits[:, :3], labels % 3)
    for start in (other, classes, calib.calibrator("temperature")):
        with pytest.raises(CalibrationError, match=r"start|shape"):
            calib.calibrator("temperature").fit(logits, labels, start=start)


def test_methods_without_a_search_do_not_mind_a_start():
    logits, labels = simulate(120, 4)
    for name in ("platt", "histogram", "isotonic", "identity"):
        earlier = calib.calibrator(name).fit(logits[:60], labels[:60])
        fits = [calib.calibrator(name).fit(logits, labels, start=start) for start in (None, earlier)]
        assert np.array_equal(*(fitted.predict_proba(logits) for fitted in fits))


def test_every_method_says_what_to_do_with_more_rows():
    page = (ROOT / "docs/library.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", page.partition("## More rows")[2].partition("\n## ")[0], re.M))
    assert table == {name: method.cls.more_rows for name, method in METHODS.items() if name != "identity"}
    assert {name for name, method in METHODS.items() if method.cls.starts} == set(CONFIGURATIONS)
    for method in METHODS.values():
        assert ("start=" in method.cls.more_rows) == method.cls.starts
        assert ("partial_fit" in method.cls.more_rows) == hasattr(method.cls, "partial_fit")


def test_the_model_card_says_it():
    logits, labels = simulate(60, 4)
    fitted = calib.calibrator("histogram").fit(logits, labels)
    assert fitted.more_rows in model_card(ExportedCalibrator(fitted))
