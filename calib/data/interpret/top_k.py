"""The largest logits of very many classes, as language models give them: how a file of them is read and checked.

An array ``values`` of shape (n, k) with ``indices`` of the same shape, the class of each value; ``rest`` (n,), the
log-sum of the exponentials of all other logits; ``label_logit`` (n,), the logit of each row's label; the labels; and
the number of classes, ``n_classes``. In Parquet the first two are columns of lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.data.checks.report import InvalidUpload, Report, count, row_numbers
from calib.data.interpret.names import CLASS_NAMES, LABELS, SPLIT, first_named
from calib.data.interpret.pipeline import row_fields, rows_to_keep
from calib.data.interpret.reading import check_there, infer_label
from calib.data.interpret.roles import ROW_ROLES
from calib.data.limits import MAX_ROWS, MAX_TOP_K_CLASSES
from calib.data.options import Choices
from calib.data.predictions import Predictions, as_outputs
from calib.data.read.base import Allowance, Array, Contents
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints, logsumexp
from calib.top_k import Bools, TopK

NAMES = {
    "values": ("values", "topkvalues", "topvalues", "topklogits", "toplogits", "topklogprobs", "toplogprobs"),
    "indices": ("indices", "topkindices", "topindices", "topkids", "topids", "tokenids", "topktokens", "toptokens"),
    "rest": ("rest", "restlogsumexp", "logsumexprest", "logsumrest", "otherslogsumexp"),
    "label_logit": ("labellogit", "labellogits", "labellogprob", "labellogprobs", "targetlogit", "targetlogits"),
    "n_classes": ("nclasses", "numclasses", "vocabsize", "vocabularysize", "nvocab"),
}
"""What the arrays are called, the least ambiguous first; lower case, without separators."""

LIKE_PROBABILITIES = 1e-3
"""By how much the probabilities of a row may exceed one in sum, from half precision."""

LEAST_REST = 2.0**-24
"""What is left to the other classes where the top k of log-probabilities sum to one to float32's rounding."""


def is_top_k(contents: Contents, choices: Choices) -> bool:
    """Whether a file holds the top k of many classes: values and indices of one shape, or because that was chosen."""
    if choices.kind is not None:
        return choices.kind == "topk"
    found = [first_named(contents.names, NAMES[part], None) for part in ("values", "indices")]
    if None in found:
        return False
    values, indices = (contents.info(str(name)) for name in found)
    if contents.tabular:
        return "list" in values.dtype and "list" in indices.dtype
    return values.shape == indices.shape and len(values.shape) >= 2 and "int" in indices.dtype


def read_top_k(contents: Contents, labels: Contents | None, name: str, report: Report) -> Predictions:
    """The data set of such a file; it has no hash yet.

    Parameters
    ----------
    labels : the file with the labels, where they have their own.
    name : how pages call the data set.

    Raises
    ------
    InvalidUpload
        If arrays are missing or do not fit together, or most rows cannot be what they say.
    """
    outputs = _outputs(contents, report)
    truth, unknown = _labels(labels or contents, labels is not None, outputs, report)
    dropped = {**outputs.faults(np.where(unknown, -1, truth)), "a label of no class": unknown}
    keep = rows_to_keep(dropped, report)
    beside = _beside(contents, keep, report)
    outputs, truth = outputs[keep], truth[keep]
    _say(outputs, truth, report)
    names = _class_names(contents, outputs.n_classes, report)
    return Predictions(as_outputs(outputs), truth, names, "topk", **beside, name=name, findings=report.findings)


