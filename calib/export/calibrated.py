"""Files of what a calibrator says of rows: calibrated probabilities, the predicted class, and what names each row."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from calib.base import Calibrator, Progress, silent
from calib.errors import CalibrationError
from calib.export.decisions import DECISION, SETS
from calib.export.runtime import ExportedCalibrator
from calib.formatting import listed, safe_cell
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks
from calib.records import npz_of
from calib.top_k import TopK, predict_top_k

CSV_ENTRIES = 200_000
"""Cells written to a CSV between two reports of the progress, about 0.2 s."""


@dataclass(frozen=True, eq=False)
class Rows:
    """What is calibrated: canonical logits, and labels, features, weights and identifiers where they are known.

    Of pairs, the answer is one confidence for each row. Without identifiers rows are numbered from 1 in tables.
    """

    logits: Floats
    labels: Ints | None = None
    features: Any = None
    weights: Floats | None = None
    pairs: bool = False
    ids: Mapping[str, Any] = field(default_factory=dict)


def answer(calibrator: Calibrator, rows: Rows, done: Callable[[int], None] = lambda n: None) -> dict[str, Any]:
    """What a calibrator says of rows, by name.

    Parameters
    ----------
    calibrator : fitted.
    done : told the number of rows after each block.

    Returns
    -------
    dict
        ``probabilities`` (n, n_classes) where the calibrator gives them, and ``predicted`` and ``confidence`` (n,); of
        pairs ``confidence`` alone; of the top k of very many classes also ``indices`` (n, k) and ``rest`` (n,).
    """
    if isinstance(rows.logits, TopK):
        top = predict_top_k(calibrator, rows.logits)
        whole = {"probabilities": top.values, "indices": top.indices, "rest": top.rest}
        return {**whole, "predicted": top.predicted, "confidence": top.confidence}
    n, n_classes = rows.logits.shape
    whole = calibrator.gives_probabilities and not rows.pairs
    probs = np.empty((n, n_classes) if whole else 0)
    predicted, confidence = np.empty(n, dtype=np.int64), np.empty(n)
    for part in blocks(n, n_classes, MEMORY_ENTRIES):
        logits = rows.logits[part]
        predicted[part] = calibrator.predict(logits)
        if whole:
            probs[part] = calibrator.predict_proba(logits)
            confidence[part] = probs[part].max(axis=1)
        elif rows.pairs:
            confidence[part] = calibrator.predict_proba(logits)[:, 1]
        else:
            features = None if rows.features is None else rows.features[part]
            confidence[part] = calibrator.predict_confidence(logits, features)
        done(part.stop)
    said = {} if rows.pairs else {"predicted": predicted}
    return ({"probabilities": probs} if whole else {}) | said | {"confidence": confidence}


def to_npz(*, data: Mapping[str, Any], callback: Progress = silent) -> bytes:
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


def to_csv(*, data: Mapping[str, Any], callback: Progress = silent) -> str:
    """A line for each row: what names it, the classes by name, and label and weight where they are known.

    Parameters
    ----------
    data : ``calibrator``, ``rows`` and ``names``, those of the classes.
    callback : told how many rows of how many are done.
    """
    rows: Rows = data["rows"]
    if isinstance(rows.logits, TopK):
        raise CalibrationError("The top k of very many classes are written to an .npz, not to a table.")
    more = {name: column for name, column in (("label", rows.labels), ("weight", rows.weights)) if column is not None}
    return _table(answer(data["calibrator"], rows), rows, data["names"], more, callback)


def _table(
    said: Mapping[str, Any],
    rows: Rows,
    names: Sequence[str],
    more: Mapping[str, Any],
    callback: Progress = silent,
) -> str:
    """A csv, in which no cell is a formula; a column that is called as one of the identifiers gets ``_`` behind it."""
    ids = dict(rows.ids) or {"row": np.arange(1, len(rows.logits) + 1)}
    own: dict[str, Any] = {}
    if "probabilities" in said:
        own |= {f"p_{name}": said["probabilities"][:, k] for k, name in enumerate(names)}
    if "predicted" in said:
        own["predicted"] = [names[k] for k in said["predicted"]]
    if "probabilities" not in said:
        own["confidence"] = said["confidence"]
    columns = ids | {name + "_" * (name in ids): column for name, column in (own | dict(more)).items()}
    lists = [column.tolist() if isinstance(column, np.ndarray) else list(column) for column in columns.values()]
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(safe_cell, columns))
    for part in blocks(len(rows.logits), len(lists), CSV_ENTRIES):
        writer.writerows(map(safe_cell, row) for row in zip(*(column[part] for column in lists), strict=True))
        callback(part.stop, len(rows.logits), math.nan)
    return file.getvalue()


# -- on the command line -----------------------------------------------------------------------------------------------


def written(path: Path, calibrator: ExportedCalibrator, n: int, more: Sequence[str] = ()) -> str:
    """What was written, in a sentence."""
    probabilities = calibrator.calibrator.gives_probabilities and calibrator.kind != "pairs"
    main = "calibrated probabilities" if probabilities else "calibrated confidence"
    decided = [{DECISION: "actions", SETS: "prediction sets"}[name] for name in more]
    what = listed(decided if decided and path.suffix.lower() == ".npy" else [main, *decided])
    return f"Wrote {n:,} rows of {what} to {path}."


def write_predictions(path: Path, calibrator: ExportedCalibrator, rows: Rows, more: Sequence[str] = ()) -> None:
    """Write what the calibrator says of some rows, in the format the suffix names.

    Parameters
    ----------
    rows : with features as :meth:`~calib.export.runtime.ExportedCalibrator.to_features` gives them.
    more : "decision" and "sets", where their actions and sets are wanted too.
    """
    suffix, names = path.suffix.lower(), calibrator.class_names
    if calibrator.kind == "topk" and suffix != ".npz":
        raise CalibrationError(f"{path.name}: the top k of very many classes are written to an .npz.")
    said, decided = answer(calibrator.calibrator, rows), dict[str, Any]()
    if DECISION in more:
        decided["actions"] = calibrator.decide_logits(rows.logits, rows.features)
    if SETS in more:
        decided["sets"] = calibrator.sets_of_logits(rows.logits)
    if suffix == ".npz":
        np.savez(path, **said, **decided)
    elif suffix == ".npy":
        if len(decided) > 1:
            raise CalibrationError(f"{path.name} holds one array; write actions and sets to an .npz or a .csv.")
        np.save(path, next(iter(decided.values()), said.get("probabilities", said["confidence"])))
    elif suffix == ".csv":
        columns: dict[str, Any] = {}
        if DECISION in more:
            columns["action"] = [calibrator.action_names[action] for action in decided["actions"].tolist()]
        if SETS in more:
            columns["set"] = ["; ".join(names[k] for k in np.flatnonzero(row)) for row in decided["sets"]]
        path.write_text(_table(said, rows, names, columns), encoding="utf-8")
    else:
        raise CalibrationError(f"{path.name}: write to .npz, .npy or .csv.")
