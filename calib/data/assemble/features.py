"""Features of the rows and the training set: rows of numbers or images of one shape and type, and what is odd of them.

Floats and bytes stay as they came; where the two sets differ in type, both become float32. What cannot be used is left
out with a finding that says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import standardise
from calib.data.assemble.arrays import float_dtype
from calib.data.assemble.labels import Labels, decode_labels
from calib.data.findings import InvalidUpload, Notes, Step, info, left_out_as, listed, verb, warning
from calib.data.options import Choices
from calib.data.read.base import Array, check_size
from calib.errors import NO_FEATURE_METHODS, Finding
from calib.formatting import number, plural
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
    """(n, ...) numbers as rows, or as images with their channels last; refused where it holds no numbers."""
    shape = array.shape
    findings = []
    if array.ndim == 0 or not prod(shape):
        raise InvalidUpload(
            "features", f"{name} has the shape {shape}, which holds no feature.", "Save numbers."
        )
    images = array.ndim == 3 or (array.ndim == 4 and shape[3] in CHANNELS)
    if not (images and min(shape[1:3]) > 1):
        if array.ndim == 4 and min(shape[2:]) > 1 and shape[1] in CHANNELS:
            array = np.moveaxis(array, 1, -1)
            said = f"{name} has the shape {shape}: images, turned to {array.shape}."
            findings.append(info("channels_first", said))
        else:
            array = array.reshape(len(array), -1)
            numbers = plural(array.shape[1], "number")
            said = f"{name} has the shape {shape}, which are no images: read as rows of {numbers}."
            findings += [info("features_flattened", said)] if len(shape) > 2 else []
    dtype = (
        np.dtype(np.uint8)
        if array.dtype in (np.bool_, np.uint8)
        else float_dtype(array.dtype, name)
    )
    if dtype.itemsize > 1 and dtype != array.dtype:
        check_size(array.size * dtype.itemsize, f"{name} as {dtype}")
    with np.errstate(over="ignore"):
        return Step(np.ascontiguousarray(array, dtype=dtype), tuple(findings))


def bad_feature_rows(features: Features) -> Bools:
    """(n,) rows with NaN, infinite values, or values so large that squared distances overflow."""
    bad = np.zeros(len(features), dtype=bool)
    flat = features.reshape(len(features), -1)
    for rows in blocks(*flat.shape) if features.dtype != np.uint8 else ():
        bad[rows] = ~(np.abs(flat[rows]) < LARGEST_FEATURE).all(axis=1)
    return bad


def own_features(raw: Array, choices: Choices) -> Step[tuple[Features | None, Bools]]:
    """The features of the rows, None where they cannot be used, and which rows are left out for them."""
    findings: tuple[Finding, ...] = ()
    try:
        features = (step := as_features(raw, "features")).value
        findings = step.findings
        bad = bad_feature_rows(features)
        n = int(bad.sum())
        reason = f"{plural(n, 'row')} of {len(bad):,} in features {verb(n, 'holds', 'hold')} {BAD_VALUES}."
        if bad.all():
            action = "Look for an empty column, or a division by zero where they were saved."
            raise InvalidUpload("features_not_finite", reason, action)
        if n and not choices.drop_bad_rows:
            raise InvalidUpload(
                "features_not_finite", reason, "Leave these rows out.", drop_bad_rows=True
            )
    except InvalidUpload as invalid:
        return Step(
            (None, np.zeros(len(raw), dtype=bool)), (*findings, left_out_as("features", invalid))
        )
    return Step((features, bad), findings)


def read_training_set(
    raw: Mapping[str, Array], class_names: tuple[str, ...], choices: Choices
) -> Step[tuple[Features, Ints]]:
    """Clean features and labels of the rows that a model was trained on; refused where they cannot be used.

    Parameters
    ----------
    raw : train_features (m, ...) and train_labels (m,), as far as the upload holds them.
    """
    lack = [name for name in ("train_features", "train_labels") if name not in raw]
    if lack:
        reason = f"There are {next(iter(raw))} but no {lack[0]}."
        raise InvalidUpload("train_incomplete", reason, f"Save {lack[0]} with as many rows.")
    given = raw["train_features"]
    labels = raw["train_labels"]
    if (given.shape[:1] or (0,)) != (labels.shape[:1] or (0,)):
        reason = f"train_features has the shape {given.shape} but train_labels has the shape {labels.shape}."
        raise InvalidUpload(
            "train_rows_differ", reason, "Save one label for each row of training features."
        )
    step = as_features(given, "train_features")
    decoded = decode_training_labels(labels, class_names, choices)
    bad = bad_feature_rows(step.value)
    gone = bad | decoded.bad
    if not gone.any():
        return Step((step.value, decoded.codes), step.findings)
    n = int(bad.sum())
    reason = (
        f"Of {plural(len(bad), 'row')} of the training set {n:,} {verb(n, 'holds', 'hold')} {BAD_VALUES} and "
        f"{int(decoded.bad.sum()):,} a label that is no class of the outputs "
        f"({listed(np.unique(labels[decoded.bad]).tolist())})"
    )
    if gone.all():
        action = "Save train_labels with the same names or numbers as the labels."
        raise InvalidUpload("train_rows_bad", f"{reason}.", action)
    said = warning(
        "train_rows_dropped", f"{reason}; left out.", "Save the training set without such rows."
    )
    return Step((step.value[~gone], decoded.codes[~gone]), (*step.findings, said))


def decode_training_labels(raw: Array, class_names: Sequence[str], choices: Choices) -> Labels:
    """Column numbers of training labels: by the labels of the columns, else by their names, else from zero."""
    usual = tuple(range(len(class_names)))
    given = [
        replace(choices, label_values=order, drop_bad_rows=True)
        for order in (choices.label_values or usual, tuple(class_names), usual)
    ]
    found = [
        decode_labels(raw, len(class_names), None, "train_labels", each).value for each in given
    ]
    return min(found, key=lambda labels: int(labels.bad.sum()))


def feature_fields(
    features: Features | None,
    raw: Mapping[str, Array],
    class_names: tuple[str, ...],
    notes: Notes,
    has_features: bool,
) -> dict[str, Any]:
    """Features and training set as fields of Predictions; what does not fit is left out with a warning.

    Parameters
    ----------
    features : clean features of the rows, if there are any.
    raw : train_features (m, ...) and train_labels (m,), as far as the upload holds them.
    has_features : whether the upload holds features of the rows, usable or not.
    """
    standard = bool(notes.choices.standardise)
    own = {"features": features}
    notes.decide(standardise=False)
    if not raw:
        if features is not None:
            reason = f"Features: each row is {described(features)}, but there is no training set to compare it with. "
            notes.add(
                info(
                    "features_alone",
                    reason + NO_FEATURE_METHODS,
                    "Add train_features and train_labels.",
                )
            )
        return own
    try:
        train, labels = notes.take(read_training_set(raw, class_names, notes.choices))
        if features is None:
            if not has_features:  # what was given and cannot be used has its own finding
                reason = f"There is a training set of {plural(len(labels), 'row')}, but no features of the rows. "
                action = "Add features, one entry per row of the outputs."
                notes.add(info("training_set_alone", reason + NO_FEATURE_METHODS, action))
            return {"train_features": train, "train_labels": labels}
        if features.shape[1:] != train.shape[1:]:
            reason = f"A row of features is {described(features)}, but a row of train_features {described(train)}."
            raise InvalidUpload("feature_sizes_differ", reason, "Save the same features of both.")
    except InvalidUpload as invalid:
        notes.add(
            left_out_as("train_features" if "train_features" in raw else "train_labels", invalid)
        )
        return own
    if features.dtype != train.dtype:
        features, train = (array.astype(np.float32, copy=False) for array in (features, train))
    absent = np.flatnonzero(np.bincount(labels, minlength=len(class_names)) == 0)
    if absent.size:
        classes = plural(absent.size, "class", "classes")
        never = f"never {verb(absent.size, 'occurs', 'occur')}"
        reason = (
            f"{classes} of {len(class_names):,} {never} among the training labels "
            f"({listed(class_names[k] for k in absent)}); no distance to such a class can be computed."
        )
        notes.add(warning("train_classes_absent", reason, "Save training rows of every class."))
    notes.add(*check_leak(row_hashes(features), row_hashes(train)))
    fields: dict[str, Any] = {"features": features, "train_features": train, "train_labels": labels}
    how = ""
    if standard:
        mean, scale = mean_and_scale(train)
        features, train = (standardise(array, mean, scale) for array in (features, train))
        fields |= {
            "features": features,
            "train_features": train,
            "feature_mean": mean,
            "feature_scale": scale,
        }
        how = ", standardised with mean and deviation of the training set, as new features must be"
    else:
        notes.add(*_different_scales(train))
    notes.decide(standardise=standard)
    reason = (
        f"Features: each row is {described(features)} ({features.dtype}, from {number(features.min())} to "
        f"{number(features.max())}), with a training set of {plural(len(labels), 'row')}{how}."
    )
    notes.add(info("features_understood", reason))
    return fields


def described(features: Features) -> str:
    """``64 numbers`` or ``an image of 8 x 8``, for one row of features."""
    if features.ndim == 2:
        return plural(features.shape[1], "number")
    return f"an image of {' x '.join(map(str, features.shape[1:]))}"


def mean_and_scale(train_features: Features) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each feature, in the shape of one row; 1 where a feature never varies."""
    flat = train_features.reshape(len(train_features), -1)
    mean = flat.mean(axis=0, dtype=np.float64)
    squares = sum(((flat[rows] - mean) ** 2).sum(axis=0) for rows in blocks(*flat.shape))
    # The rounding of the mean leaves a constant column with a deviation that is not quite zero.
    scale = np.where(flat.min(axis=0) == flat.max(axis=0), 1.0, np.sqrt(squares / len(flat)))
    shape = train_features.shape[1:]
    return mean.reshape(shape), scale.reshape(shape)


