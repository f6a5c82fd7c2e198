"""Methods by scores as rows of cells, which pages, the report and the command line each draw in their own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calib.formatting import brackets, number
from calib.metrics.bootstrap import Interval

if TYPE_CHECKING:
    import pandas as pd

NEGLIGIBLE = 1e-9
"""Differences below this are rounding, whatever their interval."""
MARKS = {"best": "★", "better": "✓", "worse": "✗"}
"""Behind a value: the best of its score, and what differs from the raw model beyond what chance explains."""


@dataclass(frozen=True)
class ScoreCell:
    """One score of one method.

    Attributes
    ----------
    value : with its interval; NaN where the method has no such score.
    sd : standard deviation over splits, NaN where there is one split only.
    difference, to_best : to the raw model, and to the best method of the score.
    is_best : whether it shares the best value.
    beyond_chance : "better" or "worse" than the raw model; "" where chance could explain the difference.
    note : why there is no value.
    """

    value: Interval
    sd: float
    difference: Interval
    to_best: Interval
    is_best: bool
    beyond_chance: str
    note: str

    @property
    def marks(self) -> list[str]:
        """Those keys of ``MARKS`` that hold."""
        return [*(["best"] if self.is_best else []), *([self.beyond_chance] if self.beyond_chance else [])]

    def text(
        self,
        write: Callable[[float], str] = number,
        marks: Mapping[str, str] = MARKS,
        intervals: bool = True,
        spread: bool = False,
    ) -> str:
        """The cell as plain text: value, standard deviation, interval and marks.

        Parameters
        ----------
        write : how a number is written.
        marks : what stands for each mark; those that are not there are left out.
        intervals, spread : whether to write the interval, and the standard deviation over splits.
        """
        value, low, high = self.value
        parts = [write(value)]
        if spread and self.sd == self.sd:
            parts.append(f"± {number(self.sd, 2)}")
        if intervals and value == value:
            parts.append(brackets(low, high, write))
        return " ".join([*parts, *(marks[mark] for mark in self.marks if mark in marks)])


@dataclass(frozen=True)
class ScoreRow:
    """All scores of one method.

    Attributes
    ----------
    method, title : its name in the table, and how it is called.
    cells : by score.
    fit_seconds : NaN where nothing was measured.
    failed : why it has no score at all; "" where it has some.
    """

    method: str
    title: str
    cells: Mapping[str, ScoreCell]
    fit_seconds: float
    failed: str


def score_rows(table: pd.DataFrame, keys: Sequence[str]) -> list[ScoreRow]:
    """A row for each method with a cell for each score.

    Parameters
    ----------
    table : as from :func:`calib.compare` or :func:`calib.evaluation.repeated_splits.summarise_splits`.
    keys : scores to take, each of which the table has.
    """
    best = {key: best_methods(table, key) for key in keys}
    rows = []
    for name, of_method in table.groupby("method", sort=False):
        records = {record["score"]: record for record in of_method.to_dict("records")}
        first = next(iter(records.values()))
        cells = {key: _cell(records[key], name in best[key]) for key in keys}
        failed = first["note"] if of_method["value"].isna().all() else ""
        rows.append(ScoreRow(str(name), first["title"], cells, first["fit_seconds"], failed))
    return rows


def best_methods(table: pd.DataFrame, score: str) -> frozenset[str]:
    """Names of the methods that share the best value of one score, which tables mark.

    Nothing is best where all are equal, where less of the score is not better in itself, or where the rows hold too few
    wrong or right predictions to rank by.

    Parameters
    ----------
    table : as from :func:`calib.compare` or :func:`calib.evaluation.repeated_splits.summarise_splits`.
    score : a key of ``calib.evaluation.SCORES``.
    """
    rows = table[(table["score"] == score) & table["value"].notna()]
    better = rows["better"].iloc[0] if len(rows) else "neither"
    if better == "neither":
        return frozenset()
    best = rows["value"].min() if better == "lower" else rows["value"].max()
    shared = (rows["value"] - best).abs() < NEGLIGIBLE
    if shared.all() or ("too_few" in rows and rows.loc[shared, "too_few"].fillna("").ne("").any()):
        return frozenset()
    return frozenset(rows.loc[shared, "method"])


def _cell(record: Mapping[Any, Any], is_best: bool) -> ScoreCell:
    def interval(value: str, low: str, high: str) -> Interval:
        return Interval(record[value], record[low], record[high])

    return ScoreCell(
        value=interval("value", "low", "high"),
        sd=record.get("sd", float("nan")),
        difference=interval("difference", "difference_low", "difference_high"),
        to_best=interval("to_best", "to_best_low", "to_best_high"),
        is_best=is_best,
        beyond_chance=record["beyond_chance"],
        note=record["note"],
    )
