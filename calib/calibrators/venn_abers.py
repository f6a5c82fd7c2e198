"""Venn-Abers prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calib.base import POSITIVE
from calib.calibrators.isotonic import Tally
from calib.calibrators.one_vs_rest import Bools, Map, OneVsRest
from calib.calibrators.step_maps import even_cuts, shares_below
from calib.calibrators.steps import Step, table
from calib.errors import CalibrationError
from calib.numerics import Floats, float32_error

MOST_SCORES = 262_144
"""Different scores of a map; neighbours are merged above it, so that tables and exports stay small."""


@dataclass(frozen=True, eq=False)
class VennAbersMap:
    """The steps of p0 and of p1, and their merger ``p1 / (1 - p0 + p1)``.

    Attributes
    ----------
    low_edges, low : p0's increasing values, and between which log-odds they hold; just below calibration scores.
    high_edges, high : p1's; just above calibration scores.
    """

    low_edges: Floats
    low: Floats
    high_edges: Floats
    high: Floats

    def pair(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """p0 and p1 of each."""
        # A row counted as an event comes before the group of its own score, one counted as none after it.
        low = self.low[np.searchsorted(self.low_edges, log_odds, side="right")]
        high = self.high[np.searchsorted(self.high_edges, log_odds, side="left")]
        return low, high

    def apply(self, log_odds: Floats) -> Floats:
        low, high = self.pair(log_odds)
        return high / (1 - low + high)

    def steps(self) -> list[Step]:
        # p1 steps up beyond its edges, p0 at them; both are steps at the first number for which they hold.
        edges = np.union1d(self.low_edges, np.nextafter(self.high_edges, np.inf))
        return [
            table(
                edges,
                self.apply(np.append(edges[:1] - 1.0, edges))
                if len(edges)
                else self.apply(np.zeros(1)),
            )
        ]


@dataclass(eq=False, repr=False, kw_only=True)
class VennAbers(OneVsRest):
    """Two isotonic fits for each score, with the row counted as an event and as none, merged into one probability.

    Inductive Venn-Abers predictors: Vovk and Petej, Venn-Abers Predictors, UAI 2014; Vovk, Petej and Fedorova,
    Large-scale probabilistic predictors with and without guarantees of validity, NeurIPS 2015, who merge to
    ``p1 / (1 - p0 + p1)``, which is minimax for the log loss. It never is 0 or 1.

    Of two classes the pair is there as well (:meth:`predict_pair`). If the rows are exchangeable and the model was
    trained on others, the member of the pair that belongs to the true label is calibrated. The pair is **no confidence
    interval** of the probability, and the merged probability has no such guarantee.

    More classes have no pair. By default one map is shared by the pairs of all classes after temperature scaling, which
    keeps every prediction and needs the fewest rows; class-wise maps are those of one against the rest. One against
    one (Manokhin 2017) is left out: k rows of each of K perfectly separated classes give at most (k + 1) / (k + K).
    Above 262,144 different scores of a map neighbours are merged.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = VennAbers().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    traits: ClassVar[frozenset[str]] = frozenset({POSITIVE})
    map_type: ClassVar[type[Map]] = VennAbersMap
    weighted: ClassVar[bool] = False
    scales_first: ClassVar[bool] = True

    def notes(self) -> list[str]:
        if not self.gives_pairs:
            return super().notes()
        return [
            *super().notes(),
            "Each score has a pair of probabilities, p0 and p1, of which the one that belongs to the true label is "
            "calibrated (predict_pair). The pair is no confidence interval.",
        ]

    @property
    def gives_pairs(self) -> bool:
        """Return whether the fit has a pair of probabilities for each row, see :meth:`predict_pair`."""
        return self.n_classes_ == 2 and self.maps_[0] is not None

    def predict_pair(self, outputs: Any) -> tuple[Floats, Floats]:
        """The probabilities p0 and p1 of class 1, with the row counted as class 0 and as class 1; both (n,).

        The one that belongs to the true label is calibrated; together they are no confidence interval.

        Parameters
        ----------
        outputs : array_like of shape (n, 2) or (n,)
            As in :meth:`fit`.

        Returns
        -------
        tuple of ndarray
            Two probabilities for each row, (n,) each.

        Raises
        ------
        CalibrationError
            For more than two classes, and where the fit saw one class only.

        Examples
        --------
        >>> import numpy as np
        >>> from calib.calibrators.venn_abers import VennAbers
        >>> log_odds, labels = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]), np.array([0, 0, 1, 0, 1])
        >>> fitted = VennAbers().fit(np.stack([0 * log_odds, log_odds], axis=1), labels)
        >>> p0, p1 = fitted.predict_pair([[0.0, 0.5]])
        >>> print(round(float(p0[0]), 3), round(float(p1[0]), 3))
        0.333 0.667
        """
        logits = self.to_logits(outputs)
        if not self.gives_pairs:
            raise CalibrationError(
                "Venn-Abers gives pairs of probabilities for two classes with calibration rows of both; this fit has "
                f"{self.n_classes_} classes, {self.n_classes_ - self.unmapped_classes_} of them with a map. Take "
                "predict_proba."
            )
        return self.maps_[0].pair(np.asarray(logits[:, 1], float) - np.asarray(logits[:, 0], float))

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        tally = Tally.of(log_odds, positives)
        if len(tally.scores) > MOST_SCORES:
            tally = tally.pooled(np.append(0, even_cuts(shares_below(tally), MOST_SCORES)))
        low = as_event(tally, False)
        high = as_event(tally, True)
        low_rises, high_rises = (np.flatnonzero(np.diff(table) > 0) for table in (low, high))
        # A score that float32 rounded still equals the calibration score that it was.
        scores = tally.scores
        slack = float32_error(scores)
        quarter = np.diff(scores) / 4
        slack[1:] = np.minimum(slack[1:], quarter)
        slack[:-1] = np.minimum(slack[:-1], quarter)
        return VennAbersMap(
            low_edges=(scores - slack)[low_rises],
            low=low[np.append(0, low_rises + 1)],
            high_edges=(scores + slack)[high_rises],
            high=high[np.append(0, high_rises + 1)],
        )


