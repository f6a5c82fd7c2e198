"""Outputs, labels and features among arrays or columns of a file: first by name, then by shape and type."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from calib.data.findings import InvalidUpload, listed
from calib.data.names import (
    CLASS_NAMES,
    FEATURES,
    LABELS,
    NO_TEST,
    OUTPUTS,
    SPLIT,
    Part,
    canonical,
    first_named,
    parts_of,
)
from calib.data.options import Choices
from calib.data.read.base import ArrayInfo, Contents
from calib.data.rows import ROLE_NAMES, ROW_ROLES

FLOATS = ("float", "<f", ">f", "double", "half", "decimal")
NUMBERS = (*FLOATS, "int", "uint", ">i", "<i", ">u", "<u")
"""Beginnings of the types of arrays and columns that hold floats, or numbers."""

MOST_EXPERIMENTS = 50
"""Experiments of one file that are offered."""


def infer_arrays(contents: Contents, choices: Choices, separate_labels: bool) -> Choices:
    """Return the choices with the names of the arrays that are left to be inferred.

    Parameters
    ----------
    separate_labels : whether the labels lie in another file, so that none are looked for here.
    """
    if not choices.outputs:
        ask_which_experiment(contents)
    names = contents.names
    part, test_part = parts_of(names)
    outputs = choices.outputs or first_named(names, OUTPUTS, part)
    outputs = outputs or outputs_by_shape(contents, choices.labels)
    if outputs is None:
        sought = "outputs of shape (rows, classes)"
        raise nothing(contents, "no_outputs", sought, "logits or probabilities")
    labels = choices.labels or None
    if labels is None and not separate_labels:
        others = [name for name in names if name != outputs]
        labels = first_named(others, LABELS, part) or labels_by_shape(contents, str(outputs))
        if labels is None:
            raise nothing(contents, "no_labels", "labels, the true class of each row", "labels")
    test_outputs, test_labels = choices.test_outputs, choices.test_labels
    if test_outputs is None and test_part is not NO_TEST:
        test_outputs = first_named(names, OUTPUTS, test_part)
        test_labels = test_labels or first_named(names, LABELS, test_part)
        if test_outputs == outputs or test_labels is None:
            test_outputs = test_labels = None
    # Where there is one part only, features of its rows may still be called x_test beside x_train.
    more: tuple[Part, ...] = ("test", "calibration") if test_part is NO_TEST else ()
    sought_in: dict[str, Any] = {
        "split": (SPLIT, (None, "calibration")),
        "features": (FEATURES, (part, None, *more)),
        "train_features": (FEATURES, ("train",)),
        "train_labels": (LABELS, ("train",)),
        **{name: (role.names, (part, None)) for name, role in ROW_ROLES.items()},
    }
    inferable = {role: where for role, where in sought_in.items() if getattr(choices, role) is None}
    inferred: dict[str, Any] = {
        role: first_named(names, vocabulary, *parts)
        for role, (vocabulary, parts) in inferable.items()
    }
    if choices.train_features is None and inferred["train_features"] is None:
        inferred["features"] = choices.features  # no method uses them without a training set
    return replace(
        choices,
        outputs=outputs,
        labels=labels,
        test_outputs=test_outputs,
        test_labels=test_labels,
        **inferred,
    )


def ask_which_experiment(contents: Contents) -> None:
    """Ask where a file holds outputs and labels in several folders, as ``adult/XGBoost/probas_cal``."""
    folders: dict[str, dict[str, str]] = {}
    for name in contents.names:
        folder, _, base = name.rpartition("/")
        folders.setdefault(folder, {})[base] = name
    parts: dict[str, Part] = {"": "calibration", "test_": "test"}
    offered: dict[str, dict[str, object]] = {}
    for folder, names in folders.items():
        arrays: dict[str, object] = {}
        for prefix, part in parts.items():
            outputs, labels = first_named(names, OUTPUTS, part), first_named(names, LABELS, part)
            if outputs and labels:
                arrays |= {f"{prefix}outputs": names[outputs], f"{prefix}labels": names[labels]}
        if "outputs" in arrays:
            offered[folder] = arrays
    if len(offered) > 1:
        several = f"outputs and labels of {len(offered):,} experiments: {listed(offered)}"
        raise InvalidUpload(
            "several_experiments",
            f"{contents.name} holds {several}.",
            "Choose one.",
            readings=dict(list(offered.items())[:MOST_EXPERIMENTS]),
        )


def nothing(contents: Contents, code: str, sought: str, called: str) -> InvalidUpload:
    """Return the error for a file in which an array is missing."""
    holds = listed(f"{array.name} {array.shape}" for array in contents.arrays)
    other = ", or add a second file that holds them" if code == "no_labels" else ""
    reason = f"{contents.name} holds {holds}; none looks like {sought}."
    return InvalidUpload(code, reason, f"Name the array with the {called}{other}.")


def outputs_by_shape(contents: Contents, labels: object) -> str | None:
    """Return the widest array of floats, else the widest of several columns; a single one whatever its name is."""
    alone = len(contents.arrays) == 1
    fit = [
        a
        for a in contents.arrays
        if a.name != labels
        and canonical(a.name).part != "train"
        and (array_width(a) > 1 or a.dtype.startswith(FLOATS))
        and (alone or (is_free(a) and canonical(a.name).base not in LABELS))
    ]
    kinds = (FLOATS, NUMBERS)

    def likeliness(a: ArrayInfo) -> tuple[Any, ...]:
        return array_width(a) > 1, *map(a.dtype.startswith, kinds), array_width(a)

    return max(fit, key=likeliness).name if fit else None


def labels_by_shape(contents: Contents, outputs: str) -> str | None:
    """Return the array with one value for each row of the outputs, integers before anything else."""
    shape = contents.by_name[outputs].shape
    free = [a for a in contents.arrays if is_free(a) and a.name != outputs]
    free = [a for a in free if 0 < len(a.shape) <= 2]
    narrow = [a for a in free if array_width(a) == 1]
    fit = [a for a in free if a.shape[0] in shape[:2] and (a in narrow or a.shape == shape)]
    fit = fit or (narrow if len(free) == 1 else [])
    return min(fit, key=lambda array: "int" not in array.dtype).name if fit else None


def is_free(array: ArrayInfo) -> bool:
    """Return whether the array's name leaves its role open."""
    part, base = canonical(array.name)
    return part != "train" and base not in (*CLASS_NAMES, *ROLE_NAMES, *FEATURES, *SPLIT)


def array_width(array: ArrayInfo) -> int:
    """Return the number of values per row."""
    return prod(array.shape[1:])


def infer_label(labels: Contents) -> str:
    """Return the array of a file that holds labels: the only one, by name, else the last of integers or strings."""
    names = labels.names
    whole = ("int", "uint", "<U", "|S", "string", "large_string")
    discrete = [array.name for array in labels.arrays if array.dtype.startswith(whole)]
    likely = [first_named(names, LABELS, None, "calibration", "test"), *discrete[::-1]]
    likely += names if len(names) == 1 else []
    if label := next(filter(None, likely), None):
        return label
    reason = f"{labels.name} holds {listed(names)}; none looks like labels."
    raise InvalidUpload("no_labels", reason, "Name the array with the labels.")
