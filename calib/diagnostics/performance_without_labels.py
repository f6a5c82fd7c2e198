"""What can be said of new rows without labels: the performance to be expected, and the shift of the scores.

From calibrated confidence the expected confusion matrix follows, and so accuracy and AUROC (CBPE, as NannyML calls it).
This holds while the confidence is calibrated on the new rows: the mix of inputs may change within what was seen. Where
the outcomes of the same inputs change, the estimate does not, and is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from calib.calibrators.logistic import fit_logistic
from calib.diagnostics.shift import combined
from calib.evaluation import Evaluation
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import listed, percent, points, points_between, round_percent
from calib.metrics.bootstrap import Interval, drawn_units
from calib.metrics.estimate import Rows
from calib.numerics import Floats, log_odds_of, sigmoid

FEW_JUDGED = 30
"""Labelled rows, or rows of the rarer outcome times three, below which no recalibration is fitted to them."""
CLIP = 1e-6
"""Probabilities are kept so far from 0 and 1 where their log-odds are taken."""
_STEP = 1e-4


@dataclass(frozen=True)
class WithoutLabels:
    """What is to be expected of rows without labels.

    Attributes
    ----------
    n : rows.
    n_judged : labelled rows to which intercept and slope of the confidence were fitted, whose uncertainty is in the
        intervals; 0 where there are none: the intervals then cover chance in the outcomes of these rows alone.
    accuracy : expected share of right predictions.
    auroc : of two classes, else None.
    rate : expected share of the event; None in the top-label view.
    shift : mean confidence or risk now minus that of the labelled rows; None where they are not known.
    view : what a probability is about.
    """

    n: int
    n_judged: int
    accuracy: Interval
    auroc: Interval | None = None
    rate: Interval | None = None
    shift: Interval | None = None
    view: View = TOP_LABEL


def without_labels(now: Evaluation, before: Evaluation | None = None, level: float = 0.95) -> WithoutLabels:
    """The performance to be expected on new rows from their calibrated confidence.

    Where labelled rows are known, intercept and slope of the calibrated log-odds are fitted to them first (Cox 1958),
    and their covariance (by clusters where there are any) enters the intervals by the delta method, beside the variance
    of the outcomes of the new rows. Intervals are taken on the log-odds scale.

    Parameters
    ----------
    now : the calibrator on the new rows; its labels are not looked at.
    before : the same calibrator on labelled rows that it was not fitted on.
    level : of the intervals.
    """
    said = _said(now)
    fitted = None if before is None else _recalibration(_said(before), _came(before), before.clusters)
    estimates: dict[str, Callable[[Floats], tuple[float, Floats]]] = {}
    if now.n_classes == 2 and now.view.name != "pairs":
        predicted = said >= 0.5
        sign = np.where(predicted, 1.0, -1.0)
        estimates["accuracy"] = lambda c: mean_and_gradient(np.where(predicted, c, 1.0 - c), sign)
    else:
        estimates["accuracy"] = lambda c: mean_and_gradient(c, 1.0)
    if now.n_classes == 2:
        estimates["auroc"] = lambda c: expected_auroc(said, c)
    if now.view.is_event:
        estimates["rate"] = lambda c: mean_and_gradient(c, 1.0)
    found = {key: _interval(of, said, fitted, level) for key, of in estimates.items()}
    shift = None
    if before is not None:
        there, here = (Rows.of(len(one), one.clusters).mean_of(one.pair[0]).interval(level) for one in (before, now))
        shift = combined(here, there)
    n_judged = len(before) if before is not None and fitted is not None else 0
    return WithoutLabels(len(now), n_judged, **found, shift=shift, view=now.view)


def _said(evaluation: Evaluation) -> Floats:
    """(n,) what outcomes are drawn with: of two classes the probability of the event, else the confidence."""
    if evaluation.n_classes != 2 or evaluation.rest is None:
        return evaluation.confidence
    return np.where(evaluation.predicted == _column(evaluation), evaluation.confidence, evaluation.rest)


def _came(evaluation: Evaluation) -> Floats:
    of_two = evaluation.n_classes == 2 and evaluation.rest is not None
    return (evaluation.labels == _column(evaluation) if of_two else evaluation.correct).astype(float)


def _column(evaluation: Evaluation) -> int:
    return 1 if evaluation.view.column is None else evaluation.view.column


def mean_and_gradient(values: Floats, change: Any) -> tuple[float, Floats]:
    """A mean over rows, and its derivative by each row's outcome, (n,)."""
    return float(values.mean()), np.broadcast_to(np.asarray(change, dtype=float) / len(values), values.shape)


