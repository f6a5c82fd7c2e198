"""The benchmark of active learning goes on where it was broken off."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import active_learning
from calib.active_learning import Pool
from tests.active_learning.conftest import simulated_pool

SMALL = {"classifier": "naive_bayes", "pretraining": 40, "batch": 60, "threshold": 0.1}
VARIANTS = ["plain", "set points, temperature"]


@pytest.fixture(scope="module")
def pool() -> Pool:
    return simulated_pool()


def test_a_run_that_was_broken_off_goes_on(pool, tmp_path, capsys):
    kept = tmp_path / "rounds.csv"
    whole = active_learning.run(pool, SMALL, VARIANTS, 3, None)
    active_learning.run(pool, SMALL, VARIANTS, 1, kept)
    resumed = active_learning.run(pool, SMALL, VARIANTS, 3, kept)
    pd.testing.assert_frame_equal(
        resumed.drop(columns=["cpu_seconds", "note"]), whole.drop(columns=["cpu_seconds", "note"]), check_dtype=False
    )
    assert capsys.readouterr().err.count("labels, error") == 6 + 2 + 4
