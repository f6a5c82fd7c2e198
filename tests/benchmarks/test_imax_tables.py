"""The tables of the I-Max paper have their rows, and their numbers are those of the methods they name."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from benchmarks import imax_splits, imax_tables
from calib import metrics
from tests.conftest import simulate


@pytest.fixture
def splits(monkeypatch):
    """Two splits of 300 rows of 6 classes: 60 or 120 to calibrate with, 150 to be judged on."""
    monkeypatch.setattr(imax_splits, "N_TEST", 150)
    monkeypatch.setattr(imax_tables, "FEW", 60)
    monkeypatch.setattr(imax_tables, "MANY", 120)
    monkeypatch.setattr(imax_tables, "RAW_BASELINE", imax_splits.Method("Baseline", "identity", 60))
    logits, labels = simulate(300, 6)
    return [imax_splits.Split(logits, labels, seed) for seed in (0, 1)]


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.split("\n") if line.startswith("|")]


def test_every_table_has_its_rows(splits):
    made = imax_tables.tables(splits, ["1", "2", "3", "S1", "S2", "S3"], quick=True)
    rows = {name: [row[0] for row in cells(table)] for name, table in made.items()}
    assert rows["1"][2:] == ["Baseline", *(title for title in ("Eq. mass", "Eq. size", "I-Max") for _ in range(2))]
    assert rows["2"][2:] == ["Baseline", "TS", "I-Max", "I-Max w. TS"]
    assert rows["3"][2:6] == ["Baseline", "Beta, CW", "Beta, sCW", "I-Max w. Beta"]
    assert rows["S1"][2:] == ["Baseline", "Eq. mass", "Eq. size", "I-Max"]
    assert [row[1] for row in cells(made["S2"])[2:]] == ["–", "10", "15"]
    assert rows["S3"].count("I-Max w. TS") == 2
    assert all(len({len(row) for row in cells(each)}) <= 1 for table in made.values() for each in table.split("\n\n"))
    assert all("±" in cell for cell in cells(made["S1"])[-1][1:])


def test_only_the_wanted_tables_are_made(splits):
    assert list(imax_tables.tables(splits[:1], ["S1"], quick=True)) == ["S1"]


def test_bins_that_take_over_are_those_of_the_option(splits):
    source = imax_splits.Method("Isotonic, sCW", "isotonic", 60, imax_tables.PLAIN)
    method = imax_tables.binning(60, n_bins=6, source=source)
    assert method.title == "I-Max w. Isotonic"
    logits, labels = simulate(300, 6)
    order = np.random.RandomState(1).permutation(300)
    options = {"n_bins": 6, "representatives": "isotonic", "normalize": False}
    fitted = calib.calibrator("imax", **options).fit(logits[order[:60]], labels[order[:60]])
    probs, labels = fitted.predict_proba(logits[order[-150:]]), labels[order[-150:]]
    np.testing.assert_allclose(splits[1].probs(method), probs)
    found = splits[1].scores(method)
    confidence, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    ece = sum(abs(np.sum((confidence - right)[confidence == each])) for each in np.unique(confidence)) / 150
    assert found["ece"] == pytest.approx(ece)
    assert found["top1"] == pytest.approx(100 * right.mean())
    assert found["classwise"] == pytest.approx(metrics.classwise_ece(probs, labels, 2000, "1/K"))


def test_bins_say_less_than_the_log_odds_and_these_no_more_than_there_is(splits):
    few, many = (splits[0].scores(imax_tables.binning(60, n_bins=n))["information"] for n in (3, 15))
    told, entropy = splits[0].most_information
    assert few < many < told < entropy
    share = 1 / 6
    assert entropy == pytest.approx(-share * np.log2(share) - (1 - share) * np.log2(1 - share))
