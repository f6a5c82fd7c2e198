"""Output of the command line: lines for people, JSON for programs, and progress on a terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from typer import Exit

from calib.base import Calibrator
from calib.cli import UNREAD
from calib.data import Finding, Predictions
from calib.evaluation import SCORES, Evaluation, score_intervals
from calib.evaluation.comparison_table import SHOWN
from calib.evaluation.evaluation import class_frequencies, raw_model
from calib.evaluation.view import view_of
from calib.formatting import aligned, fixed, for_terminal, plural, single_line, with_interval
from calib.metrics.bootstrap import Interval
from calib.parameters import written


def say(text: str, *, apart: bool = False) -> None:
    """Print lines, with a mark for what in the name of a file, an array or a class would drive the terminal.

    Parameters
    ----------
    apart : whether they go to standard error, as all does that is not the answer.
    """
    try:
        print(
            "\n".join(map(single_line, for_terminal(text).split("\n"))),
            file=sys.stderr if apart else sys.stdout,
        )
    except BrokenPipeError:
        raise Exit(UNREAD) from None  # what reads the output has ended


def findings(noticed: Iterable[Finding]) -> str:
    """One paragraph for each finding: what, what to do, and the option that does it."""
    return "\n".join(line for finding in noticed for line in _finding_lines(finding))


def _finding_lines(finding: Finding) -> list[str]:
    options = [f"{title}: {written(changes)}" for title, changes in finding.readings.items()]
    steps = [step for step in (finding.action, written(finding.fix), *options) if step]
    return [f"{finding.level}: {finding.message}", *(f"  -> {step}" for step in steps)]


class Output:
    """Result of a command: lines as they come or, with ``--json``, one document of its fields at the end.

    Parameters
    ----------
    as_json : whether standard output gets the document, and nothing else.

    Attributes
    ----------
    fields : of the document, by name; "notes" holds the sentences of :meth:`note`.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.fields: dict[str, Any] = {}
        self._notes: list[str] = []

    def say(self, lines: str, **fields: Any) -> None:
        """Print lines, or keep the fields that hold the same."""
        self.fields |= fields
        if lines and not self.as_json:
            say(lines)

    def note(self, sentence: str, level: str = "") -> None:
        """Print a sentence behind its level, such as "warning", or keep it; nothing where it is empty."""
        if sentence:
            self._notes.append(plain_text(sentence))
            self.say(f"{level}: {sentence}" if level else sentence)

    def end(self, status: int = 0) -> int:
        """Print the document where one is wanted; returns the exit status."""
        if self.as_json:
            say(json.dumps(plain({**self.fields, "notes": self._notes}), indent=1, allow_nan=False))
        return status


def plain(value: Any) -> Any:
    """A result as JSON holds it: the one way in which commands write numbers, intervals and tables.

    An :class:`~calib.metrics.bootstrap.Interval` is its value and ``[low, high]``; a table is a list of its rows, each
    with the ends of an interval in one pair; NaN and infinity are None; a dataclass is its fields.

    Examples
    --------
    >>> plain({"NLL": Interval(0.5, 0.25, float("nan"))})
    {'NLL': {'value': 0.5, 'interval': [0.25, None]}}
    """
    if isinstance(value, Interval):
        return {"value": plain(value.value), "interval": plain([value.low, value.high])}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "to_dict"):  # a table of pandas, which is not imported for this
        return [plain(_joined(row)) for row in value.to_dict("records")]
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return [plain(item) for item in value] if isinstance(value, Iterable) else str(value)


def _joined(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A table's row with ``x_low`` and ``x_high`` as the interval of x, or of the row's value where x is empty."""
    stems = [
        name.removesuffix("low")
        for name in row
        if name.endswith("low") and f"{name[:-3]}high" in row
    ]
    ends = {f"{stem}{end}" for stem in stems for end in ("low", "high")}
    joined = {name: item for name, item in row.items() if name not in ends}
    for stem in stems:
        interval = [row[f"{stem}low"], row[f"{stem}high"]]
        name = stem.rstrip("_")
        if name in row:
            joined[name] = Interval(row[name], *interval)
        else:
            joined[f"{stem}interval"] = interval
    return joined


def plain_text(sentence: str) -> str:
    """A sentence without marks of Markdown and with the characters that people type."""
    return for_terminal(sentence.replace("**", ""))


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """A bar on a terminal, which is gone at the end; silent where nobody watches.

    Parameters
    ----------
    what : what is counted, such as "fits".

    Yields
    ------
    ``show(done, total, *more)``, where ``total`` is the most that there may be.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    hidden = not console.is_terminal or console.is_dumb_terminal
    with Progress(console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, *_: bar.update(task, completed=done, total=total)


def judged_raw(data: Predictions) -> Evaluation:
    """A model's outputs as they are, judged on all rows."""
    return Evaluation.from_predictions(raw_model(data), data)


def before_and_after(fitted: Calibrator, test: Predictions) -> dict[str, dict[str, list[float]]]:
    """Scores with 95 % intervals of the raw model, a calibrator and class frequencies, as a model card takes them."""
    scores: dict[str, dict[str, list[float]]] = {}
    raw = judged_raw(test)
    for when, evaluation in (
        ("before", raw),
        ("after", Evaluation.from_predictions(fitted, test)),
        ("frequencies", class_frequencies(raw)),
    ):
        for key, interval in score_intervals(evaluation).items():
            if key in SHOWN:
                scores.setdefault(key, {})[when] = [float(value) for value in interval]
    return scores


def means(evaluation: Evaluation) -> dict[str, Any]:
    """Mean prediction, observed rate, and their difference."""
    mean, rate = evaluation.means
    return {"view": evaluation.view.name, "predicted": mean, "observed": rate, "gap": mean - rate}


def score_lines(scores: Mapping[str, Mapping[str, list[float]]], test: Predictions) -> str:
    """Scores before and after, one a line, as they are called of these test rows."""
    view = view_of(test)
    rows = [
        (SCORES[key].seen(view).title, values.get("before"), values.get("after"))
        for key, values in scores.items()
    ]
    return "\n".join(
        [f"On {plural(len(test), 'test row')}, with 95 % intervals:", *before_and_after_lines(rows)]
    )


def before_and_after_lines(
    scores: Iterable[tuple[str, Sequence[float] | None, Sequence[float] | None]],
) -> list[str]:
    """One line per score: its title and two values with intervals, the first where it is known."""
    rows = []
    for title, before, after in scores:
        start = [with_interval(before, fixed), "->"] if before else ["", ""]
        rows.append([f"  {title}", *start, with_interval(after, fixed) if after else "-"])
    return aligned(rows)
