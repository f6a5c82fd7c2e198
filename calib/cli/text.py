"""What the command line prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from calib.base import Calibrator, Callback
from calib.data import Finding, Predictions
from calib.data.checks.report import shortened
from calib.diagnostics.subgroups import too_extreme
from calib.evaluation import SCORES, Evaluation, score_intervals
from calib.evaluation.score_table import SHOWN
from calib.formatting import aligned, fixed, for_terminal, one_line, with_interval
from calib.parameters import written
from calib.registry import calibrator


def say(text: str, *, apart: bool = False) -> None:
    """Print lines, with a mark for what in the name of a file, an array or a class would drive the terminal.

    Parameters
    ----------
    apart : whether they go to standard error, as all does that is not the answer.
    """
    print("\n".join(map(one_line, for_terminal(text).split("\n"))), file=sys.stderr if apart else sys.stdout)


def findings(found: Iterable[Finding]) -> str:
    """One paragraph for each finding: what, what to do, and the option that does it."""
    return "\n".join(line for finding in found for line in _finding_lines(finding))


def _finding_lines(finding: Finding) -> list[str]:
    options = [f"{title}: {written(changes)}" for title, changes in finding.readings.items()]
    steps = [step for step in (finding.action, written(finding.fix), *options) if step]
    return [f"{finding.level}: {finding.message}", *(f"  -> {step}" for step in steps)]


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
        evaluation = Evaluation.from_predictions(method, test)
        for key, interval in score_intervals(evaluation).items():
            if key in SHOWN:
                scores.setdefault(key, {})[when] = [float(value) for value in interval]
    return scores


def gap_sentence(evaluation: Evaluation) -> str:
    """The mean of what is said beside what came true, and what that makes of a model, in one line."""
    view, (said, outcome) = evaluation.view, evaluation.pair
    about = f"P({shortened(view.event_name)}): {view.mean_said}" if view.is_event else view.mean_said.capitalize()
    gap = evaluation.signed_gap
    return (
        f"{about} {said.mean():.1%} against an {view.outcome} of {outcome.mean():.1%}: "
        f"{view.over if gap > 0 else view.under} by {100 * abs(gap):.1f} points. {too_extreme(evaluation)}"
    ).strip()


def score_lines(scores: Mapping[str, Mapping[str, list[float]]], n: int) -> str:
    """Scores before and after, one a line."""
    rows = [(SCORES[key].title, values.get("before"), values.get("after")) for key, values in scores.items()]
    return "\n".join([f"On {n:,} test rows, with 95 % intervals:", *before_and_after_lines(rows)])


def before_and_after_lines(scores: Iterable[tuple[str, Sequence[float] | None, Sequence[float] | None]]) -> list[str]:
    """One line per score: its title and two values with intervals, the first where it is known."""
    rows = []
    for title, before, after in scores:
        start = [with_interval(before, fixed), "->"] if before else ["", ""]
        rows.append([f"  {title}", *start, with_interval(after, fixed) if after else "-"])
    return aligned(rows)
