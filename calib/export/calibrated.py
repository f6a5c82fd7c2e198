"""Files of what a calibrator says of rows: calibrated probabilities, the predicted class, and what names each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calib.base import Calibrator, Progress
from calib.errors import CalibrationError
from calib.export.predict_script import beside
from calib.formatting import safe_table
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks
from calib.records import npz_of
from calib.top_k import TopK, predict_top_k

CSV_ENTRIES = 200_000
"""Cells written to a CSV between two reports of the progress, about 0.2 s."""


def _ignore(step: int, total: int, value: float) -> None: ...


@dataclass(frozen=True, eq=False)
class Rows:
    """What is calibrated: canonical logits, and labels, features, weights and identifiers where they are known.

    Of pairs, the answer is one confidence for each row.
    """

    logits: Floats
    labels: Ints | None = None
    features: Any = None
    weights: Floats | None = None
    pairs: bool = False
    ids: Mapping[str, Any] = field(default_factory=dict)


def answer(calibrator: Calibrator, rows: Rows, done: Callable[[int], None] = lambda n: None) -> dict[str, Any]:
    """Probabilities of all classes and the predicted class, or the confidence in it where there is no more.

    Parameters
    ----------
    calibrator : fitted.
    done : told the number of rows after each block.

    Returns
    -------
    dict
        ``probabilities`` (n, n_classes) and ``predicted`` (n,); or ``predicted`` and ``confidence`` (n,); of pairs
        ``confidence`` alone; of the top k of very many classes ``probabilities`` (n, k) with ``indices``, and ``rest``.
    """
    if isinstance(rows.logits, TopK):
        top = predict_top_k(calibrator, rows.logits)
        return {"probabilities": top.values, "indices": top.indices, "rest": top.rest, "predicted": top.predicted}
    n, n_classes = rows.logits.shape
    whole = calibrator.gives_probabilities and not rows.pairs
    predicted, said = np.empty(n, dtype=np.int64), np.empty((n, n_classes) if whole else n)
    for part in blocks(n, n_classes, MEMORY_ENTRIES):
        logits = rows.logits[part]
        if rows.pairs:
            said[part] = calibrator.predict_proba(logits)[:, 1]
        else:
            predicted[part] = calibrator.predict(logits)
            features = None if rows.features is None else rows.features[part]
            said[part] = calibrator.predict_proba(logits) if whole else calibrator.predict_confidence(logits, features)
        done(part.stop)
    if whole:
        return {"probabilities": said, "predicted": predicted}
    return {"confidence": said} if rows.pairs else {"predicted": predicted, "confidence": said}


def to_npz(*, data: Mapping[str, Any], callback: Progress = _ignore) -> bytes:
    """An npz of :func:`answer`, with labels and weights where they are known.

    Parameters
    ----------
    data : ``calibrator`` and ``rows``.
    callback : told how many rows of how many are done.
    """
    rows: Rows = data["rows"]
    n = len(rows.logits)
    arrays = answer(data["calibrator"], rows, lambda done: callback(done, n, math.nan))
    arrays |= {"labels": rows.labels, "weights": rows.weights}
    return npz_of({name: np.asarray(array) for name, array in arrays.items() if array is not None})


def to_csv(*, data: Mapping[str, Any], callback: Progress = _ignore) -> str:
    """A line for each row: what names it, the classes by name, and label and weight where they are known.

    Parameters
    ----------
    data : ``calibrator``, ``rows`` and ``names``, those of the classes.
    callback : told how many rows of how many are done.
    """
    import pandas as pd

    rows, names = data["rows"], data["names"]
    said = answer(data["calibrator"], rows)
    if "indices" in said:
        raise CalibrationError("The top k of very many classes are written to an .npz, not to a table.")
    columns: dict[str, Any] = {}
    if (probs := said.get("probabilities")) is not None:
        columns |= {f"p_{name}": probs[:, k] for k, name in enumerate(names)}
    if "predicted" in said:
        columns["predicted"] = np.array(names)[said["predicted"]]
    for name, column in (("confidence", said.get("confidence")), ("label", rows.labels), ("weight", rows.weights)):
        columns |= {} if column is None else {name: column}
    table = pd.DataFrame(dict(beside({*columns}, rows.ids)) | columns)
    written = [safe_table(table.iloc[:0]).to_csv(index=False)]
    for part in blocks(len(table), len(table.columns), CSV_ENTRIES):
        written.append(safe_table(table.iloc[part]).to_csv(index=False, header=False))
        callback(part.stop, len(table), math.nan)
    return "".join(written)
