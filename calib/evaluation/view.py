"""The view of an evaluation: confidence and accuracy of the predicted class, or risk and rate of an event.

Of the predicted class people ask whether confidence agrees with accuracy. Of an event they ask whether it happens as
often as its probability says. Scores, curves and figures are the same functions of a pair of vectors in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from calib.errors import CalibrationError
from calib.formatting import number, percent, plural, points_between
from calib.metrics.bootstrap import Interval

if TYPE_CHECKING:
    from calib.data.predictions import Predictions

Viewpoint = Literal["event", "top-label"]
VIEWPOINTS: tuple[Viewpoint, ...] = ("event", "top-label")

_DISTANCE = "Mean distance of predicted risk from observed rate"


def gap_in_points(gap: Interval) -> tuple[str, str]:
    """Size of a gap and its interval without signs, in points."""
    near, far = sorted((abs(gap.low), abs(gap.high)))
    return f"{100 * abs(gap.value):.1f} points", points_between(near, far, sign=False)


class ConfidenceWording:
    """Texts of the top-label view and of pairs.

    Attributes are labels of axes, columns and marks; methods take numbers and return sentences. No text of its own
    comes from an upload, so that all are safe in Markdown, HTML and figures.
    """

    over_under_title = "Over- and underconfidence"
    predicted_label = "confidence"
    observed_label = "accuracy"
    mean_label = "mean confidence"
    short_predicted_label = "confidence"
    short_observed_label = "accuracy"
    outcome_label = "correct"
    positive_label = "right"
    negative_label = "wrong"
    too_high_label = "overconfident"
    too_low_label = "underconfident"
    gap_label = "confidence minus accuracy"
    group_gap_label = "Confidence − accuracy"
    odds_label = "odds of the accuracy"
    band_title = "What each band of confidence adds"
    positive_outcome = "right"
    negative_outcome = "wrong"
    positive_rows = "correct predictions"
    negative_rows = "wrong ones"
    scores: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Title and meaning of each score that the registry words otherwise."""

    def describe_means(
        self, predicted: float, observed: float, write: Callable[[float], str] = percent
    ) -> str:
        """Both means, to stand within a sentence."""
        return f"{self.mean_label} {write(predicted)}, {self.observed_label} {write(observed)}"

    def describe_group(self, predicted: float, observed: float) -> str:
        """Both means of a group, in few words."""
        return (
            f"{self.short_predicted_label} {percent(predicted)}, "
            f"{self.short_observed_label} {percent(observed)}"
        )

    def describe_drift(self, direction: str, size: str) -> str:
        """Change of the mean prediction from labelled rows to others."""
        return f"Its {self.mean_label} on these rows is {direction}, against the labelled ones ({size})."

    def describe_ratio(self, ratio: Interval, odds: float) -> str:
        """The ratio o / u against that of a calibrated model."""
        value, low, high = map(number, ratio)
        return (
            f"The raw model's ratio o / u is {value} ({low} to {high}), and would be {number(odds)} if calibrated: the "
            f"{self.odds_label} ({percent(odds / (1.0 + odds))})."
        )

    def explain_dots(self) -> str:
        """The dots of a reliability diagram."""
        return (
            f"Each dot is a group of predictions: {self.mean_label} (across) against {self.observed_label} (up), with "
            "its 95\u00a0% Wilson interval. On the dotted diagonal both are equal; below it predictions are too high, "
            "above it too low."
        )

    def explain_rows(self) -> str:
        """The rows beneath a reliability diagram."""
        return (
            f"Beneath are all rows, and in colour the {self.positive_rows}, on one square-root scale, with the "
            f"{self.mean_label} (dashed) and the {self.observed_label} (solid)."
        )

    def explain_histogram(self) -> str:
        """A histogram by outcome on one scale."""
        return (
            f"{self.predicted_label.capitalize()} of {self.positive_rows} upwards and of {self.negative_rows} "
            "downwards, on one square-root scale."
        )

    def explain_ratio(self) -> str:
        """The ratio that a calibrated model has."""
        positive, negative = self.positive_outcome, self.negative_outcome
        return (
            f"The {self.mean_label} of a calibrated method is the {self.observed_label}: o · P({negative}) = u · "
            f"P({positive}). Its ratio o / u is then P({positive}) / P({negative}), the {self.odds_label}, drawn as a "
            "bar."
        )

    def explain_gaps(self) -> str:
        """Gaps of groups."""
        return (
            f"The gap is the {self.mean_label} minus the {self.observed_label} in points; above 0: "
            f"{self.too_high_label}."
        )

    def explain_bands(self) -> str:
        """Contributions of bands to the gap."""
        return (
            f"Each dot is a band's share of the rows times its {self.mean_label} minus {self.observed_label}: the dots "
            "of one colour add up to that method's gap."
        )

    def describe_gap(self, subject: str, gap: Interval) -> str:
        """Direction and size of a significant gap on new data, in Markdown."""
        size, ends = gap_in_points(gap)
        if gap.value > 0:
            return f"{subject} is **overconfident by {size}** on the new data ({ends})"
        return f"{subject} is **underconfident by {size}** on the new data ({ends})"

    def describe_outcomes(self, positive: int, negative: int) -> str:
        """Numbers of rows of a histogram by outcome."""
        return f"Confidence of {positive:,} right and {negative:,} wrong predictions"

    def explain_no_negatives(self, n: int) -> str:
        """Reason for which there is neither o nor its ratio to u."""
        none = f"None of {plural(n, 'prediction')} is wrong"
        return f"{none}: o, the ratio o / u and the odds it should equal do not exist."

    def explain_no_positives(self, n: int) -> str:
        """Reason for which there is neither u nor the ratio of o to it."""
        return f"None of {plural(n, 'prediction')} is right: u and the ratio o / u do not exist."

    def explain_no_under(self) -> str:
        """Reason for which there is no ratio where u is 0."""
        return "The raw model's confidence is 1 in all correct predictions (u = 0): the ratio o / u does not exist."


