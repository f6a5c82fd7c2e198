"""The largest logits of very many classes, as language models give them: how a file of them is read and checked.

An array ``values`` of shape (n, k) with ``indices`` of the same shape, the class of each value; ``rest`` (n,), the
log-sum of the exponentials of all other logits; ``label_logit`` (n,), the logit of each row's label; the labels; and
the number of classes, ``n_classes``. In Parquet the first two are columns of lists.
"""

from __future__ import annotations

import numpy as np

from calib.data.array_names import LABELS, SPLIT, first_named
from calib.data.assemble.arrays import check_there, read_class_names, read_rows
from calib.data.assemble.beside import ROW_ROLES, row_fields
from calib.data.assemble.predictions import rows_to_keep
from calib.data.findings import InvalidUpload, Notes, Step, info, warning
from calib.data.guess.arrays import infer_label
from calib.data.limits import MAX_ROWS, MAX_TOP_K_CLASSES
from calib.data.options import Choices
from calib.data.predictions import Predictions, as_outputs
from calib.data.read.base import Array, Contents
from calib.errors import CalibrationError, Finding
from calib.formatting import plural, row_numbers
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


def read_top_k(contents: Contents, labels: Contents | None, name: str, notes: Notes) -> Predictions:
    """The data set of such a file, of this name, with labels from it or from their own; it has no hash yet."""
    outputs = notes.take(_outputs(contents, notes.choices))
    codes, unknown = notes.take(_labels(labels or contents, labels is not None, outputs, notes.choices))
    dropped = {**outputs.faults(np.where(unknown, -1, codes)), "a label of no class": unknown}
    keep = notes.take(rows_to_keep(dropped, notes.choices))
    for role in BESIDE:
        check_there(contents, getattr(notes.choices, role))
    named = {
        role: first_named(contents.names, names, None, "calibration") if chosen is None else chosen
        for role, names in BESIDE.items()
        for chosen in [getattr(notes.choices, role)]
    }
    rows = notes.take(read_rows(contents, len(keep), named))
    notes.decide(**{role: named[role] for role in rows})
    fields = notes.take(row_fields({role: array[keep] for role, array in rows.items()}, named["split"] or ""))
    outputs, codes = outputs[keep], codes[keep]
    notes.add(*_said(outputs, codes))
    names = read_class_names(contents) or ()
    if names and len(names) != outputs.n_classes:
        reason = f"The file has {plural(len(names), 'class name')} for {outputs.n_classes:,} classes; none was used."
        notes.add(warning("class_names", reason, "Save one name for each class."))
    names = names if len(names) == outputs.n_classes else tuple(map(str, range(outputs.n_classes)))
    return Predictions(as_outputs(outputs), codes, names, "topk", **fields, name=name, findings=notes.findings)


BESIDE = {"split": SPLIT} | {role: declared.names for role, declared in ROW_ROLES.items()}
"""What is read beside the top k, and what it is called."""