def _outputs(contents: Contents, report: Report) -> TopK:
    """Values, indices and sums as read, in falling order; their rows are not judged yet."""
    check_there(contents, report.choices.outputs)
    held = {part: first_named(contents.names, names, None) for part, names in NAMES.items()}
    held["values"] = str(report.choices.outputs) if report.choices.outputs else held["values"]
    if held["values"] is None or held["indices"] is None:
        raise InvalidUpload(
            "top_k_arrays",
            f"{contents.name} holds no {'values' if held['values'] is None else 'indices'} of shape (rows, k).",
            "Save the k largest logits of each row as values, and the class of each as indices.",
        )
    report.decide(kind="topk", outputs=held["values"])
    values, indices = (contents.read_matrix(str(held[part])) for part in ("values", "indices"))
    if values.ndim > 2 and values.shape == indices.shape:
        report.info("top_k_flattened", f"values have the shape {values.shape}; all but the last axis are rows.")
        values, indices = (array.reshape(-1, array.shape[-1]) for array in (values, indices))
    fit = values.ndim == 2 and values.shape == indices.shape and 0 < len(values) <= MAX_ROWS and values.size
    if not fit or values.dtype.kind != "f" or indices.dtype.kind not in "iu":
        raise InvalidUpload(
            "top_k_shape",
            f"values hold {values.dtype} of the shape {values.shape} and indices {indices.dtype} of {indices.shape}; "
            f"floats and integers are needed, both of the shape (rows, k), with at most {MAX_ROWS:,} rows.",
            "Save values as float32 and indices as int32, both as (rows, k).",
        )
    n_classes = _n_classes(contents, held["n_classes"], indices, report)
    Allowance().take(12 * values.size, "values and indices as float64 and int32")
    values = values.astype(np.float64, copy=False)
    rest = _rest(contents, held["rest"], values, n_classes, report)
    own = contents.read(held["label_logit"]).reshape(-1) if held["label_logit"] else None
    # What does not fit into 32 bits is no class; it must not wrap around to one.
    classes = np.full(indices.shape, -1, dtype=np.int32)
    np.copyto(classes, indices, where=(indices >= 0) & (indices < n_classes), casting="unsafe")
    try:
        return TopK.from_arrays(values, classes, rest, n_classes, own, check_rows=False)
    except CalibrationError as error:
        raise InvalidUpload(
            "top_k_shape", f"{contents.name}: {error}", "Save rest and label_logit as (rows,)."
        ) from error


def _n_classes(contents: Contents, name: str | None, indices: Ints, report: Report) -> int:
    n_classes = report.choices.n_classes
    if n_classes is None and name is not None:
        given = np.unique(contents.read(name))
        n_classes = int(given[0]) if len(given) == 1 and given.dtype.kind in "iu" else None
    if n_classes is None:
        n_classes = int(indices.max()) + 1
        report.warn(
            "n_classes",
            f"The file does not say how many classes there are; the largest index is {n_classes - 1:,}, so "
            f"{n_classes:,} were taken.",
            "Save n_classes, or choose the number of classes.",
        )
    if not indices.shape[1] <= n_classes <= MAX_TOP_K_CLASSES or n_classes < 3:
        raise InvalidUpload(
            "too_many_classes",
            f"{count(n_classes, 'class')} for {indices.shape[1]:,} values in a row; 3 to {MAX_TOP_K_CLASSES:,} classes "
            "are read, and no fewer than values.",
            "Choose the number of classes (n_classes).",
        )
    report.decide(n_classes=n_classes)
    return n_classes


def _rest(contents: Contents, name: str | None, values: Floats, n_classes: int, report: Report) -> Floats:
    """Log-sum of the other classes: as given, none, or what log-probabilities leave to one."""
    top, low = float(np.nanmax(values)), float(np.nanmin(values))
    if low >= 0 and top <= 1 and (values.sum(axis=1) <= 1 + LIKE_PROBABILITIES).all():
        raise InvalidUpload(
            "top_k_probabilities",
            f"values lie between {low:.3g} and {top:.3g} with row sums up to 1: these are probabilities.",
            "Save their logarithms: values, rest (that of what is left to one) and label_logit.",
        )
    if n_classes == values.shape[1]:
        return np.full(len(values), -np.inf)
    if name is not None:
        return contents.read(name).reshape(-1)
    total = np.exp(logsumexp(values, axis=1))
    if not (total <= 1 + LIKE_PROBABILITIES).all():
        raise InvalidUpload(
            "top_k_rest",
            f"{contents.name} holds no log-sum of the other {n_classes - values.shape[1]:,} classes, and the "
            f"exponentials of values sum to up to {np.nanmax(total):.3g}, so these are no log-probabilities.",
            "Save rest: the logsumexp of all logits of a row that are not among its values.",
        )
    report.info("top_k_rest", "values are log-probabilities; the other classes have what each row leaves to one.")
    return np.log(np.maximum(1.0 - total, LEAST_REST))


