"""Features of the rows and the training set: rows of numbers or images of one shape and type, and what is odd of them.

Floats and bytes stay as they came; where the two sets differ in type, both become float32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import standardise
from calib.data.assemble.arrays import float_dtype
from calib.data.assemble.labels import Labels, decode_labels
from calib.data.findings import (
    InvalidUpload,
    Notes,
    Step,
    count,
    info,
    left_out,
    left_out_as,
    listed,
    rounded,
    verb,
    warning,
)
from calib.data.options import Choices
from calib.data.read.base import Allowance, Array
from calib.errors import NO_FEATURE_METHODS, Finding
from calib.numerics import Floats, Ints, blocks

Features = npt.NDArray[Any]
"""(n, d), or images (n, height, width) and (n, height, width, channels): float32, float64, or uint8 as it came."""

Bools = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.int64]

CHANNELS = (1, 3)

LARGEST_FEATURE = 1e15
"""Squared distances of features of this size stay finite in float32, up to a hundred million of them."""

BAD_VALUES = "NaN, infinite or far too large values"

LEAK = "training_rows"
"""Code of the finding that training rows are among the rows to judge."""

RANGES_DIFFER = 100
"""How many times wider than the narrowest column the widest may be before it dominates every distance."""


def as_features(array: Array, name: str) -> Step[Features]:
    """Features as rows of numbers or as images with their channels last.

    Parameters
    ----------
    array : (n, ...) of any type; its rows stay in their order.
    name : what it is called in sentences.

    Raises
    ------
    InvalidUpload
        Where it holds no numbers.
    """
    shape = array.shape
    findings: tuple[Finding, ...] = ()
    if array.ndim == 0 or not prod(shape):
        raise InvalidUpload("features", f"{name} has the shape {shape}, which holds no feature.", "Save numbers.")
    last = array.ndim == 3 or (array.ndim == 4 and shape[3] in CHANNELS)
    if last and min(shape[1:3]) > 1:
        pass  # images as they are
    elif array.ndim == 4 and min(shape[2:]) > 1 and shape[1] in CHANNELS:
        array = np.moveaxis(array, 1, -1)
        findings = (info("channels_first", f"{name} has the shape {shape}: images, turned to {array.shape}."),)
    else:
        array = array.reshape(len(array), -1)
        if len(shape) > 2:
            said = f"{name} has the shape {shape}, which are no images: read as rows of {array.shape[1]:,} numbers."
            findings = (info("features_flattened", said),)
    dtype = np.dtype(np.uint8) if array.dtype in (np.bool_, np.uint8) else float_dtype(array.dtype, name)
    if dtype.itemsize > 1 and dtype != array.dtype:
        Allowance().take(array.size * dtype.itemsize, f"{name} as {dtype}")
    with np.errstate(over="ignore"):
        return Step(np.ascontiguousarray(array, dtype=dtype), findings)


def bad_feature_rows(features: Features) -> Bools:
    """(n,) rows with NaN, infinite values, or values so large that squared distances overflow."""
    bad = np.zeros(len(features), dtype=bool)
    flat = features.reshape(len(features), -1)
    for rows in blocks(*flat.shape) if features.dtype != np.uint8 else ():
        bad[rows] = ~(np.abs(flat[rows]) < LARGEST_FEATURE).all(axis=1)
    return bad


def own_features(raw: Array, choices: Choices) -> Step[tuple[Features | None, Bools]]:
    """The features of the rows, None where they cannot be used, and which rows are left out for them."""
    none_bad = np.zeros(len(raw), dtype=bool)
    try:
        step = as_features(raw, "features")
    except InvalidUpload as invalid:
        return Step((None, none_bad), (left_out_as("features", invalid),))
    bad = bad_feature_rows(step.value)
    if bad.all() or (bad.any() and not choices.drop_bad_rows):
        n = int(bad.sum())
        reason = f"{count(n, 'row')} of {len(bad):,} in features {verb(n, 'holds', 'hold')} {BAD_VALUES}."
        action, fix = "Leave these rows out.", {"drop_bad_rows": True}
        if bad.all():
            action, fix = "Look for an empty column, or a division by zero where they were saved.", {}
        said = left_out("features", "features_not_finite", reason, action, **fix)
        return Step((None, none_bad), (*step.findings, said))
    return Step((step.value, bad), step.findings)


def read_training_set(
    raw: Mapping[str, Array], class_names: tuple[str, ...], notes: Notes
) -> tuple[Features, Ints] | None:
    """Clean features and labels of the rows that a model was trained on; None where there are none that can be used.

    Parameters
    ----------
    raw : train_features (m, ...) and train_labels (m,), as far as the upload holds them.
    """
    given, labels = raw.get("train_features"), raw.get("train_labels")
    if given is None and labels is None:
        return None
    if given is None or labels is None:
        have, lack = ("train_labels", "train_features") if given is None else ("train_features", "train_labels")
        reason = f"There are {have} but no {lack}."
        notes.add(left_out(have, "train_incomplete", reason, f"Save {lack} with as many rows."))
        return None
    if (given.shape[:1] or (0,)) != (labels.shape[:1] or (0,)):
        reason = f"train_features has the shape {given.shape} but train_labels has the shape {labels.shape}."
        action = "Save one label for each row of training features."
        notes.add(left_out("train_features", "train_rows_differ", reason, action))
        return None
    array = "train_features"
    try:
        features = notes.take(as_features(given, array))
        array = "train_labels"
        decoded = decode_training_labels(labels, class_names, notes.choices)
    except InvalidUpload as invalid:
        notes.add(left_out_as(array, invalid))
        return None
    bad = bad_feature_rows(features)
    gone = bad | decoded.bad
    if gone.any():
        strange = listed(np.unique(labels[decoded.bad]).tolist())
        reason = (
            f"Of {count(len(bad), 'row')} of the training set {int(bad.sum()):,} hold {BAD_VALUES} and "
            f"{int(decoded.bad.sum()):,} a label that is no class of the outputs ({strange})"
        )
        if gone.all():
            action = "Save train_labels with the same names or numbers as the labels."
            notes.add(left_out("train_features", "train_rows_bad", f"{reason}.", action))
            return None
        notes.add(warning("train_rows_dropped", f"{reason}; left out.", "Save the training set without such rows."))
    return features[~gone], decoded.codes[~gone]


def decode_training_labels(raw: Array, class_names: Sequence[str], choices: Choices) -> Labels:
    """Column numbers of training labels: by the labels of the columns, else by their names, else from zero."""
    usual = tuple(range(len(class_names)))
    given = [
        replace(choices, label_values=order, drop_bad_rows=True)
        for order in (choices.label_values or usual, tuple(class_names), usual)
    ]
    found = [decode_labels(raw, len(class_names), None, "train_labels", each).value for each in given]
    return min(found, key=lambda labels: int(labels.bad.sum()))


def feature_fields(
    features: Features | None, raw: Mapping[str, Array], class_names: tuple[str, ...], notes: Notes, has_features: bool
) -> dict[str, Any]:
    """Features and training set as fields of Predictions; what does not fit is left out with a warning.

    Parameters
    ----------
    features : clean features of the rows, if there are any.
    raw : train_features (m, ...) and train_labels (m,), as far as the upload holds them.
    has_features : whether the upload holds features of the rows, usable or not.
    """
    train, standard = read_training_set(raw, class_names, notes), bool(notes.choices.standardise)
    notes.decide(standardise=False)
    if features is None or train is None:
        # What was given and cannot be used has its own finding, and is not to be asked for.
        if features is not None and not raw:
            reason = f"Features: each row is {described(features)}, but there is no training set to compare it with. "
            notes.add(info("features_alone", reason + NO_FEATURE_METHODS, "Add train_features and train_labels."))
        if train is not None and not has_features:
            reason = f"There is a training set of {count(len(train[1]), 'row')}, but no features of the rows. "
            action = "Add features, one entry per row of the outputs."
            notes.add(info("training_set_alone", reason + NO_FEATURE_METHODS, action))
        alone = {} if train is None else {"train_features": train[0], "train_labels": train[1]}
        return {"features": features, **alone}
    train_features, train_labels = train
    if features.shape[1:] != train_features.shape[1:]:
        reason = f"A row of features is {described(features)}, but a row of train_features {described(train_features)}."
        notes.add(left_out("train_features", "feature_sizes_differ", reason, "Save the same features of both."))
        return {"features": features}
    try:
        if standard or features.dtype != train_features.dtype:
            Allowance().take(4 * (features.size + train_features.size), "The features as float32")
    except InvalidUpload as invalid:
        notes.add(left_out_as("train_features", invalid))
        return {"features": features}
    if features.dtype != train_features.dtype:
        features, train_features = (array.astype(np.float32, copy=False) for array in (features, train_features))
    absent = np.flatnonzero(np.bincount(train_labels, minlength=len(class_names)) == 0)
    if absent.size:
        reason = (
            f"{count(absent.size, 'class')} of {len(class_names):,} never {verb(absent.size, 'occurs', 'occur')} among "
            f"the training labels ({listed(class_names[k] for k in absent)}); no distance to such a class can be "
            "computed."
        )
        notes.add(warning("train_classes_absent", reason, "Save training rows of every class."))
    notes.add(*check_leak(row_hashes(features), row_hashes(train_features)))
    fields = {"features": features, "train_features": train_features, "train_labels": train_labels}
    if standard:
        mean, scale = mean_and_scale(train_features)
        own, trained = (standardise(array, mean, scale) for array in (features, train_features))
        fields |= {"features": own, "train_features": trained, "feature_mean": mean, "feature_scale": scale}
    else:
        notes.add(*_different_scales(train_features))
    notes.decide(standardise=standard)
    how = ", standardised with mean and deviation of the training set, as new features must be" if standard else ""
    reason = (
        f"Features: each row is {described(features)} ({features.dtype}, from {rounded(features.min())} to "
        f"{rounded(features.max())}), with a training set of {count(len(train_labels), 'row')}{how}."
    )
    notes.add(info("features_understood", reason))
    return fields


def described(features: Features) -> str:
    """``64 numbers`` or ``an image of 8 x 8``, for one row of features."""
    if features.ndim == 2:
        return f"{features.shape[1]:,} number{'s' * (features.shape[1] != 1)}"
    return f"an image of {' x '.join(map(str, features.shape[1:]))}"


def mean_and_scale(train_features: Features) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each feature, in the shape of one row; 1 where a feature never varies."""
    flat = train_features.reshape(len(train_features), -1)
    mean = flat.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for rows in blocks(*flat.shape):
        squares += ((flat[rows] - mean) ** 2).sum(axis=0)
    # The rounding of the mean leaves a constant column with a deviation that is not quite zero.
    scale = np.where(flat.min(axis=0) == flat.max(axis=0), 1.0, np.sqrt(squares / len(flat)))
    shape = train_features.shape[1:]
    return mean.reshape(shape), scale.reshape(shape)


