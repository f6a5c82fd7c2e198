"""How often the 95 % intervals of a risk model's measures hold the truth, simulated.

``python -m benchmarks.risk_model_coverage`` draws outcomes from known risks of a model that is too extreme and too low:
of independent rows, and of 40 clusters whose outcomes have an intraclass correlation of 0.05 and share a shift of their
log-odds. True values are integrals over the population.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from benchmarks.measure import machine, markdown
from calib.metrics import net_benefit
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools
from calib.metrics.estimate import Rows
from calib.metrics.recalibration import fit_logistic
from calib.metrics.risk_measures import closed_form
from calib.numerics import Floats, Ints, sigmoid

CLUSTERS, ICC = 40, 0.05
SPREAD = 1.2
"""Standard deviation of the log-odds of the true risks within a cluster."""
EXTREME, SHIFT = 1.3, -0.2
"""The model's log-odds are the true ones stretched by the first about their centre and shifted by the second."""
ROWS, RATES, LEAST_EVENTS = (200, 1000, 5000), (0.02, 0.1, 0.5), 20
FLOOR = 1e-6
TITLES = {
    "auroc": "AUROC",
    "oe": "O:E",
    "citl": "in the large",
    "slope": "slope",
    "brier": "Brier",
    "scaled_brier": "scaled Brier",
    "net_benefit": "net benefit",
}
NODES = np.linspace(-6.5, 6.5, 401)
MASS = np.exp(-(NODES**2) / 2.0) / np.exp(-(NODES**2) / 2.0).sum()
"""A normal distribution as points and their probabilities."""


@dataclass(frozen=True)
class Population:
    """Rows with an event rate, independent or in clusters; the threshold of the net benefit is the rate.

    Attributes
    ----------
    rate : share of rows with the event.
    clustered : whether clusters shift the log-odds of the event.
    """

    rate: float
    clustered: bool

    def _centre(self, shift: float) -> float:
        whole = np.hypot(SPREAD, shift)
        return float(
            brentq(lambda centre: MASS @ sigmoid(centre + whole * NODES) - self.rate, -30.0, 30.0)
        )

    def _correlation(self, shift: float) -> float:
        in_cluster = sigmoid(self._centre(shift) + SPREAD * NODES + shift * NODES[:, None]) @ MASS
        return float(MASS @ (in_cluster - self.rate) ** 2 / (self.rate * (1.0 - self.rate)))

    @cached_property
    def shift(self) -> float:
        """Standard deviation of the clusters' shifts, which makes the outcomes' correlation what it should be."""
        return (
            float(brentq(lambda sd: self._correlation(sd) - ICC, 0.01, 5.0))
            if self.clustered
            else 0.0
        )

    @cached_property
    def centre(self) -> float:
        """Median of the log-odds."""
        return self._centre(self.shift)

    def model(self, own: Floats) -> Floats:
        """The model's risk for rows whose log-odds lie ``own`` from the centre, but for their cluster's shift."""
        return sigmoid(self.centre + EXTREME * own + SHIFT)

    def draw(self, n: int, generator: np.random.Generator) -> tuple[Floats, Bools, Ints | None]:
        """Risks, outcomes and clusters of n rows, dealt to the clusters in turn."""
        own = SPREAD * generator.normal(size=n)
        cluster = np.arange(n) % CLUSTERS if self.clustered else None
        shift = 0.0 if cluster is None else self.shift * generator.normal(size=CLUSTERS)[cluster]
        return self.model(own), generator.random(n) < sigmoid(self.centre + own + shift), cluster

    @cached_property
    def truth(self) -> dict[str, float]:
        """What each measure is of the whole population."""
        own = SPREAD * NODES
        risk = self.model(own)
        true = sigmoid(self.centre + own[:, None] + self.shift * NODES) @ MASS
        events, others = MASS * true, MASS * (1.0 - true)
        below = np.cumsum(others) - others / 2.0
        brier = events @ (1.0 - risk) ** 2 + others @ risk**2
        # Outcomes as frequencies: each point once with the event and once without.
        twice, event = np.tile(risk, 2), np.repeat([True, False], len(risk))
        sample = Rows.with_outcome(event, 1e9 * np.r_[events, others], "frequency")
        log_odds = np.log(twice) - np.log1p(-twice)
        ones = np.ones((len(twice), 1))
        acted = risk >= self.rate
        return {
            "auroc": float(events @ below / (events.sum() * others.sum())),
            "oe": float(events.sum() / (MASS @ risk)),
            "citl": float(fit_logistic(ones, event, sample, log_odds).coef[0]),
            "slope": float(fit_logistic(np.column_stack([ones, log_odds]), event, sample).coef[1]),
            "brier": float(brier),
            "scaled_brier": float(1.0 - brier / (self.rate * (1.0 - self.rate))),
            "net_benefit": float(events @ acted - others @ acted * self.rate / (1.0 - self.rate)),
        }


def intervals(
    risk: Floats, event: Bools, cluster: Ints | None, threshold: float
) -> dict[str, Interval]:
    """The intervals that the panel would show, and that of the net benefit."""
    found, _ = closed_form(risk, event, Rows.with_outcome(event, clusters=cluster), FLOOR)
    return found | {
        "net_benefit": net_benefit(risk, event, threshold, clusters=cluster).model.at(0)
    }


def missed(population: Population, n: int, draws: int, seed: int = 1) -> dict[str, Counter[str]]:
    """For each measure, in how many samples the truth lies below its interval and above it, or there is none."""
    generator = np.random.default_rng(seed)
    counts = {key: Counter[str]() for key in TITLES}
    for _ in range(draws):
        found = intervals(*population.draw(n, generator), population.rate)
        for key, truth in population.truth.items():
            _, low, high = found[key]
            place = (
                "none"
                if np.isnan(low)
                else "below"
                if truth < low
                else "above"
                if truth > high
                else "held"
            )
            counts[key][place] += 1
    return counts


def coverage_table(draws: int, rows: tuple[int, ...] = ROWS) -> list[list[str]]:
    """Coverage in per cent, with the samples in which the truth lies below and above the interval."""
    lines = [
        [
            "95 % intervals that hold the truth, % (truth below / above)",
            "N",
            "rate",
            *TITLES.values(),
        ]
    ]
    for clustered in (False, True):
        for n in rows:
            for rate in RATES:
                if n * rate < LEAST_EVENTS:
                    continue
                counts = missed(Population(rate, clustered), n, draws)
                cells = [
                    f"{100 * count['held'] / draws:.1f} ({100 * count['below'] / draws:.1f} / "
                    f"{100 * count['above'] / draws:.1f}){' *' if count['none'] else ''}"
                    for count in counts.values()
                ]
                name = f"{CLUSTERS} clusters, ICC {ICC:g}" if clustered else "independent rows"
                lines.append([name, f"{n:,}", f"{rate:g}", *cells])
                print(*lines[-1], flush=True)
    return lines


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="a few draws of few rows")
    arguments = parser.parse_args()
    started = time.process_time()
    table = coverage_table(20, ROWS[:1]) if arguments.quick else coverage_table(arguments.draws)
    print(markdown(table[0], table[1:]))
    print(f"\n{time.process_time() - started:.0f} CPU seconds\n")
    print(machine())


if __name__ == "__main__":
    main()
