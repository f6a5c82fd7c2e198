"""The table of a size curve: means over draws, with bands for one more draw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.evaluation.attempt import BASELINE, title_of
from calib.evaluation.bootstrap import ResampledScores
from calib.metrics.bootstrap import Interval, interval_of_draws
from calib.numerics import Floats

if TYPE_CHECKING:
    import pandas as pd

SIZE_SCORES = ("NLL", "ECE")


@dataclass(frozen=True, eq=False)
class Drawn:
    """One fit of a size curve: its scores on resamples of the test rows, or why there are none."""

    method: str
    size: int
    scores: ResampledScores | None
    note: str


def join_draws(
    methods: Iterable[str], sizes: Sequence[int], drawn: Iterable[Iterable[Drawn]], n: int, level: float
) -> pd.DataFrame:
    """The table of :func:`calib.evaluation.learning_curve` from the fits of all draws.

    Parameters
    ----------
    methods : their names, in the order of the table.
    sizes : ascending.
    drawn : the fits of each draw.
    n : number of calibration rows.
    level : coverage of the bands.
    """
    import pandas as pd

    fits = [fit for of_draw in drawn for fit in of_draw]
    rows: list[dict[str, Any]] = []
    for name in methods:
        baseline = _Draws(fit for fit in fits if fit.method == name == BASELINE)
        draws_of = {
            size: baseline
            if name == BASELINE
            else _Draws(fit for fit in fits if (fit.method, fit.size) == (name, size))
            for size in sizes
        }
        for size, draws in draws_of.items():
            here = {"method": name, "title": title_of(name), "size": size, "n_draws": draws.count}
            certain = name == BASELINE or size == n
            last = draws_of[sizes[-1]]
            rows += [here | values | {"note": draws.note} for values in _summaries(draws, last, certain, level)]
    return pd.DataFrame(rows)


class _Draws:
    """What the draws of one size gave for one method."""

    def __init__(self, fits: Iterable[Drawn]):
        self.made: list[ResampledScores] = []
        self.note = ""
        for fit in fits:
            if fit.scores is None:
                self.note = fit.note
            else:
                self.made.append(fit.scores)

    @property
    def count(self) -> int:
        return len(self.made)

    def values(self, key: str) -> Floats:
        """(count,) score of each draw; empty where the method does not have it."""
        return np.array([one.value[key] for one in self.made if key in one.value])

    def of_rows(self, key: str, level: float) -> Interval:
        """Interval of one draw's score from its test rows, averaged over draws."""
        return _mean([one.intervals(level)[key] for one in self.made])

    def of_rows_to(self, last: _Draws, key: str, level: float) -> Interval:
        """The same of one draw's score minus the mean of the largest size's."""
        baseline = np.mean([one.draws[key] for one in last.made], axis=0)
        value = float(last.values(key).mean())
        return _mean([interval_of_draws(one.value[key] - value, one.draws[key] - baseline, level) for one in self.made])


def _mean(intervals: list[Interval]) -> Interval:
    return Interval(*(float(side) for side in np.mean(intervals, axis=0)))


def _summaries(draws: _Draws, last: _Draws, certain: bool, level: float) -> list[dict[str, Any]]:
    nothing = float("nan")
    found = []
    for key in SIZE_SCORES:
        values = draws.values(key)
        row: dict[str, Any] = dict.fromkeys(
            ("value", "low", "high", "sd", "to_last", "to_last_low", "to_last_high"), nothing
        )
        row["score"] = key
        if len(values):
            of_draws = 0.0 if certain else _half_width(values, level)
            value, low, high = _widened(draws.of_rows(key, level), of_draws)
            # Neither score can be negative.
            row |= {"value": value, "low": max(low, 0.0), "high": high}
            row["sd"] = float(values.std(ddof=1)) if len(values) > 1 else 0.0 if certain else nothing
            if len(last.values(key)):
                change = (
                    Interval(0.0, 0.0, 0.0) if draws is last else _widened(draws.of_rows_to(last, key, level), of_draws)
                )
                row |= dict(zip(("to_last", "to_last_low", "to_last_high"), change, strict=True))
        found.append(row)
    return found


def _widened(of_rows: Interval, of_draws: float) -> Interval:
    """An interval whose sides have another, independent error added in squares."""
    value, low, high = of_rows
    return Interval(value, value - math.hypot(value - low, of_draws), value + math.hypot(high - value, of_draws))


def _half_width(values: Floats, level: float) -> float:
    """Half the width of the t interval of a further draw."""
    from scipy.stats import t

    n = len(values)
    if n < 2:
        return math.inf
    return float(t.ppf(0.5 + level / 2, n - 1)) * float(values.std(ddof=1)) * math.sqrt(1 + 1 / n)
