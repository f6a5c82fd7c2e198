"""Labels of any form as column numbers, the label of each column, and which answers are correct."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.findings import MAX_CLASSES, Findings, InvalidUpload, info, listed, verb, warning
from calib.data.names import (
    NUMBER,
    Order,
    as_text,
    correct_value,
    is_missing,
    is_whole,
    plain_name,
    same_beginnings,
    same_names,
    texts_of,
)
from calib.data.options import Choices
from calib.data.read.base import Array, distinct
from calib.data.words import MISSING, PERHAPS_MISSING
from calib.formatting import plural
from calib.numerics import Ints

WHOLE = re.compile(r"[+-]?\d{1,15}(\.0*)?")

OFTEN = 0.05
"""Share of rows from which a label that belongs to no column is no slip."""


MISSING_LABEL, UNKNOWN_LABEL = -1, -2
"""Numbers in place of a column's: of a row without a label, and of one whose label belongs to no column."""


def decode_labels(
    raw: Array,
    n_classes: int,
    columns: Sequence[str] | None,
    name: str,
    choices: Choices,
    may_miss: bool = False,
) -> tuple[Ints, Order, Findings]:
    """Convert labels to (n,) column numbers, negative where there is none; return them with the label of each column.

    Parameters
    ----------
    raw : (n,), (n, 1) or one-hot (n, n_classes) integers, floats, booleans or strings.
    columns : names of the outputs' columns, where there are any; a single one of two classes names its own class.
    name : the labels' name, for sentences.
    choices : ``label_values`` is the label of each column, inferred unless it is given; with ``drop_bad_rows`` labels
        of no column are only marked.
    may_miss : whether rows without a label are only marked, as in tables; else they are refused.
    """
    flat, findings = flat_labels(raw, n_classes, name)
    if n_classes > 2 and flat.dtype.kind == "b":
        reason = f"{name} holds True and False, but there are {n_classes} classes."
        action = "Give the class of each row, not whether it was right."
        raise InvalidUpload("labels", reason, action)
    values, positions = different(flat, name)
    chosen = choices.label_values
    named = {str(label) for label in (*(chosen or ()), *(columns or ()))}
    texts, whole = label_texts(values, positions, named, n_classes, name)
    present = list(dict.fromkeys(text for text in texts if text))
    if not present:
        reason = f"{name} holds no label at all."
        raise InvalidUpload("labels_missing", reason, "Choose another array or column.")
    order: Order = tuple(chosen or ())
    if chosen is None and whole:
        order, more = _order_of_numbers([*map(int, present)], n_classes, columns, name)
        findings += more
    elif chosen is None:
        order, more = _order_of_names(present, n_classes, columns, name)
        findings += more
    place = {spelled(label): k for k, label in enumerate(order)}
    places = [place.get(text, UNKNOWN_LABEL) if text else MISSING_LABEL for text in texts]
    codes = np.array(places, dtype=np.int64)[positions]
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
        return codes, order, findings
    if not may_miss and (n := int((codes == MISSING_LABEL).sum())):
        rows = f"{plural(n, 'row')} of {len(positions):,} in {name} {verb(n, 'has', 'have')}"
        action = "Leave these rows out."
        raise InvalidUpload("labels_missing", f"{rows} no label.", action, drop_bad_rows=True)
    if n := int((codes == UNKNOWN_LABEL).sum()):
        strange = [text for text in present if text not in place]
        if whole and not chosen:
            raise _outside(n, len(positions), present, list(map(int, strange)), n_classes, name)
        raise InvalidUpload(
            "labels_unmatched",
            f"{plural(n, 'label')} in {name} {verb(n, 'belongs', 'belong')} to no column ({listed(strange)}).",
            "Leave these rows out, or name the label of each column.",
            drop_bad_rows=True,
        )
    return codes, order, findings


