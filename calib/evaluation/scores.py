"""The scores of an evaluation, with what each group of rows adds to them or with bootstrap draws of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.errors import CalibrationError
from calib.evaluation.evaluation import Evaluation, check_same_rows
from calib.evaluation.score_definitions import (
    CORP,
    ECE_BINS,
    MEANS,
    NORMS,
    RULE,
    SCORES,
    SMOOTH,
    TERMS,
    TOP_LABEL_ERRORS,
)
from calib.evaluation.scored import N_RESAMPLES, Scored
from calib.metrics.bootstrap import Groups, Interval, Resamples, folded, reflect
from calib.metrics.calibration_error import cell_of, smooth_error, smooth_errors
from calib.metrics.confidence import Bools
from calib.metrics.corp import (
    calibrated_outcomes,
    decompose,
    entropy,
    isotonic_of_samples,
    ordered_cells,
    recalibrate,
    row_scores,
)
from calib.metrics.estimate import Estimate, Rows, degrees_of
from calib.metrics.risk_measures import placements
from calib.metrics.scoring_rules import average_precision, ranking_scores
from calib.numerics import Floats, Ints, bin_index

MAX_CELLS = 500
N_CALIBRATED = 100
N_CELLS = 512
"""Of the smooth ECE: fewer than for the score itself; of 500 to a million rows, they move it by less than 0.00003."""
OF_BINS = ("ECE", "MCE")


def scores(evaluation: Evaluation) -> dict[str, float]:
    """Values of the scores in ``SCORES`` that the evaluation allows, by key.

    NLL, Brier score, top-5 accuracy and the class-wise errors are absent where the method gives a confidence only,
    top-5 accuracy also up to 5 classes, class-wise errors above 10,000. Overconfidence is NaN where nothing is wrong,
    underconfidence where nothing is right.
    """
    smooth = smooth_scores(evaluation) | corp_scores(evaluation)
    errors = dict(zip(OF_BINS, errors_of_bins(bins_of_ece(evaluation)), strict=True))
    return _in_order({key: value for key, (value, _) in smooth.items()} | errors | _slow_values(evaluation))


def score_fully(evaluation: Evaluation, resamples: Resamples) -> Scored:
    """Scores of an evaluation, on groups and resamples of its rows that all methods share."""
    slow, again = _slow_values(evaluation), {
        SMOOTH: resampled_smooth_ece(*evaluation.pair, resamples),
        **(resampled_precision(*evaluation.pair, resamples) if evaluation.view.is_event else {}),
    }  # fmt: skip
    errors = _errors_of_bins(evaluation, resamples) | {key: (slow[key], again[key]) for key in slow}
    found = _scored(evaluation, resamples, smooth_scores(evaluation) | corp_scores(evaluation), errors)
    calibrated = calibrated_scores(evaluation, resamples.random_state)
    return replace(
        found,
        debiased=found.debiased | less_fitted_noise(found.value, evaluation, resamples.random_state),
        chance={key: float(drawn.mean()) for key, drawn in calibrated.items()},
        chance_high={key: float(np.quantile(drawn, 0.95)) for key, drawn in calibrated.items()},
    )


def score_quickly(evaluation: Evaluation, resamples: Resamples) -> Scored:
    """Only those of :func:`score_fully` that are quick: smooth ones, ECE and MCE."""
    return _scored(evaluation, resamples, smooth_scores(evaluation), _errors_of_bins(evaluation, resamples))


def _in_order(values: dict[str, Any]) -> dict[str, float]:
    return {key: float(values[key]) for key in SCORES if key in values}


def _slow_values(evaluation: Evaluation) -> dict[str, Any]:
    values: dict[str, Any] = {SMOOTH: smooth_error(*evaluation.pair)}
    if evaluation.view.is_event:
        values["average precision"] = average_precision(*evaluation.pair)
    return values


def _scored(
    evaluation: Evaluation,
    resamples: Resamples,
    smooth: dict[str, tuple[float, Floats]],
    errors: dict[str, tuple[Any, Floats]],
) -> Scored:
    """Smooth scores with what each row adds, and calibration errors with their values in every resample."""
    bins, groups = bins_of_ece(evaluation), resamples.groups
    value = _in_order({key: one for key, (one, _) in (smooth | errors).items()})
    per_row = {key: rows for key, (_, rows) in smooth.items()} | {"ECE": ece_influence(evaluation, bins)}
    return Scored(
        value,
        {key: sums_of_groups(rows, groups) for key, rows in per_row.items()},
        {key: reflect(value[key], drawn, squared=key in NORMS) for key, (_, drawn) in errors.items()},
        len(evaluation),
        evaluation.n_clusters,
        {"ECE": without_noise(value["ECE"], bins)},
    )


def smooth_scores(evaluation: Evaluation) -> dict[str, tuple[float, Floats]]:
    """Scores that are smooth functions of means over rows, by key: value, and (n,) what each row adds to it.

    Values are NaN where a mean is over nothing.
    """
    said, outcome = evaluation.pair
    n, gap = len(evaluation), float(said.mean() - outcome.mean())
    rows: dict[str, npt.NDArray[Any] | None] = {key: of_rows(evaluation) for key, of_rows in MEANS.items()}
    rows |= {"accuracy": evaluation.correct, "signed gap": said - outcome}
    found = {key: _mean_among(values, np.ones(n, dtype=bool)) for key, values in rows.items() if values is not None}
    found["gap"] = abs(gap), np.sign(gap) * found["signed gap"][1]
    found["overconfidence"] = _mean_among(said, ~outcome)
    found["underconfidence"] = _mean_among(1.0 - said, outcome)
    squares = (said - said.mean()) ** 2
    found["sharpness"] = _mean_among(squares, np.ones(n, dtype=bool))
    if evaluation.view.is_event:
        of_both = 0 < outcome.sum() < n
        found["AUROC"] = placements(said, outcome, Rows.of(n)) if of_both else (float("nan"), np.full(n, np.nan))
    return found


def mean_gap(confidence: Floats, correct: npt.NDArray[Any], resamples: Resamples, level: float = 0.95) -> Interval:
    """Distance of mean confidence from accuracy with the interval that it has among the scores."""
    signed, per_row = _mean_among(confidence - correct, np.ones(len(confidence), dtype=bool))
    influence = sums_of_groups(per_row, resamples.groups)
    return folded(abs(signed), Estimate(signed, influence, degrees_of(len(influence))).interval(level))


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


def bins_of_ece(evaluation: Evaluation, groups: Groups | None = None) -> Floats:
    """Sums of 1, confidence and correctness in each bin of the ECE, (ECE_BINS, 3), or (n_groups, ECE_BINS, 3)."""
    every = groups or Groups(np.zeros(len(evaluation), dtype=np.int64), 1)
    confidence, correct = evaluation.pair
    index = _bin(confidence)
    bins = np.stack([every.sums_by(index, ECE_BINS, part) for part in (None, confidence, correct)], axis=-1)
    return bins.astype(float) if groups else bins[0].astype(float)


def _bin(confidence: Floats) -> Ints:
    return bin_index(confidence, np.linspace(0.0, 1.0, ECE_BINS + 1))


def errors_of_bins(bins: Floats) -> tuple[Floats, Floats]:
    """ECE and MCE of bins, (..., ECE_BINS, 3) sums of 1, confidence and correctness, over the leading axes."""
    count, said, came = np.moveaxis(bins, -1, 0)
    excess = np.abs(said - came)
    return excess.sum(axis=-1) / count.sum(axis=-1), np.max(excess / np.maximum(count, 1.0), axis=-1)


def ece_influence(evaluation: Evaluation, bins: Floats) -> Floats:
    """(n,) what each row adds to the ECE, where the gap of each bin keeps its sign."""
    confidence, correct = evaluation.pair
    signed = np.sign(bins[:, 1] - bins[:, 2])[_bin(confidence)] * (confidence - correct)
    return (signed - signed.mean()) / len(signed)


def _errors_of_bins(evaluation: Evaluation, resamples: Resamples) -> dict[str, tuple[Any, Floats]]:
    """ECE and MCE, by key, with their (n_resamples,) values in every resample."""
    if len(evaluation) != resamples.n:
        raise CalibrationError(
            f"The evaluations have {len(evaluation)} and {resamples.n} rows; compare them on the same test set."
        )
    bins = bins_of_ece(evaluation, resamples.groups)
    drawn = resamples.each(lambda sums: np.stack(errors_of_bins(sums), axis=1), bins)
    return dict(zip(OF_BINS, zip(errors_of_bins(bins.sum(axis=0)), drawn.T, strict=True), strict=True))


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
    """Interval of every score, by key: linearised of smooth scores, Wilson's of proportions, bootstrapped of errors.

    Bins stay those of the whole sample. A calibration error of few rows in many bins is an overestimate; its
    interval reaches down to where the truth may be. In simulations with 500 and 5000 rows, 95 % intervals held the
    truth in 87 to 100 % of runs for the ECE (percentile intervals: 0 % on calibrated data), 93 to 97 % for the other
    scores, 85 to 100 % for the terms of the CORP decomposition and 90 to 95 % for the smooth ECE (40 to 100 runs each,
    calibrated or not). The MCE is the exception: it is mostly noise, and its intervals hold the truth in 30 to 85 %.
    """
    resamples = evaluation.resamples(n_resamples, random_state)
    return score_fully(evaluation, resamples).intervals(level)


def paired_differences(
    evaluation: Evaluation,
    baseline: Evaluation,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    random_state: int = 0,
) -> dict[str, Interval]:
    """Interval of every score minus the baseline's, by key, paired by row.

    Raises
    ------
    CalibrationError
        If the two were not evaluated on the same rows.
    """
    check_same_rows(evaluation, baseline)
    resamples = evaluation.resamples(n_resamples, random_state)
    ours, theirs = (score_fully(e, resamples) for e in (evaluation, baseline))
    return ours.differences(theirs, level)


def calibrated_scores(evaluation: Evaluation, random_state: int = 0) -> dict[str, Floats]:
    """Calibration errors that a calibrated model of the same confidences would have, by key: 100 draws of each.

    The confidences stay and outcomes are drawn at them (Bröcker and Smith 2007), for a bin at once: a binomial number
    at its mean, since the confidences of a bin are alike.
    """
    generator = np.random.default_rng(random_state)

    def draw(sums: Floats) -> Floats:
        count, said, _ = sums.T
        share = np.clip(said / np.maximum(count, 1.0), 0.0, 1.0)
        right = generator.binomial(count.astype(np.int64), share, size=(N_CALIBRATED, len(count)))
        return np.stack(np.broadcast_arrays(count, said, right), axis=-1).astype(float)

    cell = cell_of(evaluation.pair[0], N_CELLS)
    cells = Groups(cell, N_CELLS)
    sums = draw(np.stack([cells.sums(None), cells.sums(evaluation.pair[0]), np.zeros(N_CELLS)], axis=-1))
    residual = (sums[..., 2] - sums[..., 1]) / len(evaluation)
    values = dict(zip(OF_BINS, errors_of_bins(draw(bins_of_ece(evaluation))), strict=True))
    values |= {SMOOTH: smooth_errors(residual), "gap": np.abs(residual.sum(axis=-1))}
    return {key: values[key] for key in (*TOP_LABEL_ERRORS, "gap")}


def corp_scores(evaluation: Evaluation) -> dict[str, tuple[float, Floats]]:
    """The terms of the decomposition, by key: value, and (n,) what each row adds, its recalibrated frequency given.

    To first order the best recalibration can be taken as given, because it is the best one.
    """
    confidence, correct = evaluation.pair
    again = recalibrate(confidence, correct)
    frequency = again.frequency[np.searchsorted(again.confidence, confidence)]
    rate = np.full(len(correct), correct.mean())
    found = {}
    exact = decompose(confidence, correct, RULE)
    said, fitted, flat = (row_scores(each, correct, RULE) for each in (confidence, frequency, rate))
    for term, rows in zip(TERMS, (said - fitted, flat - fitted, flat), strict=True):
        found[f"{RULE} {term}"] = getattr(exact, term), (rows - rows.mean()) / len(rows)
    return found


def less_fitted_noise(value: dict[str, float], evaluation: Evaluation, random_state: int) -> dict[str, float]:
    """Miscalibration and discrimination, by key, less what isotonic regression gives by fitting noise."""
    confidence = evaluation.pair[0]
    noise = fitted_noise(confidence, ordered_cells(confidence, MAX_CELLS), random_state)
    return {key: max(value[key] - noise, 0.0) for key in CORP[:2]}


def fitted_noise(confidence: Floats, cell: Ints, random_state: int) -> float:
    """Mean miscalibration of labels that are drawn at the confidences.

    Parameters
    ----------
    confidence : (n,) floats.
    cell : (n,) from :func:`ordered_cells`.
    random_state : seed.
    """
    count, mean, right = calibrated_outcomes(confidence, cell, N_CALIBRATED, random_state)
    rows = np.broadcast_to(count, right.shape)
    frequency = isotonic_of_samples(right, rows)
    said = right * row_scores(mean, np.ones(len(mean), bool), RULE)
    said = said + (count - right) * row_scores(mean, np.zeros(len(mean), bool), RULE)
    return float((said - rows * entropy(frequency, RULE)).sum(axis=1).mean() / len(cell))


def resampled_precision(risk: Floats, event: Bools, resamples: Resamples) -> dict[str, Floats]:
    """Average precision of every resample, by key, on at most 500 groups of neighbouring risks.

    Groups tie what lies apart, which moves the values a little; their mean is put at the score of the rows.
    """
    cell = ordered_cells(risk, MAX_CELLS)
    n_cells, groups = int(cell.max()) + 1, resamples.groups
    sums = groups.sums_by(cell, n_cells, event), groups.sums_by(cell, n_cells, None)
    drawn = resamples.each(lambda events, rows: ranking_scores(events, rows)[1], *sums)
    tied = ranking_scores(*(each.sum(axis=0) for each in sums))[1]
    return {"average precision": drawn + average_precision(risk, event) - tied}


def resampled_smooth_ece(confidence: Floats, correct: Bools, resamples: Resamples) -> Floats:
    """Smooth ECE of every resample, shape (n_resamples,), each with a width of its own.

    Parameters
    ----------
    confidence, correct : (n,) floats and booleans.
    resamples : of the n rows.
    """
    cell = cell_of(confidence, N_CELLS)
    groups = resamples.groups
    return resamples.each(
        lambda residual, rows: smooth_errors(residual / rows[:, None]),
        groups.sums_by(cell, N_CELLS, correct - confidence),
        groups.sums(None),
    )
