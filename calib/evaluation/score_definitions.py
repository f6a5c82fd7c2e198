"""The scores that pages, tables and reports share: keys, titles, and which direction is better.

A new score is an entry here; :mod:`calib.evaluation.scores` computes those that are no means over rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal

from calib.evaluation.evaluation import Evaluation
from calib.evaluation.view import View
from calib.formatting import NO_BREAK, number
from calib.metrics.confidence import Bools
from calib.numerics import Floats

ECE_BINS = 15
"""Of equal width, the field's convention and the default of :func:`calib.ece`."""

EVENT_RATE = "event rate"
RANKING = ("AUROC", "average precision")
"""Scores of an event that depend on the order of its probabilities alone."""
RARE = 0.1
"""Below this event rate the accuracy is not shown unless asked for: predicting no event at all is right too often."""
PROPORTIONS = ("accuracy", "top-5 accuracy", EVENT_RATE)

Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class Unit:
    """In what a score's differences are told: ``scale`` times their value, and its name."""

    name: str
    scale: float

    def amount(self, value: float) -> str:
        """A difference with its unit: 1.2 points, −0.034 nats."""
        return f"{self.number(value)}{NO_BREAK}{self.name}" if self.name else self.number(value)

    def number(self, value: float) -> str:
        """A difference in this unit, without its name."""
        return number(value * self.scale).replace("-", "−")


@dataclass(frozen=True)
class Score:
    """One score.

    Attributes
    ----------
    key : name in tables and code.
    title : how pages call it.
    better : "lower", "higher", or "neither" where less is not better in itself.
    meaning : one line on what it says.
    low, high : the range of possible values.
    of_rows : for a score that is a mean over rows, the (n,) values of an evaluation, None where it has none.
    claims : whether differences of the score are claimed in verdicts, which is so where simulations show at most 5 % of
        false claims; the others are shown with their intervals and claim nothing.
    relevant : the smallest difference that matters, in the score's own unit; smaller ones are called ties.
    """

    key: str
    title: str
    better: Better
    meaning: str
    low: float = 0.0
    high: float = 1.0
    of_rows: Callable[[Evaluation], Floats | Bools | None] | None = None
    claims: bool = False
    relevant: float = 0.001

    @property
    def unit(self) -> Unit:
        """In what its differences are told: nats, points of a share, or plain numbers."""
        if self.key == "NLL":
            return Unit("nats", 1.0)
        return Unit("points", 100.0) if self.high == 1.0 else Unit("", 1.0)

    def seen(self, view: View) -> Score:
        """The score with the title and the meaning that it has in a view."""
        title, meaning = view.scores.get(self.key, (self.title, self.meaning))
        return replace(self, title=title, meaning=meaning)


def row_events(evaluation: Evaluation) -> Bools | None:
    """Whether the event happened in each row; None in other views, which have the accuracy."""
    return evaluation.outcome if evaluation.view.is_event else None


_SCORES = (
    Score("NLL", "NLL", "lower", "Mean of -log p(true class), in nats; confident errors cost most.",
          high=math.inf, of_rows=attrgetter("row_nll"), claims=True),
    Score("Brier", "Brier score", "lower",
          "Squared distance of the probabilities from the truth, summed over classes; of two classes (p - y)².",
          high=2.0, of_rows=attrgetter("row_brier"), claims=True),
    Score("accuracy", "Accuracy", "higher", "Share of right predictions.", claims=True),
    Score("top-5 accuracy", "Top-5 accuracy", "higher", "Share of labels among the five most probable classes.",
          of_rows=attrgetter("top5"), claims=True),
    Score(EVENT_RATE, "Event rate", "neither", "Share of rows in which the event happened.", of_rows=row_events),
    Score("AUROC", "AUROC", "higher",
          "Share of pairs of a row with the event and one without it in which the first has the higher risk."),
    Score("average precision", "Average precision", "higher",
          "Mean share of events among rows with an event's risk or a higher one; the event rate by chance."),
    Score("ECE", "ECE", "lower", "Mean distance of confidence from accuracy in 15 bins of equal width.", claims=True),
    Score("gap", "Confidence gap", "lower", "Distance of mean confidence from accuracy; no ECE is below it."),
    Score("signed gap", "Confidence minus accuracy", "neither",
          "Mean confidence minus accuracy; above 0 is overconfident.", low=-1.0),
    Score("overconfidence", "Overconfidence", "neither", "Mean confidence of the wrong predictions."),
    Score("underconfidence", "Underconfidence", "neither", "Mean doubt (1 - confidence) of the right predictions."),
    Score("sharpness", "Sharpness", "neither", "Variance of the confidence; good only where it is calibrated.",
          high=0.25),
)  # fmt: skip

SCORES: dict[str, Score] = {score.key: score for score in _SCORES}
"""The scores by key, in order of display."""
MEANS = {score.key: score.of_rows for score in _SCORES if score.of_rows is not None}
"""Those of them that are means over rows."""
