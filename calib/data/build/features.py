"""Features of the rows and the training set: rows of numbers or images of one shape and type, with checks.

Floats and bytes stay as they came; where the two sets differ in type, both become float32. What cannot be used is left
out with a finding that says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.build.labels import decode_labels
from calib.data.build.part import float_dtype
from calib.data.findings import Findings, InvalidUpload, info, listed, verb, warning
from calib.data.options import FEATURE_ARRAYS, Choices
from calib.data.read.base import Array, check_size
from calib.formatting import number, plural
from calib.numerics import Ints, blocks

Features = npt.NDArray[Any]
"""(n, d), or images (n, height, width) and (n, height, width, channels): float32, float64, or uint8 as it came."""

CHANNELS = (1, 3)

LARGEST_FEATURE = 1e15
"""Squared distances of features of this size stay finite in float32, up to a hundred million of them."""

BAD_VALUES = "NaN, infinite or far too large values"

RANGES_DIFFER = 100
"""Largest ratio of the ranges of two columns; the wider dominates every distance beyond it."""


def as_features(array: Array, name: str) -> Features:
    """Return (n, ...) numbers as rows, or as images with their channels last; refused where it holds no numbers."""
    if array.ndim == 0 or not array.size:
        reason = f"{name} has the shape {array.shape}, which holds no feature."
        raise InvalidUpload("features", reason, "Save numbers.")
    if array.ndim == 4 and array.shape[1] in CHANNELS and array.shape[3] not in CHANNELS:
        array = np.moveaxis(array, 1, -1)
    images = array.ndim == 3 or (array.ndim == 4 and array.shape[3] in CHANNELS)
    if not images or min(array.shape[1:3]) == 1:
        array = array.reshape(len(array), -1)
    is_byte = array.dtype in (np.bool_, np.uint8)
    dtype = np.dtype(np.uint8) if is_byte else float_dtype(array.dtype, name)
    if dtype.itemsize > 1 and dtype != array.dtype:
        check_size(array.size * dtype.itemsize, f"{name} as {dtype}")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=dtype)


def count_bad_rows(features: Features) -> int:
    """Count rows with NaN, infinite values, or values so large that squared distances overflow."""
    if features.dtype == np.uint8:
        return 0
    flat = features.reshape(len(features), -1)
    good = (np.abs(flat[rows]) < LARGEST_FEATURE for rows in blocks(*flat.shape))
    return len(flat) - sum(int(block.all(axis=1).sum()) for block in good)


def row_features(rows: Mapping[str, Array]) -> tuple[Features | None, Findings]:
    """Return the features of the rows; None where they cannot be used."""
    if "features" not in rows:
        return None, ()
    try:
        features = as_features(rows["features"], "features")
        if n := count_bad_rows(features):
            reason = f"{plural(n, 'row')} of {len(features):,} in features {verb(n, 'holds', 'hold')} {BAD_VALUES}."
            action = "Save outputs, labels and features without these rows."
            raise InvalidUpload("features_not_finite", reason, action)
    except InvalidUpload as invalid:
        return None, (invalid.left_out("features"),)
    return features, ()


def feature_fields(
    features: Features | None,
    train: Mapping[str, Array],
    class_names: tuple[str, ...],
    choices: Choices,
) -> tuple[dict[str, Any], Findings]:
    """Return features and training set as fields of Predictions; what does not fit is left out with a finding.

    Parameters
    ----------
    features : clean features of the rows, if there are any.
    train : train_features (m, ...) and train_labels (m,), as far as the upload holds them.
    """
    fields_alone = {"features": features}
    present = [*(() if features is None else fields_alone), *train]
    lacking = [name for name in FEATURE_ARRAYS if name not in present]
    if lacking:
        reason = f"Of {listed(FEATURE_ARRAYS)} only {listed(present)} can be used."
        finding = info("features_incomplete", reason, f"Save {listed(lacking)} too.")
        return fields_alone, (replace(finding, left_out=lacking[0]),) if present else ()
    assert features is not None
    try:
        trained, labels = training_set(train, class_names, choices)
        if features.shape[1:] != trained.shape[1:]:
            reason = f"A row of features is {described(features)}, but a row of train_features {described(trained)}."
            raise InvalidUpload("feature_sizes_differ", reason, "Save the same features of both.")
    except InvalidUpload as invalid:
        return fields_alone, (invalid.left_out("train_features"),)
    if features.dtype != trained.dtype:
        features, trained = (array.astype(np.float32, copy=False) for array in (features, trained))
    findings = different_scales(trained)
    reason = (
        f"Features: each row is {described(features)} ({features.dtype}, from {number(features.min())} to "
        f"{number(features.max())}), with a training set of {plural(len(labels), 'row')}."
    )
    fields = {"features": features, "train_features": trained, "train_labels": labels}
    return fields, (*findings, info("features_understood", reason))


def training_set(
    train: Mapping[str, Array], class_names: tuple[str, ...], choices: Choices
) -> tuple[Features, Ints]:
    """Return clean features and labels of the rows that a model was trained on; refused where they cannot be used."""
    raw, labels = train["train_features"], train["train_labels"]
    if (raw.shape[:1] or (0,)) != (labels.shape[:1] or (0,)):
        reason = f"train_features has the shape {raw.shape} but train_labels has the shape {labels.shape}."
        action = "Save one label for each row of training features."
        raise InvalidUpload("train_rows_differ", reason, action)
    features = as_features(raw, "train_features")
    codes = decode_training_labels(labels, class_names, choices)
    n = count_bad_rows(features)
    no_class = codes < 0
    if n or no_class.any():
        reason = (
            f"Of {plural(len(codes), 'row')} of the training set {n:,} {verb(n, 'holds', 'hold')} {BAD_VALUES} and "
            f"{int(no_class.sum()):,} a label that is no class of the outputs "
            f"({listed(np.unique(labels[no_class]).tolist())})."
        )
        action = (
            "Save it without such rows, and train_labels with the names or numbers of the labels."
        )
        raise InvalidUpload("train_rows_bad", reason, action)
    return features, codes


def decode_training_labels(raw: Array, class_names: tuple[str, ...], choices: Choices) -> Ints:
    """Return column numbers of training labels: by the labels of the columns, else by their names, else from zero."""
    n_classes = len(class_names)
    usual = tuple(range(n_classes))
    decoded = []
    for order in (choices.label_values or usual, class_names, usual):
        in_order = replace(choices, label_values=order, drop_bad_rows=True)
        decoded.append(decode_labels(raw, n_classes, None, "train_labels", in_order)[0])
    return min(decoded, key=lambda codes: int((codes < 0).sum()))


def described(features: Features) -> str:
    """``64 numbers`` or ``an image of 8 x 8``, for one row of features."""
    if features.ndim == 2:
        return plural(features.shape[1], "number")
    return f"an image of {' x '.join(map(str, features.shape[1:]))}"


def different_scales(train_features: Features) -> Findings:
    """Warn of columns whose scales differ, so that the widest dominate every distance."""
    flat = train_features.reshape(len(train_features), -1)
    ranges = flat.max(axis=0).astype(np.float64) - flat.min(axis=0)
    ranges = ranges[ranges > 0]
    # Pixels share one scale though some of them hardly vary: no warning where most are as wide as the widest.
    if train_features.ndim != 2 or not len(ranges) or np.mean(ranges > 0.9 * ranges.max()) > 0.5:
        return ()
    if ranges.max() <= RANGES_DIFFER * ranges.min():
        return ()
    reason = (
        f"Your features are not normalised: the range of a column of train_features is between "
        f"{number(ranges.min())} and {number(ranges.max())}, so that the widest dominate every distance."
    )
    action = "Save (x - train.mean(axis=0)) / train.std(axis=0) of both, and of new rows later."
    return (warning("features_scale", reason, action),)
