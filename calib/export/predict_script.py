"""Calibrate a file of a model's outputs from the command line; needs NumPy alone.

    python predict.py outputs.npy --out calibrated.npz

Reads ``.npy``, ``.npz`` (the one array of fitting shape, or ``--key``) and ``.csv`` (a header is allowed;
columns of labels, predicted classes and row numbers are left out by their names, and columns that are called as the
classes are, such as ``p_cat``, are taken in the order of the classes). Writes ``.npz`` (probabilities,
predicted, confidence), ``.npy`` or ``.csv`` (a column for each class, and the predicted class). A calibrator that
predicts from the inputs of the rows too takes them from the array ``features`` of the ``.npz`` or from a file of their
own (``--features``); one that gives a confidence only writes that, and the predicted class, instead of probabilities.
A calibrator of the top k of very many classes takes the arrays ``values``, ``indices`` and ``rest`` of an ``.npz`` and
writes the probabilities of these k, ``rest`` for all others together, and ``indices``.
Outputs that look like another kind than the calibrator takes are refused; ``--kind`` says what they are.

``--decide`` adds the action of each row by the calibrator's own rule (``actions``: numbers, -1 for handing over; in a
``.csv`` their names), and ``--sets`` its prediction set (``sets``: booleans, one column per class; in a ``.csv`` the
names of the classes with "; " between, in quotes where a name has a semicolon). A ``.npy`` holds one array: what was
asked for. In a ``.csv`` a class keeps its name, and another column that is called so gets ``_`` behind its own
(``predicted`` becomes ``predicted_class``).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from calib.canonical import KINDS
from calib.errors import CalibrationError
from calib.export import runtime
from calib.export.decisions import DECISION, SETS
from calib.formatting import listed, one_line, safe_cell
from calib.numerics import Floats, argmax_with_ties

FEATURES = "features"
"""The array of an ``.npz`` that holds the inputs of the rows."""

NAMES = "class_names"
"""The array of an ``.npz`` that says which class each column is of."""

_INPUTS = {FEATURES, "train_features"}

_IDS = {"id", "index"}
_NOT_OUTPUTS = {"label", "labels", "y", "y_true", "target", "ground_truth", "class", "y_pred", "", *_IDS}
_NOT_CONFIDENCE = {"correct", "predicted", "predicted_class", "actual"}


class _Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong; nothing that was given drives the terminal."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {one_line(message)}; see {self.prog} --help.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = _Parser(prog="predict.py", description="Calibrate a file of a model's outputs.")
    parser.add_argument("outputs", type=Path, help=".npy, .npz or .csv of what the model wrote out")
    parser.add_argument("--out", type=Path, default=Path("calibrated.npz"), help=".npz, .npy or .csv to write")
    parser.add_argument("--key", help="name of the array in an .npz")
    parser.add_argument("--features", type=Path, help="file of the rows' inputs, where they are not in that .npz")
    parser.add_argument("--kind", choices=list(KINDS), help="what the outputs are, where they look like something else")
    parser.add_argument("--decide", action="store_true", help="the action of each row, by the calibrator's own rule")
    parser.add_argument("--sets", action="store_true", help="the prediction set of each row")
    parser.add_argument("--calibrator", type=Path, default=Path(__file__).with_name("calibrator.npz"))
    given = parser.parse_args(arguments)
    try:
        calibrator = runtime.load(given.calibrator)
        logits = calibrator.to_logits(read_for(calibrator, given.outputs, given.key), given.kind)
        features = features_for(calibrator, given.outputs, given.features)
        more = asked_for(given.decide, given.sets)
        write_predictions(given.out, calibrator, logits, features, ids_in(given.outputs), more)
    except (CalibrationError, OSError) as error:
        print(one_line(str(error)), file=sys.stderr)
        return 1
    print(one_line(written(given.out, calibrator, len(logits), more)))
    return 0


def asked_for(decide: bool, sets: bool) -> list[str]:
    """What is wanted beside probabilities, as :func:`write_predictions` takes it."""
    return [name for name, wanted in ((DECISION, decide), (SETS, sets)) if wanted]


def written(path: Path, calibrator: runtime.ExportedCalibrator, n: int, more: Sequence[str] = ()) -> str:
    """What was written, in a sentence."""
    probabilities = calibrator.calibrator.gives_probabilities and calibrator.kind != "pairs"
    main = "calibrated probabilities" if probabilities else "calibrated confidence"
    decided = [{DECISION: "actions", SETS: "prediction sets"}[name] for name in more]
    what = listed(decided if decided and path.suffix.lower() == ".npy" else [main, *decided])
    return f"Wrote {n:,} rows of {what} to {path}."


def features_for(calibrator: runtime.ExportedCalibrator, outputs: Path, own: Path | None) -> Floats | None:
    """The inputs of the rows as they stand in their own file, or beside the outputs; None where none are needed."""
    if not calibrator.needs_features:
        return None
    path = own or outputs
    if own is None and path.suffix.lower() != ".npz":
        raise CalibrationError(
            "This calibrator predicts from the inputs of the rows too; give their file with --features, or one .npz "
            "that holds outputs and features."
        )
    return read_outputs(path, FEATURES if path.suffix.lower() == ".npz" else None)


def read_for(calibrator: runtime.ExportedCalibrator, path: Path, key: str | None = None) -> Any:
    """Outputs as a calibrator takes them: one array, or those of the top k of very many classes by name."""
    if path.suffix.lower() == ".csv" and calibrator.kind != "topk":
        columns, outputs = _read_csv(path)
        return calibrator.in_class_order(outputs, columns)
    if calibrator.kind != "topk":
        return calibrator.in_class_order(read_outputs(path, key), _class_names_in(path))
    if path.suffix.lower() != ".npz":
        raise CalibrationError(f"{path.name} is no .npz with the arrays values, indices and rest.")
    with _readable(path), np.load(path, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in ("values", "indices", "rest") if name in loaded.files}


def _class_names_in(path: Path) -> list[str]:
    """What the array ``class_names`` of a ``.npz`` holds; nothing where there is none."""
    if path.suffix.lower() != ".npz":
        return []
    with _readable(path), np.load(path, allow_pickle=False) as loaded:
        return [*map(str, loaded[NAMES].reshape(-1).tolist())] if NAMES in loaded.files else []


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say in one sentence what NumPy says of a file that it cannot read."""
    try:
        yield
    except CalibrationError:
        raise
    except (ValueError, EOFError, KeyError) as error:
        raise CalibrationError(f"{path.name} could not be read: {error}") from None


