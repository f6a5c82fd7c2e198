"""Markdown of a gate for the summary of a job: a table of limits and a reliability diagram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calib.diagnostics.reliability import reliability_curve
from calib.evaluation import SCORES, Evaluation
from calib.formatting import escape_markdown, fixed, plural

MARKS = {"passes": "🟢", "fails": "🔴", "undecided": "⚪"}
"""Mark of each verdict."""
BINS = 10
"""Bins of the diagram."""


def markdown(judged: Evaluation, found: Sequence[dict[str, Any]], verdict: str) -> str:
    """Result of a gate as Markdown.

    Parameters
    ----------
    judged : Evaluation
        All rows.
    found : sequence of dict
        Entry of each score, as the JSON of the command has them.
    verdict : {"passes", "fails", "undecided"}
        That of all.
    """
    rows = [_row(judged, entry) for entry in found]
    return "\n".join(
        [
            f"### {MARKS[verdict]} Calibration {verdict}",
            "",
            f"On {plural(len(judged), 'row')}.",
            "",
            "| | score | value | 95 % interval | limit | |",
            "|---|---|--:|---|---|---|",
            *rows,
            "",
            *_diagram(judged),
            "",
        ]
    )


def _row(judged: Evaluation, entry: dict[str, Any]) -> str:
    """Line of the table; the mark is grey where the interval holds the limit."""
    score = SCORES[entry["score"]].seen(judged.view)
    rows_needed = entry.get("rows_needed")
    note = entry["why"]
    if rows_needed:
        note = f"undecided: about {rows_needed:,} rows would decide"
    if "baseline" in entry:
        bound = f"{fixed(entry['baseline']['value'])} before"
    else:
        bound = f"{'at least' if score.better == 'higher' else 'at most'} {entry['limit']:g}"
    name = score.title if entry["group"] is None else f"{entry['group']}: {score.title}"
    mark = MARKS["undecided" if rows_needed else entry["verdict"]]
    low, high = (fixed(end) if end is not None else "–" for end in entry["interval"])
    cells = [mark, escape_markdown(name), fixed(entry["value"]), f"{low} to {high}", bound, note]
    return f"| {' | '.join(cells)} |"


def _diagram(judged: Evaluation) -> list[str]:
    """Accuracy over confidence as a Mermaid chart, which job summaries draw."""
    predicted, observed = judged.pair
    curve = reliability_curve(
        predicted, observed.astype(int), BINS, "equal_mass", weights=judged.weights
    )
    places = ", ".join(f'"{value:.1%}"' for value in curve.confidence)
    top = min(1.0, 1.1 * max(*curve.accuracy, *curve.confidence))
    return [
        "```mermaid",
        "xychart-beta",
        '  title "Observed (bars) against predicted (line)"',
        f"  x-axis [{places}]",
        f"  y-axis 0 --> {top:.2f}",
        f"  bar [{', '.join(f'{value:.3f}' for value in curve.accuracy)}]",
        f"  line [{', '.join(f'{value:.3f}' for value in curve.confidence)}]",
        "```",
    ]