def label_texts(
    values: Array, positions: npt.NDArray[np.intp], named: set[str], n_classes: int, name: str
) -> tuple[list[str], bool]:
    """Return each different label as text, "" where it is missing, and whether they are whole numbers.

    A class may be called "unknown": such words stand for a missing one where there are more labels than classes.
    Classes may also be called ``True`` or ``0.5``.
    """
    called = {plain_name(label) for label in named}
    cells = values.tolist()
    missing = [is_missing(cell, called) for cell in cells]
    if len(cells) - sum(missing) > n_classes:
        missing = [is_missing(cell, called, (*MISSING, *PERHAPS_MISSING)) for cell in cells]
    texts = ["" if gone else spelled(cell) for cell, gone in zip(cells, missing, strict=True)]
    present = {text for text in texts if text}
    if values.dtype.kind == "b":
        return (texts, False) if present <= named else ([str(int(cell)) for cell in cells], True)
    odd = [bool(text) and not WHOLE.fullmatch(text) for text in texts]
    if values.dtype.kind == "U":
        numbers = bool(present) and all(map(NUMBER.fullmatch, present))
        if not numbers or (any(odd) and present <= named):
            return texts, False
    if any(odd):
        n = int(np.array(odd)[positions].sum())
        raise fractional(f"{name} holds {plural(n, 'fraction')}, such as {texts[odd.index(True)]}")
    return [str(int(float(text))) if text else "" for text in texts], True


def squeezed(labels: Array) -> Array:
    """Return labels of one row or one column as (n,); one-hot rows stay."""
    return labels.reshape(-1) if labels.ndim < 2 or labels.size == max(labels.shape) else labels


def flat_labels(raw: Array, n_classes: int, name: str) -> tuple[Array, Findings]:
    """Return (n,) labels; one-hot rows as numbers."""
    raw = squeezed(raw)
    if raw.ndim == 1:
        return raw, ()
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
    values, places = distinct(raw)
    if len(values) > MAX_CLASSES:
        raise InvalidUpload(
            "label_too_large",
            f"{name} holds more than {MAX_CLASSES:,} different labels, and no more classes are read. Names of rows, or "
            "outputs, were probably taken for labels.",
            "Choose another array or column.",
        )
    return values, places


def _order_of_numbers(
    values: Sequence[int], n_classes: int, columns: Sequence[str] | None, name: str
) -> tuple[Order, Findings]:
    """The number of each column: counted from zero, from one, or one of the pairs that stand for no and yes."""
    usual = tuple(range(n_classes))
    low = min(values)
    high = max(values)
    names = [*(columns or ())]
    if {*names} == {*map(str, values)}:
        return tuple(map(int, names)), ()  # columns are called by the labels themselves
    if n_classes == 2 and {*values} == {-1, 1}:
        return (-1, 1), (info("labels_signed", f"{name} holds -1 and 1: read as classes 0 and 1."),)
    if n_classes == 2 and len(names) == 1 and {*values} == {1, 2}:
        reason = f"{name} holds 1 and 2: the output is read as the probability of 2."
        return (1, 2), (info("labels_from_one", reason),)
    counted = names == [str(k + 1) for k in usual]
    if low >= 1 and (high == n_classes or (counted and high < n_classes)):
        reason = f"{name} runs from {low} to {high} and there are {n_classes} columns: labels count from one."
        action = "If they count from zero, a column of outputs is missing."
        finding = info("one_based", reason, action, label_values=usual)
        return tuple(range(1, n_classes + 1)), (finding,)
    if len(names) == n_classes and all(map(is_whole, names)) and {*map(str, values)} <= {*names}:
        return tuple(map(int, names)), ()
    return usual, ()


