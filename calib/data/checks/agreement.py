"""Checks of outputs against labels: accuracy no better than chance, and the mix-ups that explain it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import Kind
from calib.data.checks.report import Report
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

Reading = tuple[dict[str, Any], float, str]
"""A fix, the accuracy that it gives, and its cause in words."""


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
        rows = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), RANKED // 2)).astype(np.int64))
        values = self.outputs[rows]
        score = values[:, 0] if values.shape[1] == 1 else values[:, 1].astype(np.float64) - values[:, 0]
        return auroc(score, labels[rows] == 1) or 0.0

    def chance(self, labels: Ints, shift: int = 0, upside_down: bool = False) -> float:
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
        """
        width = self.outputs.shape[1]
        last = len(labels) - 1 - abs(shift)
        rows = np.unique(np.linspace(0, last, min(last + 1, max(FEW, RANKED // width))).astype(np.int64))
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


def check_agreement(predicted: Ints, labels: Ints, n_classes: int, report: Report, ranks: Ranks | None = None) -> float:
    """Compare the accuracy with chance and with the largest class; offer another reading where that raises it clearly.

    Of two classes only chance is the measure, since the accuracy of small risks is that of the larger class.

    Outputs are said to be no better than chance where neither the predicted classes nor the ranks of the outputs agree
    with the labels: each by a one-sided test at half of :data:`CHANCE`.

    Parameters
    ----------
    predicted, labels : (n,) integers in [0, n_classes).
    ranks : of the outputs; None where only the predictions are known.

    Returns
    -------
    float
        The accuracy.
    """
    n = len(labels)
    accuracy = float((predicted == labels).mean())
    counts = np.bincount(labels, minlength=n_classes)
    majority = float(counts.max() / n)
    if n < FEW or np.count_nonzero(counts) == 1:
        return accuracy
    # Of two classes the rank tells: where risks are small or too large, one class is named in every row.
    better = better_reading(predicted, labels, n_classes, accuracy, majority, report) if n_classes > 2 else None
    if better is not None:
        fix, found, cause = better
        report.warn(
            "labels_shifted",
            f"The accuracy is {accuracy:.2%}, but {found:.2%} if {cause}.",
            "Read them that way.",
            **fix,
        )
        return accuracy
    if ranks is None and (predicted == predicted[0]).all():
        return accuracy
    by_class = chance_agreement(predicted, labels, n_classes)
    by_rank = 1.0 if ranks is None or by_class <= CHANCE / 2 else ranks.chance(labels)
    if min(by_class, by_rank) > CHANCE / 2:
        say_no_better_than_chance(predicted, labels, n_classes, accuracy, ranks, report)
    elif accuracy < majority and n_classes > 2:
        report.warn(
            "below_majority",
            f"The accuracy is {accuracy:.2%}, below the {majority:.2%} of always naming the largest class.",
            "Check that the columns are in the order of the labels.",
        )
    return accuracy


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
    n = len(values)
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    ends = np.concatenate([ordered[1:] != ordered[:-1], np.ones((1, values.shape[1]), dtype=bool)])
    places = np.arange(n)[:, None]
    last = np.minimum.accumulate(np.where(ends, places, n)[::-1], axis=0)[::-1]
    first = np.maximum.accumulate(np.where(np.roll(ends, 1, axis=0), places, 0), axis=0)
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=0)
    return ranks


def fisher_tail(both: int, n: int, first: int, second: int) -> float:
    """Probability that two sets of so many of n rows have at least ``both`` in common; hypergeometric."""
    from scipy.special import gammaln

    def log_choose(total: Any, some: Any) -> Any:
        return gammaln(total + 1.0) - gammaln(some + 1.0) - gammaln(total - some + 1.0)

    common = np.arange(max(both, first + second - n, 0), min(first, second) + 1)
    terms = log_choose(first, common) + log_choose(n - first, second - common) - log_choose(n, second)
    return float(min(np.exp(terms).sum(), 1.0))


def chance_agreement(predicted: Ints, labels: Ints, n_classes: int, hits: int | None = None) -> float:
    """Probability that so many predictions agree with labels in random order: a one-sided exact test.

    Fisher's test for two classes; for more, the binomial distribution with the agreement that the frequencies of both
    give.

    Parameters
    ----------
    hits : agreements, where another pairing than the given one is tested; by the binomial distribution.
    """
    from scipy.special import bdtrc

    n, usual = len(labels), hits is None
    hits = int((predicted == labels).sum()) if hits is None else hits
    if n_classes == 2 and usual:
        both = int((predicted & labels).sum())
        return fisher_tail(both, n, int(predicted.sum()), int(labels.sum()))
    named, true = (np.bincount(values, minlength=n_classes) / n for values in (predicted, labels))
    return float(bdtrc(hits - 1, n, float(named @ true)))


def say_no_better_than_chance(
    predicted: Ints, labels: Ints, n_classes: int, accuracy: float, ranks: Ranks | None, report: Report
) -> None:
    """Warn of labels that have nothing to do with the outputs, or offer what would explain it."""
    for shift in (-1, 1):
        if ranks is not None and ranks.chance(labels, shift=shift) <= CHANCE / 20:
            fix, found, cause = row_shift(predicted, labels, shift, report)
            report.warn(
                "labels_shifted",
                f"The outputs have nothing to do with the labels, but they do if {cause}; the accuracy is then "
                f"{found:.2%}.",
                "Read them that way.",
                **fix,
            )
            return
    if n_classes == 2 and upside_down(predicted, labels, ranks) <= CHANCE / 2:
        report.warn(
            "labels_shifted",
            f"The higher the output for {class_values(2, report)[1]}, the rarer it is: the classes may be the other "
            "way round, or the model is worse than none.",
            "Swap the two classes only if the columns or the labels were mixed up.",
            **order_fix(class_values(2, report)[::-1]),
        )
        return
    named, true = (np.bincount(values, minlength=n_classes) / len(labels) for values in (predicted, labels))
    if n_classes == 2 and ranks is not None:
        measured = (
            f"The AUROC is {ranks.auroc(labels):.3f}, not significantly better than chance (one-sided test at "
            f"{CHANCE:g})"
        )
    else:
        measured = (
            f"The accuracy is {accuracy:.2%}, not significantly better than chance ({float(named @ true):.2%}; "
            f"one-sided test at {CHANCE:g}); always naming the largest class gives {true.max():.2%}"
        )
    report.warn(
        "labels_shuffled",
        f"{measured}. Labels in another order than the outputs usually cause it, or a model that knows next to "
        "nothing.",
        "Save outputs and labels in one loop, without shuffling between them.",
    )


def upside_down(predicted: Ints, labels: Ints, ranks: Ranks | None) -> float:
    """Probability that the outputs of two classes go so much against the labels by chance alone; one-sided."""
    return chance_agreement(1 - predicted, labels, 2) if ranks is None else ranks.chance(labels, upside_down=True)


def better_reading(
    predicted: Ints, labels: Ints, n_classes: int, accuracy: float, majority: float, report: Report
) -> Reading | None:
    """The usual mix-up that raises the accuracy most, if one does so clearly."""
    candidates = [label_shift(predicted, labels, n_classes, s, report) for s in (-1, 1)]
    candidates += [row_shift(predicted, labels, s, report) for s in (-1, 1)]
    best = max(candidates, key=lambda candidate: candidate[1])
    clear = chance_agreement(predicted, labels, n_classes, int(best[1] * len(labels))) <= CHANCE / 10
    bar = max(accuracy + CLEARLY, majority, 2 / n_classes)
    order = class_order(predicted, labels, n_classes, report) if n_classes <= MAX_CLASSES_FOR_ORDER else None
    # The best of all orders is better than the given one by chance alone, so a shift that does as well goes first.
    if order is not None and not (clear and best[1] > bar and best[1] >= order[1] - CLEARLY):
        return order
    return best if clear and best[1] > bar else None


def label_shift(predicted: Ints, labels: Ints, n_classes: int, shift: int, report: Report) -> Reading:
    """Labels counted from one where zero was meant, or the other way round."""
    found = float((predicted == labels + shift).mean())
    values = report.choices.label_values
    if values is not None:
        moved = (*values[-shift:], *values[:-shift])
        return order_fix(moved), found, f"the columns are read one {'later' if shift > 0 else 'earlier'}"
    fix = {"label_shift": (report.choices.label_shift or 0) + shift, "drop_bad_rows": True}
    edge = ((labels + shift < 0) | (labels + shift >= n_classes)).any()
    return fix if edge else {"label_shift": fix["label_shift"]}, found, f"{shift:+d} is added to every label"


def row_shift(predicted: Ints, labels: Ints, shift: int, report: Report) -> Reading:
    """One row lost at the top of one file and at the bottom of the other."""
    right = predicted[:-shift] == labels[shift:] if shift > 0 else predicted[-shift:] == labels[:shift]
    total = (report.choices.row_shift or 0) + shift
    where = "next" if shift > 0 else "previous"
    return {"row_shift": total}, float(right.mean()), f"each row of the outputs takes the label of the {where} row"


def class_order(predicted: Ints, labels: Ints, n_classes: int, report: Report) -> Reading | None:
    """Columns in another order than the labels: the assignment with the most agreement, if it is far beyond chance.

    Of the rows of the classes that it moves, far more must agree than before, by a sign test that allows for all ways
    to move so many classes.
    """
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
    values = class_values(n_classes, report)
    order = tuple(values[k] for k in classes)
    found = float(table[np.arange(n_classes), classes].sum() / len(labels))
    return order_fix(order), found, order_in_words(values, order, moved)


def order_in_words(values: tuple[Any, ...], order: tuple[Any, ...], moved: Ints) -> str:
    """What the columns stand for, where some stand for another class."""
    if len(moved) == 2 < len(values):
        return f"the columns of {values[moved[0]]} and {values[moved[1]]} are swapped"
    shown = ", ".join(map(str, order[:6])) + (", ..." if len(order) > 6 else "")
    return f"the columns stand for {shown}"


def class_values(n_classes: int, report: Report) -> tuple[Any, ...]:
    """The label of each column, as the labels are read now."""
    first = int(bool(report.choices.one_based)) - (report.choices.label_shift or 0)
    return report.choices.label_values or tuple(range(first, first + n_classes))


def order_fix(order: tuple[Any, ...]) -> dict[str, Any]:
    """The label of each column; where labels are names they name the columns too, whatever these were called."""
    return {"label_values": order, **({"class_names": None} if isinstance(order[0], str) else {})}
