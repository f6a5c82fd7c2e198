"""``gate``: end a build where a score is worse than a limit, by more than the rows at hand explain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from calib.cli import text
from calib.cli.arguments import Given, on_data, refuse
from calib.cli.check import read_new_rows, saved_calibrator
from calib.data import Predictions
from calib.diagnostics.shift_data import judge
from calib.errors import CalibrationError
from calib.evaluation import SCORES, Evaluation, score_intervals
from calib.evaluation.claims import untold
from calib.evaluation.compare import SAME_DATA
from calib.evaluation.comparison_table import said_of_weights
from calib.evaluation.score_registry import CLASSWISE
from calib.evaluation.view import EVENT, TOP_LABEL
from calib.formatting import fixed, plural

FAILED, UNDECIDED = 3, 4
"""Exit status where a limit is broken, and where the rows cannot say; data and commands at fault have others."""


def _limit(kind: str, key: str) -> Any:
    titles = dict.fromkeys(SCORES[key].seen(view).title for view in (TOP_LABEL, EVENT))
    score = SCORES[key]
    said = f"The {kind} {' or '.join(titles)} that is allowed."
    return Option(
        help=said, metavar="X", min=score.low, max=score.high if math.isfinite(score.high) else None
    )


@on_data
def gate(
    given: Given,
    answer: text.Answer,
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
) -> int:
    """Fail a build where a score is worse than a limit, and significantly so."""
    wanted = {
        "ECE": max_ece,
        CLASSWISE: max_classwise_ece,
        "NLL": max_nll,
        "Brier": max_brier,
        "gap": max_gap,
        "accuracy": min_accuracy,
    }
    limits = {key: limit for key, limit in wanted.items() if limit is not None}
    if not limits:
        refuse("give a limit, as --max-ece 0.03")
    if calibrator is None:
        data = given.load()
        judged = text.judged_raw(data)
    else:
        data, judged = _judged_calibrated(given, calibrator, answer)
    found = judge_limits(judged, limits)
    words = {each["verdict"] for each in found}
    word = next(word for word in ("fails", "undecided", "passes") if word in words)
    passed = None if word == "undecided" else word == "passes"
    lines = "\n".join(
        [f"On {plural(len(judged), 'row')}:", *(each.pop("sentence") for each in found)]
    )
    answer.say(lines, passed=passed, rows=len(judged), scores=found)
    answer.note(said_of_weights(data), "note")
    return answer.end({"passes": 0, "fails": FAILED, "undecided": UNDECIDED}[word])


def judge_limits(judged: Evaluation, limits: Mapping[str, float]) -> list[dict[str, Any]]:
    """What the answer holds of each score with a limit, and its sentence; it fails where its 95 % interval lies beyond.

    The interval of an ECE reaches down to where the truth may be, so that the noise of few rows in many bins breaks no
    limit. Rows that cannot tell decide nothing.

    Raises
    ------
    CalibrationError
        If there is no such score, as of a calibrator that gives a confidence alone.
    """
    intervals = score_intervals(judged)
    why = untold(judged)
    made = []
    for key, limit in limits.items():
        score = SCORES[key].seen(judged.view)
        if key not in intervals or math.isnan(intervals[key].value):
            raise CalibrationError(
                f"These {len(judged):,} rows have no {score.title}; leave out its limit."
            )
        value, low, high = intervals[key]
        more = score.better == "higher"
        within, beyond = (high >= limit, value < limit) if more else (low <= limit, value > limit)
        word = "undecided" if why else "passes" if within else "fails"
        bound = f"{'at least' if more else 'at most'} {limit:g}: {word}"
        reason = (
            f": {why}" if why else ", worse by no more than chance" if within and beyond else ""
        )
        said = (
            f"{score.title} {fixed(value)} (95 %: {fixed(low)} to {fixed(high)}), {bound}{reason}"
        )
        about = {
            "score": key,
            **text.plain(intervals[key]),
            "limit": limit,
            "verdict": word,
            "why": why,
        }
        made.append({**about, "sentence": said})
    return made


def _judged_calibrated(
    given: Given, calibrator: Path, answer: text.Answer
) -> tuple[Predictions, Evaluation]:
    """The rows as a saved calibrator takes them, and what it makes of them, judged on all."""
    exported = saved_calibrator(calibrator, given.options.choices)
    new = read_new_rows(exported, given.file, given.options, True)
    assert new.data is not None
    if new.fitted_on(exported.metadata.get("data_sha256", "")):
        answer.note(SAME_DATA, "warning")
    return new.data, judge(exported, new.data)[1]
