"""The features of the rows and the training set beside them, brought to one shape, type and, if asked, scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.data.canonical import standardise
from calib.data.checks.features import (
    check_contradictions,
    check_leak,
    check_ranges,
    check_training_classes,
    row_hashes,
)
from calib.data.checks.report import Rejected, Report, count, rounded
from calib.data.formats.base import Array
from calib.data.interpret.feature_scale import mean_and_scale
from calib.data.interpret.features import Features, described, leave_out, same_type
from calib.data.interpret.usable_rows import LEFT_OUT, read_training_set
from calib.data.limits import Allowance


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
    except Rejected as rejected:
        leave_out(rejected, "features", report)
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
        report.warn(
            "feature_sizes_differ",
            f"A row of features is {described(features)}, but a row of train_features {described(train_features)}; "
            "the training set was left out.",
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
            f"Features: each row is {described(features)}, but there is no training set to compare it with; "
            f"{LEFT_OUT}.",
            "Add train_features and train_labels.",
        )
    elif train is not None:
        report.info(
            "training_set_alone",
            f"There is a training set of {count(len(train['train_labels']), 'row')}, but no features of the rows; "
            f"{LEFT_OUT}.",
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
