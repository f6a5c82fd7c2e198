"""Rows of features and of the training set that can be used; those that cannot are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import Report, count, listed, verb
from calib.data.formats.base import Array
from calib.data.interpret.features import Features, as_features, bad_feature_rows
from calib.data.interpret.training_labels import decode_training_labels

LEFT_OUT = "methods that need features are left out"
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
        report.warn(
            "features_not_finite",
            f"Every one of the {count(len(bad), 'row')} of features holds {BAD_VALUES}; {LEFT_OUT}.",
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
        report.warn(
            "train_incomplete", f"There are {have} but no {lack}; {LEFT_OUT}.", f"Save {lack} with as many rows."
        )
        return None
    n_labels = len(labels) if labels.ndim else 0
    if (len(given) if given.ndim else 0) != n_labels:
        report.warn(
            "train_rows_differ",
            f"train_features has the shape {given.shape} but train_labels has {count(n_labels, 'row')}; {LEFT_OUT}.",
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
        report.warn(
            "train_rows_bad",
            f"Of {count(len(bad), 'row')} of the training set {int(bad.sum()):,} hold {BAD_VALUES} and "
            f"{int(decoded.bad.sum()):,} a label that is no class of the outputs; {LEFT_OUT}.",
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
    report.warn(
        code,
        f"{count(n, 'row')} of {len(bad):,} in {name} {verb(n, 'holds', 'hold')} {what}; {LEFT_OUT}.",
        "Leave these rows out.",
        drop_bad_rows=True,
    )
