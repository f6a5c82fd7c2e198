"""A comparison to be read: as cells that pages and the report draw, as plain text, and as a verdict in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calib.evaluation.claims import NEGLIGIBLE
from calib.evaluation.describe import FREQUENCIES, Recommendation
from calib.evaluation.score_registry import EVENT_RATE, RANKING, RARE, SCORES
from calib.formatting import aligned, brackets, fixed, listed, number
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import effective_sample_size

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions

MARKS = {"best": "★", "better": "✓", "worse": "✗", "equivalent": "≈"}
"""Behind a value: the best of its score, and what is shown of its difference from the raw model."""
MARKS_SAID = "★ best value; against the raw model ✓ better, ✗ worse, ≈ equivalent; no mark where it is undecided"
SHOWN = ("NLL", "Brier", "ECE", "accuracy")
"""The scores of plain-text tables."""
CONFIDENCE_ONLY = "gives a confidence only"
"""The note of scores that need the probabilities of all classes, for methods that do not give them."""
REFERENCE = "reference"
"""Word in place of a verdict for the raw model, with which the others are compared."""


@dataclass(frozen=True)
class ScoreCell:
    """One score of one method.

    Attributes
    ----------
    value : with its interval; NaN where the method has no such score.
    sd : standard deviation over splits, NaN where there is one split only.
    is_best : whether it shares the best value.
    verdict : "better" or "worse" than the raw model, "equivalent" to it, or "undecided"; "" where nothing is claimed.
    """

    value: Interval
    sd: float
    is_best: bool
    verdict: str

    @property
    def marks(self) -> list[str]:
        """Keys of ``MARKS`` that hold."""
        return [
            *(["best"] if self.is_best else []),
            *([self.verdict] if self.verdict in MARKS else []),
        ]

    def text(
        self,
        write: Callable[[float], str] = number,
        marks: Mapping[str, str] = MARKS,
        spread: bool = False,
    ) -> str:
        """The cell as plain text: value, standard deviation, interval and marks.

        Parameters
        ----------
        write : how a number is written.
        marks : what stands for each mark; those that are not there are left out.
        spread : whether to write the standard deviation over splits.
        """
        value, low, high = self.value
        parts = [write(value)]
        if spread and self.sd == self.sd:
            parts.append(f"± {number(self.sd, 2)}")
        if value == value:
            parts.append(brackets(low, high, write))
        return " ".join([*parts, *(marks[mark] for mark in self.marks if mark in marks)])


@dataclass(frozen=True)
class ScoreRow:
    """Scores of one method.

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
    table : as from :func:`calib.compare` or :func:`calib.evaluation.studies.summarise_splits`.
    keys : scores to take, each of which the table has.
    """
    best = {key: best_methods(table, key) for key in keys}
    rows = []
    for name, of_method in table.groupby("method", sort=False):
        records = {record["score"]: record for record in of_method.to_dict("records")}
        first = next(iter(records.values()))
        cells = {}
        for key in keys:
            entry = records[key]
            value = Interval(entry["value"], entry["low"], entry["high"])
            cells[key] = ScoreCell(
                value, entry.get("sd", float("nan")), name in best[key], entry["verdict"]
            )
        failed = first["note"] if of_method["value"].isna().all() else ""
        rows.append(ScoreRow(str(name), first["title"], cells, first["fit_seconds"], failed))
    return rows


def best_methods(table: pd.DataFrame, score: str) -> frozenset[str]:
    """Names of the methods that share the best value of one score, which tables mark.

    Nothing is best where all are equal, where less of the score is not better in itself, or where the rows hold too few
    wrong or right predictions to rank by. Class frequencies are no method.
    """
    rows = _of_methods(table[(table["score"] == score) & table["value"].notna()])
    if SCORES[score].better == "neither" or not len(rows):
        return frozenset()
    best = rows["value"].min() if SCORES[score].better == "lower" else rows["value"].max()
    shared = (rows["value"] - best).abs() < NEGLIGIBLE
    if shared.all() or rows.loc[shared, "too_few"].ne("").any():
        return frozenset()
    return frozenset(rows.loc[shared, "method"])


def first_scores(table: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """Scores that a table shows first; AUROC and average precision in place of the accuracy of a rare event."""
    rate = table.loc[table["score"] == EVENT_RATE, "value"]
    if len(rate) and rate.iloc[0] < RARE:
        keys = [score for key in keys for score in (RANKING if key == "accuracy" else (key,))]
    return [key for key in keys if key in set(table["score"])]


@dataclass(frozen=True)
class Difference:
    """One score of one method, and its difference from the raw model.

    Attributes
    ----------
    method, title : its name in the table, and how it is called.
    value : NaN where the method has no such score.
    difference : with the interval that holds for all comparisons together; 0 of the raw model.
    verdict : as in ``ScoreCell``; "reference" of the raw model, "confidence only" of methods without the score.
    rows_needed : where the verdict is "undecided", about how many test rows would decide; NaN elsewhere.
    relevant : smallest relevant difference.
    """

    method: str
    title: str
    value: float
    difference: Interval
    verdict: str
    rows_needed: float
    relevant: float


def differences(table: pd.DataFrame, score: str) -> list[Difference]:
    """Differences of all methods by one score, from the best method to the worst; those without the score come last.

    Parameters
    ----------
    table : as from :func:`calib.compare`; its first method is the raw model, which comes first among equals.
    score : a key of ``calib.evaluation.SCORES``.
    """
    raw = table["method"].iloc[0]
    result = []
    rows = _of_methods(table[table["score"] == score])
    rows = rows.sort_values("value", kind="stable", ascending=SCORES[score].better != "higher")
    for row in rows.to_dict("records"):
        verdict = REFERENCE if row["method"] == raw else row["verdict"]
        if row["value"] != row["value"]:
            verdict = CONFIDENCE_ONLY.removeprefix("gives a ")
        difference = Interval(row["difference"], row["difference_low"], row["difference_high"])
        about = row["method"], row["title"], row["value"], difference, verdict
        result.append(Difference(*about, row["rows_needed"], row["relevant"]))
    return result


def _of_methods(table: pd.DataFrame) -> pd.DataFrame:
    """The rows without class frequencies."""
    return table[table["method"] != FREQUENCIES]


def changes(
    table: pd.DataFrame, method: str, keys: Sequence[str]
) -> dict[str, tuple[float, Difference]]:
    """Of each score that a method has, the raw model's value and the method's difference from it."""
    raw = table["method"].iloc[0]
    changed = {}
    for key in first_scores(table, keys):
        by_method = {difference.method: difference for difference in differences(table, key)}
        if by_method[method].value == by_method[method].value:
            changed[key] = by_method[raw].value, by_method[method]
    return changed


def summary(
    table: pd.DataFrame,
    judged: str = "on this test set",
    recommendation: Recommendation | None = None,
) -> str:
    """Methods by scores with intervals in plain text, ``*`` at the best of a score, and what to take below."""
    keys = first_scores(table, SHOWN)
    rows = score_rows(table, keys)
    titles = dict(zip(table["score"], table["score_title"], strict=True))
    lines = [["", *(titles[key] for key in keys), "fit"]]
    for row in rows:
        cells = (cell.text(fixed, {"best": "*"}) for cell in row.cells.values())
        lines.append(
            [
                row.title,
                *cells,
                f"{row.fit_seconds:.2f} s" if row.fit_seconds == row.fit_seconds else "-",
            ]
        )
    notes = [f"{row.title}: {row.failed}" for row in rows if row.failed and recommendation is None]
    starred = any(cell.is_best for row in rows for cell in row.cells.values())
    legend = f"{'* best value of a method; b' if starred else 'B'}rackets hold 95 % intervals."
    paragraphs = verdict_paragraphs(table, recommendation, judged)
    return "\n".join([*aligned(lines), "", legend, *notes, "", *paragraphs])


def verdict_paragraphs(
    table: pd.DataFrame,
    recommendation: Recommendation | None = None,
    judged: str = "on this test set",
) -> list[str]:
    """Recommendation, or the verdict by NLL; and the verdict by ECE where not all methods have an NLL."""
    titles = dict(zip(table["method"], table["title"], strict=True))
    first = (
        " ".join(recommendation.sentences(titles.__getitem__))
        if recommendation
        else verdict(table, "NLL", judged)
    )
    return [
        first,
        *([verdict(table, "ECE", judged)] if (table["note"] == CONFIDENCE_ONLY).any() else []),
    ]


def verdict(table: pd.DataFrame, score: str = "NLL", judged: str = "on this test set") -> str:
    """Name the best method on a score that claims, and the verdict on each against the raw model.

    Parameters
    ----------
    table : as from :func:`calib.compare`; its first method is the raw model.
    score : a key of ``calib.evaluation.SCORES``.
    judged : on what the methods were.
    """
    of_score = _of_methods(table[table["score"] == score])
    rows = of_score[of_score["value"].notna()].to_dict("records")
    baseline = table["method"].iloc[0]
    if not rows:
        return f"No method has a value of {SCORES[score].title} here."
    name = rows[0]["score_title"]
    lower = SCORES[score].better == "lower"
    best = (min if lower else max)(rows, key=lambda row: row["value"])
    sentences = [
        f"{best['title']} has the {'lowest' if lower else 'highest'} {name}, {number(best['value'])}."
    ]
    if len(rows) == 1:
        sentences = [f"{best['title']} is alone with a value of {name}, {number(best['value'])}."]
    elif best["too_few"]:
        return f"{sentences[0][:-1]}, but {best['too_few']}: these rows cannot rank methods."
    elif raw := next((row for row in rows if row["method"] == baseline), None):
        groups = []
        for word in ("better", "equivalent", "undecided", "worse"):
            titles = [
                f"{row['title']} (about {row['rows_needed']:,.0f} rows would decide)"
                if row["rows_needed"] == row["rows_needed"]
                else row["title"]
                for row in rows
                if row["verdict"] == word
            ]
            groups += [f"{word} {listed(titles)}"] if titles else []
        sentences.append(
            f"Against {raw['title']} ({number(raw['value'])}) {judged}: {'; '.join(groups)}."
        )
    if lacking := list(of_score.loc[of_score["note"] == CONFIDENCE_ONLY, "title"]):
        sentences.append(
            f"Methods with a confidence alone have no {name}: {listed(lacking)}. Compare these by an ECE."
        )
    return " ".join(sentences)


def describe_weights(data: Predictions) -> str:
    """Describe in a few sentences how the weights of a data set count; "" where it has none."""
    if data.weights is None:
        return ""
    if data.weight_kind is None:
        return (
            "These rows have weights, which are not applied: nobody has said what they mean. Say on the Data page, or "
            "by the option weight_kind, whether they are sampling, frequency or exposure weights."
        )
    if not data.weights.any():
        return "All weights of these rows are zero, so nothing is weighted."
    if data.weight_kind == "frequency":
        counted = f"stand for {data.weights.sum():,.0f}"
    else:
        counted = f"tell as much as {effective_sample_size(data.weights):,.0f} equal ones (Kish)"
    return (
        f"Weighted by {data.weight_kind}, these {len(data):,} rows {counted}. Fits, scores, intervals and "
        "figures count rows by their weights; what does not says so."
    )
