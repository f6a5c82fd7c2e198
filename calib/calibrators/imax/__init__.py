"""I-Max binning (Patel et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.base import Progress
from calib.calibrators.imax.placement import SCHEMES, SigmoidSums, scheme_edges
from calib.calibrators.one_vs_rest import Bools, Map, OneVsRest, one_vs_rest_pairs
from calib.calibrators.platt import platt_map
from calib.calibrators.step_maps import StepMap, StepMapCalibrator
from calib.numerics import Floats, Ints, sigmoid
from calib.parameters import param, parameter_names
from calib.registry import METHODS

SOURCES = ("temperature", "gpcalib", "platt", "beta", "isotonic")
"""Registry names of the calibrators whose probabilities bins can take over."""


def matched_sigmoid(log_odds: Floats, positives: Bools) -> tuple[float, float]:
    """Slope and intercept of the ``sigmoid(slope * log-odds + intercept)`` of least cross-entropy (section S3.3).

    A slope of zero would make all bins one: the model is then left as it is, with slope 1 and intercept 0.
    """
    curve = platt_map(log_odds, positives)
    return (curve.slope, curve.intercept) if curve.slope > 0 else (1.0, 0.0)


def count_between(ordered: Floats, edges: Floats) -> Ints:
    """Count the increasing log-odds in each bin, (n_bins,)."""
    return np.diff(ordered.searchsorted(edges), prepend=0, append=len(ordered))


def mean_of_bins(total: Floats | Ints, count: Ints, edges: Floats) -> Floats:
    """Total over count of each bin, (n_bins,); of an empty one the probability midway between its ends."""
    ends = np.concatenate([[0.0], sigmoid(edges), [1.0]])
    return np.divide(total, count, out=(ends[1:] + ends[:-1]) / 2, where=count > 0)


def in_order(values: Floats, count: Ints) -> Floats:
    """The non-decreasing values nearest to ``values`` in weighted squares; an empty bin gives way to its neighbours."""
    from scipy.optimize import isotonic_regression

    return isotonic_regression(values, weights=np.maximum(count, 1e-9)).x


@dataclass(eq=False, repr=False, kw_only=True)
class IMaxBinning(StepMapCalibrator):
    """Bins of the log-odds with the greatest mutual information between bin and label.

    Patel et al., Multi-Class Uncertainty Calibration via Mutual Information Maximization-based Binning, 2020. Edges
    come from the log-odds alone; representatives are the frequencies in the bins, the model's own mean
    probabilities, or those of another calibrator, which is fitted on the same rows and not needed afterwards.

    As a map has few values, its calibration error is verifiable. The paper therefore does not normalise rows
    (``normalize=False``, section S1), which then sum to .75 to 1.31 on CIFAR-100.

    Frequencies need not rise from bin to bin; with ``monotone`` they do, and with ties broken by the raw logits the
    shared bins then predict the same classes as the model.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = IMaxBinning().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    n_bins: int = param(15, low=1, high=1000, help="Number of bins.")
    scheme: str = param(
        "imax",
        choices=SCHEMES,
        help="Bins with the most information about the label, with equally many pairs, or equally wide in probability.",
    )
    representatives: str = param(
        "empirical",
        choices=("empirical", "raw", *SOURCES),
        help="The value of a bin: the frequency in it (empirical), or the mean probability of the model (raw) or of "
        "the calibrator named, which is fitted first.",
    )
    monotone: bool = param(
        False, help="Keep the bins' probabilities in order; shared bins then keep every prediction."
    )
    scaled_model: bool = param(
        False,
        help="Place I-Max's edges for a sigmoid matched to the data, where the model's confidence is far off.",
    )

    weighted: ClassVar[bool] = False

    @property
    def is_monotone(self) -> bool:
        return self.monotone

    def notes(self) -> list[str]:
        notes = super().notes()
        rows = self.n_rows_ / self.n_classes_
        empirical = self.representatives == "empirical"
        if not self.share_classes and empirical and self.n_bins > rows:
            notes.append(
                f"A class has about {rows:.0f} calibration rows for {self.n_bins} bins of its own, too few for "
                "frequencies. Share the bins, or take the representatives from the raw predictions."
            )
        return notes + [note for note in self.source_notes_ if note not in notes]

    def _fit(
        self, logits: Floats, labels: Ints, *, progress: Progress, weights: Floats | None = None
    ) -> None:
        self.source_notes_: list[str] = []
        super()._fit(logits, labels, progress=progress)
        if self.representatives == "empirical":
            return
        cls = METHODS["identity" if self.representatives == "raw" else self.representatives].cls
        shared = set(parameter_names(cls)) & set(
            parameter_names(OneVsRest)
        )  # one-vs-rest in the same way as the bins
        source = cls(**{name: getattr(self, name) for name in shared})
        source.fit(logits, labels, kind="logits", progress=progress)
        self.source_notes_ = source.notes()
        self._take_over(source.probs_from_logits(logits), logits, labels)

    def _take_over(self, probs: Floats, logits: Floats, labels: Ints) -> None:
        """Represent the bins by another calibrator's (n, n_classes) probabilities."""
        log_odds, _ = one_vs_rest_pairs(logits, labels)
        if self.n_classes_ == 2:
            probs = probs[:, 1:]
        if self.share_classes:
            log_odds = log_odds.reshape(-1, 1)
            probs = probs.reshape(-1, 1)
        for k, bins in enumerate(self.maps_):
            if bins is not None:
                index = np.searchsorted(bins.edges, log_odds[:, k], side="right")
                count, total = (
                    np.bincount(index, weights, len(bins.values)) for weights in (None, probs[:, k])
                )
                self.maps_[k] = self._represented(bins.edges, total, count.astype(np.int64))

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        sums = SigmoidSums.from_log_odds(log_odds)
        model = matched_sigmoid(log_odds, positives) if self.scaled_model else (1.0, 0.0)
        edges = scheme_edges(
            sums, self.scheme, self.n_bins, sigmoid=model, random_state=self.random_state
        )
        total = count_between(np.sort(log_odds[positives]), edges)
        count = sums.counts(sums.positions(edges))
        return self._represented(edges, total, count, self.margin_)

    def _represented(
        self, edges: Floats, total: Floats | Ints, count: Ints, margin: float = 0.0
    ) -> StepMap:
        """Bins with the means of what their pairs sum to, at least ``margin`` away from 0 and 1."""
        values = np.clip(mean_of_bins(total, count, edges), margin, 1 - margin)
        return StepMap(edges, in_order(values, count) if self.monotone else values)
