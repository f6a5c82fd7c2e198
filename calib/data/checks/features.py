"""Checks of features and their training set: constant columns, scales, training rows among the rows, contradictions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import Report, count, listed, rounded, verb
from calib.data.read.base import Array
from calib.errors import Finding
from calib.numerics import Floats, Ints, blocks

Hashes = npt.NDArray[np.uint64]

LEAK = "training_rows"
"""Code of the finding that training rows are among the rows to judge."""

RANGES_DIFFER = 100
"""How many times wider than the narrowest column the widest may be before it dominates every distance."""

SETS_DIFFER = 20
"""How many times wider than one set the other may be; 255 tells bytes from pixels in [0, 1]."""


def check_training_set(
    features: Array, train_features: Array, train_labels: Ints, class_names: tuple[str, ...], report: Report
) -> None:
    """Check the features of the rows against the training set; both are of one type and shape, without bad values."""
    check_training_classes(train_labels, class_names, report)
    own = row_hashes(features)
    trained = row_hashes(train_features)
    check_leak(own, trained, report)
    check_contradictions(trained, train_labels, report)
    if not report.choices.standardise:
        check_ranges(train_features, features, report)


def check_ranges(train_features: Array, features: Array, report: Report) -> None:
    """Check for constant columns, columns of different scales, and two sets of different scales."""
    flat = train_features.reshape(len(train_features), -1)
    low, high = flat.min(axis=0), flat.max(axis=0)
    ranges = high.astype(np.float64) - low
    n_constant = int((ranges == 0).sum())
    noun = "column" if train_features.ndim == 2 else "value"
    if n_constant == len(ranges):
        report.warn(
            "features_constant",
            f"All {count(len(flat), 'row')} of train_features are the same, so all distances to them are equal.",
            "Check that the right array was saved.",
        )
        return
    if n_constant:
        report.info(
            "constant_features",
            f"{count(n_constant, noun)} of {len(ranges):,} in train_features never "
            f"{verb(n_constant, 'varies and adds', 'vary and add')} nothing to a distance.",
        )
    if train_features.ndim == 2:
        check_scales(ranges[ranges > 0], report)
    check_sets(float(low.min()), float(high.max()), float(features.min()), float(features.max()), report)


def check_scales(ranges: Floats, report: Report) -> None:
    """Warn of columns far wider than the others, which dominate every distance.

    Pixels share one scale though some of them hardly vary, so nothing is said where most columns are as wide as
    the widest.
    """
    widest, narrowest = float(ranges.max()), float(ranges.min())
    if widest <= RANGES_DIFFER * narrowest or np.mean(ranges > 0.9 * widest) > 0.5:
        return
    report.warn(
        "features_scale",
        f"Your features are not normalised: the range of a column of train_features is between {rounded(narrowest)} "
        f"and {rounded(widest)}, so that the widest dominate every distance.",
        "Standardise them with the mean and the standard deviation of the training set.",
        standardise=True,
    )


def check_sets(train_low: float, train_high: float, low: float, high: float, report: Report) -> None:
    """Warn where the two sets were probably not preprocessed in the same way."""
    train, own = train_high - train_low, high - low
    if not 1 / SETS_DIFFER <= train / max(own, np.finfo(np.float64).tiny) <= SETS_DIFFER:
        report.warn(
            "feature_sets_differ",
            f"features run from {rounded(low)} to {rounded(high)} but train_features from {rounded(train_low)} to "
            f"{rounded(train_high)}; one of them was probably divided by 255 or standardised, and the other was not.",
            "Save both after the same preparation.",
        )


def check_leak(own: Hashes, trained: Hashes, report: Report) -> None:
    """Warn of rows that the model was trained on; its scores on them say nothing about new rows.

    Where rows repeat among the features themselves as often, as they do with few discrete columns, equal rows are
    no sign of a leak.

    Parameters
    ----------
    own : (n,) hashes of the features.
    trained : (m,) hashes of the training features, of the same type.
    """
    leaked = int(np.isin(own, trained).sum())
    counts = np.unique(own, return_counts=True)[1]
    if leaked > counts[counts > 1].sum():
        report.warn(
            LEAK,
            f"{count(leaked, 'row')} of {len(own):,} in features {verb(leaked, 'is', 'are')} also among the "
            f"{count(len(trained), 'row')} of train_features. A model is overconfident on its training rows, so "
            "every score here is invalid.",
            "Save outputs and features of rows that the model was not trained on.",
        )


def leak(findings: Iterable[Finding]) -> str:
    """What :func:`check_leak` found, to be repeated beside scores; empty where it found nothing."""
    return next((f"{finding.message} {finding.action}" for finding in findings if finding.code == LEAK), "")


def check_contradictions(trained: Hashes, train_labels: Ints, report: Report) -> None:
    """Warn of training rows with equal features and different labels; an info where most rows repeat.

    Parameters
    ----------
    trained : (m,) hashes of the training features.
    train_labels : (m,) their classes.
    """
    order = np.lexsort((train_labels, trained))
    hashes, labels = trained[order], train_labels[order]
    starts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]])
    sizes = np.diff(np.r_[starts, len(hashes)])
    mixed = labels[starts] != labels[starts + sizes - 1]
    if not mixed.any():
        return
    rows, n_inputs = int(sizes[mixed].sum()), int(mixed.sum())
    discrete = 2 * sizes[sizes > 1].sum() > len(hashes)
    (report.info if discrete else report.warn)(
        "train_labels_contradict",
        f"{rows:,} of {count(len(hashes), 'row')} of the training set contradict each other: they are "
        f"{count(n_inputs, 'input')}, each under more than one label. Such an input is as near to one class as to "
        "another.",
        "" if discrete else "Check the labels of these rows, and whether their features were saved whole.",
    )


def row_hashes(features: Array) -> Hashes:
    """(n,) 64-bit hashes of the bytes of each row, equal where the rows are.

    Words are mixed before they are weighted and summed: those of whole numbers end in many zero bits, which a plain
    weighted sum modulo 2^64 would keep.
    """
    flat = features.reshape(len(features), -1)
    size = flat.shape[1] * flat.itemsize
    word = next(w for w in (8, 4, 2, 1) if size % w == 0)
    words = flat.view(np.dtype(f"u{word}"))
    weights = np.random.default_rng(0).integers(2**63, size=words.shape[1], dtype=np.uint64) * 2 + 1
    hashes = np.empty(len(flat), dtype=np.uint64)
    for rows in blocks(*words.shape):
        mixed = (words[rows].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        hashes[rows] = (mixed * weights).sum(axis=1, dtype=np.uint64)
    return hashes


def check_training_classes(train_labels: Ints, class_names: tuple[str, ...], report: Report) -> None:
    """Warn of classes without training rows, to which no distance can be computed."""
    absent = np.flatnonzero(np.bincount(train_labels, minlength=len(class_names)) == 0)
    if absent.size:
        report.warn(
            "train_classes_absent",
            f"{count(absent.size, 'class')} of {len(class_names):,} never {verb(absent.size, 'occurs', 'occur')} among "
            f"the training labels ({listed(class_names[k] for k in absent)}); no distance to such a "
            "class can be computed.",
            "Save training rows of every class.",
        )
