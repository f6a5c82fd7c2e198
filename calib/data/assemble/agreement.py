"""Whether outputs and labels have anything to do with each other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.canonical import Kind
from calib.data.findings import warning
from calib.data.options import Choices
from calib.errors import Finding
from calib.numerics import Floats, Ints, log_softmax

CHANCE = 0.001
"""How rarely labels that have nothing to do with the outputs may pass for good ones."""

FEW = 20
"""Fewer rows than these say nothing about agreement."""

RANKED = 2_000_000
"""Outputs that are ranked at most; of more rows, some from the first to the last are taken."""

RANKED_FIRST = 100_000
"""Outputs that are ranked first; where these agree with the labels, no more are."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """How the outputs rank the labels.

    Attributes
    ----------
    outputs : (n, k) outputs.
    kind : what they are.
    """

    outputs: Floats
    kind: Kind

    def auroc(self, labels: Ints) -> float:
        """Area under the ROC curve of two classes; 0 where the rows that are looked at are of one."""
        rows = _spread(len(labels), RANKED // 2)
        values = self.outputs[rows]
        score = values[:, 0] if values.shape[1] == 1 else values[:, 1].astype(np.float64) - values[:, 0]
        return auroc(score, labels[rows] == 1) or 0.0

    def chance(self, labels: Ints, upside_down: bool = False, most: int = RANKED) -> float:
        """Probability that the outputs of the labels' classes rank so high with labels in random order; one-sided.

        The statistic is the sum over rows of the rank, within its column, of the output of the label; logits become
        log-probabilities first. Under random order it is a linear permutation statistic with known mean and variance,
        close to normal (Hoeffding, 1951, "A combinatorial central limit theorem"). For two classes it is the rank-sum
        test.

        Parameters
        ----------
        labels : (n,) integers in [0, n_classes).
        upside_down : whether low ranks are tested for.
        most : outputs that are ranked.
        """
        width = self.outputs.shape[1]
        rows = _spread(len(labels), max(FEW, most // width))
        values, labels = self.outputs[rows], labels[rows]
        if width == 1:
            values = np.concatenate([-values, values], axis=1)
        ranks = average_ranks(log_softmax(values) if self.kind == "logits" else values)
        ranks -= ranks.mean(axis=0)
        frequency = np.bincount(labels, minlength=ranks.shape[1]) / len(rows)
        centred = ranks - (ranks @ frequency)[:, None]
        variance = len(rows) / max(len(rows) - 1, 1) * float((centred**2 @ frequency).sum())
        total = float(ranks[np.arange(len(rows)), labels].sum()) * (-1 if upside_down else 1)
        return math.erfc(total / math.sqrt(2 * variance)) / 2 if variance > 0 else 1.0


def _spread(n: int, most: int) -> Ints:
    """Numbers of at most so many rows, from the first to the last."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def check_agreement(outputs: Floats, kind: Kind, predicted: Ints, labels: Ints, choices: Choices) -> list[Finding]:
    """Whether labels have anything to do with outputs.

    Of two classes the ranks alone tell, since the accuracy of small risks is that of the larger class.

    Parameters
    ----------
    outputs : (n, k) outputs of the kind.
    predicted, labels : (n,) integers in [0, n_classes).
    """
    n_classes = max(outputs.shape[1], 2)
    counts = np.bincount(labels, minlength=n_classes)
    if len(labels) < FEW or np.count_nonzero(counts) == 1:
        return []
    ranks, accuracy = Ranks(outputs, kind), float((predicted == labels).mean())
    if ranks.chance(labels, most=RANKED_FIRST) > CHANCE and ranks.chance(labels) > CHANCE:
        return [no_better_than_chance(accuracy, labels, ranks, choices)]
    if n_classes > 2 and accuracy < counts.max() / len(labels):
        reason = (
            f"The accuracy is {accuracy:.2%}, below the {counts.max() / len(labels):.2%} of always naming the largest "
            "class."
        )
        return [warning("below_majority", reason, "Check that the columns are in the order of the labels.")]
    return []


def auroc(scores: Floats, happened: npt.NDArray[np.bool_]) -> float | None:
    """Area under the ROC curve: the share of pairs in order, ties counting half; None without both outcomes."""
    n_yes, n = int(happened.sum()), len(happened)
    if n_yes in (0, n):
        return None
    _, position, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[position.reshape(-1)]
    return float((ranks[happened].sum() - n_yes * (n_yes + 1) / 2) / (n_yes * (n - n_yes)))


def average_ranks(values: Floats) -> Floats:
    """Rank of each value within its column from one on, the mean of them where values are equal; (n, k)."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=0), dtype=np.float64)


def no_better_than_chance(accuracy: float, labels: Ints, ranks: Ranks, choices: Choices) -> Finding:
    """Labels that have nothing to do with the outputs, or two classes that are the other way round."""
    two = max(ranks.outputs.shape[1], 2) == 2
    if two and ranks.chance(labels, upside_down=True) <= CHANCE / 2:
        first, second = choices.label_values or (0, 1)
        named = {"class_names": None} if isinstance(first, str) else {}
        return warning(
            "labels_inverted",
            f"The higher the output for {second}, the rarer it is: the classes may be the other way round, or the "
            "model is worse than none.",
            "Swap the two classes only if the columns or the labels were mixed up.",
            label_values=(second, first),
            **named,
        )
    measured = f"The AUROC is {ranks.auroc(labels):.3f}" if two else f"The accuracy is {accuracy:.2%}"
    return warning(
        "labels_shuffled",
        f"{measured}, not significantly better than chance (one-sided rank test at {CHANCE:g}). Labels in another "
        "order than the outputs, or shifted by a row, usually cause it, or a model that knows next to nothing.",
        "Save outputs and labels in one loop, without shuffling between them.",
    )