def _labels(contents: Contents, apart: bool, outputs: TopK, report: Report) -> tuple[Ints, Bools]:
    """Labels as int64, and which rows have none that is a class, such as -100."""
    name = report.choices.labels or (infer_label(contents) if apart else first_named(contents.names, LABELS, None))
    if not name:
        raise InvalidUpload("no_labels", f"{contents.name} holds no labels.", "Save an array labels of shape (n,).")
    check_there(contents, name)
    report.decide(labels=name)
    array: Array = contents.read(str(name)).reshape(-1)
    whole = array.dtype.kind in "iu" or (array.dtype.kind == "f" and (array == np.floor(array))[~np.isnan(array)].all())
    if len(array) != len(outputs) or not whole:
        raise InvalidUpload(
            "top_k_labels",
            f"{name} holds {len(array):,} values of type {array.dtype} for {len(outputs):,} rows; the number of each "
            "row's class is needed, as in the indices.",
            "Save labels as int64 of shape (n,).",
        )
    unknown = ~((array >= 0) & (array < outputs.n_classes))
    return np.where(unknown, 0, array).astype(np.int64), unknown


def _beside(contents: Contents, keep: Bools, report: Report) -> dict[str, Any]:
    """Groups, clusters, weights, times and the split of the rows that are kept, where the file holds them."""
    found: dict[str, Any] = {}
    for role, vocabulary in ({"split": SPLIT} | {role: declared.names for role, declared in ROW_ROLES.items()}).items():
        chosen = getattr(report.choices, role)
        name = first_named(contents.names, vocabulary, None, "calibration") if chosen is None else chosen
        if not name or not isinstance(name, str):
            continue
        check_there(contents, name)
        array = contents.read_times(name) if role == "times" else contents.read(name)
        n = len(array) if array.size and array.ndim else 0
        if n != len(keep):
            report.warn("rows_differ_beside", f"{name} has {n:,} rows for {len(keep):,}; it was left out.")
            continue
        report.decide(**{role: name})
        found |= row_fields({role: array[keep]}, report)
    return found


def _class_names(contents: Contents, n_classes: int, report: Report) -> tuple[str, ...]:
    name = first_named(contents.names, CLASS_NAMES, None)
    given = [] if name is None or contents.tabular else contents.read(name).reshape(-1).tolist()
    if given and len(given) != n_classes:
        report.warn(
            "class_names",
            f"{name} has {len(given):,} names for {n_classes:,} classes; they were left out.",
            "Save one name for each class.",
        )
    return tuple(map(str, given if len(given) == n_classes else range(n_classes)))


def _say(outputs: TopK, labels: Ints, report: Report) -> None:
    """What was understood, and what is missing."""
    outside, accuracy = outputs.places(labels) == outputs.k, float((outputs.argmax() == labels).mean())
    report.info(
        "understood",
        f"{count(len(labels), 'row')} with the {outputs.k:,} largest of {outputs.n_classes:,} logits; accuracy "
        f"{accuracy:.2%}, and the label is among the {outputs.k:,} in {(~outside).mean():.2%}.",
    )
    unknown = outside & np.isnan(outputs.label_logit)
    if unknown.any():
        n = int(unknown.sum())
        report.warn(
            "label_logit",
            f"In {count(n, 'row')} of {len(labels):,} the label is not among the {outputs.k:,} values and its own "
            f"logit is not given ({row_numbers(unknown)}). NLL and Brier score then take an equal share of what all "
            "other classes have.",
            "Save label_logit, the logit of each row's label.",
        )
