"""The panel of a risk model: discrimination, overall error and calibration of an event's probabilities, with intervals.

The measures are those that reports of prediction models are asked for (Steyerberg et al. 2010; Van Calster et al. 2019,
2025). Where packages give one name to different numbers, docs/risk_models.md says which is taken and why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.arrays import check_number
from calib.formatting import aligned, fixed, listed, number, plural, round_percent, with_interval
from calib.metrics.bootstrap import MOST_RESAMPLES, Interval, interval_of_draws
from calib.metrics.confidence import Bools, check_event, scikit_names
from calib.metrics.distances import (
    calibrated_distances,
    distances,
    narrow_cells,
    observed_rates,
    resampled_distances,
)
from calib.metrics.estimate import NORMAL_FROM, Rows
from calib.metrics.recalibration import Recalibration, Spline, fit_spline
from calib.metrics.risk_measures import (
    RiskMeasure,
    closed_form,
    described,
    has_log_odds,
    spiegelhalter,
)
from calib.numerics import Floats, Ints, log_odds_of, sigmoid

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.options import WeightKind

LEAST_EVENTS = 20
"""With fewer expected events, or non-events, the panel says that there are too few."""
LEAST_FLOOR = 1e-6
"""The floor of risks that are written with more than five decimals."""


@dataclass(frozen=True)
class CalibrationTest:
    """Spiegelhalter's test that outcomes come from the risks.

    Attributes
    ----------
    z : 0 on average for a calibrated model.
    p : two-sided.
    meaning : what it says of these data, with p.
    """

    z: float
    p: float
    meaning: str

    @property
    def sentence(self) -> str:
        """Sentence about these data, with its numbers."""
        if self.z != self.z:
            return f"Spiegelhalter's z {self.meaning}."
        return f"Spiegelhalter's z is {number(self.z)}, {self.meaning}."


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """Calibration curve over the range of the risks, and how risks are distributed.

    Attributes
    ----------
    risk : (m,) grid, increasing.
    spline, low, high : (m,) restricted cubic spline on the log-odds, and its pointwise 95 % band.
    n_knots : of the spline; 0 for a straight line in log-odds.
    edges : (k + 1,) edges of the histogram, from 0 to 1.
    with_event, without : (k,) rows with and without the event in its bins, sums of weights where there are any.
    """

    risk: Floats
    spline: Floats
    low: Floats
    high: Floats
    n_knots: int
    edges: Floats
    with_event: Floats | Ints
    without: Floats | Ints


@dataclass(frozen=True, eq=False, repr=False)
class RiskModelPanel:
    """Panel of a risk model's measures, from its risks and outcomes.

    Attributes
    ----------
    n : int
        Rows.
    n_effective : float
        Independent rows of equal weight that would tell as much of the event rate.
    n_clusters : int or None
        Clusters that count as units, or None where rows do.
    weight_kind : {"sampling", "frequency", "exposure"} or None
        What the weights mean, None without weights.
    event_rate, mean_risk : float
        Share of rows with the event, and mean of the risks; weighted.
    events, expected : float
        Event rate and mean risk times the effective rows; without weights and clusters, their sums.
    measures : tuple of RiskMeasure
        In the order in which they are shown; ``panel["oe"]`` is one of them.
    spiegelhalter : CalibrationTest
        Test of calibration.
    recalibration : Recalibration
        Fits behind calibration in the large and slope.
    curve : RiskCurve
        Calibration curve and histogram.
    floor : float
        Risks count as at least this and at most one minus this, where log-odds are needed.
    clipping : str
        How many risks the floor moves, in words; empty where it moves none.
    notes : tuple of str
        What restricts these numbers, such as too few events; may be empty.
    """

    n: int
    n_effective: float
    n_clusters: int | None
    weight_kind: WeightKind | None
    event_rate: float
    mean_risk: float
    events: float
    expected: float
    measures: tuple[RiskMeasure, ...]
    spiegelhalter: CalibrationTest
    recalibration: Recalibration
    curve: RiskCurve
    floor: float
    clipping: str
    notes: tuple[str, ...]

    def __getitem__(self, key: str) -> RiskMeasure:
        for measure in self.measures:
            if measure.key == key:
                return measure
        raise KeyError(
            f"There is no measure {key!r}; these are {', '.join(measure.key for measure in self.measures)}."
        )

    @property
    def table(self) -> pd.DataFrame:
        """The measures as a table: ``value``, ``low`` and ``high`` of each, by its key."""
        import pandas as pd

        rows = {
            measure.key: (measure.value, measure.low, measure.high) for measure in self.measures
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high"])

    def __repr__(self) -> str:
        rows = [
            [f"  {measure.title}", with_interval((measure.value, measure.low, measure.high), fixed)]
            for measure in self.measures
        ]
        rates = f"event rate {self.event_rate:.1%}, mean risk {self.mean_risk:.1%}"
        head = f"Risk model on {plural(self.n, 'row')}: {rates}"
        return "\n".join([head, *aligned(rows), *self.notes])

    @property
    def too_few_events(self) -> bool:
        """True if fewer events, or non-events, are expected than such measures need."""
        return min(self.expected, self.n_effective - self.expected) < LEAST_EVENTS


@scikit_names
def risk_model(
    probs: Any,
    labels: Any,
    weights: Any = None,
    weight_kind: WeightKind | None = None,
    clusters: Any = None,
    *,
    floor: float | None = None,
    n_resamples: int = 500,
) -> RiskModelPanel:
    """The panel of a risk model, every number with its 95 % interval.

    Parameters
    ----------
    probs : array_like of shape (n,) or (n, 2)
        Probabilities of the event; of two columns the second counts.
    labels : array_like of shape (n,)
        1 or True where the event happened, 0 or False elsewhere.
    weights : array_like of shape (n,) or None, default None
        Weights from 0 upwards; rows of weight 0 are left out.
    weight_kind : {"frequency", "sampling", "exposure"} or None, default None
        What they mean; "frequency" says how many equal rows this one stands for. Such weights give what the rows
        written out would give; with the others intervals are those of a weighted sample.
    clusters : array_like of shape (n,) or None, default None
        What rows that belong together share, such as a patient.
    floor : float or None, default None
        Risks below count as this, and above one minus this as that, where log-odds are needed. None takes half the step
        in which risks are written (0.005 where they have two decimals), because a risk of 0 then means "below half a
        step", and 1e-6 where they have more than five decimals. The log loss is the NLL of :func:`calib.metrics.nll`,
        whatever the floor.
    n_resamples : int, default 500
        Resamples of the bootstrap of ICI, E50, E90 and Emax, at most 100,000; 0 leaves out their intervals, and what a
        calibrated model would have.

    Returns
    -------
    RiskModelPanel
        ``panel["oe"]`` is one of its measures, ``panel.table`` has all.

    Raises
    ------
    CalibrationError
        If arrays do not fit together, weights come without their kind, or the floor is not in (0, 0.5).

    Notes
    -----
    Intervals are linearised (delta method), on a scale where that is symmetric; with clusters or with weights that are
    no frequencies they are sandwich intervals with ``G / (G - 1)``, and of Student's t where fewer than 40 clusters
    have the event, or rows without it. ICI and its kin have percentile intervals of a bootstrap of rows, or of whole
    clusters, that refits the curve. docs/benchmarks.md has how often these intervals hold the truth.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.metrics import risk_model
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.beta(1, 4, size=2000)
    >>> panel = risk_model(risk, rng.random(2000) < risk, n_resamples=0)
    >>> panel["oe"].low < 1 < panel["oe"].high
    True
    """
    check_number("n_resamples", n_resamples, 0, MOST_RESAMPLES, whole=True)
    risk, event = check_event(probs, labels)
    positive, sample = Rows.checked(event, weights, weight_kind, clusters)
    risk = risk[positive]
    event = event[positive]
    if floor is not None:
        check_number("floor", floor, 0, 0.5, ends=False)
    floor = default_floor(risk) if floor is None else float(floor)
    intervals, again = closed_form(risk, event, sample, floor)
    rate = sample.mean(event)
    mean_risk = sample.mean(risk)
    family = _distance_measures(risk, event, sample, floor, n_resamples)
    effective = sample.effective_rows(sample.mean_of(event))
    return RiskModelPanel(
        n=len(risk),
        n_effective=effective,
        n_clusters=sample.n_units if sample.clustered else None,
        weight_kind=sample.kind,
        event_rate=rate,
        mean_risk=mean_risk,
        events=rate * effective,
        expected=mean_risk * effective,
        measures=(*described(intervals, rate, sample), *family),
        spiegelhalter=_test(*spiegelhalter(risk, event, sample)),
        recalibration=again,
        curve=_curve(
            risk, event, sample, fit_spline(log_odds_of(risk, floor), event, sample), floor
        ),
        floor=floor,
        clipping=_clipping(risk, floor),
        notes=_notes(
            len(risk), rate, mean_risk, sample, effective, clusters is not None, has_log_odds(risk)
        ),
    )


def default_floor(risk: Floats) -> float:
    """Half the step in which (n,) risks are written, from 0.05 for one decimal to 5e-6 for five; else 1e-6.

    Exact zeros and ones show no step, and a risk next to them shows that it is not rounded to them.
    """
    inside = risk[(risk > 0.0) & (risk < 1.0)]
    for decimals in range(1, 6):
        whole = np.round(inside * 10.0**decimals) / 10.0**decimals
        between = len(inside) and whole.min() > 0.0 and whole.max() < 1.0
        if between and np.abs(inside - whole).max() <= 1e-7:
            return 0.5 * 10.0**-decimals
    return LEAST_FLOOR


def _test(z: float, p: float) -> CalibrationTest:
    if z != z:
        return CalibrationTest(z, p, "does not exist: every risk is 0, ½ or 1")
    conclusion = (
        "outcomes do not fit the risks"
        if p < 0.05
        else "no contradiction between outcomes and risks"
    )
    of_p = "below 0.001" if p < 0.001 else number(p, 2)
    return CalibrationTest(z, p, f"p {of_p}: {conclusion}")


_FAMILY = (
    ("ici", "ICI", "mean distance of the risk from the observed rate"),
    ("e50", "E50", "median distance"),
    ("e90", "E90", "distance that nine of ten rows stay below"),
    ("emax", "Emax", "largest distance"),
)


def _distance_measures(
    risk: Floats, event: Bools, sample: Rows, floor: float, n_resamples: int
) -> list[RiskMeasure]:
    """ICI, E50, E90 and Emax; with resamples their intervals, and what a calibrated model would have."""

    def means(cell: Ints, values: Floats | Bools) -> Floats:
        return np.bincount(cell, sample.weights * values) / np.bincount(cell, sample.weights)

    distinct, index = np.unique(risk, return_inverse=True)
    rows = np.bincount(index, sample.weights)
    exact = distances(distinct, observed_rates(distinct, rows, means(index, event), floor), rows)
    if n_resamples:
        cell = narrow_cells(risk)
        x = means(cell, risk)
        chance = np.quantile(
            calibrated_distances(risk, sample, cell, x, floor), [0.5, 0.95], axis=0
        )
        draws = resampled_distances(event, sample, cell, x, floor, n_resamples)
    measures = []
    for place, (key, title, meaning) in enumerate(_FAMILY):
        value = exact[place]
        calibrated = None
        interval = Interval(value, math.nan, math.nan)
        if n_resamples:
            median, most = calibrated = float(chance[0, place]), float(chance[1, place])
            reference = f"if calibrated {number(median)}, in {round_percent(0.95)} of samples at most {number(most)}"
            meaning = f"{meaning}; {reference}"
            if sample.n_units > 1:  # draws of one row are all alike
                interval = interval_of_draws(value, draws[:, place])
        measures.append(
            RiskMeasure(
                key,
                title,
                *interval,
                meaning,
                "|risk - curve| over the rows, of a restricted cubic spline on the log-odds. Interval: percentiles of "
                f"a bootstrap of {'clusters' if sample.clustered else 'rows'}; it cannot reach 0 and sits high, so "
                "compare with what a calibrated model would have.",
                calibrated,
            )
        )
    return measures


def _curve(risk: Floats, event: Bools, sample: Rows, spline: Spline, floor: float) -> RiskCurve:
    low = float(risk.min())
    high = float(risk.max())
    first, last = log_odds_of(np.array([low, high]), floor).tolist()
    even = np.r_[np.linspace(low, high, 101), sigmoid(np.linspace(first, last, 101))]
    grid = np.unique(np.clip(even, low, high))
    fitted = spline.at(log_odds_of(grid, floor))
    edges = np.unique(np.r_[np.linspace(0.0, 1.0, 101), sigmoid(np.linspace(-14.0, 14.0, 113))])
    place = np.clip(np.searchsorted(edges, risk, side="right") - 1, 0, len(edges) - 2)
    with_event, without = (
        np.bincount(place, sample.weights * part, len(edges) - 1) for part in (event, ~event)
    )
    return RiskCurve(grid, *fitted, len(spline.knots), edges, with_event, without)


def _clipping(risk: Floats, floor: float) -> str:
    zeros = int((risk == 0.0).sum())
    ones = int((risk == 1.0).sum())
    moved = int(((risk < floor) | (risk > 1.0 - floor)).sum())
    kinds = (
        (zeros, "exactly 0"),
        (ones, "exactly 1"),
        (moved - zeros - ones, f"nearer to 0 or 1 than {floor:g}"),
    )
    counted = listed(
        [f"{count:,} {'is' if count == 1 else 'are'} {name}" for count, name in kinds if count]
    )
    sentence = f"Of these risks {counted}: in log-odds they count as {floor:g} and {1.0 - floor:g}."
    return sentence if moved else ""


def _notes(
    n: int,
    rate: float,
    mean_risk: float,
    sample: Rows,
    effective: float,
    has_clusters: bool,
    inside: bool,
) -> tuple[str, ...]:
    notes = []
    for noun, share in (("events", mean_risk), ("non-events", 1.0 - mean_risk)):
        if share * effective < LEAST_EVENTS:
            notes.append(
                f"Too few {noun}: {number(share * effective)} are expected, and these measures need at least "
                f"{LEAST_EVENTS}; a calibration curve needs 100 or more."
            )
    if not inside:
        notes.append(
            "Every risk is 0 or 1, which have no log-odds: calibration in the large and slope do not exist. O:E says "
            "whether there are more events than expected."
        )
    if rate in (0.0, 1.0):
        notes.append(
            f"There is no {'non-event' if rate else 'event'}, so several measures do not exist."
        )
    if sample.kind == "frequency":
        notes.append(f"By frequency weights these {n:,} rows stand for {sample.total:,.0f}.")
    if sample.kind not in (None, "frequency") or sample.clustered:
        by = " and ".join(
            filter(
                None,
                [
                    f"{sample.kind} weights" if sample.kind else "",
                    "clusters" if sample.clustered else "",
                ],
            )
        )
        notes.append(
            f"By {by} these {n:,} rows tell as much of the event rate as {effective:,.0f} equal ones."
        )
    if sample.clustered and sample.n_telling < NORMAL_FROM:
        notes.append(
            f"Only {sample.n_telling} of {sample.n_units} clusters have the rarer outcome: intervals are of Student's t"
            " and rough."
        )
    if has_clusters and not sample.clustered:
        notes.append(
            "All rows are of one cluster, which shows nothing of how clusters differ: rows count as independent."
        )
    return tuple(notes)
