"""Files of what a calibrator says of rows: calibrated probabilities, the predicted class, and what names each row."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from calib.base import Progress, silent
from calib.data.findings import listed
from calib.errors import CalibrationError
from calib.export import predict
from calib.export.runtime import ExportedCalibrator
from calib.formatting import plural
from calib.numerics import Floats, Ints
from calib.records import npz_of


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to calibrate: canonical logits, and labels, features, weights, identifiers and groups where they are known.

    Without identifiers rows are numbered from 1 in tables.
    """

    logits: Floats
    labels: Ints | None = None
    features: Any = None
    weights: Floats | None = None
    ids: Mapping[str, Any] = field(default_factory=dict)
    groups: Any = None

    @property
    def known(self) -> dict[str, Any]:
        """Label and weight, where they are known."""
        both = {"label": self.labels, "weight": self.weights}
        return {name: np.asarray(column) for name, column in both.items() if column is not None}


def unseen_groups(exported: ExportedCalibrator, rows: Rows) -> str:
    """Sentence on rows of groups that the fit did not have; "" without such rows."""
    by_group = exported.calibrator.departures()
    if by_group is None or rows.groups is None:
        return ""
    unseen = np.asarray(rows.groups)[~np.isin(rows.groups, by_group["names"])]
    if not len(unseen):
        return ""
    return (
        f"{plural(len(unseen), 'row')} of {len(rows.groups):,} in groups that the fit did not have "
        f"({listed(np.unique(unseen).tolist())}) got the map that all groups share."
    )


def to_npz(*, data: Mapping[str, Any], callback: Progress = silent) -> bytes:
    """An npz of what a calibrator says, with labels and weights where they are known.

    Parameters
    ----------
    data : ``exported`` and ``rows``.
    """
    rows: Rows = data["rows"]
    predictions = data["exported"].answer(rows.logits, rows.features, groups=rows.groups)
    return npz_of(predictions | {f"{name}s": column for name, column in rows.known.items()})


def to_csv(*, data: Mapping[str, Any], callback: Progress = silent) -> str:
    """A line for each row: what names it, the classes by name, and label and weight where they are known.

    Parameters
    ----------
    data : ``exported`` and ``rows``.
    """
    return _table(data["exported"], data["rows"])


def _table(exported: ExportedCalibrator, rows: Rows, more: Sequence[str] = ()) -> str:
    """A csv in which no cell is a formula; a column that is called as one of the identifiers gets ``_`` behind it."""
    predictions = exported.answer(rows.logits, rows.features, more, rows.groups)
    if "probabilities" in predictions:
        del predictions["confidence"]
    actions = (
        {str(number): name for number, name in exported.action_names.items()}
        if "actions" in predictions
        else None
    )
    columns = (
        predict.as_columns({"class_names": exported.class_names, "actions": actions}, predictions)
        | rows.known
    )
    ids = dict(rows.ids) or {"row": range(1, len(rows.logits) + 1)}
    file = io.StringIO(newline="")
    predict.write_table(file, list(ids), zip(*ids.values(), strict=True), columns)
    return file.getvalue()


# -- on the command line -----------------------------------------------------------------------------------------------


def write_predictions(
    path: Path, exported: ExportedCalibrator, rows: Rows, more: Sequence[str] = ()
) -> None:
    """Write what the calibrator says of some rows, in the format the suffix names.

    Parameters
    ----------
    rows : with features, where the method needs them.
    more : "actions" and "sets", where they are wanted too.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        path.write_text(_table(exported, rows, more), encoding="utf-8")
        return
    predictions = exported.answer(rows.logits, rows.features, more, rows.groups)
    if suffix == ".npz":
        np.savez(path, **predictions)
    elif suffix == ".npy" and len(more) < 2:
        np.save(
            path,
            predictions[more[0]]
            if more
            else predictions.get("probabilities", predictions["confidence"]),
        )
    else:
        raise CalibrationError(
            f"{path.name}: actions with sets are written to an .npz; others to .csv."
        )
