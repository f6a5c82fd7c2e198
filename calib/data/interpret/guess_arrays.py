"""Which arrays of an npz or HDF5 file are the outputs and the labels: first by name, then by shape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calib.data.checks.report import Rejected, listed
from calib.data.formats.base import Contents
from calib.data.interpret.names import CLASS_NAMES, FEATURES, GROUPS, LABELS, OUTPUTS, SPLIT, Part, canonical
from calib.data.options import ArrayInfo, Choices

NUMBERS = ("float", "int", "uint", ">f", "<f", ">i", "<i", ">u", "<u")


def guess_arrays(contents: Contents, choices: Choices, separate_labels: bool) -> Choices:
    """Fill in the names of the arrays that are left to guessing.

    Parameters
    ----------
    separate_labels : whether the labels lie in another file, so that none are looked for here.
    """
    part, test_part = parts_of(contents)
    outputs = choices.outputs or named(contents, OUTPUTS, part) or outputs_by_shape(contents, choices.labels)
    if outputs is None:
        raise Rejected(
            "no_outputs",
            f"{contents.name} holds {describe(contents)}; none looks like outputs of shape (rows, classes).",
            "Name the array with the logits or probabilities.",
        )
    labels = choices.labels or None
    if labels is None and not separate_labels:
        labels = named(contents, LABELS, part) or labels_by_shape(contents, str(outputs))
        if labels is None:
            raise no_labels(contents)
    test_outputs, test_labels = choices.test_outputs, choices.test_labels
    if test_outputs is None and test_part is not NO_TEST:
        test_outputs = named(contents, OUTPUTS, test_part)
        test_labels = test_labels or named(contents, LABELS, test_part)
        if test_outputs == outputs or test_labels is None:
            test_outputs = test_labels = None
    # Where there is one part only, features of its rows may still be called x_test beside x_train.
    others: tuple[Part, ...] = ("test", "calibration") if test_part is NO_TEST else ()
    return replace(
        choices,
        outputs=outputs,
        labels=labels,
        test_outputs=test_outputs,
        test_labels=test_labels,
        split=_or(choices.split, named(contents, SPLIT, None, "calibration")),
        groups=_or(choices.groups, named(contents, GROUPS, part, None)),
        features=_or(choices.features, named(contents, FEATURES, part, None, *others)),
        train_features=_or(choices.train_features, named(contents, FEATURES, "train")),
        train_labels=_or(choices.train_labels, named(contents, LABELS, "train")),
    )


NO_TEST: Part = "train"
"""Stands for "the file has one part only": training outputs are never used for calibration."""


def parts_of(contents: Contents) -> tuple[Part | None, Part | None]:
    """The part to calibrate on and the part to test on, from the names of the arrays.

    Training outputs are left alone: a model is too sure of what it was trained on.
    """
    names = [canonical(name) for name in contents.names]
    with_outputs = {name.part for name in names if name.base in OUTPUTS} - {"train"}
    if {"calibration", "test"} <= with_outputs:
        return "calibration", "test"
    if {None, "test"} <= with_outputs:
        return None, "test"
    if {None, "calibration"} <= with_outputs:
        return "calibration", None
    return next(iter(with_outputs), None), NO_TEST


def named(contents: Contents, vocabulary: tuple[str, ...], *parts: Part | None) -> str | None:
    """The array whose name comes first in a vocabulary, in the first of the parts that has one."""
    for part in parts:
        found = [
            (vocabulary.index(base), name)
            for name in contents.names
            for found_part, base in [canonical(name)]
            if base in vocabulary and found_part == part
        ]
        if found:
            return min(found, key=lambda pair: pair[0])[1]
    return None


def class_names_array(contents: Contents) -> str | None:
    """The array that names the classes, if there is one."""
    return named(contents, CLASS_NAMES, None)


def outputs_by_shape(contents: Contents, labels: object) -> str | None:
    """The widest two-dimensional array of floats; else of any numbers; else a single column of floats."""
    free = [a for a in contents.arrays if is_free(a) and a.name != labels and canonical(a.name).base not in LABELS]
    floats = [array for array in free if "float" in array.dtype or "<f" in array.dtype or ">f" in array.dtype]
    for candidates in (
        [array for array in floats if array_width(array) > 1],
        [array for array in free if array_width(array) > 1 and array.dtype.startswith(NUMBERS)],
        floats,
        [array for array in free if len(contents.arrays) == 1 or array_width(array) > 1],
    ):
        if candidates:
            return max(candidates, key=array_width).name
    return None


def labels_by_shape(contents: Contents, outputs: str) -> str | None:
    """The array with one value for each row of the outputs, integers before anything else."""
    shape = contents.info(outputs).shape
    free = [a for a in contents.arrays if is_free(a) and a.name != outputs and 0 < len(a.shape) <= 2]
    fits = [a for a in free if a.shape[0] in shape[:2] and (array_width(a) == 1 or a.shape == shape)]
    if not fits and len(free) == 1:
        fits = [a for a in free if array_width(a) == 1]
    integers = [a for a in fits if "int" in a.dtype]
    return (integers or fits)[0].name if fits else None


def is_free(array: ArrayInfo) -> bool:
    """Whether the array's name leaves its role open."""
    part, base = canonical(array.name)
    return part != "train" and base not in (*CLASS_NAMES, *GROUPS, *FEATURES, *SPLIT)


def array_width(array: ArrayInfo) -> int:
    """Values per row."""
    width = 1
    for n in array.shape[1:]:
        width *= n
    return width


def describe(contents: Contents) -> str:
    """The list of arrays for a sentence."""
    return listed(f"{a.name} {a.shape}" for a in contents.arrays)


def no_labels(contents: Contents) -> Rejected:
    """Say that nothing can be judged without the true classes."""
    return Rejected(
        "no_labels",
        f"{contents.name} holds {describe(contents)}; none looks like labels, the true class of each row.",
        "Name the array with the labels, or add a second file that holds them.",
    )


def _or(choice: Any, guess: Any) -> Any:
    return guess if choice is None else choice