def read_outputs(path: Path, key: str | None = None) -> Floats:
    """A model's outputs from ``.npy``, ``.npz`` or ``.csv``; nothing is unpickled."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return _read_csv(path)[1]
    if suffix not in (".npy", ".npz"):
        raise CalibrationError(f"{path.name} is not a .npy, .npz or .csv file.")
    with _readable(path):
        loaded = np.load(path, allow_pickle=False)
        if suffix == ".npy":
            return loaded
        with loaded:
            if key and key not in loaded.files:
                raise CalibrationError(f"{path.name} has no array {key!r}; it holds {', '.join(loaded.files)}.")
            return loaded[key or _only_key(path, {name: loaded[name] for name in loaded.files})]


def ids_in(path: Path) -> dict[str, list[str]]:
    """The columns of a ``.csv`` that are called an identifier, by their names; nothing for other files."""
    if path.suffix.lower() != ".csv":
        return {}
    columns, rows = _table(path)
    return {
        name: [*map("".join, (row[i : i + 1] for row in rows))]
        for i, name in enumerate(columns)
        if name.strip().lower() in _IDS
    }


def write_predictions(
    path: Path,
    calibrator: runtime.ExportedCalibrator,
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


def predictions(
    calibrator: runtime.ExportedCalibrator, logits: Floats, features: Floats | None = None
) -> dict[str, Any]:
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
    calibrator: runtime.ExportedCalibrator, logits: Floats, features: Floats | None, more: Sequence[str]
) -> dict[str, Any]:
    """``actions`` (n,) where "decision" is wanted, and ``sets`` (n, n_classes) where "sets" are."""
    decided: dict[str, Any] = {}
    if DECISION in more:
        decided["actions"] = calibrator.decide_logits(logits, calibrator.to_features(features))
    if SETS in more:
        decided["sets"] = calibrator.sets_of_logits(logits)
    return decided


def _named(calibrator: runtime.ExportedCalibrator, decided: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
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


def _only_key(path: Path, arrays: dict[str, np.ndarray]) -> str:
    floats = [name for name, array in arrays.items() if array.dtype.kind == "f" and name not in _INPUTS]
    if len(floats) == 1:
        return floats[0]
    raise CalibrationError(f"{path.name} holds {', '.join(arrays) or 'nothing'}; name the outputs with --key.")


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Names of the columns and the rows of a ``.csv``, which may have no header."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        raise CalibrationError(f"{path.name} is empty.")
    try:
        [float(cell) for cell in rows[0]]
        header: list[str] = []
    except ValueError:
        header, rows = rows[0], rows[1:]
    return header or [f"column {i}" for i in range(len(rows[0]))], rows


def _read_csv(path: Path) -> tuple[list[str], Floats]:
    """Names and numbers of the columns that are outputs."""
    columns, rows = _table(path)
    kept = [i for i, name in enumerate(columns) if name.strip().lower() not in _NOT_OUTPUTS | _NOT_CONFIDENCE]
    try:
        numbers = np.array([[float(row[i]) for i in kept] for row in rows]).reshape(len(rows), len(kept))
    except (ValueError, IndexError) as error:
        raise CalibrationError(
            f"{path.name} holds a cell that is not a number or a row that is too short: {error}."
        ) from None
    return [columns[i].strip() for i in kept], numbers


if __name__ == "__main__":
    raise SystemExit(main())
