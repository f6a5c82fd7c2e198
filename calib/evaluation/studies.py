"""Studies that fit many times, as workers run them: called with plain settings and arrays, methods by registry name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calib.base import Calibrator, Progress
from calib.data.event import Event
from calib.data.predictions import Predictions
from calib.evaluation.learning_curve import COLUMNS, size_curve
from calib.evaluation.repeated_splits import repeated_splits
from calib.registry import calibrator

if TYPE_CHECKING:
    import pandas as pd


Methods = Sequence[tuple[str, str, Mapping[str, Any]]]
"""(name in tables, registry name, parameters) of each method."""

ARRAYS = ("given_split", "features", "train_features", "train_labels", "clusters", "weights")
"""What of a data set a study is given beside logits and labels, where it holds them."""


def pool_arrays(data: Predictions) -> dict[str, Any]:
    """The arrays beyond logits and labels that go to a worker."""
    return {name: array for name in ARRAYS if (array := getattr(data, name)) is not None}


def repeat_task(
    methods: Methods,
    part: int,
    n_repeats: int,
    random_state: int,
    event: int | None = None,
    *,
    data: Mapping[str, Any],
    callback: Progress,
) -> pd.DataFrame:
    """:func:`repeated_splits` on ``data``: ``logits``, ``labels`` and what :func:`pool_arrays` gives.

    ``event`` is the column of the event where its probability is looked at.
    """
    made, rows = _made(methods, data, event)
    return repeated_splits(made, rows, part, n_repeats=n_repeats, random_state=random_state, callback=callback)


def size_task(
    methods: Methods,
    part: float | None,
    split_seed: int,
    n_draws: int,
    random_state: int,
    event: int | None = None,
    *,
    data: Mapping[str, Any],
    callback: Progress,
) -> pd.DataFrame:
    """:func:`size_curve` on the split of ``data`` that ``Predictions.split(part, split_seed)`` gives."""
    made, rows = _made(methods, data, event)
    parts = rows.split(part, random_state=split_seed)
    return size_curve(made, *parts, n_draws=n_draws, random_state=random_state, callback=callback)


def _made(methods: Methods, data: Mapping[str, Any], event: int | None) -> tuple[dict[str, Calibrator], Predictions]:
    names = tuple(map(str, range(data["logits"].shape[1])))
    # The hash keys caches, of which a worker has none; without one, every split would hash the arrays.
    looked_at = None if event is None else Event(event, names[event], "")
    rows = Predictions(**data, class_names=names, sha256="in a worker", event=looked_at)
    return {name: calibrator(method, **params) for name, method, params in methods}, rows


SPLITS, SIZES = "splits", "sizes"


@dataclass(frozen=True)
class StudyKind:
    """A study as workers run it, and the columns of the table that it gives.

    A stored table with other columns is of another version, and nothing that pages could show.
    """

    function: Callable[..., Any]
    columns: tuple[str, ...]


_OF_SPLITS = ("method", "title", "split", "n_calibration", "n_test", "score", "score_title", "value")
STUDIES = {
    SPLITS: StudyKind(repeat_task, (*_OF_SPLITS, "fit_seconds", "note", "confidence_only")),
    SIZES: StudyKind(size_task, COLUMNS),
}
