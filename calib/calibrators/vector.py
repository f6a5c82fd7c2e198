"""Vector scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base import Calibrator, Callback, param
from calib.numerics import Floats, Ints, softmax


@dataclass(eq=False, repr=False, kw_only=True)
class VectorScaling(Calibrator):
    """A scale and a bias for every class: softmax(scale * z + bias).

    Guo et al., On Calibration of Modern Neural Networks, ICML 2017, section 4.2 (matrix and vector scaling).
    A quadratic penalty on how far the scales are from one, in units of the logits' spread, and the biases
    from zero keeps the bias of a class without calibration rows from running to minus infinity.
    """

    penalty: float = param(1.0, low=1e-6, high=1e4, help="Pull towards the raw model; fades as rows are added.")
    max_iter: int = param(500, low=1, high=100_000, help="Largest number of L-BFGS steps.")

    def notes(self) -> list[str]:
        if self.converged_:
            return []
        return [
            f"The fit stopped after {self.n_iter_} steps before it had converged; raise max_iter to let it go "
            "on, or the penalty to make it easier."
        ]

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        from scipy.optimize import minimize

        n, n_classes = logits.shape
        rows = np.arange(n)
        spread = float(logits.std()) or 1.0
        scaled = logits / spread
        start = np.concatenate([np.full(n_classes, spread), np.zeros(n_classes)])

        def objective(weights: Floats) -> tuple[float, Floats]:
            scale, bias = weights[:n_classes], weights[n_classes:]
            scores = scaled * scale + bias
            top = scores.max(axis=1)
            picked = scores[rows, labels] - top
            scores -= top[:, None]
            np.exp(scores, out=scores)
            total = scores.sum(axis=1)
            scores /= total[:, None]
            loss = float(np.log(total).sum() - picked.sum())
            scores[rows, labels] -= 1.0
            gradient = np.concatenate([np.einsum("nk,nk->k", scores, scaled), scores.sum(axis=0)])
            away = weights - start
            return (loss + 0.5 * self.penalty * float(away @ away)) / n, (gradient + self.penalty * away) / n

        steps = 0

        def report(intermediate_result: Any) -> None:
            nonlocal steps
            steps += 1
            callback(steps, self.max_iter, float(intermediate_result.fun))

        options = {"maxiter": self.max_iter, "maxfun": 10 * self.max_iter, "ftol": 1e-14, "gtol": 1e-7}
        solution = minimize(objective, start, jac=True, method="L-BFGS-B", callback=report, options=options)
        self.scale_ = solution.x[:n_classes] / spread
        self.bias_ = solution.x[n_classes:].copy()
        self.n_iter_ = int(solution.nit)
        self.converged_ = bool(solution.status != 1)

    def _predict_proba(self, logits: Floats) -> Floats:
        return softmax(logits * self.scale_ + self.bias_)
