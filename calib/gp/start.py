"""Where the inducing inputs start."""

from __future__ import annotations

import numpy as np

from calib.gp.inputs import kernel_inputs
from calib.numerics import Floats


def starting_inducing_inputs(logits: Floats, space: str, n_inducing: int, seed: int, most: int = 10_000) -> Floats:
    """k-means centres of the kernel inputs, largest first; fewer where there are fewer distinct values.

    The sample is taken from sorted values, so that the order of the classes does not matter. The largest inputs
    carry the probability, and with a diagonal S in the whitened space what comes first is fitted best.
    """
    from sklearn.cluster import KMeans

    rows = logits[:: max(1, logits.size // (20 * most))]
    inputs = np.sort(kernel_inputs(np.sort(rows, axis=1), space)[0], axis=None)
    sample = inputs[:: max(1, len(inputs) // most)]
    distinct = sample[np.diff(sample, prepend=-np.inf) > 1e-6 * np.ptp(sample)]
    if len(distinct) <= n_inducing:
        return distinct[::-1].copy()
    centres = KMeans(n_inducing, n_init=1, random_state=seed).fit(sample[:, None]).cluster_centers_[:, 0]
    return np.sort(centres)[::-1].copy()
