"""How often the interval of a new base rate holds the truth.

    python -m benchmarks.prior_shift_coverage            # 1,000 draws at each rate, about 5 minutes of one core
    python -m benchmarks.prior_shift_coverage --draws 50

Scores are normal with variance 1 and means 0 and 1.2 (area under the ROC curve .80). The raw model reads them too
steeply: its log-odds are 0.2 plus 1.4 times the true ones at the calibration rate of 8 %. Each draw has rows with
labels at this rate and rows without at the new one: 2,000 and 1,000, and, in a fifth as many draws, 500 and 5,000,
where it is the calibrator that is not known well.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from calib.decisions.prior_shift import estimate_rate
from calib.numerics import Floats, sigmoid

OLD, RATES = 0.08, (0.02, 0.2)
SIZES, N_RESAMPLES = ((2000, 1000, 1), (500, 5000, 5)), 200
"""Rows with labels and without, and by how much there are fewer draws of them; resamples of each draw."""
DISTANCE, SHIFT, STEEPER = 1.2, 0.2, 1.4


def draw(n: int, rate: float, generator: np.random.Generator) -> tuple[Floats, np.ndarray]:
    """Raw log-odds and labels of n rows at a base rate."""
    labels = generator.random(n) < rate
    score = generator.normal(DISTANCE * labels)
    true = np.log(OLD / (1 - OLD)) + DISTANCE * score - DISTANCE**2 / 2
    return SHIFT + STEEPER * true, labels


def coverage(rate: float, n_calibration: int, n_new: int, draws: int) -> str:
    """One line of the table."""
    generator = np.random.default_rng(round(1000 * rate))
    estimates, widths, held, above = [], [], 0, 0
    for _ in range(draws):
        (raw, labels), (new, _) = draw(n_calibration, OLD, generator), draw(n_new, rate, generator)
        found = estimate_rate(sigmoid(raw), labels, sigmoid(new), n_resamples=N_RESAMPLES)
        value, low, high = found.rate
        held += low <= rate <= high
        above += low > rate
        estimates.append(value)
        widths.append(high - low)
    cells = (
        f"{n_calibration:,}", f"{n_new:,}", f"{100 * rate:g} %", f"{100 * np.mean(estimates):.2f} %",
        f"{100 * held / draws:.1f} %", f"{100 * above / draws:.1f} %", f"{100 * np.median(widths):.1f} points",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=1000)
    chosen = parser.parse_args(arguments)
    titles = ("rows with labels", "without", "new rate", "mean estimate", "held", "low end above it",
              "median width")  # fmt: skip
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    for n_calibration, n_new, fewer in SIZES:
        for rate in RATES:
            print(coverage(rate, n_calibration, n_new, max(1, chosen.draws // fewer)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
