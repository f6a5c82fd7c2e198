"""The CORP decomposition of an evaluation, and of its resamples."""

from __future__ import annotations

import numpy as np

from calib.evaluation.evaluation import Evaluation
from calib.metrics.bootstrap import Resamples
from calib.metrics.consistency import calibrated_outcomes
from calib.metrics.corp import RULES, corp, entropy, isotonic_of_samples, ordered_cells, row_scores
from calib.numerics import Floats, Ints

TERMS = ("miscalibration", "discrimination", "uncertainty")
CORP = tuple(f"{rule} {term}" for rule in RULES for term in TERMS)
"""Keys of the scores, such as "Brier miscalibration"."""

MAX_CELLS = 500
N_CALIBRATED = 100


def corp_values(evaluation: Evaluation) -> dict[str, float]:
    """The terms of both rules, by key."""
    parts = {rule: corp(*evaluation.pair, rule=rule) for rule in RULES}
    return {f"{rule} {term}": getattr(parts[rule], term) for rule in RULES for term in TERMS}


def resampled_corp_values(evaluation: Evaluation, resamples: Resamples) -> dict[str, Floats]:
    """The terms of both rules in every resample, by key, each of shape (n_resamples,).

    Every resample has an isotonic regression of its own, on at most 500 groups of neighbouring confidences: of 50,000
    rows it costs 0.1 ms in place of 1.5, and the terms scatter as they do with rows.

    Their mean is put right. Isotonic regression fits noise, so that miscalibration and discrimination come out too
    large; a resample does not show by how much, because what it is drawn from has steps, which are easier to fit than
    a slope. Labels drawn at the confidences show it: their miscalibration is noise alone.
    """
    confidence, correct = evaluation.pair
    cell = ordered_cells(confidence, MAX_CELLS)
    n_cells = int(cell.max()) + 1
    groups = resamples.groups
    drawn = resamples.each(
        _terms,
        groups.sums_by(cell, n_cells, correct),
        groups.sums_by(cell, n_cells, None),
        np.stack([groups.sums(row_scores(confidence, correct, rule)) for rule in RULES], axis=-1),
    )
    noise = fitted_noise(confidence, cell, resamples.random_state)
    values: dict[str, Floats] = {}
    for i, rule in enumerate(RULES):
        exact = corp(confidence, correct, rule)
        miscalibration, discrimination, uncertainty = drawn[:, i].T
        values[f"{rule} miscalibration"] = _centred(miscalibration, exact.miscalibration + noise[rule])
        values[f"{rule} discrimination"] = _centred(discrimination, exact.discrimination + noise[rule])
        values[f"{rule} uncertainty"] = uncertainty
    return values


def _terms(right: Floats, count: Floats, score: Floats) -> Floats:
    """The terms of m samples, shape (m, rules, terms).

    Parameters
    ----------
    right, count : (m, n_cells) right predictions and rows in cells of neighbouring confidences.
    score : (m, rules) sums of each rule's scores.
    """
    rows = count.sum(axis=1)
    frequency = isotonic_of_samples(right, count)
    accuracy = right.sum(axis=1) / rows
    found = np.empty((len(rows), len(RULES), len(TERMS)))
    for i, rule in enumerate(RULES):
        recalibrated = (count * entropy(frequency, rule)).sum(axis=1) / rows
        uncertainty = entropy(accuracy, rule)
        found[:, i] = np.stack([score[:, i] / rows - recalibrated, uncertainty - recalibrated, uncertainty], axis=1)
    return found


def _centred(values: Floats, mean: float) -> Floats:
    return values - values.mean() + mean


def fitted_noise(confidence: Floats, cell: Ints, random_state: int) -> dict[str, float]:
    """Mean miscalibration, by rule, of labels that are drawn at the confidences.

    Parameters
    ----------
    confidence : (n,) floats.
    cell : (n,) from :func:`ordered_cells`.
    random_state : seed.
    """
    count, mean, right = calibrated_outcomes(confidence, cell, N_CALIBRATED, random_state)
    rows = np.broadcast_to(count, right.shape)
    frequency = isotonic_of_samples(right, rows)
    saved = {}
    for rule in RULES:
        said = right * row_scores(mean, np.ones(len(mean), bool), rule)
        said = said + (count - right) * row_scores(mean, np.zeros(len(mean), bool), rule)
        saved[rule] = float((said - rows * entropy(frequency, rule)).sum(axis=1).mean() / len(cell))
    return saved