def expected_auroc(scores: Floats, chances: Floats) -> tuple[float, Floats]:
    """AUROC to be expected where each row is an event with its own probability.

    The share of ordered pairs, each pair of rows i and j counting with ``c_i (1 - c_j)``, ties half.

    Parameters
    ----------
    scores : (n,) by which rows are ranked.
    chances : (n,) probabilities c of the event.

    Returns
    -------
    value : NaN where no pair counts.
    gradient : (n,) derivative by each row's outcome at its probability.
    """
    _, place = np.unique(scores, return_inverse=True)
    events, others = np.bincount(place, chances), np.bincount(place, 1.0 - chances)
    lower = (np.cumsum(others) - 0.5 * others)[place] - 0.5 * (1.0 - chances)
    higher = (events.sum() - np.cumsum(events) + 0.5 * events)[place] - 0.5 * chances
    n_events, n_others, own = chances.sum(), (1.0 - chances).sum(), float(chances @ (1.0 - chances))
    pairs = n_events * n_others - own
    if pairs <= 0:
        return float("nan"), np.zeros(len(scores))
    value = float(chances @ lower) / pairs
    more_pairs = (n_others - (1.0 - chances)) - (n_events - chances)
    return value, (lower - higher - value * more_pairs) / pairs


def _recalibration(said: Floats, came: Floats, clusters: Any) -> tuple[Floats, Floats] | None:
    """Intercept and slope (2,) of the log-odds, and their covariance; None where too few rows tell them."""
    score = log_odds_of(said, CLIP)
    if 3 * min(came.sum(), len(came) - came.sum()) < FEW_JUDGED or np.ptp(score) < 1e-9:
        return None
    slopes, intercept = fit_logistic(score[None], came)
    chance = sigmoid(intercept + slopes[0] * score)
    design = np.column_stack([np.ones(len(score)), score])
    inverse = np.linalg.inv((design * (chance * (1.0 - chance))[:, None]).T @ design)
    unit, n_units, clustered = drawn_units(len(score), clusters)
    if clustered:
        residual = came - chance
        moved = np.column_stack([np.bincount(unit, design[:, k] * residual, n_units) for k in (0, 1)])
        inverse = n_units / (n_units - 1) * inverse @ (moved.T @ moved) @ inverse
    return np.array([intercept, slopes[0]]), inverse


def _interval(
    of: Callable[[Floats], tuple[float, Floats]], said: Floats, fitted: tuple[Floats, Floats] | None, level: float
) -> Interval:
    chances = said
    added = 0.0
    if fitted is not None:
        at, covariance = fitted
        score = log_odds_of(said, CLIP)
        chances = sigmoid(at[0] + at[1] * score)
        slopes = np.array([
            (of(sigmoid(up[0] + up[1] * score))[0] - of(sigmoid(down[0] + down[1] * score))[0]) / (2.0 * _STEP)
            for up, down in ((at + _STEP * unit, at - _STEP * unit) for unit in np.eye(2))
        ])  # fmt: skip
        added = float(slopes @ covariance @ slopes)
    value, gradient = of(chances)
    half = NormalDist().inv_cdf(0.5 + level / 2.0) * np.sqrt(added + float((chances * (1.0 - chances)) @ gradient**2))
    if not 0.0 < value < 1.0:
        return Interval(value, value, value)
    centre, reach = np.log(value / (1.0 - value)), half / (value * (1.0 - value))
    low, high = sigmoid(np.array([centre - reach, centre + reach]))
    return Interval(value, float(low), float(high))


ASSUMES = (
    "This assumes that the {said} is calibrated on these rows: the mix of inputs may have changed, but not how often "
    "rows with the same inputs have the same outcome. Such a change shows only in labels."
)


def sentences(found: WithoutLabels, title: str, before: Interval | None = None) -> list[str]:
    """What is expected, what changed, what it assumes and what the intervals cover, a sentence or two each.

    Parameters
    ----------
    title : of the calibrator.
    before : accuracy on the labelled rows, where it is known.
    """
    view = found.view
    parts = [f"an accuracy of **{_percent(found.accuracy)}**"]
    if found.rate is not None:
        parts.insert(0, f"an {view.outcome} of **{_percent(found.rate)}**")
    if found.auroc is not None:
        value, low, high = found.auroc
        parts.append(f"an AUROC of **{value:.3f}** ({low:.3f} to {high:.3f})")
    earlier = "" if before is None else f"; the accuracy on the labelled rows was {_percent(before)}"
    said = [f"These {found.n:,} rows have no labels. If {title} is still calibrated, expect {listed(parts)}{earlier}."]
    if found.shift is not None:
        value, low, high = found.shift
        way = "**higher**" if low > 0 else "**lower**" if high < 0 else "not significantly different"
        size = f"{points(value)} points, {points_between(low, high)}"
        said.append(f"Its {view.mean_said} is {way} on these rows, beside the labelled ones ({size}).")
    said.append(ASSUMES.format(said=view.said))
    level = round_percent(0.95)
    said.append(
        f"The intervals ({level}) cover chance in the outcomes of these rows and what is not known of the calibration, "
        f"whose intercept and slope were fitted to {found.n_judged:,} labelled rows."
        if found.n_judged
        else f"The intervals ({level}) cover chance in the outcomes of these rows alone: the calibrator's own "
        "uncertainty is not in them, since there are no labelled rows to judge it on, or too few."
    )
    return said


def _percent(interval: Interval) -> str:
    value, low, high = interval
    return f"{percent(value)} ({100 * low:.1f} to {100 * high:.1f})"
