"""Ensemble of near-isotonic regressions (ENIR), and the path of nearly-isotonic regression."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import ClassVar

import numpy as np

from calib.calibrators.isotonic import LinearMap, Tally, joined
from calib.calibrators.one_vs_rest import Bools, Map, OneVsRest
from calib.numerics import Floats, Ints
from calib.parameters import param

_SAME = 1e-12  # rounding: values this close are equal, and so are penalties, relatively


@dataclass(frozen=True, eq=False)
class NearIsotonicPath:
    """Minimisers of ``1/2 sum w_i (y_i - b_i)^2 + penalty * sum max(b_i - b_{i+1}, 0)`` for every penalty.

    Neighbours that have met stay together, so the path is a list of blocks, each with a value that is linear in the
    penalty while the block lasts.

    Attributes
    ----------
    penalties : (n_steps,) rising from 0; at each but the first, blocks merge.
    start : (n_blocks,) first position of a block.
    born, died : (n_blocks,) steps between which a block exists, ``born <= step < died``.
    intercept, slope : (n_blocks,) its value is ``intercept + slope * penalty``.
    """

    penalties: Floats
    start: Ints
    born: Ints
    died: Ints
    intercept: Floats
    slope: Floats

    def blocks(self, step: int) -> tuple[Ints, Floats]:
        """First positions and values of the blocks at a step, from left to right; the last step is the isotonic fit."""
        there = np.flatnonzero((self.born <= step) & (step < self.died))
        there = there[np.argsort(self.start[there])]
        return self.start[there], self.intercept[there] + self.slope[there] * self.penalties[step]


def near_isotonic_path(values: Floats, weights: Floats | Ints) -> NearIsotonicPath:
    """Follow the solution as the penalty grows (Tibshirani, Hoefling and Tibshirani 2011, section 3).

    A block above its right neighbour falls at the rate 1 / weight, the neighbour rises; the next two blocks to meet
    merge. Meetings wait in a heap, so m values take O(m log m).

    Parameters
    ----------
    values : (m,) of order one, in the order in which they should rise.
    weights : (m,) positive.
    """
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    start = first.tolist()
    weight = np.add.reduceat(weights, first).tolist()
    level = values[first]
    n = len(start)
    falls = np.concatenate(
        [level[:-1] > level[1:], [False]]
    ).tolist()  # whether a block is above its right neighbour
    slope = [
        (falls[i - 1] - falls[i]) / weight[i] for i in range(n)
    ]  # falls[-1] is False, as nothing is left of 0
    intercept = level.tolist()
    previous = [*range(-1, n - 1)]
    right = [*range(1, n), -1]
    born = [0] * n
    died = [-1] * n
    penalties = [0.0]

    heap: list[tuple[float, int, int]] = []

    def expect(a: int, b: int, penalty: float) -> None:
        """Put the next meeting of two neighbours into the heap, if there is one."""
        gap = intercept[b] - intercept[a] + (slope[b] - slope[a]) * penalty
        closing = slope[a] - slope[b]
        if abs(gap) <= _SAME:
            heappush(heap, (penalty, a, b))
        elif gap * closing > 0:
            heappush(heap, (penalty + gap / closing, a, b))

    for a, b in pairwise(range(n)):
        expect(a, b, 0.0)
    while heap:
        penalty, a, b = heappop(heap)
        if died[a] >= 0 or died[b] >= 0:
            continue
        if penalty > penalties[-1] * (1 + _SAME):
            penalties.append(penalty)
        step = len(penalties) - 1
        died[a] = died[b] = step
        new = len(start)
        before = previous[a]
        after = right[b]
        start.append(start[a])
        weight.append(weight[a] + weight[b])
        falls.append(falls[b])
        slope.append(((before >= 0 and falls[before]) - falls[b]) / weight[new])
        intercept.append(intercept[a] + (slope[a] - slope[new]) * penalty)
        previous.append(before)
        right.append(after)
        born.append(step)
        died.append(-1)
        if before >= 0:
            right[before] = new
            expect(before, new, penalty)
        if after >= 0:
            previous[after] = new
            expect(new, after, penalty)
    ends = np.array(died)
    return NearIsotonicPath(
        np.array(penalties),
        np.array(start),
        np.array(born),
        np.where(ends < 0, len(penalties), ends),
        np.array(intercept),
        np.array(slope),
    )


NEGLIGIBLE = 1e-20
"""A model this much less likely than the best one changes no digit of the average."""


def bic(tally: Tally, starts: Ints, values: Floats) -> float:
    """Bayesian information criterion of a map with one value per block, ``blocks * log(2 pi n) - 2 log-likelihood``.

    The factor 2 pi is in the authors' code; without it, small calibration sets favour maps with more blocks.
    """
    positives = np.add.reduceat(tally.positives, starts)
    negatives = np.add.reduceat(tally.counts, starts) - positives
    log_likelihood = positives @ np.log(values) + negatives @ np.log1p(-values)
    return float(len(starts) * np.log(2 * np.pi * tally.counts.sum()) - 2 * log_likelihood)


@dataclass(eq=False, repr=False, kw_only=True)
class NearIsotonicEnsemble(OneVsRest):
    """The average of nearly monotone maps, from free to isotonic, each weighted by its BIC.

    ENIR of Naeini and Cooper, Binary Classifier Calibration Using an Ensemble of Near Isotonic Regression Models, ICDM
    2016. A penalty on every fall of the map grows from 0, where each score has its own frequency, until the map is
    isotonic; the models are those at which scores merge, and have as many degrees of freedom as blocks. Values are kept
    at least 1 / (m + 2) away from 0 and 1, m the number of calibration pairs.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = NearIsotonicEnsemble().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    platt_correction: bool = param(
        False,
        help="Soften the targets 0 and 1 by their counts, as Platt does; helps small calibration sets.",
    )

    map_type: ClassVar[type[Map]] = LinearMap
    weighted: ClassVar[bool] = False

    @property
    def is_monotone(self) -> bool:
        return False

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        tally = Tally.of(log_odds, positives)
        margin = self.margin_
        low, high = tally.platt_targets() if self.platt_correction else (0.0, 1.0)
        tally = Tally(
            tally.scores, tally.counts, low * tally.counts + (high - low) * tally.positives
        )
        path = near_isotonic_path(tally.positives / tally.counts, tally.counts)
        scores = []
        models = []
        # Backwards from the isotonic end every model has more blocks than the one before; the free one is left out.
        for step in reversed(range(min(1, len(path.penalties) - 1), len(path.penalties))):
            starts, values = path.blocks(step)
            values = np.clip(values, margin, 1 - margin)
            scores.append(-bic(tally, starts, values) / 2)
            if scores[-1] < max(scores) + np.log(NEGLIGIBLE):
                break
            models.append((starts, values))
        chances = np.exp(np.array(scores[: len(models)]) - max(scores))
        every_start = np.unique(np.concatenate([starts for starts, _ in models]))
        average = np.zeros(len(every_start))
        for chance, (starts, values) in zip(chances / chances.sum(), models, strict=True):
            average += chance * values[np.searchsorted(starts, every_start, side="right") - 1]
        knots, values = joined(tally.scores, every_start, average)
        return LinearMap(knots, np.clip(values, margin, 1 - margin))