def _outputs(contents: Contents, choices: Choices) -> Step[TopK]:
    """Values, indices and sums as read, in falling order; their rows are not judged yet."""
    check_there(contents, choices.outputs)
    held = {part: first_named(contents.names, names, None) for part, names in NAMES.items()}
    held["values"] = str(choices.outputs) if choices.outputs else held["values"]
    if held["values"] is None or held["indices"] is None:
        raise InvalidUpload(
            "top_k_arrays",
            f"{contents.name} holds no {'values' if held['values'] is None else 'indices'} of shape (rows, k).",
            "Save the k largest logits of each row as values, and the class of each as indices.",
        )
    values, indices = (contents.read(str(held[part])) for part in ("values", "indices"))
    if values.ndim > 2 and values.shape == indices.shape:  # of several texts, each of several tokens
        values, indices = (array.reshape(-1, array.shape[-1]) for array in (values, indices))
    fit = values.ndim == 2 and values.shape == indices.shape and 0 < len(values) <= MAX_ROWS and values.size
    if not fit or values.dtype.kind != "f" or indices.dtype.kind not in "iu":
        raise InvalidUpload(
            "top_k_shape",
            f"values hold {values.dtype} of the shape {values.shape} and indices {indices.dtype} of {indices.shape}; "
            f"floats and integers are needed, both of the shape (rows, k), with at most {MAX_ROWS:,} rows.",
            "Save values as float32 and indices as int32, both as (rows, k).",
        )
    findings: list[Finding] = []
    told = contents.read(held["n_classes"]).reshape(-1) if held["n_classes"] else np.array([])
    n_classes = choices.n_classes or (int(told[0]) if told.dtype.kind in "iu" and len(np.unique(told)) == 1 else None)
    if n_classes is None:
        n_classes = int(indices.max()) + 1
        reason = f"The file does not say how many classes there are; by the largest index, {n_classes:,} were taken."
        findings.append(warning("n_classes", reason, "Save n_classes, or choose the number of classes."))
    if not max(3, indices.shape[1]) <= n_classes <= MAX_TOP_K_CLASSES:
        raise InvalidUpload(
            "too_many_classes",
            f"{plural(n_classes, 'class', 'classes')} for {plural(indices.shape[1], 'value')} in a row; 3 to "
            f"{MAX_TOP_K_CLASSES:,} classes are read, and no fewer than values.",
            "Choose the number of classes (n_classes).",
        )
    values = values.astype(np.float64, copy=False)
    rest, own = (contents.read(name).reshape(-1) if (name := held[part]) else None for part in ("rest", "label_logit"))
    if rest is None and n_classes > values.shape[1]:
        rest = _rest_of(values, contents.name)
        said = "values are log-probabilities; the other classes have what each row leaves to one."
        findings.append(info("top_k_rest", said))
    # What does not fit into 32 bits is no class; it must not wrap around to one.
    classes = np.full(indices.shape, -1, dtype=np.int32)
    np.copyto(classes, indices, where=(indices >= 0) & (indices < n_classes), casting="unsafe")
    try:
        found = TopK.from_arrays(values, classes, rest, n_classes, own, check_rows=False)
    except CalibrationError as error:
        reason = f"{contents.name}: {error}"
        raise InvalidUpload("top_k_shape", reason, "Save rest and label_logit as (rows,).") from error
    return Step(found, tuple(findings), {"kind": "topk", "outputs": held["values"], "n_classes": n_classes})


def _rest_of(values: Floats, name: str) -> Floats:
    """Log-sum of the other classes: what log-probabilities leave to one."""
    total = np.exp(logsumexp(values, axis=1))
    if not (total <= 1 + LIKE_PROBABILITIES).all():
        raise InvalidUpload(
            "top_k_rest",
            f"{name} holds no log-sum of the other classes, and the exponentials of values sum to up to "
            f"{np.nanmax(total):.3g}, so these are no log-probabilities.",
            "Save rest: the logsumexp of all logits of a row that are not among its values.",
        )
    return np.log(np.maximum(1.0 - total, LEAST_REST))


def _labels(contents: Contents, apart: bool, outputs: TopK, choices: Choices) -> Step[tuple[Ints, Bools]]:
    """Labels as int64, and which rows have none that is a class, such as -100."""
    name = choices.labels or (infer_label(contents) if apart else first_named(contents.names, LABELS, None))
    if not name:
        raise InvalidUpload("no_labels", f"{contents.name} holds no labels.", "Save an array labels of shape (n,).")
    check_there(contents, name)
    array: Array = contents.read(str(name)).reshape(-1)
    whole = array.dtype.kind in "iu" or (array.dtype.kind == "f" and (array == np.floor(array))[~np.isnan(array)].all())
    if len(array) != len(outputs) or not whole:
        raise InvalidUpload(
            "top_k_labels",
            f"{name} holds {plural(len(array), 'value')} of type {array.dtype} for {plural(len(outputs), 'row')}; the "
            "number of each row's class is needed, as in the indices.",
            "Save labels as int64 of shape (n,).",
        )
    unknown = ~((array >= 0) & (array < outputs.n_classes))
    return Step((np.where(unknown, 0, array).astype(np.int64), unknown), (), {"labels": name})


def _said(outputs: TopK, labels: Ints) -> list[Finding]:
    """What was understood, and what is missing."""
    outside, accuracy = outputs.places(labels) == outputs.k, float((outputs.argmax() == labels).mean())
    reason = (
        f"{plural(len(labels), 'row')} with the {outputs.k:,} largest of {outputs.n_classes:,} logits; accuracy "
        f"{accuracy:.2%}, and the label is among the {outputs.k:,} in {(~outside).mean():.2%}."
    )
    found = [info("understood", reason)]
    unknown = outside & np.isnan(outputs.label_logit)
    if unknown.any():
        reason = (
            f"In {plural(int(unknown.sum()), 'row')} of {len(labels):,} the label is not among the {outputs.k:,} "
            f"largest and its own logit is not given ({row_numbers(unknown)}). NLL and Brier score then take an equal "
            "share of what all other classes have."
        )
        found.append(warning("label_logit", reason, "Save label_logit, the logit of each row's label."))
    return found
