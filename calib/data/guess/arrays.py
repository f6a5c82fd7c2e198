"""Which arrays or columns of a file are outputs, labels and features: first by name, then by shape and type."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from calib.data.array_names import (
    CLASS_NAMES,
    FEATURES,
    HARD,
    LABELS,
    OUTPUTS,
    ROW_NAMES,
    SPLIT,
    Part,
    canonical,
    feature_names,
    first_named,
    named_arrays,
)
from calib.data.findings import InvalidUpload, listed
from calib.data.options import Choices, Columns
from calib.data.read.base import ArrayInfo, Contents
from calib.data.rows import ROLE_NAMES, ROW_ROLES

FLOATS = ("float", "<f", ">f", "double", "half", "decimal")
NUMBERS = (*FLOATS, "int", "uint", ">i", "<i", ">u", "<u")
"""What the types of arrays, and of columns of a table, begin with where these hold floats, or numbers."""

MOST_EXPERIMENTS = 50
"""Experiments of one file that are offered."""


def infer_arrays(contents: Contents, choices: Choices, separate_labels: bool) -> Choices:
    """Fill in the names of the arrays that are left to be inferred.

    Parameters
    ----------
    separate_labels : whether the labels lie in another file, so that none are looked for here.
    """
    if not choices.outputs:
        ask_which_experiment(contents)
    part, test_part = parts_of(contents)
    names = contents.names
    outputs = (
        choices.outputs
        or first_named(names, OUTPUTS, part)
        or outputs_by_shape(contents, choices.labels)
    )
    if outputs is None:
        raise nothing(
            contents, "no_outputs", "outputs of shape (rows, classes)", "logits or probabilities"
        )
    labels = choices.labels or None
    if labels is None and not separate_labels:
        free = [name for name in names if name != outputs]
        labels = first_named(free, LABELS, part) or labels_by_shape(contents, str(outputs))
        if labels is None:
            raise nothing(contents, "no_labels", "labels, the true class of each row", "labels")
    test_outputs = choices.test_outputs
    test_labels = choices.test_labels
    if test_outputs is None and test_part is not NO_TEST:
        test_outputs = first_named(names, OUTPUTS, test_part)
        test_labels = test_labels or first_named(names, LABELS, test_part)
        if test_outputs == outputs or test_labels is None:
            test_outputs = test_labels = None
    # Where there is one part only, features of its rows may still be called x_test beside x_train.
    others: tuple[Part, ...] = ("test", "calibration") if test_part is NO_TEST else ()
    sought: dict[str, Any] = {
        "split": (SPLIT, (None, "calibration")),
        "features": (FEATURES, (part, None, *others)),
        "train_features": (FEATURES, ("train",)),
        "train_labels": (LABELS, ("train",)),
        **{name: (role.names, (part, None)) for name, role in ROW_ROLES.items()},
    }
    left = {role: where for role, where in sought.items() if getattr(choices, role) is None}
    inferred: dict[str, Any] = {
        "outputs": outputs,
        "labels": labels,
        "test_outputs": test_outputs,
        "test_labels": test_labels,
        **named_arrays(names, left),
    }
    if choices.train_features is None and inferred["train_features"] is None:
        inferred["features"] = choices.features  # no method uses them without a training set
    return replace(choices, **inferred)


def ask_which_experiment(contents: Contents) -> None:
    """Ask where a file holds outputs and labels in several folders, as ``adult/XGBoost/probas_cal``."""
    folders: dict[str, dict[str, str]] = {}
    for name in contents.names:
        folder, _, own = name.rpartition("/")
        folders.setdefault(folder, {})[own] = name
    offered: dict[str, dict[str, object]] = {}
    for folder, names in folders.items():
        found: dict[str, object] = {}
        for prefix, part in (("", "calibration"), ("test_", "test")):
            outputs = first_named(names, OUTPUTS, part)  # type: ignore[arg-type]
            labels = first_named(names, LABELS, part)  # type: ignore[arg-type]
            if outputs and labels:
                found |= {f"{prefix}outputs": names[outputs], f"{prefix}labels": names[labels]}
        if "outputs" in found:
            offered[folder] = found
    if len(offered) > 1:
        raise InvalidUpload(
            "several_experiments",
            f"{contents.name} holds outputs and labels of {len(offered):,} experiments: {listed(offered)}.",
            "Choose one.",
            readings=dict(list(offered.items())[:MOST_EXPERIMENTS]),
        )


def nothing(contents: Contents, code: str, sought: str, called: str) -> InvalidUpload:
    """The error for a file in which an array is missing."""
    held = listed(f"{array.name} {array.shape}" for array in contents.arrays)
    other = ", or add a second file that holds them" if code == "no_labels" else ""
    reason = f"{contents.name} holds {held}; none looks like {sought}."
    return InvalidUpload(code, reason, f"Name the array with the {called}{other}.")


NO_TEST: Part = "train"
"""Stands for "the file has one part only": training outputs are never used for calibration."""


def parts_of(contents: Contents) -> tuple[Part | None, Part | None]:
    """The part to calibrate on and the part to test on, from the names of the arrays.

    Training outputs are left out, since a model is overconfident on the rows it was trained on.
    """
    names = [canonical(name) for name in contents.names]
    with_outputs = {name.part for name in names if name.base in OUTPUTS} - {"train"}
    for first, second in (("calibration", "test"), (None, "test"), ("calibration", None)):
        if {first, second} <= with_outputs:
            return first, second  # type: ignore[return-value]
    return next(iter(with_outputs), None), NO_TEST


def outputs_by_shape(contents: Contents, labels: object) -> str | None:
    """The widest array of floats, else the widest one of several columns; a single one whatever it is and is called."""
    n_arrays = len(contents.arrays)
    others = [a for a in contents.arrays if a.name != labels and canonical(a.name).part != "train"]
    told = [a for a in others if array_width(a) > 1 or a.dtype.startswith(FLOATS)]
    if n_arrays == 1 and told:
        return told[0].name
    free = [a for a in others if is_free(a) and canonical(a.name).base not in LABELS]
    names = {a.name for a in told}
    fit = [a for a in free if a.name in names or n_arrays == 1]
    order = [
        (
            array_width(a) > 1,
            a.dtype.startswith(FLOATS),
            a.dtype.startswith(NUMBERS),
            array_width(a),
        )
        for a in fit
    ]
    return fit[order.index(max(order))].name if fit else None


def labels_by_shape(contents: Contents, outputs: str) -> str | None:
    """The array with one value for each row of the outputs, integers before anything else."""
    shape = contents.info(outputs).shape
    free = [
        a for a in contents.arrays if is_free(a) and a.name != outputs and 0 < len(a.shape) <= 2
    ]
    fits = [
        a for a in free if a.shape[0] in shape[:2] and (array_width(a) == 1 or a.shape == shape)
    ]
    fits = fits or [a for a in free if len(free) == 1 and array_width(a) == 1]
    return min(fits, key=lambda array: "int" not in array.dtype).name if fits else None


def is_free(array: ArrayInfo) -> bool:
    """Whether the array's name leaves its role open."""
    part, base = canonical(array.name)
    return part != "train" and base not in (*CLASS_NAMES, *ROLE_NAMES, *FEATURES, *SPLIT)


