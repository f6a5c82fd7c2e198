"""The rate of an outcome that a judge sees in all rows and people in some: the judge's rate, corrected by theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.arrays import as_array, check_of_rows
from calib.calibrators._folds import FOLDS, deal, row_units
from calib.calibrators.by_group import MISSING
from calib.errors import CalibrationError
from calib.formatting import percent, plural
from calib.metrics.estimate import Estimate, Rows, degrees_of
from calib.numerics import Floats, log_odds_of
from calib.registry import calibrator

FEWEST_LABELLED = 20
"""Labelled rows below which no rate is corrected."""
NOT_AT_RANDOM = 0.01
"""p-value of the rank test below which labelled rows count as no random part of all."""
MOST_STRATA = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class CorrectedRate(Estimate):
    """Share of all rows that people would pass, estimated from a judge of all rows and people's labels of some.

    Differences of two systems on the same rows are paired: subtract one from the other.

    Attributes
    ----------
    value : float
        The corrected rate.
    influence : array of shape (n_units,)
        What each independent unit, a row or a cluster, adds to it.
    degrees : float
        Degrees of freedom of its interval.
    by_judge, by_people : Estimate
        The judge's rate over all rows, and people's over the labelled ones, uncorrected.
    power : float
        How far the judge is followed, lambda in [0, 1]; NaN where strata correct.
    n_labelled, n_unlabelled : int
        Numbers of rows.
    p_value : float
        Of the rank test that labelled rows have the judge's scores of the others; 1 where all are labelled.
    n_strata : int
        Strata of the judge's score by which labelled rows are weighed where they are no random part; else 0.
    """

    by_judge: Estimate
    by_people: Estimate
    power: float
    n_labelled: int
    n_unlabelled: int
    p_value: float
    n_strata: int

    def __str__(self) -> str:
        rate, people = self.interval(), self.by_people.interval()
        text = (
            f"The judge passes {percent(self.by_judge.value)}. Corrected by {plural(self.n_labelled, 'human label')}: "
            f"{percent(rate.value)} ({percent(rate.low)} to {percent(rate.high)}); the labels alone give "
            f"{percent(people.value)} ({percent(people.low)} to {percent(people.high)})."
        )
        if not self.n_strata:
            return text
        return (
            f"{text} The labelled rows are no random part of all (p = {self.p_value:.2g}), so each stratum of the "
            f"judge's score ({self.n_strata}) counts as often as in all rows."
        )

    def labels_for(self, share_of_width: float = 0.5) -> int | None:
        """Labelled rows with which the interval would be so much as wide; None if not even labels of all rows do.

        The variance with m of M rows labelled is taken as ``a (1 - r (M - m) / M) / m`` with the share r of the labels'
        variance that the judge knows, as PPI++ has it at the best lambda.

        Parameters
        ----------
        share_of_width : float
            Width of the interval wanted, as a share of that of this one.

        Returns
        -------
        int or None
            Labelled rows in all.
        """
        m, total = self.n_labelled, self.n_labelled + self.n_unlabelled
        now = float(self.error) ** 2
        alone = float(self.by_people.error) ** 2 * m
        unknown = self.n_unlabelled / total
        explained = float(np.clip((1.0 - now * m / alone) / unknown, 0.0, 1.0)) if unknown else 0.0
        sizes = np.arange(1, total + 1)
        enough = (
            alone * (1.0 - explained * (total - sizes) / total) / sizes <= share_of_width**2 * now
        )
        return int(sizes[enough][0]) if enough.any() else None


def corrected_rate(
    judge: Any, labels: Any, clusters: Any = None, *, calibrate: bool = False, random_state: int = 0
) -> CorrectedRate:
    """Correct a judge's rate by the labels that people gave to some of the rows.

    With n labelled rows, N others and the judge's f, the estimate of PPI++ (Angelopoulos, Duchi and Zrnic 2023,
    arXiv:2311.01453) is ``l mean_N f + mean_n (Y - l f)`` with ``l = Cov_n(Y, f) / ((1 + n / N) Var f)``, cut to
    [0, 1]: never less precise than the labels alone, however bad the judge. Where a rank test finds that the labelled
    rows are no random part of all, people's rate in each stratum of f counts as often as the stratum is in all rows
    (Cochran 1977, section 5A.9), which holds if labelling depended on f alone.

    Parameters
    ----------
    judge : array-like of shape (n,)
        Verdicts 0 and 1, or probabilities of the outcome.
    labels : array-like of shape (n,)
        0 and 1, or booleans; NaN, None or a blank where nobody judged.
    clusters : array-like of shape (n,), optional
        What rows that belong together share.
    calibrate : bool
        Take for f Platt's map of the judge's score, each labelled row's fitted to the other folds (Zrnic and Candes,
        Cross-prediction-powered inference, PNAS 2024).
    random_state : int
        Seed of the folds.

    Returns
    -------
    CorrectedRate
        The rate with what it was made of; print it for a sentence.

    Raises
    ------
    CalibrationError
        With fewer than 20 labelled rows, or a stratum in which nobody judged.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0)
    >>> truth = draws.random(2000) < 0.4
    >>> judge = np.where(truth, draws.random(2000) < 0.9, draws.random(2000) < 0.3)
    >>> labels = np.where(np.arange(2000) < 400, truth, np.nan)
    >>> rate = corrected_rate(judge, labels)
    >>> [round(each.value, 3) for each in (rate.by_judge, rate, rate.by_people)]
    [0.551, 0.365, 0.357]
    """
    scores = as_array(judge, "judge").astype(float)
    outcome = human_labels(labels, len(scores))
    if scores.ndim != 1 or not ((scores >= 0) & (scores <= 1)).all():
        raise CalibrationError("judge must hold a verdict, 0 or 1, or a probability a row.")
    clusters = None if clusters is None else check_of_rows("clusters", clusters, len(scores))
    labelled = ~np.isnan(outcome)
    n, rest = int(labelled.sum()), int((~labelled).sum())
    if n < FEWEST_LABELLED:
        raise CalibrationError(
            f"{plural(n, 'row')} of {len(scores):,} have a label; give at least {FEWEST_LABELLED}."
        )
    rows = Rows.of(len(scores), clusters)
    p_value = _rank_test(scores, labelled)
    if calibrate:
        scores = _cross_fitted(scores, outcome, labelled, clusters, random_state)
    y, f = outcome[labelled], scores[labelled]
    people = _over_part(rows, outcome, labelled)
    power, n_strata = np.nan, 0
    if p_value < NOT_AT_RANDOM:
        value, per_row, n_strata = _by_strata(scores, outcome, labelled)
    else:
        spread = float(np.var(scores, ddof=1)) * (1.0 + n / max(rest, 1))
        covariance = float(((y - y.mean()) * (f - f.mean())).mean())
        power = float(np.clip(covariance / spread, 0.0, 1.0)) if rest and spread else 0.0
        others = scores[~labelled].mean() if rest else 0.0
        corrected = y - power * f
        value = power * others + corrected.mean()
        per_row = np.zeros(len(scores))
        per_row[labelled] = (corrected - corrected.mean()) / n
        per_row[~labelled] = power * (scores[~labelled] - others) / max(rest, 1)
    estimate = rows.estimate(float(value), per_row)
    return CorrectedRate(
        estimate.value,
        estimate.influence,
        people.degrees,
        by_judge=rows.mean_of(as_array(judge, "judge").astype(float)),
        by_people=people,
        power=power,
        n_labelled=n,
        n_unlabelled=rest,
        p_value=p_value,
        n_strata=n_strata,
    )


def judge_agreement(judge: Any, labels: Any, clusters: Any = None) -> dict[str, Estimate]:
    """Sensitivity, specificity and Cohen's kappa of a judge's verdicts, over the labelled rows.

    Parameters
    ----------
    judge : array-like of shape (n,)
        Verdicts 0 and 1, or probabilities, of which one half and more pass.
    labels : array-like of shape (n,)
        0 and 1, or missing, as in :func:`corrected_rate`.
    clusters : array-like of shape (n,), optional
        What rows that belong together share.

    Returns
    -------
    dict of str to Estimate
        ``sensitivity``, ``specificity`` and ``kappa``.

    Examples
    --------
    >>> {name: round(each.value, 2) for name, each in judge_agreement([1, 1, 0, 0], [1, 1, 1, 0]).items()}
    {'sensitivity': 0.67, 'specificity': 1.0, 'kappa': 0.5}
    """
    scores = as_array(judge, "judge").astype(float)
    outcome = human_labels(labels, len(scores))
    labelled = ~np.isnan(outcome)
    f, y = (scores[labelled] >= 0.5).astype(float), outcome[labelled]
    units = None
    if clusters is not None:
        units = check_of_rows("clusters", clusters, len(scores))[labelled]
    rows = Rows.of(len(y), units)
    n = max(len(y), 1)
    p, q = f.mean() if len(y) else np.nan, y.mean() if len(y) else np.nan
    agreement = {}
    for name, passed, right in (("sensitivity", y, f), ("specificity", 1.0 - y, 1.0 - f)):
        share = float(passed.mean()) if len(y) else np.nan
        value = float((passed * right).mean() / share) if share else np.nan
        per_row = passed * (right - value) / (n * share) if share else np.full(len(y), np.nan)
        agreement[name] = rows.estimate(value, per_row)
    agree = (f == y).astype(float)
    observed, chance = agree.mean() if len(y) else np.nan, p * q + (1.0 - p) * (1.0 - q)
    by_chance = (2.0 * q - 1.0) * (f - p) + (2.0 * p - 1.0) * (y - q)
    if chance < 1.0:
        slope = (agree - observed) * (1.0 - chance) - by_chance * (1.0 - observed)
        kappa, per_row = (observed - chance) / (1.0 - chance), slope / (n * (1.0 - chance) ** 2)
    else:
        kappa, per_row = np.nan, np.full(len(y), np.nan)
    agreement["kappa"] = rows.estimate(float(kappa), per_row)
    return agreement


def rate_behind_errors(rate: Estimate, sensitivity: Estimate, specificity: Estimate) -> Estimate:
    """Rate behind a judge whose errors are known from other rows (Rogan and Gladen 1978).

    ``(rate + specificity - 1) / (sensitivity + specificity - 1)``, cut to [0, 1], with the variance to first order.

    Parameters
    ----------
    rate : Estimate
        The judge's rate over the rows of interest.
    sensitivity, specificity : Estimate
        Of the judge, over the same labelled rows, as :func:`judge_agreement` has them.

    Returns
    -------
    Estimate
        The rate behind the judge's, with the errors of all three.

    Raises
    ------
    CalibrationError
        If the judge is no better than chance.

    Examples
    --------
    >>> known = Estimate(0.9, np.zeros(1))
    >>> round(rate_behind_errors(Estimate(0.5, np.zeros(1)), known, known).value, 6)
    0.5
    """
    better = sensitivity.value + specificity.value - 1.0
    if not better > 0.0:
        raise CalibrationError(
            f"Sensitivity {sensitivity.value:.3g} and specificity {specificity.value:.3g} are those of a judge that "
            "is no better than chance; its rate says nothing."
        )
    behind = float(np.clip((rate.value + specificity.value - 1.0) / better, 0.0, 1.0))
    elsewhere = (1.0 - behind) * specificity.influence - behind * sensitivity.influence
    influence = np.concatenate([rate.influence, elsewhere]) / better
    return Estimate(behind, influence, min(rate.degrees, sensitivity.degrees))


def human_labels(labels: Any, n: int) -> Floats:
    """People's labels as (n,) 0.0, 1.0 or NaN.

    Raises
    ------
    CalibrationError
        If a cell holds something else.
    """
    values = np.asarray(labels, dtype=object)
    if values.shape != (n,):
        raise CalibrationError(f"labels must have shape ({n},), a label a row; got {values.shape}.")
    codes = {0: 0.0, 1: 1.0, "0": 0.0, "1": 1.0}
    outcome = np.full(n, np.nan)
    for row, value in enumerate(values):
        if str(value) in MISSING:
            continue
        if value not in codes:
            raise CalibrationError(
                f"labels must be 0 and 1, or missing; row {row} has {value!r}: write 1 where people pass."
            )
        outcome[row] = codes[value]
    return outcome


def _over_part(rows: Rows, values: Floats, part: Any) -> Estimate:
    """Mean over a part of the rows, as an estimate of all rows' units."""
    mean = float(values[part].mean())
    per_row = np.zeros(len(values))
    per_row[part] = (values[part] - mean) / part.sum()
    units = len(np.unique(rows.unit[part]))
    estimate = rows.estimate(mean, per_row)
    return Estimate(estimate.value, estimate.influence, degrees_of(units))


