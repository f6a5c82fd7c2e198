"""I-Max binning (Patel et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from calib.base import Calibrator, Callback, LabelledBlocks
from calib.calibrators.imax.density import (
    count_between,
    log_odds_density,
    matched_sigmoid,
    middle_of_bins,
    monotone_representatives,
)
from calib.calibrators.imax.placement import SCHEMES, scheme_edges
from calib.calibrators.imax.sums import LogOddsCells, SigmoidSums
from calib.calibrators.one_vs_rest import Map, one_vs_rest_pairs
from calib.calibrators.step_maps import StepMapCalibrator, steps
from calib.calibrators.top_class import top_log_odds
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints, bin_index, blocks, one_vs_rest_log_odds
from calib.parameters import Items, State, Text, param, parameter_names
from calib.registry import METHODS
from calib.top_k import TopK

SOURCES = ("temperature", "vector", "platt", "beta", "isotonic", "bbq", "bayes_iso", "enir", "gpcalib")
"""Registry names of the calibrators whose probabilities bins can take over."""


@dataclass(eq=False, repr=False, kw_only=True)
class IMaxBinning(StepMapCalibrator):
    """Bins of the log-odds with the greatest mutual information between bin and label.

    Patel et al., Multi-Class Uncertainty Calibration via Mutual Information Maximization-based Binning, 2020. Edges
    come from the log-odds alone; representatives are the frequencies in the bins, the model's own mean
    probabilities, or those of another calibrator, which is fitted on the same rows and not needed afterwards. As
    the map has few values, its calibration error is verifiable; rows are not normalised, since that would undo it,
    and need not sum to one (section S1).

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
    n_starts: int = param(8, low=1, high=100, help="I-Max goes on from so many starts and keeps the best.")
    max_steps: int = param(1000, low=1, high=100_000, help="Most steps from each start; it ends when bins stay.")
    normalize: bool = param(False, help="Divide each row by its sum; without it rows need not sum to one.")

    state: ClassVar[State] = {"source_notes_": Items(Text())}

    def check_state(self) -> None:
        super().check_state()
        if self.monotone:
            steps("ascending").check(self.maps_, "maps_", {})

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

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        self.source_notes_: list[str] = []
        if self.representatives not in SOURCES:
            super()._fit(logits, labels, callback)
            return
        source = self._source().fit(logits, labels, callback=callback)
        super()._fit(logits, labels, callback)
        self._take_over(source.predict_proba(logits), logits)
        self.source_notes_ = source.notes()
        self.fallback_rows_ = self._count_fallbacks(logits)

    def check_blocks(self) -> None:
        if not self.share_classes or self.classes == "top":
            raise CalibrationError(
                "I-Max with class-wise maps, or of the top class, is not fitted out of core; keep share_classes=True "
                "and classes='one_vs_rest', or fit fewer rows."
            )
        if self.representatives in SOURCES:
            raise CalibrationError(
                f"I-Max with representatives={self.representatives!r} is not fitted out of core; choose "
                "representatives='empirical' or 'raw', or fit fewer rows."
            )
        if self.scaled_model:
            raise CalibrationError(
                "I-Max with scaled_model=True is not fitted out of core; fit fewer rows, or leave it out."
            )

    def fit_blocks(self, data: LabelledBlocks, callback: Callback) -> None:
        """Place the bins as the fit to all pairs at once does, with their edges moved to the nearest cell's end.

        One pass counts the pairs of each cell and keeps the label's log-odds of each row. The iterations take a cell
        for as many pairs in its middle. No final bin cuts a cell, so counts and frequencies are exact.
        """
        n_rows, n_classes = data.shape
        cells = LogOddsCells.from_logits(data.low, data.high, n_classes)

        def counted(logits: Floats, labels: Ints) -> tuple[Ints, Floats]:
            log_odds, positives = one_vs_rest_pairs(logits.astype(np.float64), labels)
            return cells.counted(log_odds), log_odds[positives]

        count, of_labels = np.zeros(cells.size, dtype=np.int64), []
        for in_block, of_block in data.each(counted, "log-odds"):
            count += in_block
            of_labels.append(of_block)
        label_log_odds, n_pairs = np.sort(np.concatenate(of_labels)), int(count.sum())
        self.source_notes_, self.temperature_ = [], 1.0
        self._count(n_rows, n_pairs)
        state: Map = {}
        if 0 < len(label_log_odds) < n_pairs:
            sums = cells.sums(count)
            edges = cells.uncut(self.place_edges(sums), sums, count)
            state = self.map_between(edges, sums, label_log_odds)
        self._keep([state])
        self.fallback_rows_ = 0

    def check_top_k(self) -> None:
        if not self.share_classes or self.representatives in SOURCES or self.scaled_model:
            raise CalibrationError(
                "Of the top k of very many classes I-Max learns bins that all classes share; keep share_classes=True, "
                "representatives='empirical' or 'raw', and scaled_model=False."
            )

    def fit_top_k(self, outputs: TopK, labels: Ints, callback: Callback) -> None:
        """Place the bins as for all one-vs-rest pairs: the rest of a row are so many pairs with one log-odds."""
        self.source_notes_, self.temperature_ = [], 1.0
        if self.classes == "top":
            super().fit_top_k(outputs, labels, callback)
            return
        n, k = outputs.values.shape
        n_columns = k + (outputs.n_others > 0)
        log_odds, of_labels = np.empty((n, n_columns)), np.empty(n)
        for rows in blocks(n, n_columns):
            groups, columns = outputs[rows].to_fit(labels[rows])
            log_odds[rows] = groups.one_vs_rest_log_odds()
            of_labels[rows] = log_odds[rows][np.arange(len(columns)), columns]
        flat = log_odds.ravel()
        order = np.argsort(flat).astype(np.int32 if flat.size < 2**31 else np.int64)
        flat = flat[order]
        # The last column of a row, if it has one for the others, is so many pairs.
        weights = np.where(order % n_columns < k, 1.0, float(outputs.n_others))
        del log_odds, order
        sums = SigmoidSums.from_weighted(flat, weights)
        self._count(n, n * outputs.n_classes)
        self._keep([self.map_between(self.place_edges(sums), sums, np.sort(of_labels))])
        self.fallback_rows_ = 0
        callback(1, 1, 0.0)

    def _source(self) -> Calibrator:
        """The calibrator behind the representatives, one-vs-rest in the same way as the bins."""
        cls = METHODS[self.representatives].cls
        shared: dict[str, Any] = {
            "random_state": self.random_state,
            "share_classes": self.share_classes,
            "classes": self.classes,
            "normalize": self.normalize,
            "platt_correction": self.platt_correction,
        }
        known = parameter_names(cls)
        return cls(**{name: value for name, value in shared.items() if name in known})

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        sums = SigmoidSums.from_log_odds(log_odds)
        label_log_odds = np.sort(log_odds[positives])
        sigmoid = matched_sigmoid(log_odds_density(log_odds, label_log_odds)) if self.scaled_model else (1.0, 0.0)
        return self.map_between(self.place_edges(sums, sigmoid), sums, label_log_odds)

    def place_edges(self, sums: SigmoidSums, sigmoid: tuple[float, float] = (1.0, 0.0)) -> Floats:
        """Inner edges of the bins; see :func:`~calib.calibrators.imax.placement.scheme_edges`."""
        return scheme_edges(
            sums,
            self.scheme,
            self.n_bins,
            sigmoid=sigmoid,
            n_starts=self.n_starts,
            random_state=self.random_state,
            max_steps=self.max_steps,
        )

    def map_between(self, edges: Floats, sums: SigmoidSums, label_log_odds: Floats) -> Map:
        """The bins between inner edges, with what each says.

        Parameters
        ----------
        sums : of all pairs.
        label_log_odds : those of the pairs whose class is the label, in increasing order.
        """
        cuts = sums.positions(edges)
        count, positives = sums.counts(cuts), count_between(label_log_odds, edges)
        if self.representatives == "empirical":
            low, high = self.target_levels(len(label_log_odds), sums.n_pairs)
            total = high * positives + low * (count - positives)
        else:
            # A difference of two running sums may come out above the number of its terms by rounding.
            total = np.minimum(sums.between(cuts)[0], count)
        values = np.divide(total, count, out=middle_of_bins(edges), where=count > 0)
        if self.representatives == "empirical":
            values = self.bounded(values)
        return {"edges": edges, "values": self._ordered(values, count)}

    def _ordered(self, values: Floats, count: Ints) -> Floats:
        return monotone_representatives(values, count) if self.monotone else values

    def _take_over(self, probs: Floats, logits: Floats) -> None:
        """Replace the representatives by means of another calibrator's (n, n_classes) probabilities."""
        if self.classes == "top":
            top = np.argmax(logits, axis=1)[:, None]
            log_odds, probs = top_log_odds(logits)[:, None], np.take_along_axis(probs, top, axis=1)
        else:
            columns = slice(1, None) if self.n_classes_ == 2 else slice(None)
            log_odds, probs = one_vs_rest_log_odds(logits)[:, columns], probs[:, columns]
        if self.share_classes:
            log_odds, probs = log_odds.reshape(-1, 1), probs.reshape(-1, 1)
        for k, state in enumerate(self.maps_):
            if not state:
                continue
            index = _bin_of(log_odds[:, k], state["edges"])
            count = np.bincount(index, minlength=len(state["values"]))
            total = np.bincount(index, weights=probs[:, k], minlength=len(state["values"]))
            values = np.divide(total, count, out=middle_of_bins(state["edges"]), where=count > 0)
            state["values"] = self._ordered(values, count)

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        values = state["values"]
        probs = np.empty(log_odds.shape)
        flat, said = log_odds.reshape(-1), probs.reshape(-1)
        for block in blocks(flat.size):
            np.take(values, _bin_of(flat[block], state["edges"]), out=said[block], mode="clip")
        return probs


def _bin_of(log_odds: Floats, edges: Floats) -> Ints:
    return bin_index(log_odds, np.concatenate([[-np.inf], edges, [np.inf]]))
