"""Ensemble of near-isotonic regressions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.calibrators.near_isotonic import near_isotonic_path
from calib.calibrators.one_vs_rest import BinaryCalibrator, Map
from calib.calibrators.pooled_scores import Groups, group_ties
from calib.numerics import Floats, Ints

NEGLIGIBLE = 1e-20
"""A model this much less likely than the best one changes no digit of the average."""


@dataclass(eq=False, repr=False, kw_only=True)
class NearIsotonicEnsemble(BinaryCalibrator):
    """The average of nearly monotone maps, from free to isotonic, each weighted by its BIC.

    ENIR of Naeini and Cooper, Binary Classifier Calibration Using an Ensemble of Near Isotonic Regression Models, ICDM
    2016. A penalty on every fall of the map grows from 0, where each score has its own frequency, until the map is
    isotonic; the models are those at which scores merge, and have as many degrees of freedom as blocks. Values are kept
    at least 1 / (m + 2) away from 0 and 1, m the number of calibration pairs.
    """

    @property
    def is_monotone(self) -> bool:
        return False

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        groups = group_ties(log_odds, self.targets(positives))
        path = near_isotonic_path(groups.positives / groups.counts, groups.counts)
        weights, models = [], []
        for step in reversed(range(min(1, len(path.penalties) - 1), len(path.penalties))):
            starts, values = path.blocks(step)
            values = self.bounded(values)
            weights.append(-bic(groups, starts, values) / 2)
            # Backwards from the isotonic end, every model has more blocks than the one before.
            if weights[-1] < max(weights) + np.log(NEGLIGIBLE):
                break
            models.append((starts, values))
        chance = np.exp(np.array(weights[: len(models)]) - max(weights))
        every_start = np.unique(np.concatenate([starts for starts, _ in models]))
        average = np.zeros(len(every_start))
        for weight, (starts, values) in zip(chance / chance.sum(), models, strict=True):
            average += weight * values[np.searchsorted(starts, every_start, side="right") - 1]
        # A step is flat from its first score to its last, and a line leads to the next.
        ends = np.append(every_start[1:], len(groups)) - 1
        kept = np.unique(np.concatenate([every_start, ends]))
        step_of = np.searchsorted(every_start, kept, side="right") - 1
        return {"knots": groups.log_odds[kept], "values": self.bounded(average[step_of]), "n_models": len(models)}

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        return np.interp(log_odds, state["knots"], state["values"])


def bic(groups: Groups, starts: Ints, values: Floats) -> float:
    """Bayesian information criterion of a map with one value per block, ``blocks * log(2 pi n) - 2 log-likelihood``.

    The factor 2 pi is in the authors' code; without it, small calibration sets favour maps with more blocks.
    """
    positives = np.add.reduceat(groups.positives, starts)
    negatives = np.add.reduceat(groups.counts, starts) - positives
    log_likelihood = positives @ np.log(values) + negatives @ np.log1p(-values)
    return float(len(starts) * np.log(2 * np.pi * groups.ends[-1]) - 2 * log_likelihood)
