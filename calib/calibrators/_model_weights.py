"""Weights of a mean of several models, by the likelihood of rows that they were not fitted on."""

from __future__ import annotations

import numpy as np

from calib.numerics import Floats, softmax

N_DRAWS = 1000
"""Draws of the Bayesian bootstrap."""


def stacking_weights(log_likelihoods: Floats, counts: Floats | None = None) -> Floats:
    """Weights of the mixture of predictive distributions with the greatest out-of-fold log-likelihood.

    Yao, Vehtari, Simpson and Gelman, Using Stacking to Average Bayesian Predictive Distributions, Bayesian Analysis
    2018, equation 8 with the logarithmic score: the maximum over the simplex of
    ``f(w) = mean_i log sum_m w_m p_m(y_i)``, which is concave.

    Parameters
    ----------
    log_likelihoods : (n, m) log-probabilities of the labels by each of m members, of rows they were not fitted on.
    counts : (n,) how much each row counts, from 0 upwards; 1 if None.

    Returns
    -------
    (m,) weights from 0 upwards with the sum 1.

    Examples
    --------
    >>> log_likelihoods = np.log([[0.9, 0.2], [0.9, 0.2], [0.2, 0.9]])
    >>> stacking_weights(log_likelihoods).round(3)
    array([0.762, 0.238])
    """
    from scipy.optimize import minimize

    n, m = log_likelihoods.shape
    share = np.full(n, 1 / n) if counts is None else counts / counts.sum()
    relative = np.maximum(np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True)), 1e-100)

    def loss(weights: Floats) -> tuple[float, Floats]:
        mixed = relative @ weights
        return -float(share @ np.log(mixed)), -(share / mixed) @ relative

    result = minimize(
        loss,
        np.full(m, 1 / m),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * m,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    weights = np.maximum(result.x, 0.0)
    return weights / weights.sum()


def pseudo_bma_weights(log_likelihoods: Floats, *, random_state: int = 0) -> Floats:
    """Pseudo-BMA+ weights: softmax of the summed out-of-fold log-likelihoods, averaged over a Bayesian bootstrap.

    Yao, Vehtari, Simpson and Gelman 2018, section 3.4: for draws of ``a ~ Dirichlet(1, ..., 1)`` over the n rows the
    weights are proportional to ``exp(n sum_i a_i log p_m(y_i))``, and their mean over draws is taken, so that a
    difference within its sampling error decides nothing. Rows are sorted first, so that their order changes nothing.

    Parameters
    ----------
    log_likelihoods : (n, m) log-probabilities of the labels by each member, or their sums over rows drawn together.
    random_state : seed of the draws.

    Returns
    -------
    (m,) weights from 0 upwards with the sum 1.
    """
    n = len(log_likelihoods)
    values = log_likelihoods[np.lexsort(log_likelihoods.T[::-1])]
    values = values - values.mean(axis=0).max()  # the same for all members, so that it cancels
    generator = np.random.default_rng(random_state)
    draws = (generator.standard_exponential(n) for _ in range(N_DRAWS))
    sums = np.array([n * (shares @ values) / shares.sum() for shares in draws])
    return softmax(sums).mean(axis=0)
