"""Which arrays or columns of a file of features are the features, and which the labels of the training set."""

from __future__ import annotations

from calib.data.checks.report import Rejected
from calib.data.formats.base import Contents
from calib.data.interpret.columns import feature_columns, first_column, has_role, is_number
from calib.data.interpret.guess_arrays import NUMBERS, array_width, describe, named
from calib.data.interpret.names import FEATURES, LABELS, canonical
from calib.data.options import Columns


def guess_features(contents: Contents, role: str) -> Columns:
    """The features of a file that was given for them: by name, else the widest array, else all columns of numbers.

    Parameters
    ----------
    role : "features", or "train_features", which may also be called x_train.
    """
    training = role == "train_features"
    if contents.tabular:
        names = tuple(n for n in contents.names if is_number(contents, n) and not has_role(n) and not is_label(n))
        found: Columns | None = feature_columns(contents) or names
    else:
        parts = ("train", None) if training else (None, "test", "calibration")
        free = [
            array
            for array in contents.arrays
            if array.dtype.startswith(NUMBERS)
            and not is_label(array.name)
            and (training or canonical(array.name).part != "train")
        ]
        widest = max(free, key=array_width).name if free else None
        found = named(contents, FEATURES, *parts) or widest
    if not found:
        raise Rejected(
            "no_features",
            f"{contents.name} holds {describe(contents)}; none looks like features.",
            "Name the array with the features.",
        )
    return found


def guess_training_labels(contents: Contents) -> str:
    """The labels of a file that was given for them: by name, the only array or column, else the last of its kind."""
    found = first_column(contents, LABELS) if contents.tabular else named(contents, LABELS, "train", None)
    return found or contents.names[-1]


def guess_training_part(contents: Contents, role: str, beside: bool) -> str | None:
    """Arrays of the training set in a file that was given for something else, where their names tell.

    Parameters
    ----------
    beside : whether the file was given for the training features, so that its labels are those of the training set.
    """
    if contents.tabular:
        return first_column(contents, LABELS) if beside else None
    vocabulary = LABELS if role == "train_labels" else FEATURES
    return named(contents, vocabulary, "train", *((None,) if beside else ()))


def is_label(name: str) -> bool:
    """Whether an array or a column is called like labels."""
    return canonical(name).base in LABELS
