"""Features of the rows and of the training set: as rows of numbers or images, of one shape and type, and checked."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import standardise
from calib.data.checks.features import check_training_set
from calib.data.checks.report import InvalidUpload, Report, count, listed, rounded, verb
from calib.data.interpret.label_values import Decoded, as_numbers_if_possible, decode_labels, one_per_row
from calib.data.interpret.reading import float_dtype
from calib.data.read.base import Allowance, Array
from calib.errors import NO_FEATURE_METHODS
from calib.numerics import Floats, blocks

Features = npt.NDArray[Any]
"""(n, d), or images (n, height, width) and (n, height, width, channels): float32, float64, or uint8 as it came."""

CHANNELS = (1, 3)
EXACT_IN_FLOAT32 = 2**24


def as_features(array: Array, name: str, report: Report) -> Features | None:
    """Features as rows of numbers or as images; None, with a warning, where they cannot be.

    Parameters
    ----------
    array : (n, ...) of any type; its rows stay in their order.
    name : what it is called in sentences.
    """
    try:
        float_dtype(array.dtype, name)  # refuses what is no number
        width = prod(array.shape[1:])
        if array.ndim == 0 or width == 0 or not len(array):
            raise InvalidUpload(
                "features", f"{name} has the shape {array.shape}, which holds no feature.", "Save (rows, features)."
            )
        return compact(shaped(array, name, report), name)
    except InvalidUpload as invalid:
        report.leave_out_as(name, invalid)
        return None


def shaped(array: Array, name: str, report: Report) -> Array:
    """Images with their channels last, everything else flat; a copy only where channels change their place."""
    shape = array.shape
    sizes = shape[1:3]
    if len(sizes) == 2 and min(sizes) > 1 and (len(shape) == 3 or (len(shape) == 4 and shape[3] in CHANNELS)):
        return array
    if len(shape) == 4 and min(shape[2:]) > 1 and shape[1] in CHANNELS:
        return channels_last(array, name, report)
    flat = array.reshape(len(array), -1)
    if len(shape) > 2:
        report.info(
            "features_flattened",
            f"{name} has the shape {shape}, which are no images: read as rows of {flat.shape[1]:,} numbers.",
        )
    return flat


def channels_last(array: Array, name: str, report: Report) -> Array:
    """Images (n, channels, height, width), as PyTorch has them, as (n, height, width, channels)."""
    n, depth, height, width = array.shape
    turned = (n, height, width, depth)
    which = "its channel" if depth == 1 else f"its {depth} channels"
    report.info(
        "channels_first",
        f"{name} has the shape {array.shape}: each row read as an image with {which} first, and turned to {turned}.",
    )
    if depth == 1:
        return array.reshape(turned)
    Allowance().take(array.nbytes, f"{name} with its channels last")
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


def compact(array: Array, name: str) -> Features:
    """The same numbers as float32, float64 or uint8, the smallest that holds them; no copy where none is needed."""
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array).view(np.uint8)
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    dtype = float_dtype(array.dtype, name)
    whole = array.dtype.kind in "iu"
    if whole and max(abs(int(array.min())), abs(int(array.max()))) <= EXACT_IN_FLOAT32:
        dtype = np.dtype(np.float32)
    if dtype != array.dtype:
        Allowance().take(array.size * dtype.itemsize, f"{name} as {dtype}")
    return np.ascontiguousarray(array, dtype=dtype)


def same_type(first: Features, second: Features) -> tuple[Features, Features]:
    """Both of one type, float32 where they differ: no distance between them is finer than the coarser one."""
    if first.dtype == second.dtype:
        return first, second
    for array in (first, second):
        if array.dtype == np.float64 and not spans(array, np.dtype(np.float32)):
            return first.astype(np.float64), second.astype(np.float64)
    Allowance().take(4 * (first.size + second.size), "The features as float32")
    return first.astype(np.float32, copy=False), second.astype(np.float32, copy=False)


def bad_feature_rows(features: Features) -> npt.NDArray[np.bool_]:
    """(n,) rows with NaN, infinite values, or values so large that squared distances overflow."""
    bad = np.zeros(len(features), dtype=bool)
    if spans(features, features.dtype):
        return bad
    flat = features.reshape(len(features), -1)
    most = largest(features.dtype, flat.shape[1])
    for rows in blocks(*flat.shape):
        bad[rows] = ~(np.abs(flat[rows]) < most).all(axis=1)
    return bad


def spans(features: Features, dtype: np.dtype[Any]) -> bool:
    """Whether distances between all rows are finite in a type."""
    if features.dtype == np.uint8:
        return True
    most = largest(dtype, features[0].size)
    return bool(features.min() > -most and features.max() < most)


def largest(dtype: np.dtype[Any], width: int) -> float:
    """What a feature must stay below for squared distances of this many of them to stay finite."""
    return float(np.sqrt(np.finfo(dtype).max / width) / 8)


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


BAD_VALUES = "NaN, infinite or far too large values"


def own_features(rows: dict[str, Array], report: Report) -> npt.NDArray[np.bool_]:
    """Bring the features of the rows into form, or take them out where they cannot be used.

    Parameters
    ----------
    rows : holds "features", (n, ...) of any type; replaced in place.

    Returns
    -------
    (n,) rows to be left out for their features.
    """
    raw = rows.pop("features")
    none_bad = np.zeros(len(raw), dtype=bool)
    features = as_features(raw, "features", report)
    if features is None:
        return none_bad
    bad = bad_feature_rows(features)
    if bad.all():
        report.leave_out(
            "features",
            "features_not_finite",
            f"Every one of the {count(len(bad), 'row')} of features holds {BAD_VALUES}.",
            "Look for an empty column, or a division by zero where they were saved.",
        )
        return none_bad
    if bad.any() and not report.choices.drop_bad_rows:
        warn_bad_rows(bad, "features", BAD_VALUES, "features_not_finite", report)
        return none_bad
    rows["features"] = features
    return bad


def read_training_set(raw: dict[str, Array], class_names: tuple[str, ...], report: Report) -> dict[str, Any] | None:
    """Clean training features and labels, or None."""
    given, labels = raw.get("train_features"), raw.get("train_labels")
    if given is None and labels is None:
        return None
    if given is None or labels is None:
        have, lack = ("train_labels", "train_features") if given is None else ("train_features", "train_labels")
        report.leave_out(
            have, "train_incomplete", f"There are {have} but no {lack}.", f"Save {lack} with as many rows."
        )
        return None
    n_labels = len(labels) if labels.ndim else 0
    if (len(given) if given.ndim else 0) != n_labels:
        report.leave_out(
            "train_features",
            "train_rows_differ",
            f"train_features has the shape {given.shape} but train_labels has {count(n_labels, 'row')}.",
            "Save one label for each row of training features.",
        )
        return None
    features = as_features(given, "train_features", report)
    if features is None:
        return None
    decoded = decode_training_labels(labels, class_names, report)
    if decoded is None:
        return None
    bad = bad_feature_rows(features)
    if (bad | decoded.bad).all():
        report.leave_out(
            "train_features",
            "train_rows_bad",
            f"Of {count(len(bad), 'row')} of the training set {int(bad.sum()):,} hold {BAD_VALUES} and "
            f"{int(decoded.bad.sum()):,} a label that is no class of the outputs.",
            "Save train_labels with the same names or numbers as the labels.",
        )
        return None
    if not report.choices.drop_bad_rows and (bad | decoded.bad).any():
        if bad.any():
            warn_bad_rows(bad, "train_features", BAD_VALUES, "train_not_finite", report)
        if decoded.bad.any():
            what = f"labels that are no class of the outputs ({listed(np.unique(labels[decoded.bad]).tolist())})"
            warn_bad_rows(decoded.bad, "train_labels", what, "train_labels_unmatched", report)
        return None
    bad |= decoded.bad
    if bad.any():
        report.info("train_rows_dropped", f"{count(int(bad.sum()), 'row')} of the training set left out, as chosen.")
        return {"train_features": features[~bad], "train_labels": decoded.labels[~bad]}
    return {"train_features": features, "train_labels": decoded.labels}


def warn_bad_rows(bad: npt.NDArray[np.bool_], name: str, what: str, code: str, report: Report) -> None:
    """Warn of rows with bad values, with a fix that leaves them out."""
    n = int(bad.sum())
    report.leave_out(
        name,
        code,
        f"{count(n, 'row')} of {len(bad):,} in {name} {verb(n, 'holds', 'hold')} {what}.",
        "Leave these rows out.",
        drop_bad_rows=True,
    )


def training_set(
    features: Features | None, raw: dict[str, Array], class_names: tuple[str, ...], report: Report, has_features: bool
) -> dict[str, Any]:
    """Features and training set as fields of Predictions; what does not fit is left out with a warning.

    Parameters
    ----------
    features : clean features of the rows, if there are any.
    raw : train_features (m, ...) and train_labels (m,), as far as the upload holds them.
    has_features : whether the upload holds features of the rows, usable or not.
    """
    try:
        return paired(features, raw, class_names, report, has_features)
    except InvalidUpload as invalid:
        report.leave_out_as("features", invalid)
        return {}


def paired(
    features: Features | None, raw: dict[str, Array], class_names: tuple[str, ...], report: Report, has_features: bool
) -> dict[str, Any]:
    """What :func:`training_set` gives, as long as memory allows."""
    train = read_training_set(raw, class_names, report)
    if features is None or train is None:
        # What was given and cannot be used has its own finding, and is not to be asked for.
        if not (has_features if features is None else raw):
            say_alone(features, train, report)
        report.decide(standardise=False)
        return {"features": features, **(train or {})}
    alike = same_shape(features, train["train_features"], report)
    if alike is None:
        report.decide(standardise=False)
        return {"features": features}
    features, train_features = same_type(*alike)
    check_training_set(features, train_features, train["train_labels"], class_names, report)
    fields = {**train, "features": features, "train_features": train_features}
    if report.choices.standardise:
        fields |= on_one_scale(features, train_features, report)
    report.decide(standardise=bool(report.choices.standardise))
    own = fields["features"]
    report.info(
        "features_understood",
        f"Features: each row is {described(own)} ({own.dtype}, from {rounded(own.min())} to "
        f"{rounded(own.max())}), with a training set of {count(len(train_features), 'row')}.",
    )
    return fields


def same_shape(features: Features, train_features: Features, report: Report) -> tuple[Features, Features] | None:
    """Both with rows of one shape: images where either holds images and the numbers are as many.

    Grey images may have an axis for their channel or not.
    """
    if features.shape[1:] == train_features.shape[1:]:
        return features, train_features
    width, train_width = features[0].size, train_features[0].size
    image = features if features.ndim > train_features.ndim else train_features
    flat = train_features if image is features else features
    if width != train_width or (flat.ndim > 2 and flat.shape[1:3] != image.shape[1:3]):
        report.leave_out(
            "train_features",
            "feature_sizes_differ",
            f"A row of features is {described(features)}, but a row of train_features {described(train_features)}.",
            "Save the same features of both.",
        )
        return None
    report.info(
        "features_shaped",
        f"A row of features is {described(features)} and one of train_features {described(train_features)}: "
        f"both read as {described(image)}.",
    )
    shape = image.shape[1:]
    return features.reshape(len(features), *shape), train_features.reshape(len(train_features), *shape)


def say_alone(features: Features | None, train: dict[str, Any] | None, report: Report) -> None:
    """Note features of the rows without a training set, or a training set without them."""
    if features is not None:
        report.info(
            "features_alone",
            f"Features: each row is {described(features)}, but there is no training set to compare it with. "
            f"{NO_FEATURE_METHODS}",
            "Add train_features and train_labels.",
        )
    elif train is not None:
        report.info(
            "training_set_alone",
            f"There is a training set of {count(len(train['train_labels']), 'row')}, but no features of the rows. "
            f"{NO_FEATURE_METHODS}",
            "Add features, one entry per row of the outputs.",
        )


def on_one_scale(features: Features, train_features: Features, report: Report) -> dict[str, Any]:
    """Both sets on the scale of the training set, with the mean and scale that did it."""
    width = 8 if features.dtype == np.float64 else 4
    Allowance().take(width * (features.size + train_features.size), "The standardised features")
    mean, scale = mean_and_scale(train_features)
    report.info(
        "standardised",
        "Features were standardised with the mean and the standard deviation of the training set, as chosen; new "
        "features must be standardised with the same.",
    )
    return {
        "features": standardise(features, mean, scale),
        "train_features": standardise(train_features, mean, scale),
        "feature_mean": mean,
        "feature_scale": scale,
    }


def decode_training_labels(raw: Array, class_names: tuple[str, ...], report: Report) -> Decoded | None:
    """Column numbers, and which rows belong to no class; None, with a warning, where the labels cannot be read.

    Names are looked up among the labels' values, else among the names of the classes; numbers count as the upload's
    own labels do, from zero or from one. How that was understood was said for the upload's labels already.
    """
    try:
        raw = one_per_row(raw, len(class_names), "train_labels", Report(report.choices))
        if raw.dtype.kind == "U":
            raw = as_numbers_if_possible(raw, "train_labels", class_names)
        order = report.choices.label_values
        named = order is not None and not all(str(value).lstrip("+-").isdecimal() for value in order)
        if raw.dtype.kind == "U":
            order = order if named else class_names
        elif named:
            order = None  # numbers beside named labels are columns
        chosen = replace(report.choices, label_values=order, drop_bad_rows=True)
        return decode_labels(raw, len(class_names), None, "train_labels", Report(chosen))
    except InvalidUpload as invalid:
        report.leave_out_as("train_labels", invalid)
        return None
