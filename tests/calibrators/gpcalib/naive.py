"""The model written out entry by entry, as the reference the fast code is held to."""

from __future__ import annotations

import numpy as np

from calib.calibrators.gpcalib.posterior import Posterior
from calib.numerics import log_softmax, softmax


def some_posterior(
    low: float, high: float, *, full: bool, seed: int = 0, m: int = 6, noise: float = 0.05
) -> Posterior:
    """A posterior with nothing at zero, over inputs from ``low`` to ``high``."""
    generator = np.random.default_rng(seed)
    root = np.tril(generator.normal(size=(m, m)) * 0.2) + np.diag(generator.uniform(0.3, 0.9, m))
    return Posterior(
        variance=1.7,
        lengthscale=(high - low) / 5.0,
        noise_variance=noise,
        inducing_inputs=np.linspace(high, low, m) + generator.normal(size=m) * (high - low) / 50.0,
        q_mean=generator.normal(size=m),
        q_sqrt=root if full else np.diag(root).copy(),
    )


def inputs_and_prior(logits: np.ndarray, space: str) -> tuple[np.ndarray, np.ndarray]:
    return (logits, logits) if space == "logits" else (softmax(logits), log_softmax(logits))


def kl(posterior: Posterior) -> float:
    """KL[N(m, S) || N(0, I)] by its closed form."""
    root = posterior.q_sqrt if posterior.q_sqrt.ndim == 2 else np.diag(posterior.q_sqrt)
    s = root @ root.T
    m = posterior.q_mean
    return 0.5 * float(np.trace(s) + m @ m - len(m) - np.linalg.slogdet(s)[1])


def objective(
    posterior: Posterior, logits: np.ndarray, labels: np.ndarray, space: str, covariance: str
) -> float:
    """Wenger et al. 2020, eq. 6 with the Taylor term of section S2.2, one row at a time."""
    total = -kl(posterior)
    inputs, prior = inputs_and_prior(logits, space)
    for t, mu, label in zip(inputs, prior, labels, strict=True):
        phi = mu + posterior.shift(t)
        c = posterior.covariance(t) + posterior.noise_variance * np.eye(len(t))
        if covariance == "diagonal":
            c = np.diag(np.diag(c))
        s = softmax(phi[None])[0]
        total += log_softmax(phi[None])[0, label] + 0.5 * (s @ c @ s - np.diag(c) @ s)
    return float(total)
