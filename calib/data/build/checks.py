"""Checks of clean outputs with their labels: agreement, rows and classes, repeated, saturated or unusual outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from calib.canonical import IN_UNIT, Kind, to_canonical
from calib.data.findings import listed, shortened, verb, warning
from calib.data.names import Order
from calib.errors import Finding
from calib.formatting import plural, row_numbers
from calib.numerics import Floats, Ints, blocks, softmax
from calib.outputs import CHANCE, disagreement

FEW_ROWS, FEW_PER_CLASS = 200, 10
"""Below the first the interval of a calibration error is about as wide as the error."""


def check_outputs(
    outputs: Floats,
    kind: Kind,
    labels: Ints,
    class_names: tuple[str, ...],
    name: str,
    order: Order,
) -> Iterator[Finding]:
    """Yield what people should know of outputs and labels that can be used.

    Parameters
    ----------
    order : the label of each column.
    """
    same = len(outputs) > 1 and bool((outputs[-1] == outputs[0]).all())
    if same and all((outputs[rows] == outputs[0]).all() for rows in blocks(*outputs.shape)):
        # Constant outputs agree with the labels by chance alone, and no other order helps.
        reason = f"All {plural(len(outputs), 'row')} of {name} are the same: the outputs do not depend on the input."
        action = (
            "Check that the model was loaded with its weights, and that the right array was saved."
        )
        yield warning("constant", reason, action)
    else:
        yield from check_agreement(outputs, kind, labels, order)
        yield from _check_repeats(outputs, kind, labels, name)
    yield from _check_rows(labels, class_names)


def predicted_classes(outputs: Floats, kind: Kind) -> Ints:
    """Class of the largest output; a single column is split at 0.5 or at log-odds zero."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > (0.5 if kind in IN_UNIT else 0.0)).astype(np.int64)
    return outputs.argmax(axis=1)


def check_agreement(
    outputs: Floats, kind: Kind, labels: Ints, order: Order = (0, 1)
) -> Iterator[Finding]:
    """Labels that have nothing to do with the outputs, or two classes that are the other way round.

    Of two classes the ranks alone tell, since the accuracy of small risks is that of the larger class.
    """
    problem, chance = disagreement(outputs, kind, labels)
    if problem == "inverted":
        first, second = order
        fix: dict[str, Any] = {"label_values": (second, first)}
        if isinstance(first, str):
            fix["class_names"] = None
        reason = (
            f"The higher the output for {second}, the rarer it is: the classes may be the other way round, or the "
            "model is worse than none."
        )
        action = "Swap the two classes only if the columns or the labels were mixed up."
        yield warning("labels_inverted", reason, action, **fix)
    elif problem == "shuffled":
        reason = (
            "The outputs rank the labels not significantly better than chance "
            f"(one-sided rank test, p = {chance:.2g}). Labels in another order than the outputs, or shifted by a row, "
            "usually cause it, or a model that knows next to nothing."
        )
        action = "Save outputs and labels in one loop, without shuffling between them."
        yield warning("labels_shuffled", reason, action)


def _check_repeats(outputs: Floats, kind: Kind, labels: Ints, name: str) -> Iterator[Finding]:
    """Rows that repeat an earlier one exactly, with its label.

    Rounded outputs, and models of few different ones such as forests, repeat by chance. Labels are then drawn anew, and
    two of a row agree with the probability sum_k p_k^2; so all have to agree, and by chance in few cases only.
    """
    # Equal rows have equal sums, of which few others are equal.
    weights = np.asarray(np.random.default_rng(0).normal(size=outputs.shape[1]), outputs.dtype)
    key = np.asarray(np.einsum("ij,j->i", outputs, weights))
    order = np.argsort(key, kind="stable")
    same_sum = key[order[:-1]] == key[order[1:]]
    if not same_sum.any():
        return
    first, second = order[:-1][same_sum], order[1:][same_sum]
    equal = np.isfinite(key[first]) & (outputs[first] == outputs[second]).all(axis=1)
    first, second = first[equal], second[equal]
    probs = softmax(to_canonical(outputs[second], kind))
    agree_by_chance = math.exp(np.log((probs**2).sum(axis=1)).sum())
    if (labels[first] != labels[second]).any() or agree_by_chance > CHANCE:
        return
    repeats = np.zeros(len(outputs), dtype=bool)
    repeats[second] = True
    reason = (
        f"{plural(len(second), 'row')} of {len(outputs):,} in {name} {verb(len(second), 'repeats', 'repeat')} an "
        f"earlier one exactly, with its label ({row_numbers(repeats)}). Where a split puts one in each part, tests "
        "look better than they are."
    )
    action = "Delete the repeated rows, or save a column of clusters with one value for each original row."
    yield warning("repeated_rows", reason, action)


def _check_rows(labels: Ints, class_names: tuple[str, ...]) -> Iterator[Finding]:
    """Few rows, and classes without rows or with few, which cannot be calibrated on their own."""
    n = len(labels)
    k = len(class_names)
    if n < FEW_ROWS:
        reason = (
            f"There {verb(n, 'is', 'are')} only {plural(n, 'row')}; calibration errors measured on fewer than "
            f"{FEW_ROWS} are mostly chance."
        )
        action = (
            "Add more labelled rows if you can, and trust the intervals rather than the numbers."
        )
        yield warning("few_rows", reason, action)
    counts = np.bincount(labels, minlength=k)
    absent = np.flatnonzero(counts == 0)
    few = np.flatnonzero((counts > 0) & (counts < FEW_PER_CLASS))
    if len(absent) == k - 1:
        only = shortened(class_names[int(counts.argmax())])
        reason = (
            f"The only label is {only}, in {plural(n, 'row')}, so calibration cannot be measured."
        )
        action = "Add rows of the other classes; a sorted file that was cut off usually causes it."
        yield warning("one_class", reason, action)
        return
    if absent.size:
        names = listed(class_names[j] for j in absent)
        occur = verb(absent.size, "occurs", "occur")
        stay = verb(absent.size, "it stays as a column", "they stay as columns")
        reason = f"{plural(absent.size, 'class', 'classes')} of {k:,} never {occur} among the labels ({names}); {stay}."
        action = "Methods that share one map among classes are not affected."
        yield warning("absent_classes", reason, action)
    if few.size:
        names = listed(f"{class_names[j]}: {counts[j]}" for j in few)
        have = verb(few.size, "has", "have")
        reason = f"{plural(few.size, 'class', 'classes')} of {k:,} {have} fewer than {FEW_PER_CLASS} rows ({names})."
        yield warning("few_per_class", reason, "Prefer methods that share one map among classes.")
