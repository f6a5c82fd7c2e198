"""Files of what a calibrator says of rows: calibrated probabilities, the predicted class, and what names each row."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from calib.base import Calibrator, Progress
from calib.errors import CalibrationError
from calib.export.decisions import DECISION, SETS
from calib.export.runtime import ExportedCalibrator
from calib.formatting import listed, safe_cell, safe_table
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, argmax_with_ties, blocks
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


# -- on the command line -----------------------------------------------------------------------------------------------


def asked_for(decide: bool, sets: bool) -> list[str]:
    """What is wanted beside probabilities, as :func:`write_predictions` takes it."""
    return [name for name, wanted in ((DECISION, decide), (SETS, sets)) if wanted]


def written(path: Path, calibrator: ExportedCalibrator, n: int, more: Sequence[str] = ()) -> str:
    """What was written, in a sentence."""
    probabilities = calibrator.calibrator.gives_probabilities and calibrator.kind != "pairs"
    main = "calibrated probabilities" if probabilities else "calibrated confidence"
    decided = [{DECISION: "actions", SETS: "prediction sets"}[name] for name in more]
    what = listed(decided if decided and path.suffix.lower() == ".npy" else [main, *decided])
    return f"Wrote {n:,} rows of {what} to {path}."


def write_predictions(
    path: Path,
    calibrator: ExportedCalibrator,
    logits: Floats,
    features: Floats | None = None,
    ids: Mapping[str, Sequence[str]] | None = None,
    more: Sequence[str] = (),
) -> None:
    """Write what the calibrator says of some rows, in the format the suffix names.

    Parameters
    ----------
    logits : (n, n_classes) canonical logits.
    features : (n, ...) inputs as they were uploaded, for a calibrator that needs them.
    ids : what names the rows, by the names of its columns; a ``.csv`` begins with them.
    more : "decision" and "sets", where their actions and sets are wanted too.
    """
    suffix = path.suffix.lower()
    if calibrator.kind == "topk" and suffix != ".npz":
        raise CalibrationError(f"{path.name}: the top k of very many classes are written to an .npz.")
    arrays = predictions(calibrator, logits, features)
    main = arrays.get("probabilities", arrays["confidence"])
    decided = decisions(calibrator, logits, features, more)
    if suffix == ".npz":
        np.savez(path, **arrays, **decided)
    elif suffix == ".npy":
        if len(decided) > 1:
            raise CalibrationError(f"{path.name} holds one array; write actions and sets to an .npz or a .csv.")
        np.save(path, next(iter(decided.values()), main))
    elif suffix == ".csv":
        names = calibrator.class_names
        of_classes = list(zip(names, main.T.tolist(), strict=True)) if main.ndim == 2 else []
        others: dict[str, Sequence[Any]] = {}
        if "predicted" in arrays:
            others["predicted"] = [names[k] for k in arrays["predicted"].tolist()]
        if main.ndim == 1:
            others["confidence"] = main.tolist()
        others |= _named(calibrator, decided)
        taken = {name for name, _ in of_classes}
        columns = [*beside(taken, ids or {}), *of_classes, *beside(taken, others)]
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(safe_cell(name) for name, _ in columns)
            writer.writerows(map(safe_cell, row) for row in zip(*(column for _, column in columns), strict=True))
    else:
        raise CalibrationError(f"{path.name}: write to .npz, .npy or .csv.")


def beside(taken: set[str], columns: Mapping[str, Sequence[Any]]) -> list[tuple[str, Sequence[Any]]]:
    """Columns under names that no other column has: a class may be called ``predicted``, ``action`` or ``id``.

    Parameters
    ----------
    taken : names of the other columns, to which those of these are added.
    """
    renamed = []
    for name, column in columns.items():
        while name in taken:
            name = "predicted_class" if name == "predicted" else f"{name}_"
        taken.add(name)
        renamed.append((name, column))
    return renamed


def predictions(calibrator: ExportedCalibrator, logits: Floats, features: Floats | None = None) -> dict[str, Any]:
    """``probabilities`` (n, n_classes) where the calibrator gives them, ``predicted`` (n,) and ``confidence`` (n,).

    Of pairs the confidence alone, that each answer is correct; of the top k of very many classes probabilities (n, k)
    with their ``indices``, and ``rest`` (n,).
    """
    fitted = calibrator.calibrator
    if calibrator.kind == "topk":
        said = calibrator.predict_top_k(logits)
        whole = {"probabilities": said.values, "indices": said.indices, "rest": said.rest}
        return {**whole, "predicted": said.predicted, "confidence": said.confidence}
    if not fitted.gives_probabilities:
        confidence = fitted.predict_confidence(logits, calibrator.to_features(features))
        return {"predicted": fitted.predict(logits), "confidence": confidence}
    probs = fitted.predict_proba(logits)
    if calibrator.kind == "pairs":
        return {"confidence": probs[:, 1]}
    return {"probabilities": probs, "predicted": argmax_with_ties(probs, logits), "confidence": probs.max(axis=1)}


def decisions(
    calibrator: ExportedCalibrator, logits: Floats, features: Floats | None, more: Sequence[str]
) -> dict[str, Any]:
    """``actions`` (n,) where "decision" is wanted, and ``sets`` (n, n_classes) where "sets" are."""
    decided: dict[str, Any] = {}
    if DECISION in more:
        decided["actions"] = calibrator.decide_logits(logits, calibrator.to_features(features))
    if SETS in more:
        decided["sets"] = calibrator.sets_of_logits(logits)
    return decided


def _named(calibrator: ExportedCalibrator, decided: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Actions and sets as columns of a table: the names of actions, and those of the classes of each set."""
    columns: dict[str, Sequence[Any]] = {}
    if "actions" in decided:
        names = calibrator.action_names
        columns["action"] = [names[action] for action in decided["actions"].tolist()]
    if "sets" in decided:
        quoted = [
            '"' + name.replace('"', '""') + '"' if ";" in name or name.startswith('"') else name
            for name in calibrator.class_names
        ]
        inside = [np.flatnonzero(row).tolist() for row in decided["sets"]]
        columns["set"] = ["; ".join(quoted[k] for k in row) for row in inside]
    return columns