class EventWording(ConfidenceWording):
    """Texts of the event view, each in place of the one about confidence."""

    over_under_title = "Over- and underestimation"
    predicted_label = "predicted risk"
    observed_label = "observed rate"
    mean_label = "mean predicted risk"
    short_predicted_label = "predicted"
    short_observed_label = "observed"
    outcome_label = "event"
    positive_label = "with the event"
    negative_label = "without the event"
    too_high_label = "risk overestimated"
    too_low_label = "risk underestimated"
    gap_label = "predicted risk minus observed rate"
    group_gap_label = "Predicted − observed"
    odds_label = "odds of the event"
    band_title = "What each band of predicted risk adds"
    positive_outcome = "event"
    negative_outcome = "no event"
    positive_rows = "rows with the event"
    negative_rows = "rows without it"
    scores: ClassVar[Mapping[str, tuple[str, str]]] = {
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
    }

    def describe_gap(self, subject: str, gap: Interval) -> str:
        """Direction and size of a significant gap on new data, in Markdown."""
        size, ends = gap_in_points(gap)
        if gap.value > 0:
            return f"{subject} **overestimates the risk by {size}** on the new data ({ends})"
        return f"{subject} **underestimates the risk by {size}** on the new data ({ends})"

    def describe_outcomes(self, positive: int, negative: int) -> str:
        """Numbers of rows of a histogram by outcome."""
        return f"Predicted risk of {positive:,} rows with the event and {negative:,} without it"

    def explain_no_negatives(self, n: int) -> str:
        """Reason for which there is neither o nor its ratio to u."""
        lead = f"Each of {plural(n, 'row')} has the event"
        return f"{lead}: o, the ratio o / u and the odds it should equal do not exist."

    def explain_no_positives(self, n: int) -> str:
        """Reason for which there is neither u nor the ratio of o to it."""
        return f"None of {plural(n, 'row')} has the event: u and the ratio o / u do not exist."

    def explain_no_under(self) -> str:
        """Reason for which there is no ratio where u is 0."""
        return "The raw model's risk is 1 in all rows with the event (u = 0): the ratio o / u does not exist."


@dataclass(frozen=True)
class View:
    """The pair of vectors that scores and figures are of.

    It is predicted probability and outcome of the event, or confidence and correctness of the predicted class.

    Attributes
    ----------
    name : "top-label", "event" or "pairs".
    column : column of the event; None in the top-label view. Of pairs it is that of a correct answer.
    event_name : what happens, as in the data; empty in the other views. It comes from an upload.
    bands : edges of bands of the probability.
    """

    name: Literal["top-label", "event", "pairs"] = "top-label"
    column: int | None = None
    event_name: str = ""
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
    bands=(0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0),
)


def view_of(data: Predictions, viewpoint: str = "event") -> View:
    """View of a data set.

    Parameters
    ----------
    data : data whose event, kind and classes decide.
    viewpoint : "event", which data with two classes and an event have, or "top-label". Data of the kind "pairs" are
        always looked at as pairs, and more than two classes by the predicted one.
    """
    if viewpoint not in VIEWPOINTS:
        raise CalibrationError(f"There is no view {viewpoint!r}; choose 'event' or 'top-label'.")
    if data.kind == "pairs":
        return PAIRS
    if data.event is None or data.n_classes != 2 or viewpoint == "top-label":
        return TOP_LABEL
    return replace(EVENT, column=data.event.column, event_name=data.event.name)
