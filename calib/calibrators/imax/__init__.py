"""I-Max binning (Patel et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from calib.base import Calibrator, Progress
from calib.calibrators.imax.placement import SCHEMES, scheme_edges
from calib.calibrators.imax.sums import SigmoidSums
from calib.calibrators.one_vs_rest import Bools, Map
from calib.calibrators.platt import PlattMap
from calib.calibrators.step_maps import StepMap, StepMapCalibrator
from calib.numerics import Floats, Ints, edges_at_or_below, sigmoid
from calib.parameters import param, parameter_names, unusable
from calib.registry import METHODS

SOURCES = ("temperature", "gpcalib", "platt", "beta", "isotonic")
"""Registry names of the calibrators whose probabilities bins can take over."""


@dataclass(frozen=True, eq=False)
class IMaxMap(StepMap):
    """Bins of the log-odds, and what each represents."""

    @classmethod
    def fit(
        cls,
        log_odds: Floats,
        positives: Bools,
        *,
        n_bins: int = 15,
        scheme: str = "imax",
        empirical: bool = True,
        monotone: bool = False,
        scaled_model: bool = False,
        random_state: int = 0,
        margin: float = 0.0,
    ) -> Self:
        """Place the edges, and represent the bins by their frequencies or by the model's mean probabilities.

        Parameters
        ----------
        log_odds, positives : (m,) pairs with both outcomes.
        n_bins, scheme, monotone, scaled_model, random_state : see :class:`IMaxBinning`.
        empirical : whether bins are represented by their frequencies, in place of the model's mean probabilities.
        margin : least distance of frequencies from 0 and 1.
        """
        sums = SigmoidSums.from_log_odds(log_odds)
        model = matched_sigmoid(log_odds, positives) if scaled_model else (1.0, 0.0)
        edges = scheme_edges(sums, scheme, n_bins, sigmoid=model, random_state=random_state)
        cuts = sums.positions(edges)
        count = sums.counts(cuts)
        if empirical:
            total: Floats | Ints = count_between(np.sort(log_odds[positives]), edges)
        else:
            # A difference of two running sums may come out above the number of its terms by rounding.
            total = np.minimum(sums.between(cuts)[0], count)
        values = mean_of_bins(total, count, edges)
        if empirical:
            values = np.clip(values, margin, 1 - margin)
        return cls(edges, in_order(values, count) if monotone else values)

    def represented_by(self, log_odds: Floats, probs: Floats, monotone: bool) -> Self:
        """The same bins, represented by the means of other probabilities of these (m,) pairs."""
        index = edges_at_or_below(log_odds, self.edges)
        count = np.bincount(index, minlength=len(self.values))
        values = mean_of_bins(np.bincount(index, weights=probs, minlength=len(self.values)), count, self.edges)
        return replace(self, values=in_order(values, count) if monotone else values)


def matched_sigmoid(log_odds: Floats, positives: Bools) -> tuple[float, float]:
    """Slope and intercept of the ``sigmoid(slope * log-odds + intercept)`` of least cross-entropy (section S3.3).

    A slope of zero would make all bins one: the model is then left as it is, with slope 1 and intercept 0.
    """
    curve = PlattMap.fit(log_odds, positives)
    return (curve.slope, curve.intercept) if curve.slope > 0 else (1.0, 0.0)


def count_between(ordered: Floats, edges: Floats) -> Ints:
    """How many of the increasing log-odds lie in each bin, (n_bins,)."""
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
    monotone: bool = param(False, help="Keep the bins' probabilities in order; shared bins then keep every prediction.")
    scaled_model: bool = param(
        False, help="Place I-Max's edges for a sigmoid matched to the data, where the model's confidence is far off."
    )

    map_type: ClassVar[type[Map]] = IMaxMap
    weighted: ClassVar[bool] = False

    @property
    def is_monotone(self) -> bool:
        return self.monotone

    def notes(self) -> list[str]:
        notes = super().notes()
        rows = self.n_rows_ / self.n_classes_
        class_wise = not self.share_classes and self.classes != "top"
        if class_wise and self.representatives == "empirical" and self.n_bins > rows:
            notes.append(
                f"A class has about {rows:.0f} calibration rows for {self.n_bins} bins of its own, too few for "
                "frequencies. Share the bins, or take the representatives from the raw predictions."
            )
        return notes + [note for note in self.source_notes_ if note not in notes]

    def _try_state(self, logits: Floats) -> None:
        super()._try_state(logits)
        if self.monotone and any(bins is not None and (np.diff(bins.values) < 0).any() for bins in self.maps_):
            raise unusable("the values of ordered bins fall")

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress, weights: Floats | None = None) -> None:
        self.source_notes_: list[str] = []
        super()._fit(logits, labels, progress=progress)
        if self.representatives in SOURCES:
            source = self._source().fit(logits, labels, progress=progress)
            self.source_notes_ = source.notes()
            self._take_over(source.predict_proba(logits), logits, labels)

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        return IMaxMap.fit(
            log_odds,
            positives,
            n_bins=self.n_bins,
            scheme=self.scheme,
            empirical=self.representatives == "empirical",
            monotone=self.monotone,
            scaled_model=self.scaled_model,
            random_state=self.random_state,
            margin=self.margin_,
        )

    def _source(self) -> Calibrator:
        """The calibrator behind the representatives, one-vs-rest in the same way as the bins."""
        cls = METHODS[self.representatives].cls
        shared: dict[str, Any] = {
            "random_state": self.random_state,
            "share_classes": self.share_classes,
            "classes": self.classes,
            "normalize": self.normalize,
        }
        known = parameter_names(cls)
        return cls(**{name: value for name, value in shared.items() if name in known})

    def _take_over(self, probs: Floats, logits: Floats, labels: Ints) -> None:
        """Represent the bins by another calibrator's (n, n_classes) probabilities."""
        log_odds, _ = self._pairs(logits, labels)
        if self.classes == "top":
            probs = np.take_along_axis(probs, np.argmax(logits, axis=1)[:, None], axis=1)
        elif self.n_classes_ == 2:
            probs = probs[:, 1:]
        if self.share_classes:
            log_odds, probs = log_odds.reshape(-1, 1), probs.reshape(-1, 1)
        for k, bins in enumerate(self.maps_):
            if bins is not None:
                self.maps_[k] = bins.represented_by(log_odds[:, k], probs[:, k], self.monotone)
