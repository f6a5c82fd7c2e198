"""The largest logits of very many classes, as language models give them: how a file of them is read and checked.

An array ``values`` of shape (n, k) with ``indices`` of the same shape, the class of each value; ``rest`` (n,), the
log-sum of the exponentials of all other logits; ``label_logit`` (n,), the logit of each row's label; the labels; and
the number of classes, ``n_classes``. In Parquet the first two are columns of lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.data.checks.report import InvalidUpload, Report, count, row_numbers
from calib.data.formats.base import Allowance, Array, Contents
from calib.data.interpret.names import CLASS_NAMES, LABELS, SPLIT, first_named
from calib.data.interpret.pipeline import row_fields, rows_to_keep
from calib.data.interpret.reading import check_there, infer_label
from calib.data.interpret.roles import ROW_ROLES
from calib.data.limits import MAX_ROWS, MAX_TOP_K_CLASSES
from calib.data.options import Choices
from calib.data.predictions import Predictions, as_outputs
from calib.numerics import Floats, Ints, logsumexp
from calib.top_k import TopK

VALUES = ("values", "topkvalues", "topvalues", "topklogits", "toplogits", "topklogprobs", "toplogprobs")
INDICES = ("indices", "topkindices", "topindices", "topkids", "topids", "tokenids", "topktokens", "toptokens")
REST = ("rest", "restlogsumexp", "logsumexprest", "logsumrest", "otherslogsumexp")
LABEL_LOGIT = ("labellogit", "labellogits", "labellogprob", "labellogprobs", "targetlogit", "targetlogits")
N_CLASSES = ("nclasses", "numclasses", "vocabsize", "vocabularysize", "nvocab")
"""What the arrays are called, the least ambiguous first; lower case, without separators."""

LIKE_PROBABILITIES = 1e-3
"""By how much the probabilities of a row may exceed one in sum, from half precision."""

LEAST_REST = 2.0**-24
"""What is left to the other classes where the top k of log-probabilities sum to one to float32's rounding."""


@dataclass(frozen=True)
class _Names:
    """The arrays of such a file by their part in it; None for what it does not hold."""

    values: str
    indices: str
    rest: str | None
    label_logit: str | None
    n_classes: str | None


def is_top_k(contents: Contents, choices: Choices) -> bool:
    """Whether a file holds the top k of many classes: values and indices of one shape, or because that was chosen."""
    if choices.kind is not None:
        return choices.kind == "topk"
    values, indices = first_named(contents.names, VALUES, None), first_named(contents.names, INDICES, None)
    if values is None or indices is None:
        return False
    if contents.tabular:
        return all("list" in contents.info(name).dtype for name in (values, indices))
    shapes = contents.info(values).shape, contents.info(indices).shape
    return shapes[0] == shapes[1] and len(shapes[0]) >= 2 and "int" in contents.info(indices).dtype


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
    check_there(contents, report.choices.outputs)
    held = _names(contents, report.choices)
    report.decide(kind="topk", outputs=held.values)
    outputs = _outputs(contents, held, report)
    beside = labels or contents
    label = report.choices.labels or (infer_label(labels) if labels else first_named(contents.names, LABELS, None))
    if not label:
        raise InvalidUpload("no_labels", f"{contents.name} holds no labels.", "Save an array labels of shape (n,).")
    check_there(beside, label)
    truth, unknown = _labels(beside.read(str(label)), outputs, str(label))
    report.decide(labels=label)
    wrong = outputs.contradictions(np.where(unknown, 0, truth)) & ~unknown
    dropped = {**outputs.faults(), "a label of no class": unknown, "a label_logit that is not the label's": wrong}
    _check_rest(dropped, outputs)
    keep = rows_to_keep(dropped, report)
    fields: dict[str, Any] = _beside(contents, keep, report)
    if not keep.all():
        outputs, truth = outputs[keep], truth[keep]
    outputs = outputs.closed()
    class_names = _class_names(contents, outputs.n_classes, report)
    _say(outputs, truth, report)
    return Predictions(as_outputs(outputs), truth, class_names, "topk", **fields, name=name, findings=report.findings)


