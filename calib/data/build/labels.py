"""Labels of any form as column numbers, the label of each column, and which answers are correct."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.findings import Findings, InvalidUpload, info, listed, verb, warning
from calib.data.limits import MAX_CLASSES
from calib.data.names import is_whole, plain_name
from calib.data.options import Choices
from calib.data.read.base import Array, distinct
from calib.data.spelling import (
    NUMBER,
    Order,
    as_text,
    correct_value,
    is_missing,
    same_beginnings,
    same_names,
    texts_of,
)
from calib.data.words import MISSING, PERHAPS_MISSING
from calib.formatting import plural
from calib.numerics import Ints

WHOLE = re.compile(r"[+-]?\d{1,15}(\.0*)?")

OFTEN = 0.05
"""Share of rows from which a label that belongs to no column is no slip."""


@dataclass(frozen=True)
class Labels:
    """Labels as column numbers.

    Attributes
    ----------
    codes : (n,) int64; any number where there is none.
    missing : (n,) rows without a label.
    unknown : (n,) rows whose label belongs to no column.
    """

    codes: Ints
    missing: npt.NDArray[np.bool_]
    unknown: npt.NDArray[np.bool_]

    @property
    def bad(self) -> npt.NDArray[np.bool_]:
        """(n,) rows whose label is missing or belongs to no column."""
        return self.missing | self.unknown


def decode_labels(
    raw: Array,
    n_classes: int,
    columns: Sequence[str] | None,
    name: str,
    choices: Choices,
    may_miss: bool = False,
) -> tuple[Labels, Order, Findings]:
    """Convert labels to column numbers; return them with the label of each column.

    Parameters
    ----------
    raw : (n,), (n, 1) or one-hot (n, n_classes) integers, floats, booleans or strings.
    columns : names of the outputs' columns, where there are any; a single one of two classes names its own class.
    name : the labels' name, for sentences.
    choices : ``label_values`` is the label of each column, inferred unless it is given; with ``drop_bad_rows`` labels
        of no column are only marked.
    may_miss : whether rows without a label are only marked, as in tables; else they are refused.
    """
    flat, findings = one_per_row(raw, n_classes, name)
    if n_classes > 2 and flat.dtype.kind == "b":
        reason = f"{name} holds True and False, but there are {n_classes} classes."
        action = "Give the class of each row, not whether it was right."
        raise InvalidUpload("labels", reason, action)
    values, positions = different(flat, name)
    given = choices.label_values
    named = {str(own) for own in (*(given or ()), *(columns or ()))}
    missing = missing_labels(values, named, n_classes)
    texts, whole = label_texts(values, missing, positions, named, name)
    known = list(dict.fromkeys(text for text in texts if text))
    if not known:
        reason = f"{name} holds no label at all."
        raise InvalidUpload("labels_missing", reason, "Choose another array or column.")
    order: Order = tuple(given or ())
    more: Findings = ()
    if given is None and whole:
        order, more = _order_of_numbers([int(text) for text in known], n_classes, columns, name)
    elif given is None:
        order, more = _order_of_names(known, n_classes, columns, name)
    place = {spelled(label): k for k, label in enumerate(order)}
    codes = np.array([place.get(text, -1) for text in texts], dtype=np.int64)[positions]
    gone = np.array(missing, dtype=bool)[positions]
    labels = Labels(np.where(gone, -1, codes), gone, (codes < 0) & ~gone)
    if len(order) > n_classes:
        columns_are = f"there are {n_classes:,} columns of outputs"
        if columns is not None and len(columns) == 1:
            columns_are = "one column of outputs tells only two apart"
        raise InvalidUpload(
            "label_too_large",
            f"{name} has {len(order):,} different labels ({listed(order)}) but {columns_are}. A class may be missing "
            "from the outputs.",
            "Choose the columns with one score for each class, or another column of labels.",
        )
    if choices.drop_bad_rows:
        return labels, order, findings + more
    if not may_miss and (n := int(gone.sum())):
        rows = f"{plural(n, 'row')} of {len(positions):,} in {name} {verb(n, 'has', 'have')}"
        reason = f"{rows} no label."
        raise InvalidUpload("labels_missing", reason, "Leave these rows out.", drop_bad_rows=True)
    if n := int(labels.unknown.sum()):
        strange = [text for text in known if text not in place]
        if whole and not given:
            raise _outside(n, len(positions), known, list(map(int, strange)), n_classes, name)
        raise InvalidUpload(
            "labels_unmatched",
            f"{plural(n, 'label')} in {name} {verb(n, 'belongs', 'belong')} to no column ({listed(strange)}).",
            "Leave these rows out, or name the label of each column.",
            drop_bad_rows=True,
        )
    return labels, order, findings + more


def missing_labels(values: Array, named: set[str], n_classes: int) -> list[bool]:
    """Return for each different label whether it stands for a missing one.

    A class may be called "unknown": such words stand for a missing one where there are more labels than classes.
    """
    called = {plain_name(own) for own in named}
    cells = values.tolist()
    missing = [is_missing(cell, called) for cell in cells]
    if len(cells) - sum(missing) > n_classes:
        missing = [is_missing(cell, called, (*MISSING, *PERHAPS_MISSING)) for cell in cells]
    return missing


def label_texts(
    values: Array,
    missing: Sequence[bool],
    positions: npt.NDArray[np.intp],
    named: set[str],
    name: str,
) -> tuple[list[str], bool]:
    """Return each different label as text, "" where it is missing, and whether they are whole numbers."""
    cells = values.tolist()
    texts = ["" if gone else spelled(cell) for cell, gone in zip(cells, missing, strict=True)]
    whole = _are_numbers(values, [text for text in texts if text], named)
    if not whole:
        return texts, False
    odd = [bool(text) and not WHOLE.fullmatch(text) for text in texts]
    if values.dtype.kind != "b" and any(odd):
        n = int(np.array(odd)[positions].sum())
        raise fractional(f"{name} holds {plural(n, 'fraction')}, such as {texts[odd.index(True)]}")
    numbers = [
        float(cell) if isinstance(cell, str) and text else cell
        for cell, text in zip(cells, texts, strict=True)
    ]
    return [str(int(n)) if text else "" for n, text in zip(numbers, texts, strict=True)], True


def one_per_row(raw: Array, n_classes: int, name: str) -> tuple[Array, Findings]:
    """Return labels without axes of length one; one-hot rows as numbers."""
    squeezed = raw.reshape(len(raw), -1) if raw.ndim > 1 else raw[:, None]
    if squeezed.shape[1] == 1:
        reason = f"{name} has the shape {raw.shape}; read as one label per row."
        return squeezed[:, 0], (info("labels_squeezed", reason),) if raw.ndim > 1 else ()
    if raw.ndim == 2 and raw.size and raw.dtype.kind in "biuf":
        total = raw.sum(axis=1, dtype=np.float64)
        if (total == 1).all() and np.count_nonzero(raw) == len(raw):
            reason = f"{name} has the shape {raw.shape} with a single one in each row"
            return raw.argmax(axis=1), (info("one_hot", f"{reason}: read as one-hot."),)
        if raw.min() >= 0 and np.allclose(total, 1, atol=1e-3):
            raise fractional(
                f"{name} has the shape {raw.shape} with rows of fractions that sum to one (soft labels)"
            )
    raise InvalidUpload(
        "labels_shape",
        f"{name} has the shape {raw.shape}; one label per row, or one-hot rows of {n_classes} columns, are needed.",
        "Choose another array, or save labels of shape (rows,).",
    )


def different(raw: Array, name: str) -> tuple[Array, npt.NDArray[np.intp]]:
    """The different labels in order, and which of them each row has; refused where no model has so many classes."""
    if raw.dtype.kind not in "biufU":
        reason = f"{name} holds {raw.dtype}, not classes."
        raise InvalidUpload("labels_dtype", reason, "Choose another array or column.")
    found = distinct(raw)
    if len(found[0]) > MAX_CLASSES:
        raise InvalidUpload(
            "label_too_large",
            f"{name} holds more than {MAX_CLASSES:,} different labels, and no more classes are read. Names of rows, or "
            "outputs, were probably taken for labels.",
            "Choose another array or column.",
        )
    return found


def _are_numbers(values: Array, present: Sequence[str], named: set[str]) -> bool:
    """Return whether labels are numbers and no names; classes may be called ``True`` or ``0.5``."""
    if values.dtype.kind != "U":
        return values.dtype.kind != "b" or not set(present) <= named
    fractions = set(present) <= named and not all(map(WHOLE.fullmatch, present))
    return bool(present) and all(map(NUMBER.fullmatch, present)) and not fractions


def _order_of_numbers(
    values: Sequence[int], n_classes: int, columns: Sequence[str] | None, name: str
) -> tuple[Order, Findings]:
    """The number of each column: counted from zero, from one, or one of the pairs that stand for no and yes."""
    usual = tuple(range(n_classes))
    low = min(values)
    high = max(values)
    if columns is not None and {*columns} == {*map(str, values)}:
        return tuple(map(int, columns)), ()  # columns are called by the labels themselves
    if n_classes == 2 and set(values) == {-1, 1}:
        return (-1, 1), (info("labels_signed", f"{name} holds -1 and 1: read as classes 0 and 1."),)
    if n_classes == 2 and columns is not None and len(columns) == 1 and set(values) == {1, 2}:
        return (1, 2), (
            info(
                "labels_from_one",
                f"{name} holds 1 and 2: the output is read as the probability of 2.",
            ),
        )
    counted = columns is not None and list(columns) == [str(k + 1) for k in usual]
    if low >= 1 and (high == n_classes or (counted and high < n_classes)):
        said = info(
            "one_based",
            f"{name} runs from {low} to {high} and there are {n_classes} columns: labels count from one.",
            "If they count from zero, a column of outputs is missing.",
            label_values=usual,
        )
        return tuple(range(1, n_classes + 1)), (said,)
    numbered = columns is not None and len(columns) == n_classes and all(map(is_whole, columns))
    if columns is not None and numbered and {*map(str, values)} <= {*columns}:
        return tuple(map(int, columns)), ()
    return usual, ()


def _order_of_names(
    values: Sequence[str], n_classes: int, columns: Sequence[str] | None, name: str
) -> tuple[Order, Findings]:
    """The label of each column: by the columns' names where these fit, else in sorted order.

    Asked where columns have other names than the labels, or labels hold numbers in another order than their letters.
    """
    one = columns is not None and len(columns) == 1
    if columns is not None and len(columns) == n_classes:
        order = same_names(values, columns) or same_beginnings(values, columns)
        if order is not None:
            said = f"The labels in {name} were matched to the columns by name ({listed(order)})."
            return order, (info("class_order", said),)
    if columns is not None and one and n_classes == len(values) == 2:
        if plain_name(columns[0]) == plain_name(values[0]):
            said = f"The column of outputs is named after {values[0]!r}: read as its probability."
            return (values[1], values[0]), (info("class_order", said),)
        if plain_name(columns[0]) == plain_name(values[1]):
            return tuple(values), ()
    if len(values) < n_classes:
        raise InvalidUpload(
            "labels_unmatched",
            f"{name} holds {plural(len(values), 'different label')} ({listed(values)}) for outputs of {n_classes} "
            "classes, whose columns are not named after them.",
            "Name the label of each column, or save labels as column numbers.",
        )
    orders = [tuple(values), tuple(sorted(values, key=_with_numbers))]
    named = (
        columns is not None and len(columns) == n_classes and not all(map(str.isdecimal, columns))
    )
    if len(values) == n_classes and (named or orders[0] != orders[1]):
        readings = {listed(order): {"label_values": order} for order in orders}
        called = (
            f"the columns are called {listed(columns)}"
            if named and columns
            else "no column carries one"
        )
        reason = f"The labels in {name} are names ({listed(values)}), but {called}, so their order is open."
        raise InvalidUpload(
            "class_order", reason, "Choose the order of the columns.", readings=readings
        )
    said = f"The labels in {name} are names, and no column carries one; the columns were taken in sorted order: "
    action = "Compare this order with the model's, and change it if it differs."
    return tuple(values), (warning("class_order", f"{said}{listed(values)}.", action),)


def _with_numbers(value: str) -> list[str | int]:
    """Text and numbers by turns, by which ``digit 2`` comes before ``digit 10``."""
    return [int(part) if j % 2 else part for j, part in enumerate(re.split(r"([0-9]{1,9})", value))]


def spelled(value: Any) -> str:
    """A label as it is written in Choices: 2.0 is 2; without spaces around, with accents in one way."""
    whole = isinstance(value, float) and value.is_integer()
    return unicodedata.normalize("NFC", str(int(value) if whole else value).strip())


def fractional(message: str) -> InvalidUpload:
    """Refuse labels that are no classes."""
    return InvalidUpload(
        "labels_fractional",
        f"{message}. Outputs taken for labels, mixed labels (mixup) or label smoothing usually cause it.",
        "Choose the array with the true class of each row.",
    )


def _outside(
    n: int, n_rows: int, known: Sequence[str], strange: Sequence[int], n_classes: int, name: str
) -> InvalidUpload:
    """The error for numbers that belong to no column, with the fix that is most likely meant."""
    code = "label_too_large" if max(strange) >= n_classes else "label_negative"
    said = (
        f"{plural(n, 'row')} of {n_rows:,} in {name} {verb(n, 'has', 'have')} a label outside 0..{n_classes - 1} "
        f"({listed(sorted(strange))})"
    )
    often = n > OFTEN * n_rows
    if often and len(known) == n_classes:
        reason = f"{said}, but there are as many different labels as columns ({n_classes})."
        values = tuple(sorted(map(int, known)))
        return InvalidUpload(
            code, reason, "Take them in ascending order as the columns.", label_values=values
        )
    if often and min(strange) >= 0:
        reason = f"{said}, but the outputs have {n_classes} columns. The column of a class is probably missing."
        return InvalidUpload(
            code, reason, "Save one column for each class, or choose other outputs."
        )
    reason = f"{said}. Rows without a label, or outputs of another model, usually cause it."
    return InvalidUpload(
        code, reason, "Leave these rows out, or choose other outputs.", drop_bad_rows=True
    )


# Correct answers.


def correct_answers(
    actual: Array, predicted: Array | None, name: str, chosen: str | None = None
) -> Array:
    """Return (n,) 1 where an answer is correct and 0 where not, NaN where that is missing.

    Parameters
    ----------
    actual : (n,) true class of each row; or whether the answer is correct, where nothing was predicted.
    chosen : the value that means correct, where somebody has said it.
    """
    actual = actual.reshape(-1)
    values, positions = different(actual, name)
    missing = np.array([is_missing(value) for value in values.tolist()], dtype=bool)[positions]
    if predicted is not None:
        predicted = predicted.reshape(-1)
        if len(predicted) != len(actual):
            classes = plural(len(predicted), "class", "classes")
            reason = f"The prediction has {classes} for {plural(len(actual), 'row')} of {name}."
            raise InvalidUpload("rows_differ", reason, "Save one of each for every row.")
        right = np.char.lower(texts_of(actual)) == np.char.lower(texts_of(predicted))
        others, places = different(predicted, name)
        none = np.array([is_missing(value) for value in others.tolist()], dtype=bool)[places]
        return np.where(missing | none, np.nan, right.astype(np.float64))
    texts = [as_text(value) for value in values.tolist() if not is_missing(value)]
    if chosen is None and (values.dtype.kind != "U" or all(map(NUMBER.fullmatch, texts))):
        return actual
    correct = correct_value(texts, chosen)
    if correct is None:
        either = {f"{value} means correct": {"event": value} for value in texts}
        raise InvalidUpload(
            "correct_unclear",
            f"{name} holds {plural(len(texts), 'different value')} ({listed(texts)}), which do not say "
            "which answers are correct.",
            "Choose the value that means correct, or save true and false.",
            readings=either if len(texts) == 2 else None,
        )
    return np.where(missing, np.nan, (texts_of(actual) == correct).astype(np.float64))


def crossed(columns: Sequence[Array]) -> npt.NDArray[np.str_]:
    """Return the subgroups of several columns as one: ``sme · north``."""
    texts = [texts_of(column.reshape(-1)) for column in columns]
    whole = texts[0]
    for column in texts[1:]:
        whole = np.char.add(np.char.add(whole, " · "), column)
    return whole
