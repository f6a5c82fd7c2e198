"""The features of the rows and the training set beside them, brought to one shape, type and, if asked, scale.

Rows of features and of the training set that can be used; those that cannot are counted.

Training labels as column numbers, in the order that the labels of the upload gave the classes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import standardise
from calib.data.checks.features import (
    check_contradictions,
    check_leak,
    check_ranges,
    check_training_classes,
    row_hashes,
)
from calib.data.checks.report import NO_FEATURE_METHODS, InvalidUpload, Report, count, listed, rounded, verb
from calib.data.formats.base import Array
from calib.data.interpret.features import (
    Features,
    as_features,
    bad_feature_rows,
    described,
    leave_out,
    mean_and_scale,
    same_type,
)
from calib.data.interpret.labels import Decoded, as_numbers_if_possible, decode_labels, one_per_row
from calib.data.limits import Allowance


def decode_training_labels(raw: Array, class_names: tuple[str, ...], report: Report) -> Decoded | None:
    """Column numbers, and which rows belong to no class; None, with a warning, where the labels cannot be read.

    Names are looked up among the labels' values, else among the names of the classes; numbers count as the upload's
    own labels do, from zero or from one. How that was understood was said for the upload's labels already.
    """
    try:
        raw = one_per_row(raw, len(class_names), "train_labels", Report(report.choices))
        if raw.dtype.kind in "US":
            raw = as_numbers_if_possible(raw, "train_labels")
        order = report.choices.label_values
        named = order is not None and not all(str(value).lstrip("+-").isdecimal() for value in order)
        if raw.dtype.kind in "US":
            order = order if named else class_names
        elif named:
            order = None  # numbers beside named labels are columns
        chosen = replace(report.choices, label_values=order, drop_bad_rows=True)
        return decode_labels(raw, len(class_names), None, "train_labels", Report(chosen))
    except InvalidUpload as invalid:
        leave_out(invalid, "train_labels", report)
        return None


BAD_VALUES = "NaN, infinite or far too large values"


def own_features(raw: Array | None, report: Report) -> tuple[Features | None, npt.NDArray[np.bool_] | None]:
    """Features of the rows, with the rows to be left out for them; (None, None) where they cannot be used.

    Parameters
    ----------
    raw : (n, ...) of any type, or None.
    """
    features = None if raw is None else as_features(raw, "features", report)
    if features is None:
        return None, None
    bad = bad_feature_rows(features)
    if bad.all():
        report.leave_out(
            "features",
            "features_not_finite",
            f"Every one of the {count(len(bad), 'row')} of features holds {BAD_VALUES}.",
            "Look for an empty column, or a division by zero where they were saved.",
        )
        return None, None
    if bad.any() and not report.choices.drop_bad_rows:
        warn_bad_rows(bad, "features", BAD_VALUES, "features_not_finite", report)
        return None, None
    return features, bad


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
    """Say how many rows stand in the way, and offer to leave them out."""
    n = int(bad.sum())
    report.leave_out(
        name,
        code,
        f"{count(n, 'row')} of {len(bad):,} in {name} {verb(n, 'holds', 'hold')} {what}.",
        "Leave these rows out.",
        drop_bad_rows=True,
    )


def training_set(
    features: Features | None, raw: dict[str, Array], class_names: tuple[str, ...], report: Report, *, given: bool
) -> dict[str, Any]:
    """Features and training set as fields of Predictions; what does not fit is left out with a warning.

    Parameters
    ----------
    features : clean features of the rows, if there are any.
    raw : train_features (m, ...) and train_labels (m,), as far as the upload holds them.
    given : whether the upload holds features of the rows, usable or not.
    """
    try:
        return paired(features, raw, class_names, report, given=given)
    except InvalidUpload as invalid:
        leave_out(invalid, "features", report)
        return {}


def paired(
    features: Features | None, raw: dict[str, Array], class_names: tuple[str, ...], report: Report, *, given: bool
) -> dict[str, Any]:
    """What :func:`training_set` gives, as long as memory allows."""
    train = read_training_set(raw, class_names, report)
    if features is None or train is None:
        # What was given and cannot be used has its own finding, and is not to be asked for.
        if not (given if features is None else raw):
            say_alone(features, train, report)
        report.decide(standardise=False)
        return {"features": features, **(train or {})}
    alike = same_shape(features, train["train_features"], report)
    if alike is None:
        report.decide(standardise=False)
        return {"features": features}
    features, train_features = same_type(*alike)
    check_training_classes(train["train_labels"], class_names, report)
    trained = row_hashes(train_features)
    check_leak(features, trained, report)
    check_contradictions(trained, train["train_labels"], report)
    fields = {**train, "features": features, "train_features": train_features}
    if report.choices.standardise:
        fields |= on_one_scale(features, train_features, report)
    else:
        check_ranges(train_features, features, report)
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
    """Features of the rows without a training set, or the other way round."""
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
