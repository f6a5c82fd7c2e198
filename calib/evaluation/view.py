"""What a probability is about: the predicted class, or the event of two classes; and the words that go with it.

Of the predicted class people ask whether confidence agrees with accuracy. Of an event they ask whether it happens as
often as its probability says. Scores, curves and figures are the same functions of a pair of vectors in both cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from calib.errors import CalibrationError

if TYPE_CHECKING:
    from calib.data.predictions import Predictions

Viewpoint = Literal["event", "top-label"]
VIEWPOINTS: tuple[Viewpoint, ...] = ("event", "top-label")


@dataclass(frozen=True)
class View:
    """Which pair of vectors is looked at, and its words.

    The defaults are the words of the top-label view, and say what each is for. No word but ``event_name`` comes from an
    upload, so that all others are safe in Markdown, HTML and figures.

    Attributes
    ----------
    name : "top-label", "event" or "pairs".
    column : column of the event; None in the top-label view. Of pairs it is that of a correct answer.
    event_name : what happens, as in the data; empty in the other views.
    said, outcome : what is said of a row on average, and what it should equal; ``marks`` means the same where
        there is less room.
    odds : what the ratio o / u of a calibrated method equals.
    logit_limits : ends of a grid of log-odds.
    bands : edges of bands of the probability.
    scores : key -> (title, meaning) of scores whose words differ from those of the top-label view.
    """

    name: Literal["top-label", "event", "pairs"] = "top-label"
    column: int | None = None
    event_name: str = ""
    said: str = "confidence"
    outcome: str = "accuracy"
    mean_said: str = "mean confidence"
    marks: tuple[str, str] = ("confidence", "accuracy")
    outcome_of_row: str = "correct"
    right: str = "right"
    wrong: str = "wrong"
    right_rows: str = "correct predictions"
    wrong_rows: str = "wrong predictions"
    too_high: str = "overconfident"
    too_low: str = "underconfident"
    over_and_under: str = "Over- and underconfidence"
    odds: str = "odds of its accuracy"
    p_wrong: str = "P(wrong)"
    p_right: str = "P(right)"
    logit_limits: tuple[float, float] = (-4.0, 12.0)
    bands: tuple[float, ...] = (0.0, 0.5, 0.7, 0.9, 0.99, 1.0)
    scores: Mapping[str, tuple[str, str]] = field(default_factory=dict, hash=False, compare=False)

    @property
    def is_event(self) -> bool:
        """Whether the pair is (P(event), event happened)."""
        return self.name == "event"

    @property
    def key(self) -> tuple[str, int | None]:
        """Tells results in one view from those in another, in the key of a cache."""
        return self.name, self.column


_DISTANCE = "Mean distance of predicted risk from observed rate"

TOP_LABEL = View()
PAIRS = View(name="pairs", column=1)
EVENT = View(
    name="event",
    column=1,
    said="predicted risk",
    outcome="observed rate",
    mean_said="mean predicted risk",
    marks=("predicted", "observed"),
    outcome_of_row="event",
    right="with the event",
    wrong="without the event",
    right_rows="rows with the event",
    wrong_rows="rows without the event",
    too_high="risk overestimated",
    too_low="risk underestimated",
    over_and_under="Over- and underestimation",
    odds="odds of the event",
    p_wrong="P(no event)",
    p_right="P(event)",
    logit_limits=(-8.0, 8.0),
    bands=(0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0),
    scores={
        "accuracy": (
            "Accuracy",
            "Share of right predictions, where 50\u00a0% or more predicts the event.",
        ),
        "ECE": ("ECE of P(event)", f"{_DISTANCE} in 15 bins of equal width."),
        "gap": (
            "Risk gap",
            "Distance of mean predicted risk from the event rate; no ECE is below it.",
        ),
        "signed gap": (
            "Predicted minus observed rate",
            "Mean predicted risk minus event rate; above 0 overestimates the risk.",
        ),
        "overconfidence": ("Overestimation", "Mean predicted risk of the rows without the event."),
        "underconfidence": (
            "Underestimation",
            "Mean of 1 - predicted risk over the rows with the event.",
        ),
        "sharpness": (
            "Sharpness",
            "Variance of the predicted risk; good only where it is calibrated.",
        ),
    },
)


def view_of(data: Predictions, wanted: str = "event") -> View:
    """How a data set is looked at.

    Parameters
    ----------
    data : Predictions
        Data whose event, kind and classes decide.
    wanted : {"event", "top-label"}, default "event"
        "event", which data with two classes and an event have, or "top-label". Data of the kind "pairs" are always
        looked at as pairs, and more than two classes by the predicted one.

    Returns
    -------
    View
        What scores are of, and its words.

    Raises
    ------
    CalibrationError
        For another ``wanted``.
    """
    if wanted not in VIEWPOINTS:
        raise CalibrationError(f"There is no view {wanted!r}; choose 'event' or 'top-label'.")
    if data.kind == "pairs":
        return PAIRS
    if data.event is None or data.n_classes != 2 or wanted == "top-label":
        return TOP_LABEL
    return replace(EVENT, column=data.event.column, event_name=data.event.name)