def _order_of_names(
    values: Sequence[str], n_classes: int, columns: Sequence[str] | None, name: str
) -> tuple[Order, Findings]:
    """The label of each column: by the columns' names where these fit, else in sorted order.

    Asked where columns have other names than the labels, or labels hold numbers in another order than their letters.
    """
    names = [*(columns or ())]
    order = same_names(values, names) or same_beginnings(values, names)
    if len(names) == n_classes and order is not None:
        reason = f"The labels in {name} were matched to the columns by name ({listed(order)})."
        return order, (info("class_order", reason),)
    if len(names) == 1 and n_classes == len(values) == 2:
        if plain_name(names[0]) == plain_name(values[0]):
            reason = f"The column of outputs is named after {values[0]!r}: read as its probability."
            return (values[1], values[0]), (info("class_order", reason),)
        if plain_name(names[0]) == plain_name(values[1]):
            return tuple(values), ()
    if len(values) < n_classes:
        raise InvalidUpload(
            "labels_unmatched",
            f"{name} holds {plural(len(values), 'different label')} ({listed(values)}) for outputs of {n_classes} "
            "classes, whose columns are not named after them.",
            "Name the label of each column, or save labels as column numbers.",
        )
    orders = [tuple(values), tuple(sorted(values, key=_with_numbers))]
    named = len(names) == n_classes and not all(map(str.isdecimal, names))
    if len(values) == n_classes and (named or orders[0] != orders[1]):
        readings = {listed(order): {"label_values": order} for order in orders}
        called = f"the columns are called {listed(names)}" if named else "no column carries one"
        reason = f"The labels in {name} are names ({listed(values)}), but {called}, so their order is open."
        action = "Choose the order of the columns."
        raise InvalidUpload("class_order", reason, action, readings=readings)
    reason = (
        f"The labels in {name} are names, and no column carries one; the columns were taken in sorted order: "
        f"{listed(values)}."
    )
    action = "Compare this order with the model's, and change it if it differs."
    return tuple(values), (warning("class_order", reason, action),)


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
    n: int, n_rows: int, present: Sequence[str], strange: Sequence[int], n_classes: int, name: str
) -> InvalidUpload:
    """The error for numbers that belong to no column, with the fix that is most likely meant."""
    code = "label_too_large" if max(strange) >= n_classes else "label_negative"
    reason = (
        f"{plural(n, 'row')} of {n_rows:,} in {name} {verb(n, 'has', 'have')} a label outside 0..{n_classes - 1} "
        f"({listed(sorted(strange))})"
    )
    often = n > OFTEN * n_rows
    if often and len(present) == n_classes:
        reason += f", but there are as many different labels as columns ({n_classes})."
        action = "Take them in ascending order as the columns."
        return InvalidUpload(code, reason, action, label_values=tuple(sorted(map(int, present))))
    if often and min(strange) >= 0:
        reason += f", but the outputs have {n_classes} columns. The column of a class is probably missing."
        action = "Save one column for each class, or choose other outputs."
        return InvalidUpload(code, reason, action)
    reason += ". Rows without a label, or outputs of another model, usually cause it."
    action = "Leave these rows out, or choose other outputs."
    return InvalidUpload(code, reason, action, drop_bad_rows=True)


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
    values, missing = _missing_cells(actual, name)
    if predicted is not None:
        predicted = predicted.reshape(-1)
        if len(predicted) != len(actual):
            classes = plural(len(predicted), "class", "classes")
            reason = f"The prediction has {classes} for {plural(len(actual), 'row')} of {name}."
            raise InvalidUpload("rows_differ", reason, "Save one of each for every row.")
        right = np.char.lower(texts_of(actual)) == np.char.lower(texts_of(predicted))
        missing = missing | _missing_cells(predicted, name)[1]
        return np.where(missing, np.nan, right.astype(np.float64))
    texts = [as_text(value) for value in values.tolist() if not is_missing(value)]
    if chosen is None and (values.dtype.kind != "U" or all(map(NUMBER.fullmatch, texts))):
        return actual
    correct = correct_value(texts, chosen)
    if correct is None:
        values_are = f"{plural(len(texts), 'different value')} ({listed(texts)})"
        reason = f"{name} holds {values_are}, which do not say which answers are correct."
        action = "Choose the value that means correct, or save true and false."
        either = {f"{value} means correct": {"event": value} for value in texts}
        readings = either if len(texts) == 2 else None
        raise InvalidUpload("correct_unclear", reason, action, readings=readings)
    return np.where(missing, np.nan, (texts_of(actual) == correct).astype(np.float64))


def _missing_cells(cells: Array, name: str) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The different values of cells, and (n,) which cells are missing."""
    values, places = different(cells, name)
    return values, np.array([is_missing(value) for value in values.tolist()], dtype=bool)[places]


def crossed(columns: Sequence[Array]) -> npt.NDArray[np.str_]:
    """Return the subgroups of several columns as one: ``sme · north``."""
    texts = [texts_of(column.reshape(-1)) for column in columns]
    whole = texts[0]
    for column in texts[1:]:
        whole = np.char.add(np.char.add(whole, " · "), column)
    return whole
