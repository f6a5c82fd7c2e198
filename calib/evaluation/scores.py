"""The scores of an evaluation, with what each group of rows adds to them; of the ECE bootstrap draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calib.errors import CalibrationError
from calib.evaluation.evaluation import Evaluation
from calib.evaluation.score_definitions import ECE_BINS, MEANS, SCORES
from calib.evaluation.scored import N_RESAMPLES, Scored
from calib.metrics.bootstrap import Groups, Interval, Resamples, cut, folded, interval_of_draws, not_below, reflect
from calib.metrics.confidence import Bools
from calib.metrics.estimate import Estimate, Rows, degrees_of
from calib.metrics.risk_measures import placements
from calib.numerics import Floats, bin_index


def scores(evaluation: Evaluation) -> dict[str, float]:
    """Values of the scores in ``SCORES`` that the evaluation allows, by key.

    NLL, Brier score and top-5 accuracy are absent where the method gives a confidence only, top-5 accuracy also up to 5
    classes. Overconfidence is NaN where nothing is wrong, underconfidence where nothing is right.
    """
    values: dict[str, float] = {key: value for key, (value, _) in smooth_scores(evaluation).items()}
    return _in_order(values | {"ECE": float(ece_of_bins(bins_of_ece(*evaluation.pair)))})


def scored_on(evaluation: Evaluation, resamples: Resamples) -> Scored:
    """Scores of an evaluation, on groups and resamples of its rows that all methods share.

    Raises
    ------
    CalibrationError
        If the resamples are of another number of rows.
    """
    if len(evaluation) != resamples.n:
        raise CalibrationError(
            f"The evaluations have {len(evaluation)} and {resamples.n} rows; compare them on the same test set."
        )
    smooth, bins = smooth_scores(evaluation), bins_of_ece(*evaluation.pair)
    error, draws = drawn_ece(*evaluation.pair, resamples)
    per_row = {key: rows for key, (_, rows) in smooth.items()} | {"ECE": ece_influence(*evaluation.pair)}
    return Scored(
        _in_order({key: value for key, (value, _) in smooth.items()} | {"ECE": error}),
        {key: sums_of_groups(rows, resamples.groups) for key, rows in per_row.items()},
        {"ECE": draws},
        len(evaluation),
        evaluation.n_clusters,
        {"ECE": without_noise(error, bins)},
    )


def _in_order(values: dict[str, float]) -> dict[str, float]:
    return {key: float(values[key]) for key in SCORES if key in values}


def smooth_scores(evaluation: Evaluation) -> dict[str, tuple[float, Floats]]:
    """Scores that are smooth functions of means over rows, by key: value, and (n,) what each row adds to it.

    Values are NaN where a mean is over nothing.
    """
    said, outcome = evaluation.pair
    n, gap = len(evaluation), float(said.mean() - outcome.mean())
    rows: dict[str, npt.NDArray[Any] | None] = {key: of_rows(evaluation) for key, of_rows in MEANS.items()}
    rows |= {"accuracy": evaluation.correct, "signed gap": said - outcome, "sharpness": (said - said.mean()) ** 2}
    found = {key: _mean_among(values, np.ones(n, dtype=bool)) for key, values in rows.items() if values is not None}
    found["gap"] = abs(gap), np.sign(gap) * found["signed gap"][1]
    found["overconfidence"] = _mean_among(said, ~outcome)
    found["underconfidence"] = _mean_among(1.0 - said, outcome)
    if evaluation.view.is_event:
        unknown = float("nan"), np.full(n, np.nan)
        of_both = 0 < outcome.sum() < n
        found["AUROC"] = placements(said, outcome, Rows.of(n)) if of_both else unknown
        found["average precision"] = precision_influence(said, outcome) if outcome.any() else unknown
    return found


def precision_influence(risk: Floats, event: Bools) -> tuple[float, Floats]:
    """Average precision, and (n,) what each row adds to it.

    It is the mean over the events of the precision at their risk. A row changes it by being an event itself, and by
    entering the precision at every risk that is not above its own.
    """
    cell = np.unique(risk, return_inverse=True)[1]
    events, rows = np.bincount(cell, event), np.bincount(cell)
    rows_above, events_above = (np.cumsum(each[::-1])[::-1] for each in (rows, events))
    precision = events_above / rows_above
    value = float(events @ precision / events.sum())
    upto, upto_precision = np.cumsum(events / rows_above)[cell], np.cumsum(events * precision / rows_above)[cell]
    return value, (event * (precision[cell] - value + upto) - upto_precision) / events.sum()


def sums_of_groups(per_row: Floats, groups: Groups) -> Floats:
    """What each of G groups adds to a statistic, (G,), from what (n,) rows add; the variance has ``G / (G - 1)``."""
    return groups.sums(per_row) * np.sqrt(groups.n_groups / max(groups.n_groups - 1, 1))


def _mean_among(values: npt.NDArray[Any], chosen: Bools) -> tuple[float, Floats]:
    """Mean over the chosen rows, a ratio of two sums, and what each row adds to it."""
    count = int(chosen.sum())
    if not count:
        return float("nan"), np.full(len(values), np.nan)
    mean = float(values[chosen].mean())
    return mean, np.where(chosen, values - mean, 0.0) / count


def bins_of_ece(confidence: Floats, correct: Bools, groups: Groups | None = None) -> Floats:
    """Sums of 1, confidence and correctness in each bin of the ECE, (ECE_BINS, 3), or (n_groups, ECE_BINS, 3)."""
    every = groups or Groups(np.zeros(len(confidence), dtype=np.int64), 1)
    index = bin_index(confidence, np.linspace(0.0, 1.0, ECE_BINS + 1))
    bins = np.stack([every.sums_by(index, ECE_BINS, part) for part in (None, confidence, correct)], axis=-1)
    return bins.astype(float) if groups else bins[0].astype(float)


def ece_of_bins(bins: Floats) -> Floats:
    """ECE of bins, (..., ECE_BINS, 3) sums of 1, confidence and correctness, over the leading axes."""
    count, said, came = np.moveaxis(bins, -1, 0)
    return np.asarray(np.abs(said - came).sum(axis=-1) / count.sum(axis=-1))


def ece_influence(confidence: Floats, correct: Bools) -> Floats:
    """(n,) what each row adds to the ECE, where the gap of each bin keeps its sign."""
    bins = bins_of_ece(confidence, correct)
    place = bin_index(confidence, np.linspace(0.0, 1.0, ECE_BINS + 1))
    signed = np.sign(bins[:, 1] - bins[:, 2])[place] * (confidence - correct)
    return (signed - signed.mean()) / len(signed)


def drawn_ece(confidence: Floats, correct: Bools, resamples: Resamples) -> tuple[float, Floats]:
    """The ECE, and (n_resamples,) values that it may have in truth, see :func:`calib.metrics.reflect`."""
    bins = bins_of_ece(confidence, correct, resamples.groups)
    value = float(ece_of_bins(bins.sum(axis=0)))
    return value, reflect(value, resamples.each(ece_of_bins, bins))


def ece_interval(
    confidence: Floats,
    correct: Bools,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    clusters: npt.NDArray[np.generic] | None = None,
) -> Interval:
    """:func:`calib.ece` with the bootstrap interval that comparisons give it.

    No ECE is below the distance of mean confidence from accuracy, and so is neither end of its interval.

    Parameters
    ----------
    confidence, correct : (n,) arrays.
    level : coverage.
    n_resamples : bootstrap resamples, from a fixed seed.
    clusters : (n,) what rows that belong together share; whole clusters are drawn.
    """
    resamples = Resamples(len(confidence), n_resamples, clusters=clusters)
    value, draws = drawn_ece(confidence, correct, resamples)
    gap, per_row = _mean_among(confidence - correct, np.ones(len(confidence), dtype=bool))
    influence = sums_of_groups(per_row, resamples.groups)
    signed = cut(Estimate(gap, influence, degrees_of(len(influence))).interval(level), -1.0, 1.0)
    return not_below(interval_of_draws(value, draws, level, 0.0, 1.0), folded(abs(gap), signed))


def without_noise(error: float, bins: Floats) -> float:
    """An ECE less, in squares, the mean that the noise of its bins alone would give.

    The accuracy of n rows is off by a normal error of standard deviation s, ``s^2 = a (1 - a) / n``, whose mean size is
    ``s sqrt(2 / pi)``; a gap and its noise add in squares.

    Parameters
    ----------
    error : the ECE.
    bins : (n_bins, 3) rows, sums of the confidence and right rows of each bin.
    """
    count, _, right = bins.T
    accuracy = (right + 0.5) / (count + 1.0)
    noise = np.sqrt(2.0 / np.pi * accuracy * (1.0 - accuracy) * count).sum() / count.sum()
    return float(np.sqrt(max(error**2 - noise**2, 0.0)))


def score_intervals(
    evaluation: Evaluation, level: float = 0.95, n_resamples: int = N_RESAMPLES, random_state: int = 0
) -> dict[str, Interval]:
    """Interval of every score, by key: linearised of smooth scores, Wilson's of proportions, bootstrapped of the ECE.

    An ECE of few rows in many bins is an overestimate; its interval reaches down to where the truth may be. In
    simulations with 500 and 5000 rows, 95 % intervals held the truth in 87 to 100 % of runs for the ECE (percentile
    intervals: 0 % on calibrated data) and 93 to 97 % for the other scores (40 to 100 runs each, calibrated or not).
    """
    return scored_on(evaluation, evaluation.resamples(n_resamples, random_state)).intervals(level)
