"""Labels and sentences about the predicted probability of an event, the risk, and its observed rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from calib.evaluation.confidence_wording import ConfidenceWording, gap_in_points
from calib.formatting import number, percent, plural
from calib.metrics.bootstrap import Interval

_DISTANCE = "Mean distance of predicted risk from observed rate"


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
    group_gap_label = "Observed − predicted"
    odds_label = "odds of the event"
    band_title = "What each band of predicted risk adds"
    densities_title = "How does the predicted risk of rows with and without the event spread?"
    positive_outcome = "event"
    negative_outcome = "no event"
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

    def describe_means(
        self, predicted: float, observed: float, write: Callable[[float], str] = percent
    ) -> str:
        """Both means, to stand within a sentence."""
        return f"mean predicted risk {write(predicted)}, observed rate {write(observed)}"

    def describe_group(self, predicted: float, observed: float) -> str:
        """Both means of a group, in few words."""
        return f"predicted {percent(predicted)}, observed {percent(observed)}"

    def describe_gap(self, subject: str, gap: Interval) -> str:
        """Direction and size of a significant gap on new data, in Markdown."""
        size, ends = gap_in_points(gap)
        if gap.value > 0:
            return f"{subject} **overestimates the risk by {size}** on the new data ({ends})"
        return f"{subject} **underestimates the risk by {size}** on the new data ({ends})"

    def describe_outcomes(self, positive: int, negative: int) -> str:
        """Numbers of rows of a histogram by outcome."""
        return f"Predicted risk of {positive:,} rows with the event and {negative:,} without it"

    def describe_drift(self, direction: str, size: str) -> str:
        """Change of the mean prediction from labelled rows to others."""
        return f"Its mean predicted risk is {direction} on these rows, beside the labelled ones ({size})."

    def describe_ratio(self, ratio: Interval, odds: float, observed: float) -> str:
        """The ratio o / u against that of a calibrated model."""
        value, low, high = map(number, ratio)
        return (
            f"Its ratio o / u is {value} ({low} to {high}), and would be {number(odds)} if calibrated: the odds of the "
            f"event ({percent(observed)})."
        )

    def explain_no_negatives(self, n: int) -> str:
        """Reason for which there is neither o nor its ratio to u."""
        lead = f"Each of {plural(n, 'row')} has the event"
        return f"{lead}: o, the ratio o / u and the odds it should equal do not exist."

    def explain_no_positives(self, n: int) -> str:
        """Reason for which there is neither u nor the ratio of o to it."""
        return f"None of {plural(n, 'row')} has the event: u and the ratio o / u do not exist."

    def explain_no_under(self) -> str:
        """Reason for which there is no ratio where u is 0."""
        return "Its risk is 1 in all rows with the event (u = 0): the ratio o / u does not exist."

    def explain_dots(self) -> str:
        """The dots of a reliability diagram."""
        return (
            "Each dot is a group of predictions: mean predicted risk (across) against observed rate (up), with its "
            "95\u00a0% Wilson interval. On the dotted diagonal both are equal; below it predictions are too high, "
            "above it too low."
        )

    def explain_rows(self) -> str:
        """The rows beneath a reliability diagram."""
        return (
            "Beneath are all rows, and in colour those with the event, on one square-root scale, with the mean "
            "predicted risk (dashed) and the observed rate (solid)."
        )

    def explain_histogram(self) -> str:
        """A histogram by outcome on one scale."""
        return "Predicted risk of rows with the event upwards and of others downwards, on one square-root scale."

    def explain_densities(self) -> str:
        """Histograms by outcome, each on a scale of its own."""
        return (
            "Upwards the predicted risk of rows with the event, downwards that of rows without it, each scaled by "
            "itself. The latter at the right end are confident errors."
        )

    def explain_ratio(self) -> str:
        """The ratio that a calibrated model has."""
        return (
            "The mean predicted risk of a calibrated method is the observed rate, so that o · P(no event) = "
            "u · P(event): its ratio o / u is P(event) / P(no event), the odds of the event, drawn as a bar."
        )

    def explain_gap(self) -> str:
        """The gap by o and u."""
        return (
            "The gap is o · P(no event) − u · P(event), in points; above zero: risk overestimated."
        )

    def explain_gaps(self) -> str:
        """Gaps of groups."""
        return "The gap is the mean predicted risk minus the observed rate in points; above 0: risk overestimated."

    def explain_bands(self) -> str:
        """Contributions of bands to the gap."""
        return (
            "Each bar is a band's share of the rows times its mean predicted risk minus observed rate: the bars of one "
            "colour add up to that method's gap."
        )
