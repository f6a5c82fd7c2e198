"""A comparison to be read: as cells that pages and the report draw, as plain text, and as a verdict in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calib.evaluation.claims import NEGLIGIBLE
from calib.evaluation.recommendation import Recommendation
from calib.evaluation.score_definitions import EVENT_RATE, RANKING, RARE, SCORES
from calib.formatting import aligned, brackets, fixed, listed, number, round_percent
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
    legend = "* best value; brackets hold 95 % intervals."
    paragraphs = verdict_paragraphs(table, recommendation, judged)
    return "\n".join([*aligned(lines), "", legend, *notes, "", *paragraphs])


def verdict_paragraphs(
    table: pd.DataFrame, recommendation: Recommendation | None = None, judged: str = "on this test set"
) -> list[str]:
    """What to take, or the verdict by NLL; and the verdict by ECE where not all methods have an NLL."""
    titles = dict(zip(table["method"], table["title"], strict=True))
    first = " ".join(recommendation.sentences(titles.__getitem__)) if recommendation else verdict(table, "NLL", judged)
    return [first, *([verdict(table, "ECE", judged)] if table["confidence_only"].any() else [])]


def verdict(table: pd.DataFrame, score: str = "NLL", judged: str = "on this test set", level: float = 0.95) -> str:
    """Which method is best on one score, how it and the others stand, and how many rows would decide what is undecided.

    Parameters
    ----------
    table : as from :func:`calib.compare`; its first method is the raw model.
    score : a key of ``calib.evaluation.SCORES``.
    judged : on what the methods were, as the end of a sentence.
    level : coverage of the intervals of ``table``.

    Returns
    -------
    str
        One to five sentences.
    """
    rows = table[(table["score"] == score) & table["value"].notna()].fillna({"too_few": ""})
    name = SCORES[score].title
    if not len(rows):
        return f"No method has a value of {name} here."
    records: list[dict[str, Any]] = [dict(zip(rows.columns, row, strict=True)) for row in rows.itertuples(index=False)]
    sentences = [_verdict(records, table["method"].iloc[0], score, judged, level), _without(table, score, name)]
    return " ".join(filter(None, sentences))


def _verdict(records: list[dict[str, Any]], baseline: str, score: str, judged: str, level: float) -> str:
    """On the methods that have the score."""
    name = SCORES[score].title
    if len(records) == 1:
        only = records[0]
        return f"{only['title']} has {_a(name)} {name} of {number(only['value'])}; there is nothing to compare it with."
    if SCORES[score].better == "neither":
        low, high = min(records, key=_value), max(records, key=_value)
        return (
            f"{name} runs from {number(low['value'])} ({low['title']}) to {number(high['value'])} ({high['title']}); "
            "less of it is not better in itself."
        )
    best = next(row for row in records if row["to_best"] == 0 and row["value"] == _best_value(records))
    raw = next((row for row in records if row["method"] == baseline), None)
    if best.get("too_few"):
        return f"{_leading(best, name)}, but {best['too_few']}: these rows cannot rank methods."
    if not SCORES[score].claims:
        return f"{_leading(best, name)}{_chance(best)}. {name} ranks no methods: chance makes too large differences."
    sentences = [_leader(best, raw, name, level)]
    others = [row for row in records if row is not best and row is not raw]
    titles = {
        word: [row["title"] for row in others if row["to_best_verdict"] == word]
        for word in ("equivalent", "undecided", "worse")
    }
    if titles["equivalent"]:
        sentences.append(f"Equivalent to it within {best['relevant']:g}: {listed(titles['equivalent'])}.")
    if titles["undecided"]:
        sentences.append(f"Undecided against it {judged}: {listed(titles['undecided'])}.")
    if titles["worse"]:
        sentences.append(f"Worse: {listed(titles['worse'])}.")
    if raw is not None and raw is not best and raw["to_best_verdict"] == "undecided":
        # The best may owe it to a few rows that others do without.
        shown = [row["title"] for row in others if row["verdict"] == "better"]
        if shown:
            sentences.append(f"Better than {raw['title']}: {listed(shown)}.")
    return " ".join(sentences)


def _without(table: pd.DataFrame, score: str, name: str) -> str:
    """The methods that have no such score, since they give a confidence only."""
    titles = list(table.loc[(table["score"] == score) & (table["confidence_only"]), "title"])
    if not titles:
        return ""
    one = len(titles) == 1
    return (
        f"{listed(titles)} {'gives' if one else 'give'} a confidence only and so {'has' if one else 'have'} no {name}; "
        "compare by a calibration error."
    )


def _leader(best: dict[str, Any], raw: dict[str, Any] | None, name: str, level: float) -> str:
    if raw is best:
        return f"No method improves on {_leading(best, name, ', which')}."
    start = _leading(best, name)
    if raw is None:
        return f"{start}."
    low, high = sorted(abs(raw[side]) for side in ("to_best_low", "to_best_high"))
    word = raw["to_best_verdict"]
    if word == "equivalent":
        return (
            f"{start}, equivalent to {raw['title']} ({number(raw['value'])}): they differ by "
            f"{number(abs(raw['to_best']))}, and less than {raw['relevant']:g} does not matter."
        )
    if word == "undecided":
        needed = best["rows_needed"]
        rows = "" if needed != needed else f"; about {needed:,.0f} rows would decide"
        return f"{start}; whether it is better than {raw['title']} ({number(raw['value'])}) is undecided{rows}."
    return (
        f"{start}, better than {raw['title']} ({number(raw['value'])}) by {number(abs(raw['to_best']))} "
        f"{brackets(low, high)}, with {round_percent(level)} for all comparisons together."
    )


def _chance(row: dict[str, Any]) -> str:
    """What a calibrated model of the same confidences would show, after a value."""
    chance = row.get("chance", float("nan"))
    return "" if chance != chance else f" (a calibrated model of its confidences would have {number(chance)})"


def _leading(best: dict[str, Any], name: str, joint: str = "") -> str:
    word = "lowest" if best["better"] == "lower" else "highest"
    return f"{best['title']}{joint} has the {word} {name}, {number(best['value'])}"


def _best_value(records: list[dict[str, Any]]) -> float:
    return (min if records[0]["better"] == "lower" else max)(map(_value, records))


def _value(row: dict[str, Any]) -> float:
    return row["value"]


def _a(name: str) -> str:
    """The article before a spoken name: an NLL, an ECE, an MCE, a Brier score."""
    return "an" if name.startswith(("NLL", "ECE", "MCE", "A", "O", "U")) else "a"
