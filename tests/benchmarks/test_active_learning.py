"""The benchmark of active learning, at a size of a few rows."""

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


def test_the_table_has_a_line_for_each_variant(pool):
    text = active_learning.summary_table(active_learning.run(pool, SMALL, VARIANTS, 2, None))
    head, _, plain, calibrated = text.splitlines()
    assert head.count("|") == plain.count("|") == calibrated.count("|") == 13
    assert "%" in calibrated and "%" not in plain


def test_digits_and_the_command(monkeypatch, capsys, pool):
    whole = active_learning.digits()
    assert (len(whole), len(whole.test_labels), whole.n_classes) == (1297, 500, 10)
    monkeypatch.setattr(active_learning, "digits", lambda: pool)
    monkeypatch.setattr(active_learning, "DIGITS", SMALL)
    active_learning.main(["--classifiers", "naive_bayes", "--variants", *VARIANTS, "--shuffles", "2"])
    said = capsys.readouterr().out
    assert "### digits, naive bayes: 400 rows, 2 shuffles" in said
    assert "**set points, temperature" in said
    assert "about 10 % fewer labels" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--shuffles", "0"], "'0' is not a whole number of at least 1"),
        (["--pool-rows", "-5"], "'-5' is not a whole number of at least 1"),
        (["--data", "nowhere.zip"], "nowhere.zip is not the archive kitti_data.zip"),
        (["--data", "sample_data/digits-forest.npz"], "is not the archive kitti_data.zip"),
    ],
)
def test_wrong_arguments_are_said_in_a_line(arguments, said, capsys):
    with pytest.raises(SystemExit):
        active_learning.main(arguments)
    assert said in capsys.readouterr().err


def test_kitti_is_read(kitti_archive):
    made = active_learning.kitti(kitti_archive, 150, 100)
    assert isinstance(made, Pool)
    assert (made.features.shape, made.test_features.shape, made.n_classes) == ((150, 3), (100, 3), 8)
    every = active_learning.kitti(kitti_archive, None, None)
    assert (every.features.shape, every.test_features.shape) == ((210, 3), (180, 3))
