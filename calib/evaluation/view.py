"""The view of an evaluation: confidence and accuracy of the predicted class, or risk and rate of an event.

Of the predicted class people ask whether confidence agrees with accuracy. Of an event they ask whether it happens as
often as its probability says. Scores, curves and figures are the same functions of a pair of vectors in both cases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from calib.errors import CalibrationError
from calib.evaluation.confidence_wording import ConfidenceWording
from calib.evaluation.event_wording import EventWording

if TYPE_CHECKING:
    from calib.data.predictions import Predictions

Viewpoint = Literal["event", "top-label"]
VIEWPOINTS: tuple[Viewpoint, ...] = ("event", "top-label")


@dataclass(frozen=True)
class View:
    """The pair of vectors that scores and figures are of.

    It is predicted probability and outcome of the event, or confidence and correctness of the predicted class.

    Attributes
    ----------
    name : "top-label", "event" or "pairs".
    column : column of the event; None in the top-label view. Of pairs it is that of a correct answer.
    event_name : what happens, as in the data; empty in the other views. It comes from an upload.
    logit_limits : ends of a grid of log-odds.
    bands : edges of bands of the probability.
    """

    name: Literal["top-label", "event", "pairs"] = "top-label"
    column: int | None = None
    event_name: str = ""
    logit_limits: tuple[float, float] = (-4.0, 12.0)
    bands: tuple[float, ...] = (0.0, 0.5, 0.7, 0.9, 0.99, 1.0)

    @property
    def is_event(self) -> bool:
        """True where the pair is (P(event), event happened)."""
        return self.name == "event"

    @property
    def wording(self) -> ConfidenceWording:
        """Labels and sentences of this view."""
        return EVENT_WORDING if self.is_event else CONFIDENCE_WORDING

    @property
    def key(self) -> tuple[str, int | None]:
        """Tells results in one view from those in another, in the key of a cache."""
        return self.name, self.column


CONFIDENCE_WORDING = ConfidenceWording()
EVENT_WORDING = EventWording()

TOP_LABEL = View()
PAIRS = View(name="pairs", column=1)
EVENT = View(
    name="event",
    column=1,
    logit_limits=(-8.0, 8.0),
    bands=(0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0),
)


def view_of(data: Predictions, wanted: str = "event") -> View:
    """View of a data set.

    Parameters
    ----------
    data : data whose event, kind and classes decide.
    wanted : "event", which data with two classes and an event have, or "top-label". Data of the kind "pairs" are always
        looked at as pairs, and more than two classes by the predicted one.
    """
    if wanted not in VIEWPOINTS:
        raise CalibrationError(f"There is no view {wanted!r}; choose 'event' or 'top-label'.")
    if data.kind == "pairs":
        return PAIRS
    if data.event is None or data.n_classes != 2 or wanted == "top-label":
        return TOP_LABEL
    return replace(EVENT, column=data.event.column, event_name=data.event.name)
