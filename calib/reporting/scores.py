"""Scores in a report: all methods by the main scores, and every score with its intervals and differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from calib.evaluation import SCORES
from calib.evaluation.classwise import CLASSWISE
from calib.evaluation.verdict import best_methods
from calib.formatting import number, signed
from calib.plots.compare import score_dots
from calib.plots.style import Style
from calib.reporting.markup import Markup, element
from calib.reporting.svg import figure_svg

if TYPE_CHECKING:
    import pandas as pd

MAIN = ("NLL", "Brier", "accuracy", "ECE", "ECE equal mass", CLASSWISE, "overconfidence", "underconfidence")
"""Scores of the first table; all others follow further down."""
_MARKS = {"better": " ✓", "worse": " ✗"}
_WIDTH = 380


def overview(table: pd.DataFrame) -> Markup:
    """Methods by the main scores: value, interval, the best, and what differs from the raw model beyond chance."""
    keys = [key for key in MAIN if key in set(table["score"])]
    head = element(
        "tr", element("th", "method", scope="col"), *(element("th", SCORES[key].title, scope="col") for key in keys)
    )
    best = {key: best_methods(table, key) for key in keys}
    rows = []
    for _, mine in table.groupby("method", sort=False):
        cells = [_overview_cell(mine[mine["score"] == key].iloc[0], best[key]) for key in keys]
        failed = element("div", mine["note"].iloc[0], class_="note") if mine["value"].isna().all() else None
        rows.append(element("tr", element("th", mine["title"].iloc[0], failed, scope="row"), *cells))
    return _table(head, rows, "overview")


def score_section(table: pd.DataFrame, key: str, styles: Mapping[str, Style]) -> Markup:
    """One score of all methods: a picture, and a table with the paired differences to the raw model and the best."""
    score, rows = SCORES[key], table[table["score"] == key]
    ranked, best = score.better != "neither", best_methods(table, key)
    titles = ["method", "value", "against the raw model", *(["against the best"] if ranked else [])]
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    lines = []
    for place, row in enumerate(rows.to_dict("records")):
        cells = [_cell(number, row["value"], row["low"], row["high"], row["method"] in best)]
        cells.append(
            _reference() if not place else _difference(row, "difference", _MARKS.get(row["beyond_chance"], ""))
        )
        if ranked:
            cells.append(_reference() if row["to_best"] == 0 else _difference(row, "to_best"))
        note = element("div", row["note"], class_="note") if row["note"] else None
        lines.append(element("tr", element("th", row["title"], note, scope="row"), *cells))
    figure = figure_svg(score_dots(table, key, styles), _WIDTH)
    return element(
        "section",
        element("h3", score.title),
        element("p", score.meaning, class_="meaning"),
        element("div", figure, _table(head, lines, f"score-{key}"), class_="beside"),
        class_="score",
    )


def _table(head: Markup, rows: list[Markup], name: str) -> Markup:
    body = element("tbody", *rows)
    return element("div", element("table", element("thead", head), body, id=name.replace(" ", "-")), class_="wide")


def _overview_cell(row: pd.Series, best: frozenset[str]) -> Markup:
    mark = _MARKS.get(row["beyond_chance"], "")
    return _cell(number, row["value"], row["low"], row["high"], row["method"] in best, mark)


def _difference(row: Mapping[Any, Any], name: str, mark: str = "") -> Markup:
    return _cell(signed, row[name], row[f"{name}_low"], row[f"{name}_high"], mark=mark)


def _cell(
    write: Callable[[float], str], value: float, low: float, high: float, best: bool = False, mark: str = ""
) -> Markup:
    if value != value:
        return element("td", "–")
    interval = element("span", f"[{write(low)}, {write(high)}]", class_="interval")
    star = element("b", " ★") if best else None
    return element("td", f"{write(value)}", star, mark, " ", interval, class_="best" if best else None)


def _reference() -> Markup:
    return element("td", "reference", class_="faint")
