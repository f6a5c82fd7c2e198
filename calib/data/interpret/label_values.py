"""What the values of labels mean: labels of any form as column numbers, and the column of each named label."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import InvalidUpload, Report, count, listed, verb
from calib.data.limits import MAX_CLASSES
from calib.data.read.base import Array, distinct
from calib.numerics import Ints


def match_values(
    values: list[Any], n_classes: int, column_names: Sequence[str] | None, name: str, report: Report
) -> tuple[Any, ...]:
    """The label of each column: by the columns' names where these fit, else in sorted order.

    Parameters
    ----------
    values : the different labels, sorted.
    column_names : names of the outputs' columns; a single binary column names its positive class.
    """
    if not values:
        raise InvalidUpload("labels_missing", f"{name} holds no label at all.", "Choose another array or column.")
    values = by_number(values)
    if column_names is not None and len(column_names) == n_classes:
        by_name = (
            matched(values, column_names)
            or matched_numbers(values, column_names)
            or matched_beginnings(values, column_names)
        )
        if by_name is not None:
            report.info("class_order", f"The labels in {name} were matched to the columns by name ({listed(by_name)}).")
            return by_name
    if n_classes == 2 and len(values) == 2 and column_names is not None and len(column_names) == 1:
        positive = matched([column_names[0]], [str(value) for value in values])
        if _plain(column_names[0]) == _plain(values[0]):
            report.info("class_order", f"The column of outputs is named after {values[0]!r}: read as its probability.")
            return (values[1], values[0])
        if positive is not None:
            return tuple(values)
    if len(values) < n_classes:
        raise InvalidUpload(
            "labels_unmatched",
            f"{name} holds {count(len(values), 'different label')} ({listed(values)}) for outputs of {n_classes} "
            "classes, whose columns are not named after them.",
            "Name the label of each column, or save labels as column numbers.",
        )
    if len(values) == n_classes:
        report.warn(
            "class_order",
            f"The labels in {name} are names, and no column carries one; the columns were taken in sorted order: "
            f"{listed(values)}.",
            "Compare this order with the model's, and change it if it differs.",
        )
    return tuple(values)


def matched(values: Sequence[Any], column_names: Sequence[str]) -> tuple[Any, ...] | None:
    """The value each column is named after; a column without rows keeps its own name. None if one fits nowhere."""
    by_name = {_plain(value): value for value in values}
    columns = [_plain(column) for column in column_names]
    if len(by_name) < len(values) or len(set(columns)) < len(columns) or not set(by_name) <= set(columns):
        return None
    return tuple(by_name.get(plain, column) for plain, column in zip(columns, column_names, strict=True))


def by_number(values: Sequence[Any]) -> list[Any]:
    """Labels that differ in the number at their end in its order, ``digit 2`` before ``digit 10``; others as given."""
    found = [ENDS_IN_NUMBER.fullmatch(str(value)) for value in values]
    known = [match for match in found if match]
    if len(known) < len(values) or len({match[1] for match in known}) > 1:
        return list(values)
    return [value for _, value in sorted(zip((int(match[2]) for match in known), values, strict=True))]


def matched_numbers(values: Sequence[Any], column_names: Sequence[str]) -> tuple[Any, ...] | None:
    """The value of each column where both end in the same numbers: ``digit 3`` belongs to ``p_3``."""
    if by_number(values) != list(values) or not all(str(name).isdecimal() for name in column_names):
        return None
    by_name = {int(match[2]): value for value in values if (match := ENDS_IN_NUMBER.fullmatch(str(value)))}
    columns = [int(name) for name in column_names]
    if len(by_name) < len(values) or set(by_name) != set(columns):
        return None
    return tuple(by_name[number] for number in columns)


def matched_beginnings(values: Sequence[Any], column_names: Sequence[str]) -> tuple[Any, ...] | None:
    """The value that each column begins with: ``H``, ``D`` and ``A`` belong to ``home``, ``draw`` and ``away``."""
    begun = [[v for v in values if _plain(name).startswith(_plain(v))] for name in column_names]
    if any(len(found) != 1 for found in begun) or len({found[0] for found in begun}) < len(values):
        return None
    return tuple(found[0] for found in begun)


ENDS_IN_NUMBER = re.compile(r"(.*\D)(\d{1,9})")


def _plain(value: Any) -> str:
    """A name without case and separators, with accents spelled in one way, since columns spell them differently."""
    text = unicodedata.normalize("NFC", str(value))
    return "".join(c for c in text.lower() if c.isalnum()) or text


MISSING_TEXTS = ("", "nan", "none", "null", "NaN", "None", "NaT", "<NA>", "NULL", "\\N")
"""Texts that stand for no label, unless a column of outputs has that name."""

PERHAPS_MISSING = ("NA", "N/A", "n/a", "#N/A", "?", "-", ".", "unknown", "missing", "Unknown", "Missing")
"""Texts that stand for no label where there are more of them than classes, and no column has that name."""

MISSING_WORDS = frozenset((*MISSING_TEXTS, *PERHAPS_MISSING)) - {""}
"""Both."""

WHOLE_TEXT = re.compile(r"\s*[+-]?\d{1,15}(\.0*)?\s*")
NUMBER_TEXT = re.compile(r"\s*[+-]?(\d{1,15}\.?\d{0,15}|\.\d{1,15})\s*")


@dataclass(frozen=True)
class Decoded:
    """Labels as int64 column numbers.

    Attributes
    ----------
    labels : (n,) column numbers; any number where there is none.
    missing : (n,) rows without a label.
    unknown : (n,) rows whose label belongs to no column.
    """

    labels: Ints
    missing: npt.NDArray[np.bool_]
    unknown: npt.NDArray[np.bool_]

    @property
    def bad(self) -> npt.NDArray[np.bool_]:
        """(n,) rows whose label is missing or belongs to no column."""
        return self.missing | self.unknown


def decode_labels(
    raw: Array,
    n_classes: int,
    column_names: Sequence[str] | None,
    name: str,
    report: Report,
    may_miss: bool = False,
) -> Decoded:
    """Convert labels to column numbers.

    Parameters
    ----------
    raw : (n,), (n, 1) or one-hot (n, n_classes) array of integers, floats, booleans or strings.
    column_names : names of the outputs' columns, where the upload has any.
    name : the labels' name, for sentences.
    may_miss : whether rows without a label are only marked; they are refused otherwise, unless bad rows are to be
        left out.
    """
    decoded = _decoded(raw, n_classes, column_names, name, report)
    n_missing = int(decoded.missing.sum())
    if n_missing and not may_miss and not report.choices.drop_bad_rows:
        reason = f"{count(n_missing, 'row')} of {len(decoded.missing):,} in {name} {verb(n_missing, 'has', 'have')}"
        raise InvalidUpload("labels_missing", f"{reason} no label.", "Leave these rows out.", drop_bad_rows=True)
    return decoded


def _decoded(raw: Array, n_classes: int, column_names: Sequence[str] | None, name: str, report: Report) -> Decoded:
    raw = one_per_row(raw, n_classes, name, report)
    if raw.dtype.kind == "U":
        raw = as_numbers_if_possible(raw, name, column_names or report.choices.label_values or ())
    turned = raw.dtype.kind == "b" and matched((False, True), column_names or ()) == (True, False)
    if turned or raw.dtype.kind == "U" or report.choices.label_values is not None:
        return by_value(raw, n_classes, column_names, name, report)
    whole, missing = as_integers(raw, name, report)
    if missing.all():
        raise InvalidUpload("labels_missing", f"{name} holds no label at all.", "Choose another array or column.")
    present = whole[~missing]
    if n_classes == 2 and np.array_equal(np.unique(present), [-1, 1]):
        report.info("labels_signed", f"{name} holds -1 and 1: read as classes 0 and 1.")
        report.decide(label_values=(-1, 1))
        return by_value(raw, n_classes, None, name, report)
    counted = report.choices.one_based is not None or report.choices.label_shift is not None
    if column_names is not None and len(column_names) == 1 and not counted and set(present.tolist()) == {1, 2}:
        report.info("labels_from_one", f"{name} holds 1 and 2: the output is read as the probability of 2.")
        report.decide(label_values=(1, 2))
        return by_value(raw, n_classes, None, name, report)
    shift = (report.choices.label_shift or 0) - one_based(present, n_classes, column_names, name, report)
    if abs(shift) > MAX_CLASSES:
        raise InvalidUpload(
            "label_shift", f"A shift of the labels by {shift:,} leaves no class.", "Choose a small one."
        )
    labels = whole + shift
    report.decide(label_shift=report.choices.label_shift or 0)
    outside = ~missing & ((labels < 0) | (labels >= n_classes))
    if outside.any() and not report.choices.drop_bad_rows:
        raise outside_range(labels, outside, n_classes, name)
    return Decoded(labels, missing, outside)


def one_per_row(raw: Array, n_classes: int, name: str, report: Report) -> Array:
    """Drop axes of length one, and turn one-hot rows into numbers."""
    squeezed = raw.reshape(len(raw), -1) if raw.ndim > 1 else raw[:, None]
    if squeezed.shape[1] == 1:
        if raw.ndim > 1:
            report.info("labels_squeezed", f"{name} has the shape {raw.shape}; read as one label per row.")
        return squeezed[:, 0]
    if raw.ndim == 2 and raw.size and raw.dtype.kind in "biuf":
        low, high = raw.min(), raw.max()
        total = raw.sum(axis=1, dtype=np.float64)
        if (low, high) == (0, 1) and (total == 1).all() and np.count_nonzero(raw) == len(raw):
            report.info("one_hot", f"{name} has the shape {raw.shape} with a single one in each row: read as one-hot.")
            return raw.argmax(axis=1)
        if low >= 0 and np.allclose(total, 1, atol=1e-3):
            raise fractional(f"{name} has the shape {raw.shape} with rows of fractions that sum to one (soft labels)")
    raise InvalidUpload(
        "labels_shape",
        f"{name} has the shape {raw.shape}; one label per row, or one-hot rows of {n_classes} columns, are needed.",
        "Choose another array, or save labels of shape (rows,).",
    )


def as_numbers_if_possible(raw: Array, name: str, class_names: Sequence[Any] = ()) -> Array:
    """Strings such as "3" or "2.0" as numbers, if all that are not missing are numbers.

    Fractions become numbers too, to be refused, and are left alone only where the classes are called so.
    """
    values, positions = different_labels(raw, name)
    names = {_plain(name) for name in class_names}
    present = [v for v in values.tolist() if not is_missing(v, names)]
    whole = all(WHOLE_TEXT.fullmatch(v) for v in present)
    called = {str(name) for name in class_names}.issuperset(present)
    if not present or not all(whole or (NUMBER_TEXT.fullmatch(v) and not called) for v in present):
        return raw
    numbers = np.array([np.nan if is_missing(v, names) else float(v) for v in values.tolist()])
    return numbers[positions]


def different_labels(raw: Array, name: str) -> tuple[Array, npt.NDArray[np.intp]]:
    """The different labels in order, and which of them each row has.

    Raises
    ------
    InvalidUpload
        If there are more than any model has classes.
    """
    found = distinct(raw, MAX_CLASSES)
    if found is None:
        raise InvalidUpload(
            "label_too_large",
            f"{name} holds more than {MAX_CLASSES:,} different labels, and no more classes are read. Names of rows, or "
            "outputs, were probably taken for labels.",
            "Choose another array or column.",
        )
    return found


def by_value(raw: Array, n_classes: int, column_names: Sequence[str] | None, name: str, report: Report) -> Decoded:
    """Labels that are names, or numbers with an order given by hand: position in ``label_values``."""
    values, positions = different_labels(raw, name)
    names = {_plain(name) for name in (*(column_names or ()), *(report.choices.label_values or ()))}
    missing = np.array([is_missing(value, names) for value in values.tolist()], dtype=bool)
    if (~missing).sum() > n_classes:
        perhaps = [value in PERHAPS_MISSING and _plain(value) not in names for value in values.tolist()]
        missing |= np.array(perhaps, dtype=bool)
    known = [value for value, gone in zip(values.tolist(), missing, strict=True) if not gone]
    known = list({_spelled(value): value.strip() if isinstance(value, str) else value for value in known}.values())
    order = report.choices.label_values or match_values(known, n_classes, column_names, name, report)
    report.decide(label_values=tuple(order))
    column = {_spelled(value): j for j, value in enumerate(order)}
    codes = np.array([column.get(_spelled(value), -1) for value in values.tolist()], dtype=np.int64)
    codes[missing] = -1
    labels = codes[positions]
    unknown = [str(v) for v, code, gone in zip(values.tolist(), codes, missing, strict=True) if code < 0 and not gone]
    if len(order) > n_classes:
        one = column_names is not None and len(column_names) == 1
        told = "one column of outputs tells only two apart" if one else f"there are {n_classes:,} columns of outputs"
        raise InvalidUpload(
            "label_too_large",
            f"{name} has {len(order):,} different labels ({listed(order)}) but {told}. A class may be missing from the "
            "outputs.",
            "Choose the columns with one score for each class, or another column of labels.",
        )
    if unknown and not report.choices.drop_bad_rows:
        n_unknown = int(((labels < 0) & ~missing[positions]).sum())
        raise InvalidUpload(
            "labels_unmatched",
            f"{count(n_unknown, 'label')} in {name} {verb(n_unknown, 'belongs', 'belong')} to no column "
            f"({listed(unknown)}).",
            "Leave these rows out, or name the label of each column.",
            drop_bad_rows=True,
        )
    none = missing[positions]
    return Decoded(labels, none, (labels < 0) & ~none)


def is_missing(value: Any, class_names: Collection[str] = ()) -> bool:
    """Whether a label is missing: an empty text, NaN, or a text that says so and is no class's name.

    Parameters
    ----------
    class_names : as :func:`_plain` gives them.
    """
    if not isinstance(value, str):
        return bool(value != value)
    return value.strip() in MISSING_TEXTS and (not value.strip() or _plain(value) not in class_names)


def as_integers(raw: Array, name: str, report: Report) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Whole numbers as int64, and where there is none."""
    missing = np.zeros(len(raw), dtype=bool)
    if raw.dtype.kind == "b":
        report.info("labels_bool", f"{name} holds booleans: false is class 0, true is class 1.")
    elif raw.dtype.kind == "f":
        missing = ~np.isfinite(raw)
        whole = np.where(missing, 0, raw)
        odd = whole != np.floor(whole)
        if odd.any():
            raise fractional(f"{name} holds {count(int(odd.sum()), 'fraction')}, such as {whole[odd][0]:g}")
        if report.choices.kind != "pairs":  # which are correct by comparison, and no floats in the file
            report.info("labels_float", f"{name} holds whole numbers saved as floats: read as integers.")
        raw = np.clip(whole, -(2.0**62), 2.0**62)
    elif raw.dtype.kind not in "iu":
        raise InvalidUpload(
            "labels_dtype", f"{name} holds {raw.dtype}, not classes.", "Choose another array or column."
        )
    return raw.astype(np.int64), missing


