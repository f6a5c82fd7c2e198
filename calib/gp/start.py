"""Where the inducing inputs start."""

from __future__ import annotations

import numpy as np

from calib.gp.inputs import Logits, kernel_inputs
from calib.gp.summary import Summary
from calib.numerics import Floats

MOST = 10_000
"""Kernel inputs that are enough to find centres among."""


def starting_inducing_inputs(
    logits: Logits, space: str, n_inducing: int, seed: int, past: Summary | None = None
) -> Floats:
    """k-means centres of the kernel inputs, largest first; fewer where there are fewer distinct values.

    The sample is taken from sorted values, so that the order of the classes does not matter. The largest inputs
    carry the probability, and with a diagonal S in the whitened space what comes first is fitted best. After
    ``past`` rows the points of their summary stand among the inputs, so that a handful of new rows do not decide alone.
    """
    from sklearn.cluster import KMeans

    rows = logits[:: max(1, logits.size // (20 * MOST))]
    inputs = kernel_inputs(np.sort(rows, axis=1), space)[0].ravel()
    inputs = np.sort(inputs if past is None else np.concatenate([inputs, past.points]))
    sample = inputs[:: max(1, len(inputs) // MOST)]
    distinct = sample[np.diff(sample, prepend=-np.inf) > 1e-6 * np.ptp(sample)]
    if len(distinct) <= n_inducing:
        return distinct[::-1].copy()
    centres = KMeans(n_inducing, n_init=1, random_state=seed).fit(sample[:, None]).cluster_centers_[:, 0]
    return np.sort(centres)[::-1].copy()
