"""How often the interval of a new base rate holds the truth, with and without what the calibrator does not know.

    python -m benchmarks.prior_shift_coverage            # 1,000 draws at each rate, about 4 minutes of one core
    python -m benchmarks.prior_shift_coverage --draws 50

Scores are normal with variance 1 and means 0 and 1.2 (area under the ROC curve .80). The raw model reads them too
steeply: its log-odds are 0.2 plus 1.4 times the true ones at the calibration rate of 8 %. Each draw has 2,000 rows with
labels at this rate and 1,000 rows without at the new one.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from calib.decisions.prior_shift import estimate_rate, likeliest_rate
from calib.decisions.recalibration import recalibrate
from calib.numerics import Floats, sigmoid

OLD, RATES = 0.08, (0.02, 0.2)
N_CALIBRATION, N_NEW, N_RESAMPLES = 2000, 1000, 200
DISTANCE, SHIFT, STEEPER = 1.2, 0.2, 1.4
GRID = np.linspace(0.0, 1.0, 1001)[:, None]


def draw(n: int, rate: float, generator: np.random.Generator) -> tuple[Floats, np.ndarray]:
    """Raw log-odds and labels of n rows at a base rate."""
    labels = generator.random(n) < rate
    score = generator.normal(DISTANCE * labels)
    true = np.log(OLD / (1 - OLD)) + DISTANCE * score - DISTANCE**2 / 2
    return SHIFT + STEEPER * true, labels


def likelihood_interval(probs: Floats, old: float) -> tuple[float, float]:
    """Rates whose log-likelihood is at most 1.92 below the highest, with the calibrator taken as known."""
    event, rest = probs / old, (1 - probs) / (1 - old)
    likelihood = np.log(np.maximum(GRID * event + (1 - GRID) * rest, 1e-300)).sum(axis=1)
    best = likeliest_rate(probs, old)
    top = np.log(best * event + (1 - best) * rest).sum()
    within = np.flatnonzero(likelihood >= top - 1.92)
    return (float(GRID[within[0], 0]), float(GRID[within[-1], 0])) if len(within) else (best, best)


def coverage(rate: float, draws: int) -> str:
    """One line of the table."""
    generator = np.random.default_rng(round(1000 * rate))
    held = np.zeros(2)
    estimates, widths, equivalents, above = [], [], [], 0
    for seed in range(draws):
        (raw, labels), (new, _) = draw(N_CALIBRATION, OLD, generator), draw(N_NEW, rate, generator)
        found = estimate_rate(sigmoid(raw), labels, sigmoid(new), n_resamples=N_RESAMPLES, random_state=seed)
        value, low, high = found.rate
        intercept, slope = recalibrate(raw, labels, np.ones((1, len(raw))))
        bounds = likelihood_interval(sigmoid(intercept[0] + slope[0] * new), float(labels.mean()))
        held += [low <= rate <= high, bounds[0] <= rate <= bounds[1]]
        above += low > rate
        estimates.append(value)
        widths.append(high - low)
        equivalents.append(found.equivalent_labels)
    both, alone = 100 * held / draws
    return (
        f"| {100 * rate:g} % | {100 * np.mean(estimates):.2f} % | {both:.1f} % | {100 * above / draws:.1f} % | "
        f"{alone:.1f} % | {100 * np.median(widths):.1f} points | {np.median(equivalents):.0f} |"
    )


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=1000)
    chosen = parser.parse_args(arguments)
    print(
        "| new rate | mean estimate | held | low end above it | held by the likelihood alone | median width | labels |"
    )
    print("|---|---|---|---|---|---|---|")
    for rate in RATES:
        print(coverage(rate, chosen.draws), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