def fractional(message: str) -> InvalidUpload:
    """Refuse labels that are no classes."""
    return InvalidUpload(
        "labels_fractional",
        f"{message}. Outputs taken for labels, mixed labels (mixup) or label smoothing usually cause it.",
        "Choose the array with the true class of each row.",
    )


def one_based(present: Ints, n_classes: int, column_names: Sequence[str] | None, name: str, report: Report) -> int:
    """1 if labels count from one: they reach from 1 to the number of columns, or the columns themselves do."""
    if report.choices.one_based is None:
        low, high = int(present.min()), int(present.max())
        counted = column_names is not None and list(column_names) == [str(j + 1) for j in range(n_classes)]
        inferred = low >= 1 and (high == n_classes or (counted and high <= n_classes))
        if inferred:
            report.info(
                "one_based",
                f"{name} runs from {low} to {high} and there are {n_classes} columns: labels count from one.",
                "If they count from zero, a column of outputs is missing.",
                one_based=False,
            )
        report.decide(one_based=inferred)
    return int(bool(report.choices.one_based))


def outside_range(labels: Ints, outside: npt.NDArray[np.bool_], n_classes: int, name: str) -> InvalidUpload:
    """The error for labels that belong to no column, with the fix that is most likely meant."""
    n, wrong = int(outside.sum()), np.unique(labels[outside])
    values = np.unique(labels)
    where = f"{count(n, 'row')} of {len(labels):,} in {name} {verb(n, 'has', 'have')}"
    if len(values) == n_classes and n > 0.05 * len(labels):
        return InvalidUpload(
            "label_too_large" if wrong[-1] >= n_classes else "label_negative",
            f"{where} a label outside 0..{n_classes - 1} ({listed(wrong)}), but there are as many different "
            f"labels as columns ({n_classes}).",
            "Take them in ascending order as the columns.",
            label_values=tuple(values.tolist()),
        )
    if wrong[0] < 0:
        return InvalidUpload(
            "label_negative",
            f"{where} a negative label ({listed(wrong)}); it usually marks rows without a label.",
            "Leave these rows out.",
            drop_bad_rows=True,
        )
    return InvalidUpload(
        "label_too_large",
        f"{where} a label above {n_classes - 1} ({listed(wrong)}), but the outputs have {n_classes} columns. "
        "Labels that count from one, or outputs of another model, usually cause it.",
        "Leave these rows out, or choose other outputs.",
        drop_bad_rows=True,
    )


def _spelled(value: Any) -> str:
    """A value as its label is written in Choices: 2.0 is 2; without spaces around, with accents in one way."""
    whole = isinstance(value, float) and value == value and value.is_integer()
    return unicodedata.normalize("NFC", str(int(value) if whole else value).strip())
