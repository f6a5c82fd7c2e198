"""How often and how soon the tests of the page Monitoring raise an alarm, simulated: 104 looks, 40 rows a week.

``python -m benchmarks.weekly_tests`` draws rows with replacement from the probabilities of a data set, simulates their
outcomes, and looks every week. The e-processes of ``calib.diagnostics.sequential_tests`` stand beside a z-test that is
repeated every week, beside e-processes of a change that begins in the first week, and beside universal inference for
the slope (Wasserman, Ramdas and Balakrishnan 2020), which divides by the supremum over the intercept.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

import calib
from benchmarks.measure import machine, markdown
from calib.diagnostics.sequential_tests import (
    EFFECTS,
    conditional_ratios,
    confidence_sequence,
    log_mixture,
    o_e_ratios,
)
from calib.metrics.bootstrap import wilson_interval
from calib.numerics import Floats, blocks, logsumexp, sigmoid

WEEKS, ROWS = 104, 40
DATA = Path(__file__).parents[1] / "sample_data" / "simulated-loans.csv"
LIMIT = np.log(20.0)
AT_ONCE = 25
"""Runs that are simulated together."""
UNIVERSAL_RUNS = 100
SEQUENCE = "1 outside the confidence sequence of O:E"
GRID = np.linspace(-1.0, 1.0, 21)
"""Intercepts and logarithms of slopes that universal inference mixes over, with weights of N(0, 0.4^2)."""


@dataclass(frozen=True)
class Scenario:
    """What becomes of the event: slope and O:E from a week on, counted from 0."""

    title: str
    slope: float = 1.0
    o_e: float = 1.0
    begin: int = 0


SCENARIOS = (
    Scenario("null"),
    Scenario("O:E 1.25", o_e=1.25),
    Scenario("slope .7, O:E 1", slope=0.7),
    Scenario("slope .7, O:E 1.78", slope=0.7, o_e=1.78),
    Scenario("O:E 1.25 from week 53", o_e=1.25, begin=52),
    Scenario("slope .7, O:E 1 from week 53", slope=0.7, begin=52),
)


def shifted(logits: Floats, slope: float, o_e: float) -> float:
    """The intercept a at which ``sigmoid(a + slope * logits)`` sums to ``o_e`` times the sum of the probabilities."""
    wanted = o_e * sigmoid(logits).sum()
    return float(brentq(lambda a: sigmoid(a + slope * logits).sum() - wanted, -10.0, 10.0))


def drawn(logits: Floats, one: Scenario, runs: int, generator: np.random.Generator) -> tuple[Floats, Any]:
    """Log-odds and outcomes (runs, WEEKS, ROWS)."""
    score = logits[generator.integers(len(logits), size=(runs, WEEKS, ROWS))]
    true = score.copy()
    true[:, one.begin :] = shifted(logits, one.slope, one.o_e) + one.slope * score[:, one.begin :]
    return score, generator.random(score.shape) < sigmoid(true)


def looked_at(score: Floats, came: Any) -> dict[str, Floats]:
    """Logarithm of the evidence of each test after every week, (runs, WEEKS); an alarm from ``LIMIT`` on."""
    runs = len(score)
    week = np.repeat(np.arange(runs * WEEKS), ROWS)
    o_e = o_e_ratios(sigmoid(score).ravel(), came.ravel(), week, runs * WEEKS).reshape(runs, WEEKS, -1)
    sets = score.reshape(-1, ROWS), came.reshape(-1, ROWS)
    slope = np.concatenate([
        conditional_ratios(sets[0][some], sets[1][some], np.ones((some.stop - some.start, ROWS), bool))
        for some in blocks(len(sets[0]), ROWS * len(EFFECTS))
    ]).reshape(runs, WEEKS, -1)  # fmt: skip
    first = np.r_[1.0, np.zeros(WEEKS - 1)]
    found = {
        "E, O:E": log_mixture(o_e),
        "E, slope": log_mixture(slope),
        "E, O:E, from week 1 only": log_mixture(o_e, starts=first),
        "E, slope, from week 1 only": log_mixture(slope, starts=first),
    }
    probs = sigmoid(score)
    gap, variance = ((part.sum(axis=2)).cumsum(axis=1) for part in (came - probs, probs * (1.0 - probs)))
    found["z > 1.96 every week"] = np.where(np.abs(gap) > 1.96 * np.sqrt(variance), LIMIT + 1.0, 0.0)
    found["either test of the page"] = np.maximum(found["E, O:E"], found["E, slope"])
    total = [part.sum(axis=2).cumsum(axis=1) for part in (np.ones(score.shape), came, probs)]
    ends = [confidence_sequence(*of_run) for of_run in zip(*total, strict=True)]
    low, high = (np.array([end[k] for end in ends]) for k in (0, 1))
    found[SEQUENCE] = np.where((low > 1.0) | (high < 1.0), LIMIT + 1.0, 0.0)
    return found


def universal(score: Floats, came: Any, weeks: int = WEEKS) -> Floats:
    """Logarithm of the e-process of universal inference for the slope after every week, (weeks,), of one run.

    The likelihood mixed over intercept and slope, around the mean log-odds, over its supremum over the intercept at
    slope 1; that is taken on a grid with steps of .01, which is off by less than .01 nats here.
    """
    score, came = score.reshape(weeks, -1), came.reshape(weeks, -1)
    centre = score.mean()
    weight = np.exp(-0.5 * (GRID / 0.4) ** 2)
    log_weights = np.log(np.multiply.outer(weight, weight) / weight.sum() ** 2).ravel()

    def log_likelihood(intercept: Floats, slope: Floats) -> Floats:
        z = centre + intercept[:, None, None] + slope[:, None, None] * (score - centre)
        return (came * z - np.logaddexp(0.0, z)).sum(axis=2).cumsum(axis=1)

    a, b = (part.ravel() for part in np.meshgrid(GRID, np.exp(GRID), indexing="ij"))
    above = logsumexp(log_likelihood(a, b) + log_weights[:, None], axis=0)
    free = np.arange(-2.0, 2.001, 0.01)
    return above - log_likelihood(free, np.ones(len(free))).max(axis=0)


def simulate(logits: Floats, one: Scenario, runs: int, seed: int = 0) -> dict[str, Any]:
    """The week of the first alarm of each test in every run, from 1; WEEKS + 1 where there was none."""
    generator = np.random.default_rng(seed)
    found: dict[str, list[Any]] = {}
    for start in range(0, runs, AT_ONCE):
        score, came = drawn(logits, one, min(AT_ONCE, runs - start), generator)
        logs = looked_at(score, came)
        if start < UNIVERSAL_RUNS and one.begin == 0:
            logs["E, slope, universal inference"] = np.array([universal(*run) for run in zip(score, came, strict=True)])
        for name, log_e in logs.items():
            found.setdefault(name, []).append(alarm_weeks(log_e))
    return {name: np.concatenate(weeks) for name, weeks in found.items()}


def alarm_weeks(log_e: Floats) -> Any:
    """(runs,) weeks of the first alarm, from 1; WEEKS + 1 where there was none."""
    over = log_e >= LIMIT
    return np.where(over.any(axis=1), over.argmax(axis=1) + 1, WEEKS + 1)


def cell(weeks: Any, begin: int) -> str:
    """Share of runs with an alarm after the change, the median delay of all runs, and the share with one before."""
    right = (weeks > begin) & (weeks <= WEEKS)
    early = f", {100 * np.mean(weeks <= begin):.1f} % before" if begin else ""
    delay = float(np.median(np.where(right, weeks - begin, np.inf)))
    return f"{right.mean():.2f} ({f'{delay:.0f}' if np.isfinite(delay) else '–'}{early})"


def null_cell(weeks: Any) -> str:
    """Share of runs with an alarm and its upper limit."""
    count, runs = int((weeks <= WEEKS).sum()), len(weeks)
    return f"{count / runs:.3f} (≤ {float(wilson_interval(count, runs, 0.9)[1]):.3f})"


def table(found: Mapping[Scenario, Mapping[str, Any]]) -> str:
    """Tests by scenarios."""
    names = dict.fromkeys(name for weeks in found.values() for name in weeks)
    lines: list[list[str]] = []
    for name in names:
        cells: Iterator[str] = (
            "–"
            if name not in weeks or (name == SEQUENCE and one.title != "null")
            else null_cell(weeks[name])
            if one.title == "null"
            else cell(weeks[name], one.begin)
            for one, weeks in found.items()
        )
        lines.append([name, *cells])
    return markdown(["test", *(one.title for one in found)], lines)


def main() -> None:
    """Simulate and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="two classes; their probabilities are drawn from")
    parser.add_argument("--runs", type=int, default=1000, help="of the null; half as many of each change")
    given = parser.parse_args()
    logits = calib.load(given.data).logits
    score = logits[:, 1] - logits[:, 0]
    begin = time.process_time()
    found = {one: simulate(score, one, given.runs if one.title == "null" else given.runs // 2) for one in SCENARIOS}
    print(machine())
    print(f"{time.process_time() - begin:.0f} s of CPU time\n")
    print(table(found))


if __name__ == "__main__":
    main()
