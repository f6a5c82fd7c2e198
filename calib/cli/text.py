"""What the command line prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from calib.base import Calibrator, Callback
from calib.data import Finding, Inspection, Predictions
from calib.diagnostics.shift import Recheck, verdict
from calib.evaluation import SCORES, Evaluation, score_intervals
from calib.evaluation.score_table import score_rows
from calib.formatting import fixed, with_interval
from calib.parameters import written
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
    rows = [(SCORES[key].title, values.get("before"), values.get("after")) for key, values in scores.items()]
    return "\n".join([f"On {n:,} test rows, with 95 % intervals:", *_before_and_after(rows)])


def recheck_lines(found: Recheck, title: str, notes: Iterable[str]) -> str:
    """The verdict on fresh rows, then the scores before and now."""
    lines = [sentence.replace("**", "") for sentence in verdict(found, title)]
    lines += [f"note: {note}" for note in notes]
    of = f"; before on {found.n_before:,} test rows" if found.n_before else ""
    rows = [(SCORES[key].title, score.before, score.now) for key, score in found.scores.items()]
    return "\n".join([*lines, "", f"On {found.n:,} fresh rows{of}, with 95 % intervals:", *_before_and_after(rows)])


def _before_and_after(scores: Iterable[tuple[str, Sequence[float] | None, Sequence[float] | None]]) -> list[str]:
    """One line per score: its title and two values with intervals, the first where it is known."""
    rows = []
    for title, before, after in scores:
        start = [with_interval(before, fixed), "->"] if before else ["", ""]
        rows.append([f"  {title}", *start, with_interval(after, fixed) if after else "-"])
    return aligned(rows)


def score_table(table: pd.DataFrame) -> str:
    """Methods by scores with intervals; ``*`` marks the best of a score."""
    keys = [key for key in SHOWN if key in set(table["score"])]
    rows = score_rows(table, keys)
    lines = [["", *(SCORES[key].title for key in keys), "fit"]]
    for row in rows:
        cells = (cell.text(fixed, {"best": "*"}) for cell in row.cells.values())
        lines.append([row.title, *cells, f"{row.fit_seconds:.2f} s" if row.fit_seconds == row.fit_seconds else "-"])
    notes = [f"{row.title}: {row.failed}" for row in rows if row.failed]
    return "\n".join([*aligned(lines), "", "* best value; brackets hold 95 % intervals.", *notes])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line per row, with columns as wide as their widest cell; empty columns are left out."""
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in columns]
    return ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]


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
