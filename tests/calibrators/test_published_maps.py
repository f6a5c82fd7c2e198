"""Maps of one score against numbers that other packages and independent optima gave, see tests/reference/README.md."""

from __future__ import annotations

import csv
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

import calib
from calib.base import Calibrator
from calib.calibrators.venn_abers import VennAbers
from tests.calibrators.conftest import NETWORKS, split_of
from tests.conftest import REFERENCE

CELLS = [
    pytest.param(*name.values, n, marks=name.marks) for name in NETWORKS for n in (300, 1000, 3000)
]


@cache
def stored(name: str) -> Any:
    return json.loads((REFERENCE / "numbers" / f"{name}.json").read_text())


@cache
def halves(data: str) -> tuple[np.ndarray, ...]:
    """The same of two classes, half of the rows each."""
    score, event = {"breast": ("risk", "malignant"), "credit": ("pd", "default")}[data]
    with (REFERENCE / "data" / f"{data}.csv").open() as file:
        rows = list(csv.DictReader(file))
    p, labels = (np.array([float(row[name]) for row in rows]) for name in (score, event))
    order = np.random.default_rng(7).permutation(len(p))
    logits, half = np.stack([np.log1p(-p), np.log(p)], axis=1), len(p) // 2
    return (
        logits[order[:half]],
        labels[order[:half]].astype(int),
        logits[order[half:]],
        labels[order[half:]].astype(int),
    )


def nll(probs: np.ndarray, labels: np.ndarray) -> float:
    return float(-np.log(np.maximum(probs[np.arange(len(labels)), labels], 1e-12)).mean())


def predicted(made: Calibrator, parts: tuple[np.ndarray, ...]) -> np.ndarray:
    return made.fit(parts[0], parts[1]).predict_proba(parts[2])


# -- two classes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["breast", "credit"])
def test_venn_abers_of_two_classes(data):
    expected = stored("risk_model")[data]["recalibration_split"]["venn_abers"]
    parts = halves(data)
    fitted = VennAbers().fit(parts[0], parts[1])
    merged, (p0, p1) = fitted.predict_proba(parts[2]), fitted.predict_pair(parts[2])
    rows = expected["first20_test_rows"]
    found = np.stack([p0, p1, merged[:, 1]], axis=1)[: len(rows)]
    np.testing.assert_allclose(
        found, [[row["p0"], row["p1"], row["p"]] for row in rows], atol=1e-10
    )
    assert nll(merged, parts[3]) == pytest.approx(expected["test"]["log_loss"], abs=1e-10)
    assert (p1 - p0).mean() == pytest.approx(expected["mean_width"], abs=1e-10)
    assert (p1 - p0).max() == pytest.approx(expected["max_width"], abs=1e-10)


@pytest.mark.parametrize("data", ["breast", "credit"])
@pytest.mark.parametrize("name", ["platt", "quadratic", "beta"])
def test_maximum_likelihood_of_two_classes(data, name):
    split = stored("risk_model")[data]["recalibration_split"]
    family = {"platt": "affine", "quadratic": "quadratic"}
    expected = (
        split["beta"]["abm_exact_mle"] if name == "beta" else split["logistic_family"][family[name]]
    )
    parts = halves(data)
    probs = predicted(calib.calibrator(name), parts)
    np.testing.assert_allclose(probs[:5, 1], expected["first5_test_p"], atol=1e-6)
    assert nll(probs, parts[3]) == pytest.approx(expected["test"]["log_loss"], abs=1e-6)


@pytest.mark.parametrize("data", ["breast", "credit"])
def test_the_spline_loses_less_than_the_published_ones(data):
    binary = stored("methods_maps")["binary"][data]
    parts = halves(data)
    loss = nll(predicted(calib.calibrator("spline"), parts), parts[3])
    for name in ("splinecalib_fast_prior20", "probcal_spline_knots_default"):
        assert loss < binary[name]["nll"]


# -- many classes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "n"), CELLS)
def test_venn_abers_shared_after_temperature(name, n):
    expected = stored("methods_maps")["multiclass"][name][str(n)]["venn_abers_pooled_after_TS"]
    parts = split_of(name, n)
    probs = predicted(VennAbers(), parts)
    # 300,000 pairs are more than a table holds, and neighbours are merged; scores that float32 may part are one, also
    # those of a test row and of a calibration row.
    many = n * probs.shape[1] > 262_144
    assert nll(probs, parts[3]) == pytest.approx(expected["nll"], abs=1e-4 if many else 2e-6)
    np.testing.assert_allclose(probs[:3, :5], expected["first3x5"], atol=1e-3 if many else 1e-7)
