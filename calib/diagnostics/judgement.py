"""A fitted method judged on the test rows by the worker that fitted it: all that pages show of it first.

A judgement holds vectors of length n and smaller arrays, and no probabilities of all classes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from calib.base import Calibrator, Progress, groups_for
from calib.data.event import Event
from calib.data.predictions import Predictions
from calib.diagnostics.reliability import (
    ConsistencyBand,
    CorpCurve,
    DiagramParts,
    ReliabilityCurve,
    evaluation_diagram,
)
from calib.engine.specs import Fitted
from calib.engine.worker import fit_calibrator
from calib.evaluation import Evaluation
from calib.evaluation.evaluation import row_arrays
from calib.evaluation.score_registry import KINDS, Scored, scored_on
from calib.evaluation.view import PAIRS, TOP_LABEL, VIEWPOINTS, View, view_of
from calib.metrics.bootstrap import drawn_units
from calib.metrics.confidence import Bools
from calib.metrics.recalibration import Decomposition
from calib.numerics import MEMORY_ENTRIES, Floats, blocks

TEST = "test_"
"""Before the names of the test rows' arrays, which travel with those that a method is fitted on."""
ROWS = ("logits", "labels", "clusters", "weights")


@dataclass(frozen=True, eq=False)
class Judgement:
    """One calibrator on one test set.

    Attributes
    ----------
    evaluation : of the predicted class.
    resampled : its scores on the groups of rows that all methods of the test set share, by name of the view.
    diagrams : contents of the reliability diagram, by name of the view.
    predict_seconds : wall time of predicting and scoring the test rows.
    """

    evaluation: Evaluation
    resampled: dict[str, Scored]
    diagrams: dict[str, DiagramParts]
    predict_seconds: float


def judge(fitted: Calibrator, test: Predictions) -> Judgement:
    """Predict and score the test rows, in each view that they have."""
    start = time.perf_counter()
    evaluation = Evaluation.from_predictions(fitted, test, "top-label")
    seconds = time.perf_counter() - start
    views = views_of(test)
    seen = {view.name: evaluation.seen(view) for view in views}
    return Judgement(
        evaluation,
        {name: scored_on(evaluation) for name, evaluation in seen.items()},
        {name: evaluation_diagram(evaluation) for name, evaluation in seen.items()},
        seconds,
    )


def views_of(data: Predictions) -> list[View]:
    """Views that a data set has: one, or of two classes with an event also that of the event."""
    return list(
        {view.name: view for view in (view_of(data, point) for point in VIEWPOINTS)}.values()
    )


def arrays_to_judge(test: Predictions, fitted: Calibrator | None = None) -> dict[str, Any]:
    """The arrays that a worker judges on, by name; :func:`rows_to_judge` puts them together again.

    Parameters
    ----------
    fitted : what predicts: where it does so from features or groups too, these go with them.
    """
    names = (*ROWS, "features") if fitted is not None and "features" in fitted.needs else ROWS
    arrays = {
        f"{TEST}{name}": array for name in names if (array := getattr(test, name)) is not None
    }
    if (groups := groups_for(fitted, test)) is not None:
        arrays[f"{TEST}groups"] = groups
        arrays[f"{TEST}column"] = np.array(fitted.group_column if fitted is not None else "")
    if test.event is not None:
        arrays[f"{TEST}event"] = np.array(test.event.column)
    if test.floor is not None:
        arrays[f"{TEST}floor"] = np.array(test.floor)
    return arrays | {
        f"{TEST}kind": np.array(test.kind),
        f"{TEST}weight_kind": np.array(test.weight_kind or ""),
    }


def rows_to_judge(data: Mapping[str, Any]) -> Predictions | None:
    """The data set of :func:`arrays_to_judge`, in a worker; None where there is none among the arrays."""
    arrays = {
        name.removeprefix(TEST): array for name, array in data.items() if name.startswith(TEST)
    }
    if not arrays:
        return None
    column = arrays.pop("event", None)
    kind = str(arrays.pop("kind"))
    weight_kind = str(arrays.pop("weight_kind"))
    floor = float(arrays.pop("floor")) if "floor" in arrays else None
    names = tuple(map(str, range(arrays["logits"].shape[1])))
    if group_column := str(arrays.pop("column", "")):
        arrays["metadata"] = {group_column: arrays.pop("groups")}
    event = None if column is None else Event(int(column), names[int(column)], "")
    about: dict[str, Any] = {
        "kind": kind,
        "floor": floor,
        "weight_kind": weight_kind or None,
        "event": event,
    }
    return Predictions(**arrays, **about, class_names=names, sha256="in a worker")


def fit_method_and_judge(
    method: str, params: Mapping[str, Any], *, data: Mapping[str, Any], callback: Progress
) -> Fitted:
    """Fit a registered method, and judge it where there are test rows among the arrays."""
    rows = {name: array for name, array in data.items() if not name.startswith(TEST)}
    wall = time.perf_counter()
    cpu = time.process_time()
    fitted = fit_calibrator(method, params, data=rows, callback=callback)
    seconds = time.perf_counter() - wall
    cpu_seconds = time.process_time() - cpu
    return Fitted(fitted, judge_fitted(fitted, data=data), seconds, cpu_seconds)


