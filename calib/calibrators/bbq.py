"""Bayesian binning into quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.calibrators.one_vs_rest import Bools, Map
from calib.calibrators.step_maps import StepMap, StepMapCalibrator, smoothed_histograms
from calib.numerics import Floats

NEGLIGIBLE = 1e-20
"""A model this much less likely than the best one changes no digit of the average."""


@dataclass(eq=False, repr=False, kw_only=True)
class BayesianBinning(StepMapCalibrator):
    """The average of many histograms, each weighted by how likely it makes the labels.

    BBQ of Naeini, Cooper and Hauskrecht, Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI
    2015. Each bin has a Beta prior, so that its label probabilities integrate out in closed form. Frequencies need not
    rise from bin to bin, so the predicted class can change.

    The paper has two classes in mind: bins of equal frequency, priors centred on their midpoints. Of the pairs of K
    classes against the rest all but one in K are negatives near 0, and nearly all bins would lie there. Here the bins
    hold like shares of positives and negatives, and the priors are centred on the model's mean probability in each bin,
    with several strengths (:func:`~calib.calibrators.step_maps.smoothed_histograms`): from few rows the raw model is
    what remains. As the K pairs of a row hold one label, log-likelihoods of n K pairs are divided by K in the weights.

    Scores of exactly 0 and 1 are in the outermost bins. An average of steps is a step map itself, and kept as
    such: prediction is one search, however many models there were. Its values are kept at least 1 / (m + 2) away
    from 0 and 1, m the number of calibration pairs.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = BayesianBinning().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    weighted: ClassVar[bool] = False

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        tempering = min(1.0, self.n_rows_ / len(log_odds))
        models = smoothed_histograms(log_odds, positives)
        evidence = np.stack([model.evidence for model in models])
        chances = np.exp((evidence - evidence.max()) * tempering)
        selected = [
            (model, chance)
            for model, chance in zip(models, chances, strict=True)
            if chance.sum() > NEGLIGIBLE
        ]
        edges = np.unique(np.concatenate([model.edges for model, _ in selected]))
        values = np.zeros(len(edges) + 1)
        for model, share in selected:
            values += (share @ model.values)[
                np.searchsorted(model.edges, np.append(-np.inf, edges), side="right")
            ]
        values /= sum(chance.sum() for _, chance in selected)
        return StepMap(edges, np.clip(values, self.margin_, 1 - self.margin_))
