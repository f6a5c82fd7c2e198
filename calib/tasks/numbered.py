"""Error, NLL and ECE of models that a number orders: an epoch, a size or a date."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import numpy as np

from calib.evaluation import Evaluation
from calib.evaluation.evaluation import raw_model
from calib.evaluation.score_registry import score_intervals
from calib.metrics.bootstrap import Interval
from calib.numerics import Floats
from calib.tasks.tasks import Tasks

FEWEST_MODELS = 3
"""Models from which a line is drawn."""
NUMBERED = re.compile(r"(\D*)(\d+(?:\.\d+)?)(\D*)")


@dataclass(frozen=True, eq=False)
class NumberedScores:
    """Scores of models in the order of their numbers (Wenger et al. 2020, figure 1).

    Attributes
    ----------
    unit : str
        Text that the names share, such as "epoch"; "model" where they share none.
    models : tuple of str
        Names of the models.
    numbers : ndarray of shape (m,)
        Increasing numbers; of dates, days since 1970.
    labels : tuple of str
        The numbers or dates as the names have them.
    scores : dict of str to tuple of Interval
        "error", "NLL" and "ECE" of each model, with 95 % intervals.
    """

    unit: str
    models: tuple[str, ...]
    numbers: Floats
    labels: tuple[str, ...]
    scores: dict[str, tuple[Interval, ...]]


def numbers_of(names: Iterable[str]) -> tuple[str, dict[str, tuple[float, str]]] | None:
    """Return the text that names share and, by name, the number in it with its label; None where they have none.

    Parameters
    ----------
    names : such as "epoch_1" and "epoch_20", "7B" and "70B", or dates as ISO 8601 writes them.

    Examples
    --------
    >>> numbers_of(["epoch_2", "epoch_10"])
    ('epoch', {'epoch_2': (2.0, '2'), 'epoch_10': (10.0, '10')})
    >>> numbers_of(["forest", "network 2"]) is None
    True
    """
    names = [*names]
    try:
        days = {name: date.fromisoformat(name) - date(1970, 1, 1) for name in names}
    except ValueError:
        matches = {name: NUMBERED.fullmatch(name) for name in names}
        texts = {match and match.group(1, 3) for match in matches.values()}
        if len(texts) != 1 or None in texts:
            return None
        numbers = {name: match[2] for name, match in matches.items() if match}
        if len({*map(float, numbers.values())}) < len(names):
            return None
        shared = " ".join(re.sub(r"[\W_]+", " ", "".join(texts.pop() or ())).split())
        return shared or "model", {name: (float(text), text) for name, text in numbers.items()}
    return "date", {name: (float(since.days), name) for name, since in days.items()}


def scores_by_number(tasks: Tasks) -> NumberedScores | None:
    """Score models whose names differ in one number alone.

    Parameters
    ----------
    tasks : Tasks
        As :func:`calib.tasks.tasks_of` reads them.

    Returns
    -------
    NumberedScores or None
        None where the tasks are no models, fewer than three, or have no such names.
    """
    shared = numbers_of(tasks) if tasks.kind == "models" and len(tasks) >= FEWEST_MODELS else None
    if shared is None:
        return None
    unit, numbers = shared
    models = sorted(numbers, key=lambda name: numbers[name])
    scores: dict[str, list[Interval]] = {"error": [], "NLL": [], "ECE": []}
    for name in models:
        data = tasks[name]
        intervals = score_intervals(Evaluation.from_predictions(raw_model(data), data))
        accuracy = intervals["accuracy"]
        scores["error"].append(Interval(*(1.0 - accuracy[place] for place in (0, 2, 1))))
        for score in ("NLL", "ECE"):
            scores[score].append(intervals[score])
    return NumberedScores(
        unit,
        tuple(models),
        np.array([numbers[name][0] for name in models]),
        tuple(numbers[name][1] for name in models),
        {score: tuple(column) for score, column in scores.items()},
    )