def _names(contents: Contents, choices: Choices) -> _Names:
    values = str(choices.outputs) if choices.outputs else first_named(contents.names, VALUES, None)
    indices = first_named(contents.names, INDICES, None)
    if values is None or indices is None:
        raise InvalidUpload(
            "top_k_arrays",
            f"{contents.name} holds no {'values' if values is None else 'indices'} of shape (rows, k).",
            "Save the k largest logits of each row as values, and the class of each as indices.",
        )
    others = (first_named(contents.names, vocabulary, None) for vocabulary in (REST, LABEL_LOGIT, N_CLASSES))
    return _Names(values, indices, *others)


def _outputs(contents: Contents, held: _Names, report: Report) -> TopK:
    """Values, indices and sums as read, in falling order; their rows are not judged yet."""
    values, indices = (contents.read_matrix(name) for name in (held.values, held.indices))
    if values.ndim > 2 and values.shape == indices.shape:
        report.info("top_k_flattened", f"{held.values} has the shape {values.shape}; all but the last axis are rows.")
        values, indices = (array.reshape(-1, array.shape[-1]) for array in (values, indices))
    if values.ndim != 2 or values.shape != indices.shape or not values.size or len(values) > MAX_ROWS:
        raise InvalidUpload(
            "top_k_shape",
            f"{held.values} has the shape {values.shape} and {held.indices} {indices.shape}; both must be (rows, k), "
            f"with at most {MAX_ROWS:,} rows.",
            "Save both as (rows, k).",
        )
    if values.dtype.kind != "f" or indices.dtype.kind not in "iu":
        raise InvalidUpload(
            "dtype",
            f"{held.values} holds {values.dtype} and {held.indices} {indices.dtype}; floats and integers are needed.",
            "Save values as float32 and indices as int32.",
        )
    n, k = values.shape
    n_classes = _n_classes(contents, held, indices, report)
    if not k <= n_classes <= MAX_TOP_K_CLASSES or n_classes < 3:
        raise InvalidUpload(
            "too_many_classes",
            f"{count(n_classes, 'class')} for {k:,} values in a row; 3 to {MAX_TOP_K_CLASSES:,} classes are read, and "
            "no fewer than values.",
            "Choose the number of classes (n_classes).",
        )
    Allowance().take(12 * values.size, f"{held.values} and {held.indices} as float64 and int32")
    values = values.astype(np.float64, copy=False)
    top = float(values.max(initial=-np.inf, where=np.isfinite(values)))
    low = float(values.min(initial=np.inf, where=np.isfinite(values)))
    if low >= 0 and top <= 1 and (values.sum(axis=1) <= 1 + LIKE_PROBABILITIES).all():
        raise InvalidUpload(
            "top_k_probabilities",
            f"{held.values} lies between {low:.3g} and {top:.3g} with row sums up to 1: these are probabilities.",
            "Save their logarithms: values, rest (that of what is left to one) and label_logit.",
        )
    rest = _rest(contents, held, values, n_classes, report)
    own = None if held.label_logit is None else _of_rows(contents.read(held.label_logit), n, held.label_logit)
    # What does not fit into 32 bits is no class; it must not wrap around to one.
    classes = np.full(indices.shape, -1, dtype=np.int32)
    np.copyto(classes, indices, where=(indices >= 0) & (indices < n_classes), casting="unsafe")
    with np.errstate(invalid="ignore"):
        return TopK(values, classes, rest, n_classes, own).ordered()


def _n_classes(contents: Contents, held: _Names, indices: Ints, report: Report) -> int:
    chosen = report.choices.n_classes
    if chosen is None and held.n_classes is not None:
        given = np.unique(contents.read(held.n_classes))
        if len(given) == 1 and given.dtype.kind in "iu":
            chosen = int(given[0])
    if chosen is None:
        chosen = int(indices.max()) + 1
        report.warn(
            "n_classes",
            f"The file does not say how many classes there are; the largest index is {chosen - 1:,}, so {chosen:,} "
            "were taken. Temperatures spread the rest over all others, and so depend on it a little.",
            "Save n_classes, or choose the number of classes.",
        )
    report.decide(n_classes=chosen)
    return int(chosen)


def _rest(contents: Contents, held: _Names, values: Floats, n_classes: int, report: Report) -> Floats:
    """Log-sum of the other classes: as given, none, or what log-probabilities leave to one."""
    n, k = values.shape
    if n_classes == k:
        return np.full(n, -np.inf)
    if held.rest is not None:
        return _of_rows(contents.read(held.rest), n, held.rest)
    with np.errstate(invalid="ignore"):
        total = np.exp(logsumexp(values, axis=1))
    if not (total <= 1 + LIKE_PROBABILITIES).all():
        raise InvalidUpload(
            "top_k_rest",
            f"{contents.name} holds no log-sum of the other {n_classes - k:,} classes, and the exponentials of "
            f"{held.values} sum to up to {np.nanmax(total):.3g}, so they do not tell it as log-probabilities would.",
            "Save rest: the logsumexp of all logits of a row that are not among its values.",
        )
    report.info(
        "top_k_rest", f"{held.values} are log-probabilities; the other classes have what each row leaves to one."
    )
    return np.log(np.maximum(1.0 - total, LEAST_REST))


