"""Labels and sentences about the confidence in predicted classes, or in answers, and its accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from calib.formatting import number, percent, plural, points_between
from calib.metrics.bootstrap import Interval


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
    densities_title = "How does the confidence of correct and of wrong predictions spread?"
    positive_outcome = "right"
    negative_outcome = "wrong"
    scores: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Title and meaning of each score that the registry words otherwise."""

    def describe_means(
        self, predicted: float, observed: float, write: Callable[[float], str] = percent
    ) -> str:
        """Both means, to stand within a sentence."""
        return f"mean confidence {write(predicted)}, accuracy {write(observed)}"

    def describe_group(self, predicted: float, observed: float) -> str:
        """Both means of a group, in few words."""
        return f"confidence {percent(predicted)}, accuracy {percent(observed)}"

    def describe_gap(self, subject: str, gap: Interval) -> str:
        """Direction and size of a significant gap on new data, in Markdown."""
        size, ends = gap_in_points(gap)
        if gap.value > 0:
            return f"{subject} is **overconfident by {size}** on the new data ({ends})"
        return f"{subject} is **underconfident by {size}** on the new data ({ends})"

    def describe_outcomes(self, positive: int, negative: int) -> str:
        """Numbers of rows of a histogram by outcome."""
        return f"Confidence of {positive:,} right and {negative:,} wrong predictions"

    def describe_drift(self, direction: str, size: str) -> str:
        """Change of the mean prediction from labelled rows to others."""
        return (
            f"Its mean confidence is {direction} on these rows, beside the labelled ones ({size})."
        )

    def describe_ratio(self, ratio: Interval, odds: float, observed: float) -> str:
        """The ratio o / u against that of a calibrated model."""
        value, low, high = map(number, ratio)
        return (
            f"Its ratio o / u is {value} ({low} to {high}), and would be {number(odds)} if calibrated: the odds of its "
            f"accuracy ({percent(observed)})."
        )

    def explain_no_negatives(self, n: int) -> str:
        """Reason for which there is neither o nor its ratio to u."""
        none = f"None of {plural(n, 'prediction')} is wrong"
        return f"{none}: o, the ratio o / u and the odds it should equal do not exist."

    def explain_no_positives(self, n: int) -> str:
        """Reason for which there is neither u nor the ratio of o to it."""
        return f"None of {plural(n, 'prediction')} is right: u and the ratio o / u do not exist."

    def explain_no_under(self) -> str:
        """Reason for which there is no ratio where u is 0."""
        return "Its confidence is 1 in all correct predictions (u = 0): the ratio o / u does not exist."

    def explain_dots(self) -> str:
        """The dots of a reliability diagram."""
        return (
            "Each dot is a group of predictions: mean confidence (across) against accuracy (up), with its 95\u00a0% "
            "Wilson interval. On the dotted diagonal both are equal; below it predictions are too high, above it too "
            "low."
        )

    def explain_rows(self) -> str:
        """The rows beneath a reliability diagram."""
        return (
            "Beneath are all rows, and in colour the correct predictions, on one square-root scale, with the mean "
            "confidence (dashed) and the accuracy (solid)."
        )

    def explain_histogram(self) -> str:
        """A histogram by outcome on one scale."""
        return "Confidence of correct predictions upwards and of wrong ones downwards, on one square-root scale."

    def explain_densities(self) -> str:
        """Histograms by outcome, each on a scale of its own."""
        return (
            "Upwards the confidence of correct predictions, downwards that of wrong ones, each scaled by itself. The "
            "latter at the right end are confident errors."
        )

    def explain_ratio(self) -> str:
        """The ratio that a calibrated model has."""
        return (
            "The mean confidence of a calibrated method is its accuracy, so that o · P(wrong) = u · P(right): its "
            "ratio o / u is P(right) / P(wrong), the odds of its accuracy, drawn as a bar."
        )

    def explain_gap(self) -> str:
        """The gap by o and u."""
        return "The gap is o · P(wrong) − u · P(right), in points; above zero: overconfident."

    def explain_gaps(self) -> str:
        """Gaps of groups."""
        return (
            "The gap is the mean confidence minus the accuracy in points; above 0: overconfident."
        )

    def explain_bands(self) -> str:
        """Contributions of bands to the gap."""
        return (
            "Each bar is a band's share of the rows times its mean confidence minus accuracy: the bars of one colour "
            "add up to that method's gap."
        )


def gap_in_points(gap: Interval) -> tuple[str, str]:
    """Size of a gap and its interval without signs, in points."""
    near, far = sorted((abs(gap.low), abs(gap.high)))
    return f"{100 * abs(gap.value):.1f} points", points_between(near, far, sign=False)