def judge_fitted(fitted: Calibrator, *, data: Mapping[str, Any]) -> Judgement | None:
    """:func:`judge` on the test rows among a worker's arrays; None where there are none."""
    test = rows_to_judge(data)
    return None if test is None else judge(fitted, test)


def both_parts(calibration: Predictions, test: Predictions) -> dict[str, Any]:
    """The arrays of :func:`raw_on_all_rows`, by name."""
    return {
        f"{name}{key}": array
        for name, part in (("", calibration), (TEST, test))
        for key, array in {
            "logits": part.logits,
            "labels": part.labels,
            **row_arrays(part),
            "weight_kind": None if part.weight_kind is None else np.array(part.weight_kind),
        }.items()
        if array is not None
    }


def raw_on_all_rows(raw: Calibrator, *, data: Mapping[str, Any]) -> Evaluation:
    """The raw model on the rows of both parts, those of the calibration part first, without the class-wise ECE."""
    first, second = (
        Evaluation.from_calibrator(raw, data[f"{part}logits"], data[f"{part}labels"])
        for part in ("", TEST)
    )
    both: dict[str, Any] = {
        name: None
        if getattr(first, name) is None
        else np.concatenate([getattr(first, name), getattr(second, name)])
        for name in (
            "confidence",
            "correct",
            "predicted",
            "labels",
            "rest",
            "row_nll",
            "row_brier",
            "top5",
        )
    }
    n_clipped = first.n_clipped + second.n_clipped
    clusters, weights = (
        np.concatenate([data[name], data[f"{TEST}{name}"]]) if name in data else None
        for name in ("clusters", "weights")
    )
    unit, _, clustered = drawn_units(len(both["labels"]), clusters)
    both |= {
        "clusters": unit if clustered else None,
        "weights": weights,
        "weight_kind": str(data["weight_kind"]) if "weight_kind" in data else None,
    }
    return replace(first, **both, n_clipped=n_clipped, row_classwise=None)


def class_pair(fitted: Calibrator, target: int, *, data: Mapping[str, Any]) -> tuple[Floats, Bools]:
    """(n,) probabilities of one class of the test rows among a worker's arrays, and whether it is their class."""
    test = rows_to_judge(data)
    assert test is not None
    predicted = np.empty(len(test))
    groups = groups_for(fitted, test)
    for rows in blocks(len(test), test.n_classes, MEMORY_ENTRIES):
        inside = None if groups is None else groups[rows]
        predicted[rows] = fitted.probs_from_logits(test.logits[rows], inside)[:, target]
    return predicted, test.labels == target


def state_of(judgement: Judgement) -> dict[str, Any]:
    """A judgement as nested dicts of arrays, numbers and texts; undone by :func:`from_state`."""
    return {
        "evaluation": _fields(judgement.evaluation) | {"view": judgement.evaluation.view.name},
        "resampled": {view: _scored_state(scored) for view, scored in judgement.resampled.items()},
        "diagrams": {view: _diagram_state(diagram) for view, diagram in judgement.diagrams.items()},
        "predict_seconds": judgement.predict_seconds,
    }


def from_state(state: Mapping[str, Any]) -> Judgement:
    """The judgement of a state; KeyError or TypeError for what is none."""
    view = {view.name: view for view in (TOP_LABEL, PAIRS)}[state["evaluation"]["view"]]
    return Judgement(
        Evaluation(**{**state["evaluation"], "view": view}),
        {view: _scored_from_state(scored) for view, scored in state["resampled"].items()},
        {view: _diagram_from_state(diagram) for view, diagram in state["diagrams"].items()},
        state["predict_seconds"],
    )


def _fields(record: Any) -> dict[str, Any]:
    """The fields of a dataclass, without what it has computed of them since."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _diagram_state(parts: DiagramParts) -> dict[str, Any]:
    line = _fields(parts.line) | {"parts": _fields(parts.line.parts)}
    return _fields(parts) | {
        "curve": _fields(parts.curve),
        "band": _fields(parts.band),
        "line": line,
    }


def _diagram_from_state(state: Mapping[str, Any]) -> DiagramParts:
    line = state["line"]
    nested = {
        "curve": ReliabilityCurve(**state["curve"]),
        "band": ConsistencyBand(**state["band"]),
        "line": CorpCurve(**{**line, "parts": Decomposition(**line["parts"])}),
    }
    return DiagramParts(**{**state, **nested})


def _scored_state(scored: Scored) -> dict[str, Any]:
    named = {key: (type(score).__name__, _fields(score)) for key, score in scored.scores.items()}
    return _fields(scored) | {
        "scores": {key: {kind: state} for key, (kind, state) in named.items()}
    }


def _scored_from_state(state: Mapping[str, Any]) -> Scored:
    named = {key: next(iter(score.items())) for key, score in state["scores"].items()}
    scores = {key: KINDS[kind](**fields) for key, (kind, fields) in named.items()}
    return Scored(**{**state, "scores": scores})