def _different_scales(train_features: Features) -> Iterable[Finding]:
    """A warning of columns whose scales differ, so that the widest dominate every distance."""
    flat = train_features.reshape(len(train_features), -1)
    ranges = flat.max(axis=0).astype(np.float64) - flat.min(axis=0)
    ranges = ranges[ranges > 0]
    # Pixels share one scale though some of them hardly vary, so nothing is said where most are as wide as the widest.
    if train_features.ndim != 2 or not len(ranges) or np.mean(ranges > 0.9 * ranges.max()) > 0.5:
        return
    if ranges.max() > RANGES_DIFFER * ranges.min():
        yield warning(
            "features_scale",
            f"Your features are not normalised: the range of a column of train_features is between "
            f"{rounded(ranges.min())} and {rounded(ranges.max())}, so that the widest dominate every distance.",
            "Standardise them with the mean and the standard deviation of the training set.",
            standardise=True,
        )


def check_leak(own: Hashes, trained: Hashes) -> tuple[Finding, ...]:
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
    if leaked <= counts[counts > 1].sum():
        return ()
    said = warning(
        LEAK,
        f"{count(leaked, 'row')} of {len(own):,} in features {verb(leaked, 'is', 'are')} also among the "
        f"{count(len(trained), 'row')} of train_features. A model is overconfident on its training rows, so every "
        "score here is invalid.",
        "Save outputs and features of rows that the model was not trained on.",
    )
    return (said,)


def leak(findings: Iterable[Finding]) -> str:
    """What :func:`check_leak` found, to be repeated beside scores; empty where it found nothing."""
    return next((f"{finding.message} {finding.action}" for finding in findings if finding.code == LEAK), "")


def row_hashes(features: Array) -> Hashes:
    """(n,) 64-bit hashes of the bytes of each row, equal where the rows are; others in each process."""
    flat = features.reshape(len(features), -1)
    return np.fromiter((hash(row.tobytes()) for row in flat), np.int64, len(flat))