def as_event(tally: Tally, event: bool) -> Floats:
    """Isotonic values of a row added after 0, 1, ..., m groups of calibration pairs, as an event or as none; (m + 1,).

    With C and S the counts and events of the groups before, an event added after k groups has the value ``max over
    i <= k of min over j >= k of (S_j - S_i + 1) / (C_j - C_i + 1)``: the slope of the convex minorant of the points
    (C_i - 1, S_i - 1) of the groups before and (C_j, S_j) of those after, between the two. One sweep over k keeps the
    corners from that slope on (Vovk et al. 2015). None is an event seen from the other outcome.
    """
    if not event:
        mirrored = Tally(
            -tally.scores[::-1], tally.counts[::-1], (tally.counts - tally.positives)[::-1]
        )
        return 1 - as_event(mirrored, True)[::-1]
    count = np.append(0, np.cumsum(tally.counts)).tolist()
    events = np.append(0, np.cumsum(tally.positives)).tolist()
    corners: list[tuple[float, float]] = []  # of the convex minorant, the leftmost last
    for point in zip(reversed(count), reversed(events), strict=True):
        _push(corners, point)
    _push(corners, (-1, -1))
    values = []
    for before in zip(count, events, strict=True):
        added = (before[0] - 1, before[1] - 1)
        if (
            before[0] and _cross(corners[-1], corners[-2], added) < 0
        ):  # below the line to the next corner
            corners.pop()
            _push(corners, added)
        (x, y), (next_x, next_y) = corners[-1], corners[-2]
        values.append((next_y - y) / (next_x - x))
    return np.array(values)


def _push(corners: list[tuple[float, float]], point: tuple[float, float]) -> None:
    """Add a point left of all corners, and drop those that no longer are any."""
    while len(corners) > 1 and _cross(point, corners[-1], corners[-2]) <= 0:
        corners.pop()
    corners.append(point)


def _cross(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Positive where the way from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
