"""The simulation of weekly looks: its scenarios are what they are called, and universal inference is what it says."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from benchmarks.weekly_tests import (
    ROWS,
    SCENARIOS,
    WEEKS,
    Scenario,
    alarm_weeks,
    drawn,
    shifted,
    simulate,
    table,
    universal,
)
from calib.numerics import sigmoid


@pytest.fixture(scope="module")
def logits():
    return np.random.default_rng(0).normal(-3, 1.3, 2000)


def test_scenarios_have_the_slope_and_the_ratio_of_their_titles(logits) -> None:
    for one in SCENARIOS:
        intercept = shifted(logits, one.slope, one.o_e)
        assert sigmoid(intercept + one.slope * logits).sum() / sigmoid(logits).sum() == pytest.approx(one.o_e)
    score, came = drawn(logits, Scenario("late", o_e=1.5, begin=60), 20, np.random.default_rng(1))
    assert score.shape == (20, WEEKS, ROWS)
    expected = sigmoid(score)
    early, late = (came[:, weeks].sum() / expected[:, weeks].sum() for weeks in (slice(60), slice(60, WEEKS)))
    assert early == pytest.approx(1.0, abs=0.1)
    assert late == pytest.approx(1.5, abs=0.15)


def test_alarms_are_counted_in_the_week_of_the_first_one() -> None:
    log_e = np.zeros((3, WEEKS))
    log_e[0, 4:] = log_e[1, 9] = 5.0
    assert alarm_weeks(log_e).tolist() == [5, 10, WEEKS + 1]


@pytest.mark.long
def test_a_small_run_makes_the_table(logits) -> None:
    one = SCENARIOS[2]
    found = {SCENARIOS[0]: simulate(logits, SCENARIOS[0], 4), one: simulate(logits, one, 4)}
    assert (found[one]["E, slope"] <= WEEKS).all()
    assert "either test of the page" in table(found)


def test_universal_inference_on_real_rows(reference_data) -> None:
    """Natural logarithms after 1,000, 2,000 and 4,000 rows of credit.csv, measured independently."""
    with (reference_data / "credit.csv").open() as file:
        rows = list(csv.DictReader(file))
    probs, came = (np.array([float(row[name]) for row in rows]) for name in ("pd", "default"))
    logits = np.log(probs / (1 - probs))
    log_e = universal(logits, came, weeks=4)
    assert log_e[[0, 1, 3]] == pytest.approx([-0.7899766178044061, 5.341691320456455, 15.367411172269442], abs=0.02)
