"""A comparison to be read: as cells that pages and the report draw, as plain text, and as a verdict in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calib.evaluation.claims import NEGLIGIBLE
from calib.evaluation.recommendation import Recommendation
from calib.evaluation.score_definitions import EVENT_RATE, RANKING, RARE, SCORES
from calib.formatting import aligned, brackets, fixed, listed, number
from calib.metrics.bootstrap import Interval

if TYPE_CHECKING:
    import pandas as pd

MARKS = {"best": "★", "better": "✓", "worse": "✗", "equivalent": "≈"}
"""Behind a value: the best of its score, and what is shown of its difference from the raw model."""
MARKS_SAID = "★ best value; against the raw model ✓ better, ✗ worse, ≈ equivalent; no mark where it is undecided"
SHOWN = ("NLL", "Brier", "ECE", "accuracy")
"""The scores of plain-text tables."""
CONFIDENCE_ONLY = "gives a confidence only"
"""The note of scores that need the probabilities of all classes, for methods that do not give them."""


@dataclass(frozen=True)
class ScoreCell:
    """One score of one method.

    Attributes
    ----------
    value : with its interval; NaN where the method has no such score.
    sd : standard deviation over splits, NaN where there is one split only.
    difference, to_best : to the raw model, and to the best method of the score.
    is_best : whether it shares the best value.
    verdict : "better" or "worse" than the raw model, "equivalent" to it, or "undecided"; "" where nothing is claimed.
    note : why there is no value.
    """

    value: Interval
    sd: float
    difference: Interval
    to_best: Interval
    is_best: bool
    verdict: str
    note: str

    @property
    def marks(self) -> list[str]:
        """Those keys of ``MARKS`` that hold."""
        return [*(["best"] if self.is_best else []), *([self.verdict] if self.verdict in MARKS else [])]

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
        verdict=record["verdict"],
        note=record["note"],
    )


def first_scores(table: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Those of the scores that a table has; AUROC and average precision in place of the accuracy of a rare event."""
    rate = table.loc[table["score"] == EVENT_RATE, "value"]
    if len(rate) and rate.iloc[0] < RARE:
        wanted = [each for key in wanted for each in (RANKING if key == "accuracy" else (key,))]
    return [key for key in wanted if key in set(table["score"])]


def summary(table: pd.DataFrame, judged: str = "on this test set", recommendation: Recommendation | None = None) -> str:
    """Methods by scores with intervals in plain text, ``*`` at the best of a score, and what to take below."""
    keys = first_scores(table, SHOWN)
    rows = score_rows(table, keys)
    lines = [["", *(SCORES[key].title for key in keys), "fit"]]
    for row in rows:
        cells = (cell.text(fixed, {"best": "*"}) for cell in row.cells.values())
        lines.append([row.title, *cells, f"{row.fit_seconds:.2f} s" if row.fit_seconds == row.fit_seconds else "-"])
    notes = [f"{row.title}: {row.failed}" for row in rows if row.failed]
    starred = any(cell.is_best for row in rows for cell in row.cells.values())
    legend = f"{'* best value; b' if starred else 'B'}rackets hold 95 % intervals."
    paragraphs = verdict_paragraphs(table, recommendation, judged)
    return "\n".join([*aligned(lines), "", legend, *notes, "", *paragraphs])


def verdict_paragraphs(
    table: pd.DataFrame, recommendation: Recommendation | None = None, judged: str = "on this test set"
) -> list[str]:
    """What to take, or the verdict by NLL; and the verdict by ECE where not all methods have an NLL."""
    titles = dict(zip(table["method"], table["title"], strict=True))
    first = " ".join(recommendation.sentences(titles.__getitem__)) if recommendation else verdict(table, "NLL", judged)
    return [first, *([verdict(table, "ECE", judged)] if table["confidence_only"].any() else [])]


def verdict(table: pd.DataFrame, score: str = "NLL", judged: str = "on this test set") -> str:
    """Which method is best on one score, and how each stands against the raw model, in the four words of a claim.

    Parameters
    ----------
    table : as from :func:`calib.compare`; its first method is the raw model.
    score : a key of ``calib.evaluation.SCORES``.
    judged : on what the methods were.
    """
    rows = table[(table["score"] == score) & table["value"].notna()].fillna({"too_few": ""})
    name, better = SCORES[score].title, SCORES[score].better
    if not len(rows):
        return f"No method has a value of {name} here."
    records: list[dict[str, Any]] = [dict(zip(rows.columns, row, strict=True)) for row in rows.itertuples(index=False)]
    said = " ".join(filter(None, [_standing(records, table["method"].iloc[0], score, judged), _without(table, score)]))
    if len(records) == 1:
        return f"{records[0]['title']} is alone with a value of {name}, {number(records[0]['value'])}. {said}".rstrip()
    if better == "neither":
        low, high = min(records, key=_value), max(records, key=_value)
        return (
            f"{name} runs from {number(low['value'])} ({low['title']}) to {number(high['value'])} ({high['title']}); "
            "less of it is not better in itself."
        )
    best = (min if better == "lower" else max)(records, key=_value)
    lead = f"{best['title']} has the {'lowest' if better == 'lower' else 'highest'} {name}, {number(best['value'])}"
    if best.get("too_few"):
        return f"{lead}, but {best['too_few']}: these rows cannot rank methods."
    if not SCORES[score].claims:
        return f"{lead}. {name} ranks no methods: chance makes too large differences."
    return f"{lead}. {said}"


def _standing(records: list[dict[str, Any]], baseline: str, score: str, judged: str) -> str:
    """Who is better than the raw model, equivalent to it, undecided or worse."""
    raw = next((row for row in records if row["method"] == baseline), None)
    if raw is None or len(records) == 1:
        return ""
    named: dict[str, list[str]] = {word: [] for word in ("better", "equivalent", "undecided", "worse")}
    for row in records:
        if row is not raw and row["verdict"] in named:
            needed = row["rows_needed"]
            rows = f" (about {needed:,.0f} rows would decide)" if needed == needed else ""
            named[row["verdict"]].append(row["title"] + rows)
    groups = [f"{word} {listed(titles)}" for word, titles in named.items() if titles]
    return f"Against {raw['title']} ({number(raw['value'])}) {judged}: {'; '.join(groups)}."


def _without(table: pd.DataFrame, score: str) -> str:
    """The methods that have no such score, since they give a confidence only."""
    titles = list(table.loc[(table["score"] == score) & (table["confidence_only"]), "title"])
    if not titles:
        return ""
    gives, have = ("gives", "has") if len(titles) == 1 else ("give", "have")
    name = SCORES[score].title
    return f"{listed(titles)} {gives} a confidence only and so {have} no {name}; compare by a calibration error."


def _value(row: dict[str, Any]) -> float:
    return row["value"]
