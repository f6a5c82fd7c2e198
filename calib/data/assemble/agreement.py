"""Whether outputs and labels have anything to do with each other, and the mix-ups that explain it where not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

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

CLEARLY = 0.1
"""By how much another reading must raise the accuracy before it is offered."""

MAX_CLASSES_FOR_ORDER = 1000
"""The table of predicted against true classes has n_classes squared cells."""

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

    def chance(self, labels: Ints, shift: int = 0, upside_down: bool = False, most: int = RANKED) -> float:
        """Probability that the outputs of the labels' classes rank so high with labels in random order; one-sided.

        The statistic is the sum over rows of the rank, within its column, of the output of the label; logits become
        log-probabilities first. Under random order it is a linear permutation statistic with known mean and variance,
        close to normal (Hoeffding, 1951, "A combinatorial central limit theorem"). For two classes it is the rank-sum
        test.

        Parameters
        ----------
        labels : (n,) integers in [0, n_classes).
        shift : row i of the outputs is taken with row i + shift of the labels.
        upside_down : whether low ranks are tested for.
        most : outputs that are ranked.
        """
        width = self.outputs.shape[1]
        rows = _spread(len(labels) - abs(shift), max(FEW, most // width))
        values, labels = self.outputs[rows + max(0, -shift)], labels[rows + max(0, shift)]
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
    """Whether labels have anything to do with outputs; another reading is offered where that raises accuracy clearly.

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
    names = class_values(n_classes, choices)
    if n_classes > 2:
        better = better_reading(predicted, labels, names, accuracy, choices)
        if better is not None:
            fix, found, cause = better
            reason = f"The accuracy is {accuracy:.2%}, but {found:.2%} if {cause}."
            return [warning("labels_shifted", reason, "Read them that way.", **fix)]
    if ranks.chance(labels, most=RANKED_FIRST) > CHANCE and ranks.chance(labels) > CHANCE:
        return [no_better_than_chance(predicted, labels, names, ranks, choices)]
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


def no_better_than_chance(
    predicted: Ints, labels: Ints, names: tuple[Any, ...], ranks: Ranks, choices: Choices
) -> Finding:
    """Labels that have nothing to do with the outputs, or what would explain it."""
    for shift in (-1, 1):
        if ranks.chance(labels, shift=shift) <= CHANCE / 20:
            fix, found, cause = row_shift(predicted, labels, shift, choices)
            return warning(
                "labels_shifted",
                f"The outputs have nothing to do with the labels, but they do if {cause}; the accuracy is then "
                f"{found:.2%}.",
                "Read them that way.",
                **fix,
            )
    if len(names) == 2 and ranks.chance(labels, upside_down=True) <= CHANCE / 2:
        return warning(
            "labels_shifted",
            f"The higher the output for {names[1]}, the rarer it is: the classes may be the other way round, or the "
            "model is worse than none.",
            "Swap the two classes only if the columns or the labels were mixed up.",
            **order_fix(names[::-1]),
        )
    measured = f"The accuracy is {(predicted == labels).mean():.2%}"
    if len(names) == 2:
        measured = f"The AUROC is {ranks.auroc(labels):.3f}"
    return warning(
        "labels_shuffled",
        f"{measured}, not significantly better than chance (one-sided rank test at {CHANCE:g}). Labels in another "
        "order than the outputs usually cause it, or a model that knows next to nothing.",
        "Save outputs and labels in one loop, without shuffling between them.",
    )


Better = tuple[dict[str, Any], float, str]
"""A fix, the accuracy that it gives, and its cause in words."""


def better_reading(
    predicted: Ints, labels: Ints, names: tuple[Any, ...], accuracy: float, choices: Choices
) -> Better | None:
    """The usual mix-up that raises the accuracy most, if one does so clearly."""
    from scipy.special import bdtrc

    n, n_classes = len(labels), len(names)
    shifted = max((row_shift(predicted, labels, s, choices) for s in (-1, 1)), key=lambda better: better[1])
    named, true = (np.bincount(values, minlength=n_classes) / n for values in (predicted, labels))
    by_chance = float(bdtrc(int(shifted[1] * n) - 1, n, float(named @ true)))
    clear = by_chance <= CHANCE / 10 and shifted[1] > max(accuracy + CLEARLY, true.max(), 2 / n_classes)
    order = class_order(predicted, labels, names) if n_classes <= MAX_CLASSES_FOR_ORDER else None
    # The best of all orders is better than the given one by chance alone, so a shift that does as well goes first.
    if order is not None and not (clear and shifted[1] >= order[1] - CLEARLY):
        return order
    return shifted if clear else None


def row_shift(predicted: Ints, labels: Ints, shift: int, choices: Choices) -> Better:
    """One row lost at the top of one file and at the bottom of the other."""
    right = predicted[:-shift] == labels[shift:] if shift > 0 else predicted[-shift:] == labels[:shift]
    where = "next" if shift > 0 else "previous"
    fix = {"row_shift": (choices.row_shift or 0) + shift}
    return fix, float(right.mean()), f"each row of the outputs takes the label of the {where} row"


def class_order(predicted: Ints, labels: Ints, names: tuple[Any, ...]) -> Better | None:
    """Columns in another order than the labels: the assignment with the most agreement, if it is far beyond chance.

    Of the rows of the classes that it moves, far more must agree than before, by a sign test that allows for all ways
    to move so many classes.
    """
    n_classes = len(names)
    table = np.bincount(predicted * n_classes + labels, minlength=n_classes**2).reshape(n_classes, n_classes)
    if (table.diagonal() == table.max(axis=1)).all():
        return None  # each column agrees most with its own class
    from scipy.optimize import linear_sum_assignment
    from scipy.special import bdtrc

    classes = linear_sum_assignment(table, maximize=True)[1]
    moved = np.flatnonzero(classes != np.arange(n_classes))
    after, before = (int(table[moved, other[moved]].sum()) for other in (classes, np.arange(n_classes)))
    rows = int(table[:, moved].sum())
    if not rows or after < 1.5 * before or after - before < 2 * CLEARLY * rows:
        return None
    if np.log(bdtrc(after - 1, after + before, 0.5)) + len(moved) * np.log(n_classes) > np.log(CHANCE):
        return None
    order = tuple(names[k] for k in classes)
    found = float(table[np.arange(n_classes), classes].sum() / len(labels))
    if len(moved) == 2 < n_classes:
        return order_fix(order), found, f"the columns of {names[moved[0]]} and {names[moved[1]]} are swapped"
    shown = ", ".join(map(str, order[:6])) + (", ..." if n_classes > 6 else "")
    return order_fix(order), found, f"the columns stand for {shown}"


def class_values(n_classes: int, choices: Choices) -> tuple[Any, ...]:
    """The label of each column, as the labels are read now."""
    return choices.label_values or tuple(range(n_classes))


def order_fix(order: tuple[Any, ...]) -> dict[str, Any]:
    """The label of each column; where labels are names they name the columns too, whatever these were called."""
    return {"label_values": order, **({"class_names": None} if isinstance(order[0], str) else {})}