def _different_scales(train_features: Features) -> Iterator[Finding]:
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
            f"{number(ranges.min())} and {number(ranges.max())}, so that the widest dominate every distance.",
            "Standardise them with the mean and the standard deviation of the training set.",
            standardise=True,
        )


def check_leak(own: Hashes, trained: Hashes) -> tuple[Finding, ...]:
    """Warn of rows that the model was trained on, by (n,) and (m,) hashes; its scores say nothing about new rows.

    Where rows repeat among the features themselves as often, as they do with few discrete columns, equal rows are
    no sign of a leak.
    """
    leaked = int(np.isin(own, trained).sum())
    counts = np.unique(own, return_counts=True)[1]
    if leaked <= counts[counts > 1].sum():
        return ()
    said = warning(
        LEAK,
        f"{plural(leaked, 'row')} of {len(own):,} in features {verb(leaked, 'is', 'are')} also among the "
        f"{plural(len(trained), 'row')} of train_features. A model is overconfident on its training rows, so every "
        "score here is invalid.",
        "Save outputs and features of rows that the model was not trained on.",
    )
    return (said,)


def leak(findings: Iterable[Finding]) -> str:
    """What :func:`check_leak` found, to be repeated beside scores; empty where it found nothing."""
    return next(
        (f"{finding.message} {finding.action}" for finding in findings if finding.code == LEAK), ""
    )


def row_hashes(features: Array) -> Hashes:
    """(n,) 64-bit hashes of the bytes of each row, equal where the rows are; others in each process."""
    flat = features.reshape(len(features), -1)
    return np.fromiter((hash(row.tobytes()) for row in flat), np.int64, len(flat))
