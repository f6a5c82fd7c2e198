"""Weights of a mean of several models, by the likelihood of rows that they were not fitted on."""

from __future__ import annotations

import numpy as np

from calib.numerics import Floats, blocks

N_DRAWS = 1000
"""Draws of the Bayesian bootstrap."""

_DRAWN_ENTRIES = 4_000_000  # random numbers at a time

_MAX_NEWTON = 100
_GAP = 1e-10  # nats, far below what any number of rows tells
_NEAR = 1e-6
_ARMIJO = 1e-4


def stacking_weights(log_likelihoods: Floats, importance: Floats | None = None) -> Floats:
    """Weights of the mixture of predictive distributions with the greatest out-of-fold log-likelihood.

    Yao, Vehtari, Simpson and Gelman, Using Stacking to Average Bayesian Predictive Distributions, Bayesian Analysis
    2018, equation 8 with the logarithmic score: the maximum over the simplex of
    ``f(w) = mean_i log sum_m w_m p_m(y_i)``. The problem is concave. It is solved by the constrained Newton method of
    Wang, On Fast Computation of the Non-Parametric Maximum Likelihood Estimate of a Mixing Distribution, JRSS B 2007:
    with ``s_im = p_m(y_i) / sum_k w_k p_k(y_i)`` the second-order expansion of f at w is greatest where the mean of
    ``(2 - sum_m s_im w'_m)^2`` is least, a least-squares problem on the simplex. ``max_m mean_i s_im - 1`` bounds how
    far f is below its maximum, and ends the search.

    Parameters
    ----------
    log_likelihoods : (n, m) log-probabilities of the labels by each of m members, of rows they were not fitted on.
    importance : (n,) weights of the rows from 0 upwards; None for equal ones.

    Returns
    -------
    (m,) weights from 0 upwards with the sum 1.

    Examples
    --------
    >>> log_likelihoods = np.log([[0.9, 0.2], [0.9, 0.2], [0.2, 0.9]])
    >>> stacking_weights(log_likelihoods).round(3)
    array([0.762, 0.238])
    """
    from scipy.optimize import nnls

    n, m = log_likelihoods.shape
    share = np.full(n, 1 / n) if importance is None else importance / importance.sum()
    relative = np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))
    weights = np.full(m, 1 / m)
    mixed = relative @ weights
    for _ in range(_MAX_NEWTON):
        scores = relative / mixed[:, None]
        gradient = share @ scores
        if gradient.max() - 1 < _GAP:
            break
        # Weights have the sum 1, so the 2 may stand in every column. Then all that is asked of the sum is that it is
        # not 0 (Dax 1990), and the weights are divided by it. The rows below keep weights where nothing else sets them.
        curved = np.linalg.qr((scores - 2) * np.sqrt(share)[:, None], mode="r")
        near = _NEAR * (np.eye(m) - weights[:, None])
        rows = np.vstack([curved, near, np.ones((1, m))])
        target, _ = nnls(rows, np.append(np.zeros(len(rows) - 1), 1.0))
        change = target / target.sum() - weights
        step, slope = 1.0, float(gradient @ change)
        while step > _GAP:
            tried = relative @ (weights + step * change)
            if share @ np.log(tried / mixed) >= _ARMIJO * step * slope:
                break
            step /= 2
        weights, mixed = weights + step * change, tried
    weights = np.maximum(weights, 0.0)
    return weights / weights.sum()


def pseudo_bma_weights(log_likelihoods: Floats, *, random_state: int = 0) -> Floats:
    """Pseudo-BMA+ weights: softmax of the summed out-of-fold log-likelihoods, averaged over a Bayesian bootstrap.

    Yao, Vehtari, Simpson and Gelman 2018, section 3.4: for draws of ``a ~ Dirichlet(1, ..., 1)`` over the n rows the
    weights are proportional to ``exp(n sum_i a_i log p_m(y_i))``, and their mean over draws is taken, so that a
    difference within its sampling error decides nothing.

    Parameters
    ----------
    log_likelihoods : (n, m) log-probabilities of the labels by each member, or their sums by cluster.
    random_state : seed of the draws.

    Returns
    -------
    (m,) weights from 0 upwards with the sum 1.
    """
    n, m = log_likelihoods.shape
    values = log_likelihoods - log_likelihoods.mean(axis=0).max()  # the same for all members, so that it cancels
    generator = np.random.default_rng(random_state)
    total = np.zeros(m)
    for draws in blocks(N_DRAWS, n, _DRAWN_ENTRIES):
        shares = generator.standard_exponential((draws.stop - draws.start, n))
        sums = n * (shares @ values) / shares.sum(axis=1, keepdims=True)
        sums = np.exp(sums - sums.max(axis=1, keepdims=True))
        total += (sums / sums.sum(axis=1, keepdims=True)).sum(axis=0)
    return total / total.sum()
