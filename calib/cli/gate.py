"""``gate``: end a build where a score is worse than a limit, by more than the rows at hand explain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from calib.cli import text
from calib.cli.arguments import Parser, data_parser, load_data, options_from, refuse
from calib.data import DataError
from calib.diagnostics.shift_data import judge, read_new_rows
from calib.errors import CalibrationError
from calib.evaluation import SCORES, Evaluation, score_intervals
from calib.export import runtime
from calib.formatting import fixed
from calib.metrics.bootstrap import Interval

WHAT = "fail a build where a score is worse than a limit, and significantly so"
FAILED = 3
"""The exit status where a limit is broken; data and commands that are at fault have others."""
LIMITS = {
    "ece": "ECE",
    "nll": "NLL",
    "brier": "Brier",
    "gap": "gap",
    "accuracy": "accuracy",
}
"""Name in an option -> the score; a limit is the most, of the accuracy the least."""


@dataclass(frozen=True)
class Verdict:
    """A score beside its limit.

    Attributes
    ----------
    score : its key in ``calib.evaluation.SCORES``.
    found : on all rows, with its 95 % interval.
    limit : the most that is allowed, or the least where more is better.
    passed : False where the whole interval is on the wrong side of the limit.
    """

    score: str
    found: Interval
    limit: float
    passed: bool

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        more = SCORES[self.score].better == "higher"
        value, low, high = self.found
        worse = value < self.limit if more else value > self.limit
        how = "fails" if not self.passed else "passes, worse by no more than chance" if worse else "passes"
        return (
            f"{SCORES[self.score].title} {fixed(value)} (95 %: {fixed(low)} to {fixed(high)}), "
            f"{'at least' if more else 'at most'} {self.limit:g}: {how}"
        )


def parser() -> Parser:
    """Of this command's arguments."""
    parser = data_parser("gate", WHAT)
    parser.add_argument("--calibrator", type=Path, help="judge what it makes of the outputs: .npz, .zip, trusted .pkl")
    for name, key in LIMITS.items():
        kind = "min" if SCORES[key].better == "higher" else "max"
        text_of_help = f"limit of the {SCORES[key].title}"
        parser.add_argument(f"--{kind}-{name}", type=float, dest=name, metavar="X", help=text_of_help)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns 0 where every limit holds, and :data:`FAILED` where one is broken."""
    given = parser().parse_args(arguments)
    limits = {key: value for name, key in LIMITS.items() if (value := vars(given)[name]) is not None}
    if not limits:
        refuse(given, "give a limit, as --max-ece 0.03")
    for key, limit in limits.items():
        score = SCORES[key]
        if not (math.isfinite(limit) and score.low <= limit <= score.high):
            possible = (
                f"from {score.low:g} to {score.high:g}" if math.isfinite(score.high) else f"from {score.low:g} up"
            )
            refuse(given, f"{limit:g} is no limit of the {score.title}, which lies {possible}")
    if given.calibrator is None:
        judged = text.judged_raw(load_data(given))
    else:
        exported = runtime.load(given.calibrator)
        new = read_new_rows(exported, given.file, options_from(given), True)
        if new.data is None:
            raise DataError(list(new.inspection.findings))
        judged = judge(exported, new.data)[1]
    found = verdicts(judged, limits)
    passed = all(verdict.passed for verdict in found)
    answer = text.Answer(given.json)
    lines = [f"On {len(judged):,} rows:", *(each.sentence for each in found)]
    scores = [
        {"score": each.score, **text.plain(each.found), "limit": each.limit, "passed": each.passed} for each in found
    ]
    answer.say("\n".join(lines), passed=passed, rows=len(judged), scores=scores)
    return answer.end(0 if passed else FAILED)


def verdicts(judged: Evaluation, limits: dict[str, float]) -> list[Verdict]:
    """Each score with a limit; it fails where its 95 % interval lies beyond.

    The intervals are those of :func:`calib.evaluation.score_intervals`: that of an ECE reaches down to where the truth
    may be, so that the noise of few rows in many bins breaks no limit.

    Raises
    ------
    CalibrationError
        If there is no such score, as of a calibrator that gives a confidence alone.
    """
    intervals = score_intervals(judged)
    made = []
    for key, limit in limits.items():
        if key not in intervals or math.isnan(intervals[key].value):
            raise CalibrationError(f"These {len(judged):,} rows have no {SCORES[key].title}; leave out its limit.")
        _, low, high = intervals[key]
        passed = high >= limit if SCORES[key].better == "higher" else low <= limit
        made.append(Verdict(key, intervals[key], limit, bool(passed)))
    return made
