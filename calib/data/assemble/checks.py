"""Checks of clean outputs with their labels: rows, classes, constant and saturated outputs, and agreement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calib.canonical import IN_UNIT, Kind
from calib.data.assemble.agreement import CHANCE, FEW, Ranks, check_agreement
from calib.data.findings import count, info, listed, shortened, verb, warning
from calib.data.options import Choices
from calib.errors import Finding
from calib.numerics import Floats, Ints, blocks, logit_unit, unit_rows

FEW_ROWS = 200
"""Below this the interval of a calibration error is about as wide as the error."""

FEW_PER_CLASS = 10

USUAL_GAPS = (0.05, 100.0)
"""Median gaps between the two largest logits of a row that a softmax has.

The gap is the log-odds between the two best classes, in nats. Of 13 networks, forests, naive Bayes and boosted models
(the samples, and three public networks on CIFAR) it lies between 0.37 and 31, and after temperature scaling between
0.8, at an accuracy of 53 %, and 7, at 98 %.
"""


def check_outputs(
    outputs: Floats, kind: Kind, labels: Ints, class_names: tuple[str, ...], name: str, choices: Choices
) -> Iterator[Finding]:
    """What people should know of outputs and labels that can be used."""
    predicted = predicted_classes(outputs, kind)
    if len(outputs) > 1 and all((outputs[rows] == outputs[0]).all() for rows in blocks(*outputs.shape)):
        # Constant outputs agree with the labels by chance alone, and no other order helps.
        reason = f"All {count(len(outputs), 'row')} of {name} are the same: the outputs do not depend on the input."
        action = "Check that the model was loaded with its weights, and that the right array was saved."
        yield warning("constant", reason, action)
    elif kind == "pairs":
        yield from _check_confidence(outputs, labels)
    else:
        yield from check_agreement(outputs, kind, predicted, labels, choices)
    yield from _check_rows(labels, class_names)
    if kind in ("logits", "binary_log_odds"):
        yield from _check_spread(outputs, name)
    else:
        yield from _check_saturation(outputs, kind, predicted, labels, name)


def predicted_classes(outputs: Floats, kind: Kind) -> Ints:
    """Class of the largest output; a single column is split at 0.5 or at log-odds zero."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > (0.5 if kind in IN_UNIT else 0.0)).astype(np.int64)
    return outputs.argmax(axis=1)


def _check_confidence(confidence: Floats, labels: Ints) -> Iterator[Finding]:
    """Correct answers that have no higher confidence than wrong ones."""
    two = len(labels) >= FEW and 0 < labels.mean() < 1
    if two and Ranks(confidence, "pairs").chance(labels) > CHANCE:
        means = [float(confidence[labels == k].mean()) for k in (1, 0)]
        yield warning(
            "confidence_uninformative",
            f"Correct answers have no higher confidence than wrong ones: {means[0]:.1%} and {means[1]:.1%} on average "
            f"(one-sided rank-sum test at {CHANCE:g}).",
            "Check that confidence and answers stand in the same rows; else no calibration can tell answers apart.",
        )


def _check_rows(labels: Ints, class_names: tuple[str, ...]) -> Iterator[Finding]:
    """Few rows, and classes without rows or with few, which cannot be calibrated on their own."""
    n, k = len(labels), len(class_names)
    if n < FEW_ROWS:
        yield warning(
            "few_rows",
            f"There {verb(n, 'is', 'are')} only {count(n, 'row')}; calibration errors measured on fewer than "
            f"{FEW_ROWS} are mostly chance.",
            "Add more labelled rows if you can, and trust the intervals rather than the numbers.",
        )
    counts = np.bincount(labels, minlength=k)
    absent, few = np.flatnonzero(counts == 0), np.flatnonzero((counts > 0) & (counts < FEW_PER_CLASS))
    if len(absent) == k - 1:
        only = shortened(class_names[int(counts.argmax())])
        yield warning(
            "one_class",
            f"The only label is {only}, in {count(n, 'row')}, so calibration cannot be measured.",
            "Add rows of the other classes; a sorted file that was cut off usually causes it.",
        )
        return
    if absent.size:
        yield warning(
            "absent_classes",
            f"{count(absent.size, 'class')} of {k:,} never {verb(absent.size, 'occurs', 'occur')} among the labels "
            f"({listed(class_names[j] for j in absent)}); "
            f"{verb(absent.size, 'it stays as a column', 'they stay as columns')}.",
            "Methods that share one map among classes are not affected.",
        )
    if few.size:
        yield warning(
            "few_per_class",
            f"{count(few.size, 'class')} of {k:,} {verb(few.size, 'has', 'have')} fewer than {FEW_PER_CLASS} rows "
            f"({listed(f'{class_names[j]}: {counts[j]}' for j in few)}).",
            "Prefer methods that share one map among classes.",
        )


def _check_spread(outputs: Floats, name: str) -> Iterator[Finding]:
    """Logits whose spread is far from any softmax's.

    Parameters
    ----------
    outputs : (n, n_classes) logits, or (n, 1) log-odds.
    """
    rows = outputs[unit_rows(outputs.shape)].astype(np.float64)
    gap = logit_unit(np.concatenate([np.zeros_like(rows), rows], axis=1) if rows.shape[1] == 1 else rows)
    if not USUAL_GAPS[0] <= gap <= USUAL_GAPS[1]:
        yield warning(
            "spread",
            f"The two largest logits of a row of {name} are {gap:.3g} apart (median); before a softmax it is "
            f"{USUAL_GAPS[0]:g} to {USUAL_GAPS[1]:g}. Temperature, ensemble temperature, vector and structured scaling "
            "do not mind the unit; methods with a prior or bins on the log-odds, such as GPcalib and I-Max, do.",
            "Check that these are the outputs just before the softmax: no similarities, no margins.",
        )


def _check_saturation(outputs: Floats, kind: Kind, predicted: Ints, labels: Ints, name: str) -> Iterator[Finding]:
    """Probabilities of exactly one: they cannot be ranked, and their log loss is infinite where they are wrong.

    Parameters
    ----------
    outputs : (n, k) values of a kind that is not logits.
    """
    zero, one = (-np.inf, 0.0) if kind == "log_probabilities" else (0.0, 1.0)
    full = outputs.max(axis=1) == one
    if kind == "binary_probability":
        full |= outputs[:, 0] == zero
    n, wrong = int(full.sum()), int((full & (predicted != labels)).sum())
    if n == len(full) and np.count_nonzero(outputs != zero) <= len(full):
        yield warning(
            "hard_predictions",
            f"Every probability of {name} is exactly 0 or 1: predicted classes, which carry no confidence; only their "
            "accuracy can be estimated.",
            "Save the logits, or predict_proba instead of predict.",
        )
    elif n and kind != "log_probabilities":
        say = warning if n > 0.01 * len(full) else info
        # Every CSV is read as float64, and so is what somebody widened: that type has not rounded anything here.
        where = f"to {outputs.dtype}" if outputs.dtype.itemsize < 8 else "before or while they were saved"
        yield say(
            "saturated",
            f"{count(n, 'row')} of {len(full):,} in {name} {verb(n, 'holds', 'hold')} exactly 1.0, rounded {where}; "
            f"such rows can no longer be told apart, and {wrong:,} {verb(wrong, 'is', 'are')} wrong.",
            "Save logits instead of probabilities where you can.",
        )
