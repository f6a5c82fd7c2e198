"""``gate``: end a build where a score is worse than a limit, by more than the rows at hand explain."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Option

from calib.cli import text
from calib.cli.arguments import Inputs, on_data, refuse
from calib.cli.check import read_new_rows, saved_calibrator
from calib.cli.tasks import read_tasks
from calib.data import Predictions
from calib.diagnostics.reliability import reliability_curve
from calib.diagnostics.shift_data import judge
from calib.errors import CalibrationError
from calib.evaluation import SCORES, Evaluation
from calib.evaluation.claims import untold
from calib.evaluation.compare import SAME_DATA
from calib.evaluation.comparison_table import describe_weights
from calib.evaluation.score_registry import CLASSWISE, scored_on
from calib.evaluation.view import EVENT, TOP_LABEL
from calib.formatting import escape_markdown, fixed, plural
from calib.metrics.bootstrap import Interval

MARKS = {"passes": "🟢", "fails": "🔴", "undecided": "⚪"}
"""Mark of each verdict."""
BINS = 10
"""Bins of the diagram."""


def markdown(judged: Evaluation, entries: Sequence[dict[str, Any]], verdict: str) -> str:
    """Result of a gate as Markdown.

    Parameters
    ----------
    judged : Evaluation
        All rows.
    entries : sequence of dict
        Entry of each score, as the JSON of the command has them.
    verdict : {"passes", "fails", "undecided"}
        That of all.
    """
    rows = [_row(judged, entry) for entry in entries]
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


FAILED, UNDECIDED = 3, 4
"""Exit status where a limit is broken, and where the rows cannot say; data and commands at fault have others."""
STATUS = {"passes": 0, "fails": FAILED, "undecided": UNDECIDED}
ERROR = 0.05
"""Probability of a false failure that all groups share."""


def _limit(kind: str, key: str) -> Any:
    titles = dict.fromkeys(SCORES[key].seen(view).title for view in (TOP_LABEL, EVENT))
    score = SCORES[key]
    sentence = f"The {kind} {' or '.join(titles)} that is allowed."
    return Option(
        help=sentence,
        metavar="X",
        min=score.low,
        max=score.high if math.isfinite(score.high) else None,
    )


@on_data
def gate(
    inputs: Inputs,
    output: text.Output,
    max_ece: Annotated[float | None, _limit("highest", "ECE")] = None,
    max_classwise_ece: Annotated[float | None, _limit("highest", CLASSWISE)] = None,
    max_nll: Annotated[float | None, _limit("highest", "NLL")] = None,
    max_brier: Annotated[float | None, _limit("highest", "Brier")] = None,
    max_gap: Annotated[float | None, _limit("highest", "gap")] = None,
    min_accuracy: Annotated[float | None, _limit("lowest", "accuracy")] = None,
    calibrator: Annotated[
        Path | None,
        Option(help="Judge what it makes of the outputs: .npz, .zip, or a .pkl that you trust."),
    ] = None,
    not_worse_than: Annotated[
        Path | None,
        Option(
            metavar="BASELINE.json",
            help="The --json of an earlier gate: fail where one of its scores is significantly worse now.",
        ),
    ] = None,
    each_group: Annotated[
        bool, Option("--each-group", help="Apply the limits to every group of the file too.")
    ] = False,
    each_task: Annotated[
        bool,
        Option(
            "--each-task", help="Apply the limits to every question, label or model of the file."
        ),
    ] = False,
    summary: Annotated[
        Path | None,
        Option(
            metavar="FILE.md", help="Append the result as Markdown, with a reliability diagram."
        ),
    ] = None,
) -> int:
    """Fail a build where a score is worse than a limit, and significantly so."""
    options = {
        "ECE": max_ece,
        CLASSWISE: max_classwise_ece,
        "NLL": max_nll,
        "Brier": max_brier,
        "gap": max_gap,
        "accuracy": min_accuracy,
    }
    limits = {key: limit for key, limit in options.items() if limit is not None}
    if not limits and not_worse_than is None:
        refuse("give a limit, as --max-ece 0.03, or --not-worse-than BASELINE.json")
    if each_group and not limits:
        refuse("--each-group needs a limit, as --max-ece 0.03")
    if each_task:
        if calibrator or not_worse_than or each_group or summary or not limits:
            refuse("--each-task takes limits of scores alone, as --max-ece 0.03")
        return _gate_tasks(inputs, output, limits)
    baseline = {} if not_worse_than is None else read_baseline(not_worse_than)
    judge_rows: Callable[[Predictions], Evaluation]
    if calibrator is None:
        data, judge_rows = inputs.load(), text.judged_raw
    else:
        data, judge_rows = _calibrated_rows(inputs, calibrator, output)
    judged = judge_rows(data)
    entries = judge_limits(judged, limits) + judge_baseline(judged, baseline)
    if each_group:
        entries += judge_groups(data, judge_rows, limits)
    word = verdict_of(entries)
    passed = None if word == "undecided" else word == "passes"
    if summary is not None:
        with summary.open("a", encoding="utf-8") as file:
            file.write(markdown(judged, entries, word))
    lines = "\n".join(
        [f"On {plural(len(judged), 'row')}:", *(entry.pop("sentence") for entry in entries)]
    )
    output.say(lines, passed=passed, rows=len(judged), scores=entries)
    output.note(describe_weights(data), "note")
    return output.end(STATUS[word])


def _gate_tasks(inputs: Inputs, output: text.Output, limits: Mapping[str, float]) -> int:
    """Apply the limits to every task, with intervals that share one error probability (Bonferroni)."""
    tasks = read_tasks(inputs)
    if not tasks:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in tasks.reasons.items())
        raise CalibrationError(f"No task can be judged ({reasons}).")
    level = 1 - ERROR / len(tasks)
    judged = {name: text.judged_raw(data) for name, data in tasks.items()}
    entries = [
        entry for name in judged for entry in judge_limits(judged[name], limits, level, name)
    ]
    word = verdict_of(entries)
    passed = None if word == "undecided" else word == "passes"
    lines = [f"{plural(len(tasks), 'task')} over {plural(tasks.n_rows, 'row')}:"]
    lines += [entry.pop("sentence") for entry in entries]
    output.say("\n".join(lines), passed=passed, rows=tasks.n_rows, scores=entries)
    for name, reason in tasks.reasons.items():
        output.note(f"{name} is not judged: {reason}.", "note")
    return output.end(STATUS[word])


def verdict_of(entries: list[dict[str, Any]]) -> str:
    """Verdict of all limits; groups that cannot tell count only where nothing else does."""
    verdicts = [entry["verdict"] for entry in entries]
    if "fails" in verdicts:
        return "fails"
    overall = [entry["verdict"] for entry in entries if entry["group"] is None]
    return "undecided" if "undecided" in (overall or verdicts) else "passes"


def judge_limits(
    judged: Evaluation, limits: Mapping[str, float], level: float = 0.95, group: str | None = None
) -> list[dict[str, Any]]:
    """Verdict and sentence for each score with a limit; it fails where its whole interval lies beyond.

    The interval of an ECE reaches down to where the truth may be, so that the noise of few rows in many bins breaks no
    limit. Rows that cannot tell decide nothing.

    Raises
    ------
    CalibrationError
        If there is no such score, as of a calibrator that gives a confidence alone.
    """
    why = untold(judged)
    entries = []
    for key, interval in _intervals(judged, limits, level).items():
        limit = limits[key]
        score = SCORES[key].seen(judged.view)
        value, low, high = interval
        more = score.better == "higher"
        within, beyond = (high >= limit, value < limit) if more else (low <= limit, value > limit)
        word = "undecided" if why else "passes" if within else "fails"
        bound = f"{'at least' if more else 'at most'} {limit:g}: {word}"
        reason = (
            f": {why}" if why else ", worse by no more than chance" if within and beyond else ""
        )
        subject = score.title if group is None else f"{group}: {score.title}"
        joint = "95 %" if group is None else "joint 95 %"
        entries.append(
            {
                "group": group,
                "score": key,
                **text.plain(interval),
                "limit": limit,
                "verdict": word,
                "why": why,
                "rows_needed": None if why else rows_that_decide(interval, limit, len(judged)),
                "sentence": f"{subject} {fixed(value)} ({joint}: {fixed(low)} to {fixed(high)}), {bound}{reason}",
            }
        )
    return entries


def rows_that_decide(interval: Interval, limit: float, rows: int) -> int | None:
    """Rows with which an interval that holds the limit would end at it; None where it does not hold it."""
    value, low, high = interval
    if not low <= limit <= high or value == limit:
        return None
    half = high - value if limit > value else value - low
    return math.ceil(rows * (half / (limit - value)) ** 2)


def judge_groups(
    data: Predictions,
    judge_rows: Callable[[Predictions], Evaluation],
    limits: Mapping[str, float],
) -> list[dict[str, Any]]:
    """Verdicts of every group, with intervals that share one error probability (Bonferroni).

    Raises
    ------
    CalibrationError
        If the file has no groups.
    """
    if data.groups is None:
        raise CalibrationError(
            "The file has no groups; name their column by --read group=COLUMN, or leave out --each-group."
        )
    names = np.unique(data.groups).tolist()
    level = 1 - ERROR / len(names)
    parts = {name: judge_rows(data.take(data.groups == name)) for name in names}
    return [entry for name in names for entry in judge_limits(parts[name], limits, level, name)]


def read_baseline(path: Path) -> dict[str, Interval]:
    """Scores of all rows in the JSON of an earlier gate.

    Raises
    ------
    CalibrationError
        If the file holds none.
    """
    try:
        scores = json.loads(path.read_text(encoding="utf-8"))["scores"]
        return {
            score["score"]: Interval(score["value"], *score["interval"])
            for score in scores
            if score["group"] is None and score["score"] in SCORES
        }
    except (OSError, ValueError, KeyError, TypeError):
        raise CalibrationError(
            f"{path.name} is no result of a gate; write one by: calib gate FILE --max-ece 0.05 --json > {path.name}"
        ) from None


def judge_baseline(judged: Evaluation, baseline: Mapping[str, Interval]) -> list[dict[str, Any]]:
    """Verdicts against scores of an earlier model on other rows.

    A score fails where the interval of the difference excludes 0; its ends follow from those of both scores (Zou and
    Donner 2008). Where both are of the same rows this is cautious.
    """
    why = untold(judged)
    entries = []
    for key, interval in _intervals(judged, baseline).items():
        before = baseline[key]
        score = SCORES[key].seen(judged.view)
        if score.better == "higher":
            worse = before.value - interval.value
            margin = math.hypot(before.value - before.low, interval.high - interval.value)
        else:
            worse = interval.value - before.value
            margin = math.hypot(interval.value - interval.low, before.high - before.value)
        word = "undecided" if why else "fails" if worse > margin else "passes"
        reason = (
            f": {why}" if why else ", worse by no more than chance" if 0 < worse <= margin else ""
        )
        entries.append(
            {
                "group": None,
                "score": key,
                **text.plain(interval),
                "baseline": text.plain(before),
                "verdict": word,
                "why": why,
                "sentence": f"{score.title} {fixed(interval.value)}, {fixed(before.value)} before: {word}{reason}",
            }
        )
    return entries


def _intervals(
    judged: Evaluation, keys: Mapping[str, Any], level: float = 0.95
) -> dict[str, Interval]:
    intervals = scored_on(judged).intervals(level)
    for key in keys:
        if key not in intervals or math.isnan(intervals[key].value):
            title = SCORES[key].seen(judged.view).title
            raise CalibrationError(
                f"These {len(judged):,} rows have no {title}; leave out its limit."
            )
    return {key: intervals[key] for key in keys}


def _calibrated_rows(
    inputs: Inputs, calibrator: Path, output: text.Output
) -> tuple[Predictions, Callable[[Predictions], Evaluation]]:
    """Rows as a saved calibrator takes them, and the function that judges what it makes of them."""
    exported = saved_calibrator(calibrator, inputs.options.choices)
    new = read_new_rows(exported, inputs.file, inputs.options, True)
    assert new.data is not None
    if new.fitted_on(exported.metadata.get("data_sha256", "")):
        output.note(SAME_DATA, "warning")
    return new.data, lambda rows: judge(exported, rows)[1]
