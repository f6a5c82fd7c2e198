"""What the command line prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from calib.base import Calibrator, Callback
from calib.cli.arguments import written
from calib.data import Finding, Inspection, Predictions
from calib.diagnostics.shift import Recheck, verdict
from calib.evaluation import SCORES, Evaluation, score_intervals
from calib.evaluation.verdict import best_methods
from calib.registry import calibrator

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("NLL", "Brier", "ECE", "accuracy")


def inspection(found: Inspection) -> str:
    """What a file holds, how it was understood, and the findings."""
    lines = ["The file holds"] if found.arrays else []
    lines += [f"  {array.name}  {' x '.join(f'{n:,}' for n in array.shape)}  {array.dtype}" for array in found.arrays]
    data = found.predictions
    if data is not None:
        lines += ["", _confidence(data)]
    if read := {name: value for name, value in found.choices.made().items() if value and name != "class_names"}:
        lines += ["", "Read with " + ", ".join(f"{name}={_shortened(value)}" for name, value in read.items())]
    if found.findings:
        lines += ["", findings(found.findings)]
    return "\n".join(lines).strip()


def findings(found: Iterable[Finding]) -> str:
    """One paragraph for each finding: what, what to do, and the option that does it."""
    lines = []
    for finding in found:
        lines.append(f"{finding.level}: {finding.message}")
        if finding.action:
            lines.append(f"  -> {finding.action}")
        if finding.fix:
            lines.append(f"  -> {written(finding.fix)}")
    return "\n".join(lines)


def progress() -> Callback | None:
    """A callback that keeps one line of a terminal up to date; None where nobody watches."""
    if not sys.stderr.isatty():
        return None

    def show(step: int, total: int, value: float) -> None:
        print(f"\rstep {step} of at most {total}: {value:.6g}\033[K", end="", file=sys.stderr, flush=True)

    return show


def row_progress() -> Callable[[str, int, int], None]:
    """``show(what, rows done, rows in all)`` for one line of a terminal; silent where nobody watches."""
    watched = sys.stderr.isatty()

    def show(what: str, done: int, total: int) -> None:
        if watched:
            end = "\n" if done >= total else ""
            print(f"\r{what}: {done:,} of {total:,} rows\033[K", end=end, file=sys.stderr, flush=True)

    return show


def before_and_after(fitted: Calibrator, test: Predictions) -> dict[str, dict[str, list[float]]]:
    """Scores with 95 % intervals of the raw model and of a calibrator: ``{score: {"before": [value, low, high]}}``."""
    raw = calibrator("identity").fit(test.logits, test.labels)
    scores: dict[str, dict[str, list[float]]] = {}
    for when, method in (("before", raw), ("after", fitted)):
        features = test.features if "features" in method.needs else None
        evaluation = Evaluation.from_calibrator(method, test.logits, test.labels, features)
        for key, interval in score_intervals(evaluation).items():
            if key in SHOWN:
                scores.setdefault(key, {})[when] = [float(value) for value in interval]
    return scores


def score_lines(scores: Mapping[str, Mapping[str, list[float]]], n: int) -> str:
    """Scores before and after, one a line."""
    lines = [f"On {n:,} test rows, with 95 % intervals:"]
    for key, values in scores.items():
        before, after = (_interval(*values[when]) if when in values else "-" for when in ("before", "after"))
        lines.append(f"  {SCORES[key].title:<12} {before:>24}  ->  {after}")
    return "\n".join(lines)


def recheck_lines(found: Recheck, title: str, notes: Iterable[str]) -> str:
    """The verdict on fresh rows, then the scores before and now."""
    lines = [sentence.replace("**", "") for sentence in verdict(found, title)]
    lines += [f"note: {note}" for note in notes]
    of = f"; before on {found.n_before:,} test rows" if found.n_before else ""
    lines += ["", f"On {found.n:,} fresh rows{of}, with 95 % intervals:"]
    for key, score in found.scores.items():
        before = f"{_interval(*score.before):>26}  ->  " if score.before else ""
        lines.append(f"  {SCORES[key].title:<25} {before}{_interval(*score.now)}")
    return "\n".join(lines)


def score_table(table: pd.DataFrame) -> str:
    """Methods by scores with intervals; ``*`` marks the best of a score."""
    keys = [key for key in SHOWN if key in set(table["score"])]
    best = {key: best_methods(table, key) for key in keys}
    rows = [["", *(SCORES[key].title for key in keys), "fit"]]
    notes = []
    for _, method in table.groupby("method", sort=False):
        cells = [
            _cell(row, row["method"] in best[key])
            for key in keys
            for row in method[method["score"] == key].to_dict("records")
        ]
        title, seconds = method["title"].iloc[0], method["fit_seconds"].iloc[0]
        rows.append([title, *cells, f"{seconds:.2f} s" if seconds == seconds else "-"])
        if method["value"].isna().all():
            notes.append(f"{title}: {method['note'].iloc[0]}")
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", "* best value; brackets hold 95 % intervals.", *notes])


def _cell(row: Mapping[Any, Any], best: bool) -> str:
    if row["value"] != row["value"]:
        return "-"
    return _interval(row["value"], row["low"], row["high"]) + (" *" if best else "")


def _interval(value: float, low: float, high: float) -> str:
    return f"{value:.4f} [{low:.4f}, {high:.4f}]"


def _confidence(data: Predictions) -> str:
    raw = calibrator("identity").fit(data.logits, data.labels)
    evaluation = Evaluation.from_calibrator(raw, data.logits, data.labels)
    gap = evaluation.signed_gap
    word = "overconfident" if gap > 0 else "underconfident"
    return (
        f"Mean confidence {evaluation.confidence.mean():.1%} against an accuracy of {evaluation.correct.mean():.1%}: "
        f"{word} by {100 * abs(gap):.1f} points."
    )


def _shortened(value: object, length: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= length else text[: length - 1] + "…"
