"""Table 1 of Allikivi and Kull (2019), as what each method loses against the true map.

    python -m benchmarks.bayes_iso_table1 [--small 300] [--large 20] [--quick]

``--small`` and ``--large`` are the numbers of replicates at 100 and 3000 calibration rows, which are exactly balanced
as in the paper. Losses are integrated over the known densities: a finite test set's own ideal differs by up to .002, as
much as the methods do. Differences are paired by replicate.
"""

from __future__ import annotations

import argparse

import numpy as np

import calib
from benchmarks.bayes_iso_task import calibration_set, excess, ideal
from benchmarks.measure import machine, markdown
from calib.numerics import Floats

SCORES = ("Brier", "log-loss")

METHODS = {
    "bayes_iso": ("bayes_iso", {"scheme": "plain", "bounds": "pav"}),
    "bayes_iso, paper's bounds": ("bayes_iso", {"scheme": "plain", "bounds": "paper"}),
    "bayes_iso, auto": ("bayes_iso", {}),
    "enir, Platt's correction": ("enir", {"platt_correction": True}),
    "isotonic, Platt's correction": ("isotonic", {"platt_correction": True}),
    "beta": ("beta", {}),
    "beta, Platt's correction": ("beta", {"platt_correction": True}),
    "logistic, Platt's correction": ("platt", {"input": "score", "platt_correction": True}),
}

PAPER_IDEAL = (0.1621, 0.4741)
"""The paper prints beta without Platt's correction for the Brier score, and with it for the log-loss."""

PAPER: dict[int, dict[str, tuple[float | None, float | None]]] = {
    100: {
        "bayes_iso": (0.1655, 0.4878),
        "enir, Platt's correction": (0.1683, 0.5029),
        "isotonic, Platt's correction": (0.1685, 0.5036),
        "beta": (0.1672, None),
        "beta, Platt's correction": (None, 0.4895),
        "logistic, Platt's correction": (0.1720, 0.5112),
    },
    3000: {
        "bayes_iso": (0.1625, 0.4753),
        "enir, Platt's correction": (0.1627, 0.4778),
        "isotonic, Platt's correction": (0.1627, 0.4779),
        "beta": (0.1660, None),
        "beta, Platt's correction": (None, 0.4862),
        "logistic, Platt's correction": (0.1721, 0.5097),
    },
}


def losses(n: int, replicates: int) -> dict[str, Floats]:
    """Excess of both scores for each method and replicate, (replicates, 2)."""
    found: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
    for seed in range(replicates):
        logits, labels = calibration_set(n, seed)
        for method, (name, params) in METHODS.items():
            found[method].append(excess(calib.calibrator(name, **params, random_state=seed).fit(logits, labels)))
    return {method: np.array(values) for method, values in found.items()}


def table(n: int, replicates: int) -> str:
    """Half of the paper's table: mean excess with its standard error, the paper's, and how far bayes_iso is ahead."""
    found = losses(n, replicates)
    rows = []
    for method, values in found.items():
        cells = []
        for i in range(len(SCORES)):
            printed = PAPER[n].get(method, (None, None))[i]
            behind = values[:, i] - found["bayes_iso"][:, i]
            cells += [
                with_error(values[:, i]),
                "–" if printed is None else f"{printed - PAPER_IDEAL[i]:.4f}",
                "–" if method == "bayes_iso" else f"{with_error(behind)}, {np.mean(behind > 0):.0%}",
            ]
        rows.append([method, *cells])
    header = [title for score in SCORES for title in (f"{score}, N = {n}", "paper", "bayes_iso ahead by, in")]
    return markdown([f"{replicates} replicates", *header], rows)


def with_error(values: Floats) -> str:
    """Mean and its standard error."""
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def main() -> None:
    """Print both halves of the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", type=int, default=300, help="replicates at 100 rows")
    parser.add_argument("--large", type=int, default=20, help="replicates at 3000 rows")
    parser.add_argument("--quick", action="store_true", help="two replicates, to see that everything runs")
    arguments = parser.parse_args()
    print(machine(), end="\n\n")
    print("Ideal:", ", ".join(f"{score} {value:.5f}" for score, value in zip(SCORES, ideal(), strict=True)), end="\n\n")
    for n, replicates in ((100, arguments.small), (3000, arguments.large)):
        print(table(n, 2 if arguments.quick else replicates), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
