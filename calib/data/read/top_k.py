"""The largest logits of very many classes, as language models give them, read as pairs of confidence and correct.

A file holds ``values`` and ``indices`` of the shape (n, k), the k largest logits of each row and their classes;
``rest`` (n,), the log-sum of the exponentials of all other logits; and the labels. In Parquet the first two are columns
of lists.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calib.data.findings import Findings, InvalidUpload, info, warning
from calib.data.guess.arrays import infer_label
from calib.data.names import CLASS_NAMES, LABELS, canonical, first_named
from calib.data.options import Choices
from calib.data.read.base import Array, ArrayInfo, Arrays, Contents, Read
from calib.data.words import listed_terms
from calib.errors import Finding
from calib.formatting import plural
from calib.numerics import Floats, logsumexp

VALUES, INDICES, REST = map(listed_terms, ("top_k_values", "top_k_indices", "top_k_rest"))
"""Names of the arrays, the least ambiguous first; lower case, without separators."""

CONFIDENCE = "confidence"
CORRECT = "correct"
"""Names of the arrays that are read in place of the top k."""

LIKE_PROBABILITIES = 1e-3
"""Tolerance for the sum of a row's probabilities above one; models compute in half precision."""


def read_as_pairs(
    contents: Contents, labels: Contents | None, choices: Choices, labelled: bool = True
) -> tuple[Contents, dict[str, Any], Findings]:
    """Return arrays ``confidence`` and ``correct`` in place of a top k, with the choices that read them.

    Any other file is returned itself.

    Parameters
    ----------
    labels : the file of the labels, where they have one.
    labelled : whether there have to be labels.
    """
    if choices.kind not in (None, "pairs") or choices.outputs not in (None, CONFIDENCE):
        return contents, {}, ()
    values, indices, rest = [first_named(contents.names, n, None) for n in (VALUES, INDICES, REST)]
    if values is None or indices is None or not is_top_k(contents, values, indices):
        return contents, {}, ()
    logits, classes = contents.read(values), contents.read(indices)
    k = logits.shape[-1]
    if logits.shape != classes.shape or not logits.size or logits.dtype.kind != "f":
        return contents, {}, ()
    # Leading axes, such as texts and their tokens, become rows.
    logits, classes = logits.reshape(-1, k).astype(np.float64), classes.reshape(-1, k)
    others = None if rest is None else contents.read(rest).reshape(-1)
    confidence, finding = confidence_of(logits, others, contents.name)
    arrays: dict[str, Array] = {CONFIDENCE: confidence}
    options: dict[str, Any] = {"kind": "pairs", "outputs": CONFIDENCE}
    if labelled:
        truth = class_labels(contents, labels, choices, len(logits))
        first_choice = np.take_along_axis(classes, logits.argmax(axis=1)[:, None], axis=1)[:, 0]
        arrays[CORRECT] = np.where(truth >= 0, first_choice == truth, np.nan)
        options |= {"labels": CORRECT, "drop_bad_rows": choices.drop_bad_rows is not False}
    reads: list[tuple[ArrayInfo, Read]] = [
        (ArrayInfo(name, array.shape, str(array.dtype)), partial(np.asarray, array))
        for name, array in arrays.items()
    ]
    reads += [
        (array, partial(contents.read, array.name))
        for array in contents.arrays
        if array.name not in (values, indices, rest)
        and canonical(array.name).base not in CLASS_NAMES
    ]
    return Arrays(contents.name, reads), options, (finding,)


def is_top_k(contents: Contents, values: str, indices: str) -> bool:
    """Return whether two arrays are logits and classes of the same rows; in tables they are columns of lists."""
    logits = contents.by_name[values]
    classes = contents.by_name[indices]
    if contents.tabular:
        return "list" in logits.dtype and "list" in classes.dtype
    return logits.shape == classes.shape and len(logits.shape) >= 2 and "int" in classes.dtype


def confidence_of(logits: Floats, rest: Array | None, name: str) -> tuple[Floats, Finding]:
    """Probability of each row's first choice, and what it was computed from."""
    n, k = logits.shape
    total = logsumexp(logits, axis=1)
    read = f"The {k:,} largest values of each row were read as pairs: whether the first choice is correct, and "
    save = "Save rest: the logsumexp of all logits of a row that are not among its values."
    if rest is None and (total <= np.log1p(LIKE_PROBABILITIES)).all():
        finding = info("top_k", f"{read}its probability. values are log-probabilities.")
        return np.minimum(np.exp(logits.max(axis=1)), 1.0), finding
    if rest is None:
        share = f"{read}its share among these {k:,} classes, which is too high where other classes are likely."
        return np.exp(logits.max(axis=1) - total), warning("top_k", share, save)
    if rest.shape != (n,):
        reason = f"rest has {plural(len(rest), 'value')} for {plural(n, 'row')} of values."
        raise InvalidUpload("top_k_rest", reason, "Save rest as (rows,).")
    if (rest >= total).all():
        reason = f"In each row of {name} rest is larger than the logsumexp of values, as that of all logits is."
        raise InvalidUpload("top_k_rest", reason, save)
    finding = info("top_k", f"{read}its probability, by a softmax over values and rest.")
    return np.exp(logits.max(axis=1) - np.logaddexp(total, rest)), finding


def class_labels(contents: Contents, labels: Contents | None, choices: Choices, n: int) -> Array:
    """Class of each row; negative where there is none, such as -100."""
    source = labels or contents
    name = choices.labels
    if name is None or name == CORRECT:
        name = first_named(contents.names, LABELS, None) if labels is None else infer_label(labels)
    if not name or name not in source:
        reason = f"{source.name} holds no labels."
        raise InvalidUpload("no_labels", reason, "Save an array labels of shape (n,).")
    truth = source.read(name).reshape(-1)
    if len(truth) != n or truth.dtype.kind not in "iuf":
        reason = (
            f"{name} holds {plural(len(truth), 'value')} of type {truth.dtype} for {plural(n, 'row')}; the number of "
            "each row's class is needed, as in the indices."
        )
        raise InvalidUpload("top_k_labels", reason, "Save labels as int64 of shape (n,).")
    return truth