def array_width(array: ArrayInfo) -> int:
    """Values per row."""
    return prod(array.shape[1:])


def infer_array(contents: Contents, role: str, own: Contents | None) -> Columns | None:
    """The array or the columns that are meant in a file of features or of the training set.

    Features are found by name, else they are the widest array, or all columns of numbers; labels by name, else they are
    the last array.

    Parameters
    ----------
    role : "features", "train_features" or "train_labels".
    own : the file that was given for this role; in another one only names count, and None is given where none fits.
    """
    parts: tuple[Part | None, ...] = (
        ("train", None) if role != "features" else (None, "test", "calibration")
    )
    if role == "train_labels":
        named = first_named(contents.names, LABELS, *(() if contents.tabular else parts))
        return named or (contents.names[-1] if contents is own else None)
    if contents is not own:
        return first_named(contents.names, FEATURES, "train")
    others = (*LABELS, *ROW_NAMES, *HARD, *ROLE_NAMES, *SPLIT) if contents.tabular else LABELS
    free = [
        a
        for a in contents.arrays
        if a.dtype.startswith(NUMBERS) and canonical(a.name).base not in others
    ]
    if contents.tabular:
        names = tuple(array.name for array in free)
        if found := feature_names(names) or names:
            return found
    else:
        free = [a for a in free if role == "train_features" or canonical(a.name).part != "train"]
        if named := first_named(contents.names, FEATURES, *parts):
            return named
        if free:
            return max(free, key=array_width).name
    raise nothing(contents, "no_features", "features", "features")


def infer_label(labels: Contents) -> str:
    """The array of a file that holds labels: the only one, by name, else the last of whole numbers or strings."""
    names = labels.names
    found = first_named(names, LABELS, None, "calibration", "test")
    whole = ("int", "uint", "<U", "|S", "string", "large_string")
    telling = [array.name for array in labels.arrays if array.dtype.startswith(whole)]
    if found or len(names) == 1 or telling:
        return found or (telling[-1] if telling else names[0])
    reason = f"{labels.name} holds {listed(names)}; none looks like labels."
    raise InvalidUpload("no_labels", reason, "Name the array with the labels.")
