"""Table 1 of Allikivi and Kull (2019), as what each method loses against the true map.

    python -m benchmarks.bayes_iso_table1 [--small 300] [--large 20] [--quick]

``--small`` and ``--large`` are the numbers of replicates at 100 and 3000 calibration rows, which are exactly balanced
as in the paper, of its synthetic task (section 5.1). Losses are integrated over the known densities: a finite test
set's own ideal differs by up to .002, as much as the methods do. Differences are paired by replicate.
"""

from __future__ import annotations

import argparse
from functools import cache

import numpy as np
from scipy.special import logit
from scipy.stats import beta

import calib
from benchmarks.measure import machine, markdown
from calib.base import Calibrator
from calib.data.samples import bayes_iso_map
from calib.diagnostics.calibration_maps import class_map
from calib.numerics import Floats, Ints

SCORES = ("Brier", "log-loss")

METHODS = {
    "bayes_iso": ("bayes_iso", {"scheme": "plain"}),
    "bayes_iso, knots": ("bayes_iso", {}),
    "enir, Platt's correction": ("enir", {"platt_correction": True}),
    "isotonic, Platt's correction": ("isotonic", {"platt_correction": True}),
    "beta": ("beta", {}),
    "logistic, Platt's correction": ("platt", {"input": "score", "platt_correction": True}),
}

PAPER_IDEAL = (0.1621, 0.4741)
"""The paper prints beta without Platt's correction for the Brier score, and with it, which is no option here, for the
log-loss."""

PAPER: dict[int, dict[str, tuple[float | None, float | None]]] = {
    100: {
        "bayes_iso": (0.1655, 0.4878),
        "enir, Platt's correction": (0.1683, 0.5029),
        "isotonic, Platt's correction": (0.1685, 0.5036),
        "beta": (0.1672, None),
        "logistic, Platt's correction": (0.1720, 0.5112),
    },
    3000: {
        "bayes_iso": (0.1625, 0.4753),
        "enir, Platt's correction": (0.1627, 0.4778),
        "isotonic, Platt's correction": (0.1627, 0.4779),
        "beta": (0.1660, None),
        "logistic, Platt's correction": (0.1721, 0.5097),
    },
}


N_CELLS = 100_000


def bayes_iso_scores(n_per_class: int, seed: int) -> tuple[Floats, Ints]:
    """Scores of the synthetic binary task of Allikivi and Kull (2019), section 5.1, table 1.

    Negatives come from Beta(1, 3), positives from Beta(1.5, 3) and Beta(30, 3) in equal parts by chance; the
    classes are exactly balanced.

    Returns
    -------
    scores : (2 * n_per_class,) floats in (0, 1), the probability the simulated model gives to class 1
    labels : (2 * n_per_class,) of 0 and 1, in random order
    """
    rng = np.random.default_rng(seed)
    second = rng.random(n_per_class) < 0.5
    positives = np.where(second, rng.beta(30, 3, n_per_class), rng.beta(1.5, 3, n_per_class))
    scores = np.concatenate([rng.beta(1, 3, n_per_class), positives])
    labels = np.repeat([0, 1], n_per_class)
    order = rng.permutation(2 * n_per_class)
    return scores[order], labels[order]


def calibration_set(n: int, seed: int) -> tuple[Floats, Ints]:
    """Logits (n, 2) and labels (n,), exactly half of them positive."""
    scores, labels = bayes_iso_scores(n // 2, seed)
    return np.stack([np.zeros(n), logit(scores)], axis=1), labels


@cache
def _cells() -> tuple[Floats, Floats, Floats]:
    """Log-odds and true map in the middle of equal cells of scores, and the share of test rows in each."""
    edges = np.linspace(0, 1, N_CELLS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    reached = beta.cdf(edges, 1, 3) / 2 + beta.cdf(edges, 1.5, 3) / 4 + beta.cdf(edges, 30, 3) / 4
    return logit(middle), bayes_iso_map(middle), np.diff(reached)


def excess(calibrator: Calibrator) -> tuple[float, float]:
    """Binary Brier score and log-loss of a fitted calibrator, less those of the true map, for unlimited test rows.

    The difference of a proper score from its best is a divergence from the truth, integrated over the known density.
    Probabilities are clipped at 1e-15 as everywhere.
    """
    log_odds, truth, share = _cells()
    probs = np.clip(class_map(calibrator, log_odds), 1e-15, 1 - 1e-15)
    divergence = truth * np.log(truth / probs) + (1 - truth) * np.log((1 - truth) / (1 - probs))
    return float(share @ (probs - truth) ** 2), float(share @ divergence)


def ideal() -> tuple[float, float]:
    """Brier score and log-loss of the true map."""
    _, truth, share = _cells()
    entropy = -truth * np.log(truth) - (1 - truth) * np.log(1 - truth)
    return float(share @ (truth * (1 - truth))), float(share @ entropy)


def losses(n: int, replicates: int) -> dict[str, Floats]:
    """Excess of both scores for each method and replicate, (replicates, 2)."""
    found: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
    for seed in range(replicates):
        logits, labels = calibration_set(n, seed)
        for method, (name, params) in METHODS.items():
            found[method].append(
                excess(calib.calibrator(name, **params, random_state=seed).fit(logits, labels))
            )
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
                "–"
                if method == "bayes_iso"
                else f"{with_error(behind)}, {np.mean(behind > 0):.0%}",
            ]
        rows.append([method, *cells])
    header = [
        title
        for score in SCORES
        for title in (f"{score}, N = {n}", "paper", "bayes_iso ahead by, in")
    ]
    return markdown([f"{replicates} replicates", *header], rows)


def with_error(values: Floats) -> str:
    """Mean and its standard error."""
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def main() -> None:
    """Print both halves of the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", type=int, default=300, help="replicates at 100 rows")
    parser.add_argument("--large", type=int, default=20, help="replicates at 3000 rows")
    parser.add_argument(
        "--quick", action="store_true", help="two replicates, to see that everything runs"
    )
    arguments = parser.parse_args()
    print(machine(), end="\n\n")
    print(
        "Ideal:",
        ", ".join(f"{score} {value:.5f}" for score, value in zip(SCORES, ideal(), strict=True)),
        end="\n\n",
    )
    for n, replicates in ((100, arguments.small), (3000, arguments.large)):
        print(table(n, 2 if arguments.quick else replicates), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
