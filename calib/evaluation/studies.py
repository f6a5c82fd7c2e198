"""Studies that fit many times: as workers run them, as tables that can be kept, and side by side for several data sets.

A study is called with plain settings and arrays, its methods by registry name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calib.base import Calibrator, Progress
from calib.data.event import Event
from calib.data.predictions import Predictions
from calib.evaluation.learning_curve import size_curve
from calib.evaluation.repeated_splits import repeated_splits
from calib.registry import calibrator

if TYPE_CHECKING:
    import pandas as pd


Methods = Sequence[tuple[str, str, Mapping[str, Any]]]
"""(name in tables, registry name, parameters) of each method."""

ARRAYS = ("given_split", "features", "train_features", "train_labels", "clusters", "weights")
"""What of a data set a study is given beside logits and labels, where it holds them."""

LEVEL = 0.95
"""Coverage of the bands."""


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
    return repeated_splits(
        _made(methods),
        _predictions(data, event),
        part,
        n_repeats=n_repeats,
        random_state=random_state,
        callback=callback,
    )


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
    calibration, test = _predictions(data, event).split(part, random_state=split_seed)
    return size_curve(
        _made(methods),
        calibration,
        test,
        n_draws=n_draws,
        level=LEVEL,
        random_state=random_state,
        callback=callback,
    )


def _made(methods: Methods) -> dict[str, Calibrator]:
    return {name: calibrator(method, **params) for name, method, params in methods}


def _predictions(data: Mapping[str, Any], event: int | None) -> Predictions:
    names = tuple(map(str, range(data["logits"].shape[1])))
    # The hash keys caches, of which a worker has none; without one, every split would hash the arrays.
    looked_at = None if event is None else Event(event, names[event], "")
    return Predictions(**data, class_names=names, sha256="in a worker", event=looked_at)


SPLITS, SIZES = "splits", "sizes"


@dataclass(frozen=True)
class StudyKind:
    """A study as workers run it, and the columns of the table that it gives.

    A stored table with other columns is of another version, and nothing that pages could show.
    """

    function: Callable[..., Any]
    columns: tuple[str, ...]


STUDIES = {
    SPLITS: StudyKind(
        repeat_task,
        (
            *("method", "title", "split", "n_calibration", "n_test", "score", "value"),
            *("fit_seconds", "note", "confidence_only"),
        ),
    ),
    SIZES: StudyKind(
        size_task,
        (
            *("method", "title", "size", "n_draws", "value", "low", "high", "sd"),
            *("to_last", "to_last_low", "to_last_high", "score", "chosen", "note"),
        ),
    ),
}


COLUMNS = ("method", "title", "score", "value", "low", "high")


@dataclass(frozen=True, eq=False)
class Entry:
    """What is left of a comparison when its data are gone: a name and a small table.

    Attributes
    ----------
    name : how it is called.
    key : names the data and their split.
    n_rows : test rows that the scores are of.
    scores : a row for each method and score, with the columns ``COLUMNS``; method is a registry name.
    """

    name: str
    key: str
    n_rows: int
    scores: pd.DataFrame


def entry_of(name: str, key: str, n_rows: int, table: pd.DataFrame, methods: Mapping[str, str]) -> Entry:
    """Keep of a comparison what several entries are compared by.

    Parameters
    ----------
    table : from :func:`calib.evaluation.compare.compare_evaluations`.
    methods : registry name of each of its methods.
    """
    scores = table.assign(method=table["method"].map(methods))[list(COLUMNS)]
    return Entry(name, key, n_rows, scores.reset_index(drop=True))


def natural_order(names: Iterable[str]) -> list[str]:
    """Names in alphabetical order, with numbers in them by size: epoch 2 before epoch 10."""

    def parts(name: str) -> list[tuple[bool, int, str]]:
        # Each part says first whether it is a number, so that no number meets a word.
        return [
            (not part.isdecimal(), int(part) if part.isdecimal() else 0, part.casefold())
            for part in re.split(r"(\d+)", name)
            if part
        ]

    return sorted(names, key=parts)


def together(entries: Iterable[Entry], order: Iterable[str] | None = None) -> pd.DataFrame:
    """All entries in one table, with their names in the first column; in the order of names given, else their own."""
    import pandas as pd

    by_name = {entry.name: entry for entry in entries}
    names = list(order) if order is not None else list(by_name)
    tables = [by_name[name].scores.assign(entry=name, n_rows=by_name[name].n_rows) for name in names]
    if not tables:
        return pd.DataFrame(columns=["entry", "n_rows", *COLUMNS])
    table = pd.concat(tables, ignore_index=True)
    return table[["entry", "n_rows", *COLUMNS]]
