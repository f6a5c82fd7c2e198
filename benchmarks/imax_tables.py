"""Tables 1, 2 and S3 and figure 1 of Patel et al. (2020) on another network's outputs.

    python -m benchmarks.imax_tables --data FILE.npz [FILE.npz ...] [--splits 3]

The paper's networks cannot be had. Each file is an npz with ``predictions`` (probabilities) and ``ground_truth``; the
first 1000 rows of a random order calibrate (5000 where a map is class-wise) and the last 5000 are scored, once for each
split. Errors of shared bins are in the bins themselves, all others in 15 of equal width; class-wise errors count what
exceeds 1/K. Bins are not normalised, as in the paper.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import machine, markdown
from benchmarks.outputs import of_network
from calib import metrics
from calib.diagnostics.bins import BIN_COUNTS, error_by_bins
from calib.evaluation.evaluation import evaluate
from calib.metrics.binning import BINNINGS
from calib.numerics import Floats, Ints
from calib.registry import calibrator

FEW, MANY = 1000, 5000
N_TEST = 5000
OWN_BINS = 2000
"""So many equal bins that each number that shared bins say has one of its own."""

BINS = {"normalize": False, "n_bins": 15}
METHODS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "uncalibrated": ("identity", FEW, {}),
    "equal mass, shared": ("imax", FEW, {**BINS, "scheme": "equal_mass"}),
    "equal width, shared": ("imax", FEW, {**BINS, "scheme": "equal_width"}),
    "I-Max, class-wise": ("imax", MANY, {**BINS, "share_classes": False, "representatives": "raw"}),
    "I-Max, shared": ("imax", FEW, BINS),
    "I-Max with temperature": ("imax", FEW, {**BINS, "representatives": "temperature"}),
    "I-Max with GPcalib": ("imax", FEW, {**BINS, "representatives": "gpcalib"}),
    "temperature": ("temperature", FEW, {"device": "cpu"}),
    "GPcalib": ("gpcalib", FEW, {"device": "cpu"}),
}
PAPER = {
    "uncalibrated": (81.35, 0.0748, 0.1113),
    "I-Max, shared": (81.30, 0.0231, 0.0518),
    "I-Max with temperature": (81.34, 0.0365, 0.0510),
    "I-Max with GPcalib": (81.34, 0.0179, 0.0559),
    "temperature": (81.35, 0.0511, 0.0911),
    "GPcalib": (81.34, 0.0358, 0.1074),
}
"""Accuracy in per cent, top-1 and class-wise ECE of the paper's Wide ResNet on CIFAR-100: its table 2."""

SCORES = ("accuracy, %", "top-1 ECE", "class-wise ECE", "NLL")


def scores(probs: Floats, labels: Ints, own_bins: bool) -> list[float]:
    """Accuracy in per cent, top-1 ECE, class-wise ECE and NLL of rows that need not sum to one."""
    found, n_bins = evaluate(probs, labels), OWN_BINS if own_bins else 15
    return [
        100 * float(found.correct.mean()),
        metrics.ece(*found.pair, n_bins=n_bins),
        metrics.calibration_error.classwise_ece(probs, labels, n_bins, threshold="1/K"),
        float(np.mean(found.row_nll)),
    ]


def table(logits: Floats, labels: Ints, n_splits: int) -> str:
    """Mean ± standard deviation over the splits, with the paper's numbers beside those of as many classes."""
    rows = []
    for title, (name, n, params) in METHODS.items():
        found = []
        for seed in range(n_splits):
            order = np.random.RandomState(seed).permutation(len(labels))
            fit, test = order[:n], order[-N_TEST:]
            probs = (
                calibrator(name, **params).fit(logits[fit], labels[fit]).predict_proba(logits[test])
            )
            found.append(
                scores(probs, labels[test], name == "imax" and params.get("share_classes", True))
            )
        spread = np.std(found, axis=0, ddof=1) if n_splits > 1 else np.zeros(len(SCORES))
        digits = (2, 4, 4, 4)
        cells = [
            f"{m:.{d}f} ± {s:.{d}f}"
            for m, s, d in zip(np.mean(found, axis=0), spread, digits, strict=True)
        ]
        printed = PAPER.get(title, ()) if logits.shape[1] == 100 else ()
        rows.append([title, *cells, *([f"{v:g}" for v in printed] or ["–"] * 3)])
    return markdown(["", *SCORES, *(f"paper: {score}" for score in SCORES[:3])], rows)


def other_bins(logits: Floats, labels: Ints) -> str:
    """Top-1 ECE in 15 bins of four kinds, and their range in 5 to 100 bins: figure 1 and table S3."""
    order = np.random.RandomState(0).permutation(len(labels))
    fit, test = order[:FEW], order[-N_TEST:]
    rows = []
    for title in ("uncalibrated", "temperature", "GPcalib", "I-Max, shared", "I-Max with GPcalib"):
        name, _, params = METHODS[title]
        fitted = calibrator(name, **params).fit(logits[fit], labels[fit])
        found = error_by_bins(*evaluate(fitted.predict_proba(logits[test]), labels[test]).pair)
        every = np.array(list(found.errors.values()))
        cells = [f"{value:.4f}" for value in every[:, list(BIN_COUNTS).index(15)]]
        by_rows = [f"{found.mean[list(found.n_rows).index(n)]:.4f}" for n in (100, 1000, N_TEST)]
        rows.append([title, *cells, f"{every.min():.4f} to {every.max():.4f}", *by_rows])
    kinds = [*BINNINGS, "5 to 100 bins"]
    return markdown(["", *kinds, *(f"{n:,} rows" for n in (100, 1000, N_TEST))], rows)


def main() -> None:
    """Calibrate every file and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_args()
    print(machine(), end="\n\n")
    for path in given.data:
        network = of_network(path)
        print(f"{path.stem}\n\n{table(*network, given.splits)}", end="\n\n", flush=True)
        print(other_bins(*network), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