def _rank_test(scores: Floats, labelled: Any) -> float:
    """p-value of Mann and Whitney's test of labelled against other rows."""
    from scipy.stats import mannwhitneyu

    if labelled.all() or np.ptp(scores) == 0:
        return 1.0
    return float(mannwhitneyu(scores[labelled], scores[~labelled]).pvalue)


def _by_strata(scores: Floats, outcome: Floats, labelled: Any) -> tuple[float, Floats, int]:
    """Rate, what each row adds to it, and the number of strata, which are values of the score or fifths of it."""
    values = np.unique(scores)
    edges = values[1:]
    if len(values) > MOST_STRATA:
        edges = np.unique(np.quantile(scores, np.arange(1, MOST_STRATA) / MOST_STRATA))
    stratum = np.searchsorted(edges, scores, side="right")
    total = len(scores)
    per_row = np.zeros(total)
    rate = 0.0
    for code in np.unique(stratum):
        inside = stratum == code
        judged = inside & labelled
        if judged.sum() < 2:
            raise CalibrationError(
                f"{plural(int(inside.sum()), 'row')} with a judge's score of {scores[inside].min():.3g} to "
                f"{scores[inside].max():.3g} have fewer than 2 labels, and labelled rows are no random part of all: "
                "label some of them."
            )
        mean = float(outcome[judged].mean())
        share = inside.mean()
        rate += share * mean
        per_row[inside] += mean / total
        per_row[judged] += share * (outcome[judged] - mean) / judged.sum()
    return rate, per_row - rate / total, len(np.unique(stratum))


def _cross_fitted(
    scores: Floats, outcome: Floats, labelled: Any, clusters: Any, random_state: int
) -> Floats:
    """Platt's map of the score: of labelled rows by the other folds, of all others the mean over folds."""
    log_odds = log_odds_of(np.clip(scores, 1e-6, 1.0 - 1e-6))
    logits = np.stack([np.zeros_like(log_odds), log_odds], axis=1)
    units = row_units(int(labelled.sum()), None if clusters is None else clusters[labelled])
    folds = np.full(len(scores), -1)
    folds[labelled] = deal(units, random_state)
    mapped = np.zeros(len(scores))
    for fold in range(FOLDS):
        fitting = labelled & (folds != fold)
        y = outcome[fitting].astype(np.int64)
        if y.min() == y.max():
            probs = np.full(len(scores), y.mean())
        else:
            fitted = calibrator("platt").fit(logits[fitting], y, kind="logits")
            probs = fitted.probs_from_logits(logits)[:, 1]
        mapped[folds == fold] = probs[folds == fold]
        mapped[~labelled] += probs[~labelled] / FOLDS
    return mapped
