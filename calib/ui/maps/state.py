"""The numbers of the Calibration maps page: every fit's map of one class, and how the test rows judge it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calib.calibrators.bayes_iso import BayesIso
from calib.data import Predictions
from calib.data.samples import true_map
from calib.diagnostics.calibration_maps import (
    CalibrationMap,
    ClassFrequencies,
    EndConfidence,
    balanced_edges,
    class_frequencies,
    class_map,
    end_confidence,
    has_class_map,
    pairs_of_rows,
    posterior_map,
    venn_abers_pair,
)
from calib.diagnostics.reliability import default_bins
from calib.formatting import class_in_words
from calib.metrics.bootstrap import Interval, wilson_interval
from calib.numerics import Floats, sigmoid
from calib.plots.annotations import short_names
from calib.plots.maps import N_CELLS, MapPicture
from calib.plots.maps_posterior import Place, ScoreAxis, score_axis
from calib.registry import METHODS, variant_of
from calib.ui.fits import RAW, ShownFit, pair_of_class, ready, rows_of
from calib.ui.session import OpenSession, keep

MOST_BINS = 20
END = 0.025
"""Share of the rows at each end, as in figure 3 of Allikivi and Kull (2019)."""
_POINTS = 300
Pairs = tuple[Floats, npt.NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Judged:
    """How one map fares on the test rows: (n_bins,) its mean probability in each bin, and both ends."""

    means: Floats
    ends: EndConfidence

    def share(self, end: str) -> Interval:
        """Share of the class at the "first" or "last" end, with its 95 % Wilson interval."""
        value = float(getattr(self.ends, f"{end}_share"))
        low, high = wilson_interval(value * self.ends.n_pairs, self.ends.n_pairs)
        return Interval(value, float(low), float(high))


@dataclass(frozen=True)
class ClassMaps:
    """The maps of one class; numbers are computed once per class and fit, and pairs only where those are missing."""

    session: OpenSession
    target: int

    @property
    def name(self) -> str:
        """The class in words."""
        return class_in_words(self.session.data.name_of(self.target))

    @cached_property
    def calibration(self) -> Pairs:
        """Pairs of the calibration rows."""
        return self._pairs(self.session.calibration)

    @cached_property
    def test(self) -> Pairs:
        """Pairs of the test rows."""
        return self._pairs(self.session.test)

    def _pairs(self, part: Predictions) -> Pairs:
        key = ("map pairs", part is self.session.test, self.target)
        return ready(key, f"the log-odds of {self.name}", pairs_of_rows, self.target, data=rows_of(part))

    def axis(self, kind: Place) -> ScoreAxis:
        """How scores are placed."""
        return keep(("map axis", self.target, kind), lambda: score_axis(kind, self.calibration[0]))

    def frequencies(self) -> ClassFrequencies:
        """Of the test rows, in bins that the calibration rows gave."""

        def build() -> ClassFrequencies:
            log_odds, positives = self.calibration
            n_bins = min(MOST_BINS, default_bins(min(len(log_odds), len(self.test[0]))))
            return class_frequencies(*self.test, balanced_edges(log_odds, positives, n_bins))

        return keep(("map frequencies", self.target), build)

    def grid(self) -> Floats:
        """Log-odds at which maps are drawn: scores of the calibration rows and points evenly between them."""
        axis = self.axis("log_odds")
        scores = axis.scores[np.unique(np.linspace(0, len(axis.scores) - 1, _POINTS).astype(int))]
        return np.unique(np.concatenate([scores, np.linspace(*axis.limits, _POINTS)]))

    def curve(self, fit: ShownFit) -> Floats:
        """The fit's map at the grid."""
        return keep(("map curve", fit.key, self.target), lambda: map_of(fit, self.grid(), self.target))

    def pair(self, fit: ShownFit) -> tuple[Floats, Floats] | None:
        """Venn-Abers' two probabilities at the grid; None for other methods."""
        key = ("map pair", fit.key, self.target)
        return keep(key, lambda: venn_abers_pair(fit.calibrator, self.grid(), self.target))

    def judged(self, fit: ShownFit) -> Judged:
        """The fit's map against the test rows."""

        def build() -> Judged:
            log_odds, positives = self.test
            # Of two classes what predicts is the map; of more, rows are normalised only after their maps.
            if self.session.data.n_classes == 2:
                probs, _ = pair_of_class(fit, self.target)
            else:
                probs = map_of(fit, log_odds, self.target)
            means = self.frequencies().means(log_odds, probs)
            return Judged(means, end_confidence(log_odds, positives, probs, END))

        return keep(("map judged", fit.key, self.target), build)

    def posterior(self, fit: ShownFit) -> CalibrationMap | None:
        """What a Bayes-Iso knows about the map; None for other methods and where it learned nothing."""
        if not isinstance(fit.calibrator, BayesIso):
            return None
        return keep(("map posterior", fit.key, self.target), lambda: posterior_map(fit.calibrator, self.target))

    def picture(self, kind: Place) -> MapPicture:
        """What all maps share."""

        def build() -> MapPicture:
            axis = self.axis(kind)
            log_odds, positives = self.test
            places = np.clip(axis.place(log_odds), *axis.limits)  # the outermost cells hold all beyond them
            cells = np.linspace(*axis.limits, N_CELLS + 1)
            inside, others = (np.histogram(places[rows], cells)[0] for rows in (positives, ~positives))
            grid = self.grid()
            return MapPicture(
                self.name, axis, grid, self.frequencies(), "test", cells, inside, others, self._truth(grid)
            )  # fmt: skip

        return keep(("map picture", self.target, kind), build)

    def _truth(self, log_odds: Floats) -> Floats | None:
        name = self.session.sample
        true = true_map(name) if name is not None else None
        if true is None:
            return None
        return true(sigmoid(log_odds)) if self.target == 1 else 1 - true(sigmoid(-log_odds))


def has_map(fit: ShownFit, target: int) -> bool:
    """Whether a class's probability depends on its own log-odds alone, before normalisation; the raw model's does."""
    return fit.key == RAW or has_class_map(fit.calibrator, target)


def map_of(fit: ShownFit, log_odds: Floats, target: int) -> Floats:
    """The fit's map at some log-odds; the raw model's is the sigmoid, whatever the number of classes."""
    return sigmoid(log_odds) if fit.key == RAW else class_map(fit.calibrator, log_odds, target)


def map_names(fits: list[ShownFit]) -> dict[str, str]:
    """Names by key, short enough to stand beside a line: the method, and what tells it from others of the method."""
    names: dict[str, str] = {}
    for method in dict.fromkeys(fit.method for fit in fits):
        same, title = [fit for fit in fits if fit.method == method], METHODS[method].title
        if len(same) == 1:
            names[same[0].key] = title
            continue
        variants = [variant_of(fit.calibrator, fit.calibrator.n_classes_) for fit in same]
        plain = [variant.replace("platt_correction=True", "corrected") for variant in variants]
        for fit, short in zip(same, short_names(title, plain), strict=True):
            names[fit.key] = short if short == title else f"{title} {short}"
    return names