def _of_rows(array: Array, n: int, name: str) -> Floats:
    array = array.reshape(-1)
    if len(array) != n or array.dtype.kind not in "fiu":
        raise InvalidUpload(
            "rows_differ",
            f"{name} holds {len(array):,} values of type {array.dtype} for {n:,} rows.",
            "Save one number for each row.",
        )
    return array.astype(np.float64)


def _labels(raw: Array, outputs: TopK, name: str) -> tuple[Ints, np.ndarray]:
    """Labels as int64, and which rows have none that is a class, such as -100."""
    array = raw.reshape(-1)
    whole = array.dtype.kind in "iu" or (array.dtype.kind == "f" and (array == np.floor(array))[~np.isnan(array)].all())
    if len(array) != len(outputs) or not whole:
        raise InvalidUpload(
            "top_k_labels",
            f"{name} holds {len(array):,} values of type {array.dtype} for {len(outputs):,} rows; the number of each "
            "row's class is needed, as in the indices.",
            "Save labels as int64 of shape (n,).",
        )
    with np.errstate(invalid="ignore"):
        unknown = ~((array >= 0) & (array < outputs.n_classes))
    return np.where(unknown, 0, array).astype(np.int64), unknown


def _check_rest(dropped: dict[str, np.ndarray], outputs: TopK) -> None:
    """Say the likely cause where most rows have a rest that is impossible."""
    impossible = next(rows for reason, rows in dropped.items() if "rest" in reason)
    if 2 * int(impossible.sum()) > len(impossible):
        row = int(np.flatnonzero(impossible)[0])
        most = float(outputs.values[row, -1]) + float(np.log(outputs.n_others))
        raise InvalidUpload(
            "top_k_rest",
            f"In {int(impossible.sum()):,} of {len(impossible):,} rows rest is larger than the other "
            f"{outputs.n_others:,} classes can have, none of which is above the smallest value: in row {row + 1:,} it "
            f"is {outputs.rest[row]:.4g}, and at most {most:.4g} is possible.",
            "Save the logsumexp of the other logits alone, not of all, and as many classes as the model has.",
        )


def _beside(contents: Contents, keep: np.ndarray, report: Report) -> dict[str, Any]:
    """Groups, clusters, weights, times and the split of the rows that are kept, where the file holds them."""
    found: dict[str, Any] = {}
    vocabularies = {"split": SPLIT} | {role: declared.names for role, declared in ROW_ROLES.items()}
    for role, vocabulary in vocabularies.items():
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
    names = first_named(contents.names, CLASS_NAMES, None)
    if names is None or contents.tabular:
        return tuple(map(str, range(n_classes)))
    given = contents.read(names).reshape(-1)
    if len(given) != n_classes:
        report.warn(
            "class_names",
            f"{names} has {len(given):,} names for {n_classes:,} classes; they were left out.",
            "Save one name for each class.",
        )
        return tuple(map(str, range(n_classes)))
    return tuple(map(str, given.tolist()))


def _say(outputs: TopK, labels: Ints, report: Report) -> None:
    """What was understood, and what is missing."""
    inside = outputs.rank_of(labels) < outputs.k
    right = float((outputs.indices[:, 0] == labels).mean())
    report.info(
        "understood",
        f"{count(len(labels), 'row')} with the {outputs.k:,} largest of {outputs.n_classes:,} logits; accuracy "
        f"{right:.2%}, and the label is among the {outputs.k:,} in {inside.mean():.2%}.",
    )
    unknown = np.isnan(outputs.label_logits(labels))
    if unknown.any():
        n = int(unknown.sum())
        report.warn(
            "label_logit",
            f"In {count(n, 'row')} of {len(labels):,} the label is not among the {outputs.k:,} values and its own "
            f"logit is not given ({row_numbers(unknown)}), so that no NLL and no Brier score can be computed.",
            "Save label_logit, the logit of each row's label.",
        )
