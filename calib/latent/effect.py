"""What a latent function does to the confidence of real rows, with how sure it is of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base import Calibrator, check_labels
from calib.calibrators.gpcalib import GPCalib
from calib.gp.prediction import LARGEST_SHIFT
from calib.latent.fitted import every_nth_row, fitted_gp
from calib.latent.truth import Truth
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, blocks, softmax

MOST_DRAWS = 256
"""The first of a scrambled Sobol sequence are spread as evenly as all; more would only take memory."""

MOST_ENTRIES = 2_000_000
"""Logits the effect is computed from: more than for a curve, as bins of rows are noisier than a shift."""


@dataclass(frozen=True, eq=False)
class ConfidenceEffect:
    """Rows ordered by the confidence of the raw model, and what becomes of the class it predicts.

    Attributes
    ----------
    before : (n,) raw confidence, increasing.
    after : (n,) calibrated probability of the same class, as ``predict_proba`` gives it.
    draws : (n, n_draws) float32, the same under each function drawn from the posterior.
    right : (n,) whether the raw prediction is right.
    temperature : (n,) what temperature scaling makes of it; None if no temperature was given.
    truth : (n,) the true probability; None where unknown.
    changed : rows whose predicted class is another after calibration.
    every : 1 if these are all rows, m if every m-th.
    """

    before: Floats
    after: Floats
    draws: Floats
    right: Any
    temperature: Floats | None
    truth: Floats | None
    changed: int
    every: int


def confidence_effect(
    calibrator: Calibrator,
    logits: Any,
    labels: Any,
    temperature: float | None = None,
    truth: Truth | None = None,
) -> ConfidenceEffect:
    """Follow each row's predicted class through the calibration.

    Parameters
    ----------
    calibrator : a fitted :class:`~calib.calibrators.gpcalib.GPCalib`.
    logits, labels : (n, n_classes) and (n,) rows that it was not fitted on.
    temperature, truth : for values to compare with.

    Raises
    ------
    CalibrationError
        If the calibrator is not fitted or the arrays do not belong to it.
    """
    gp = fitted_gp(calibrator)
    labels = check_labels(labels, np.shape(logits))
    rows, logits = every_nth_row(gp, logits, MOST_ENTRIES)
    top = logits.argmax(axis=1)
    index = np.arange(len(top))
    before = softmax(logits)[index, top]
    order = np.argsort(before, kind="stable")
    probs = gp.predict_proba(logits)
    scaled = None if temperature is None else softmax(logits / temperature)[index, top][order]
    true = None if truth is None else truth.probabilities(logits)
    return ConfidenceEffect(
        before=before[order],
        after=probs[index, top][order],
        draws=under_each_draw(gp, logits, top)[order],
        right=(labels[rows] == top)[order],
        temperature=scaled,
        truth=None if true is None else true[index, top][order],
        changed=int((probs.max(axis=1) > probs[index, top]).sum()),
        every=rows.step,
    )


def under_each_draw(gp: GPCalib, logits: Floats, classes: Ints) -> Floats:
    """Probability of one class of each row under each drawn function, shape (n, n_draws), float32.

    The numerator and the normaliser of the softmax both come from ``exp(a)`` on the grid, as in
    :func:`calib.gp.prediction.predict_draws`, whose average over the draws this is.
    """
    growth = np.exp(np.clip(gp.shift_draws_[:MOST_DRAWS], -LARGEST_SHIFT, LARGEST_SHIFT)).T
    probs = np.empty((len(logits), growth.shape[1]), dtype=np.float32)
    for block in blocks(len(logits), max(logits.shape[1], len(growth)), PREDICTED_ENTRIES):
        inputs, prior = gp.kernel_inputs(logits[block])
        mass = np.exp(prior - prior.max(axis=1, keepdims=True))
        index = np.arange(len(mass))
        nodes, window = gp.grid().window(inputs.min(), inputs.max())
        local = growth[nodes]
        own = window.stencil(inputs[index, classes[block]])
        grown = sum(w[:, None] * local[own.first + node] for node, w in enumerate(own.weights))
        total = window.stencil(inputs).collect(mass) @ local
        probs[block] = mass[index, classes[block], None] * grown / total
    return probs
