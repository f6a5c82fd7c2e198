"""Maps of the confidence in the predicted class: the log-odds they take, and what they leave to the other classes."""

from __future__ import annotations

import numpy as np

from calib.numerics import Floats, Ints, logsumexp, softmax
from calib.parameters import ROUNDING


def top_log_odds(logits: Floats) -> Floats:
    """Log-odds of the class with the largest logit against all others, shape (n,)."""
    top, rest = _without_top(logits)
    return logits[np.arange(len(logits)), top] - logsumexp(rest, axis=1)


def filled_in_proportion(logits: Floats, confidence: Floats) -> Floats:
    """Probabilities with these confidences in the predicted classes; the others share the rest as the model has them.

    No class gets more than the predicted one, which so is kept: where its confidence is below what the runner-up would
    get, the classes above it are held at it and the further ones take what is left. Classes with equally large logits
    get equal probabilities. Le Coz et al. (2024) leave the other classes open.

    Parameters
    ----------
    logits : (n, n_classes) array.
    confidence : (n,) in [0, 1], taken as 1 / n_classes where it is below.

    Returns
    -------
    (n, n_classes), rows sum to one.
    """
    rows, (top, rest) = np.arange(len(logits)), _without_top(logits)
    confidence = np.clip(confidence, 1 / logits.shape[1], 1.0)
    probs = softmax(rest) * (1 - confidence)[:, None]
    over = np.flatnonzero(probs.max(axis=1) > confidence)
    if over.size:
        probs[over] = _capped(rest[over], confidence[over][:, None])
    probs[rows, top] = confidence
    tied = logits == logits[rows, top][:, None]
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    if several.size:
        part, among = probs[several], tied[several]
        mean = part.mean(axis=1, keepdims=True, where=among)
        probs[several] = np.where(among, mean, part)
    return probs


def _without_top(logits: Floats) -> tuple[Ints, Floats]:
    """The predicted classes, and a copy of the logits without theirs, -inf in their places."""
    top, rest = np.argmax(logits, axis=1), logits.copy()
    rest[np.arange(len(logits)), top] = -np.inf
    return top, rest


def _capped(rest: Floats, most: Floats) -> Floats:
    """What is left beside ``most`` in proportion to the exponentials of ``rest``, with no entry above ``most``."""
    held = np.zeros(rest.shape, dtype=bool)
    while True:
        left = np.maximum(1 - most * (1 + held.sum(axis=1, keepdims=True)), 0.0)
        probs = np.where(held, most, softmax(np.where(held, -np.inf, rest)) * left)
        over = ~held & (probs > most * (1 + ROUNDING))  # never all: most is at least 1 / n_classes
        if not over.any():
            return np.minimum(probs, most)
        held |= over
