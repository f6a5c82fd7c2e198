"""GPcalib: one Gaussian-process function bends every logit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base import (
    EQUIVARIANT,
    GIVES_UNCERTAINTY,
    KEEPS_ACCURACY,
    KEEPS_RANKING,
    CalibrationError,
    Calibrator,
    Callback,
    param,
)
from calib.gp.grid import Grid
from calib.gp.inputs import kernel_inputs, logit_scale
from calib.gp.prediction import add_white_noise, predict_delta, predict_draws, predict_mean, predict_monte_carlo
from calib.numerics import Floats, Ints

NEGLIGIBLE_NOISE = 1e-4
"""White-noise variance below which no probability moves by more than 5e-5 of itself."""

COLLAPSED = 1e-3
"""Latent shifts that differ by less than this over the data change nothing a person could see."""


BLOCK_ENTRIES = 200_000
"""Numbers in a block of prediction: small enough for the processor's cache."""


@dataclass(eq=False, repr=False, kw_only=True)
class GPCalib(Calibrator):
    """One latent function ``g ~ GP(mu, k)`` applied to every logit: ``p = softmax(g(z_1), ..., g(z_K))``.

    Wenger, Kjellstrom and Triebel, Non-Parametric Calibration for Classification, AISTATS 2020, sections 3
    and S2. The prior mean says that the model is calibrated already: ``mu(z) = z``, or ``mu(p) = ln p`` with the
    kernel on the probabilities. Fitting needs TensorFlow and GPflow; prediction is NumPy on a grid of a few
    hundred nodes. Logits whose best temperature lies outside 0.2 to 5 are divided by it first: the paper has no
    such step, but from there the objective does not find back.
    """

    n_inducing: int = param(10, low=2, high=100, help="Inducing inputs: how finely the latent function can bend.")
    inputs: str = param(
        "logits", choices=("logits", "probs"), help="Whether the kernel compares logits or probabilities."
    )
    covariance: str = param(
        "diagonal", choices=("diagonal", "full"), help="Latent covariance of a row's classes in the objective."
    )
    variational: str = param(
        "diagonal", choices=("diagonal", "full"), help="Covariance of the whitened inducing variables."
    )
    prediction: str = param(
        "draws",
        choices=("mean", "delta", "draws", "mc"),
        help="Average over whole functions (draws), over independent values (delta, mc), or none (mean).",
    )
    n_draws: int = param(128, low=2, high=4096, help="Functions drawn from the posterior, or Monte-Carlo samples.")
    monotone: bool = param(False, help="Make the latent function rise, so that no predicted class changes.")
    max_iter: int = param(1000, low=1, high=100_000, help="Most iterations of L-BFGS.")
    device: str = param("auto", choices=("auto", "cpu", "gpu"), help="Where to fit; auto takes a GPU if there is one.")

    def promises(self, n_classes: int) -> frozenset[str]:
        promised = super().promises(n_classes) | {GIVES_UNCERTAINTY}
        if self.prediction == "mc":  # each column has its own samples
            promised -= {EQUIVARIANT}
        if self.monotone and self.prediction in ("mean", "draws"):
            promised |= {KEEPS_ACCURACY, KEEPS_RANKING}
        return promised

    def check_params(self) -> None:
        super().check_params()
        if self.covariance == "full" and self.prediction in ("delta", "mc"):
            raise CalibrationError(
                f"prediction={self.prediction!r} treats the latent values of a row as independent, which a fit with "
                "covariance='full' does not; choose prediction='draws' or 'mean'."
            )

    def notes(self) -> list[str]:
        notes = []
        if self.collapsed_ and self.scale_ == 1.0:
            notes.append(
                "The kernel variance went to 0: the calibrator does nothing on this calibration set "
                f"(N = {self.n_rows_}). Use more calibration rows, or temperature scaling."
            )
        if not self.converged_:
            notes.append(
                f"The fit did not converge ({self.message_}); the objective is {self.objective_:.1f}. "
                "Raise max_iter, or check the labels."
            )
        if self.scale_ != 1.0:
            notes.append(
                f"The logits are far from log-probabilities, so they were divided by {self.scale_:g} before the fit"
                f"{', which then changed nothing more' if self.collapsed_ else ''}. "
                "Check that they are the outputs just before the softmax."
            )
        if self.n_rows_ < self.n_rows_given_:
            notes.append(
                f"Fitted on {self.n_rows_:,} of the {self.n_rows_given_:,} calibration rows, chosen at random: "
                "more would not move the latent function."
            )
        if self.device_note_:
            notes.append(self.device_note_)
        if self.monotone and self.prediction in ("delta", "mc"):
            notes.append(
                f"prediction={self.prediction!r} can change predicted classes even with monotone=True; "
                "choose draws or mean to keep them all."
            )
        return notes

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        from calib.gp.tabulate import tabulate
        from calib.gp.training import fit_latent_gp

        self.scale_ = logit_scale(logits, labels)
        fit = fit_latent_gp(
            logits / self.scale_ if self.scale_ != 1.0 else logits,
            labels,
            space=self.inputs,
            n_inducing=self.n_inducing,
            covariance=self.covariance,
            variational=self.variational,
            max_iter=self.max_iter,
            device=self.device,
            seed=self.random_state,
            callback=callback,
        )
        table = tabulate(
            fit.posterior,
            fit.low,
            fit.high,
            self.inputs,
            n_draws=self.n_draws,
            seed=self.random_state,
            monotone=self.monotone,
        )
        self.variance_ = fit.posterior.variance
        self.lengthscale_ = fit.posterior.lengthscale
        self.noise_variance_ = fit.posterior.noise_variance
        self.inducing_inputs_ = fit.posterior.inducing_inputs
        self.q_mean_ = fit.posterior.q_mean
        self.q_sqrt_ = fit.posterior.q_sqrt
        self.grid_ = table.grid.nodes
        self.interpolation_order_ = table.grid.order
        self.shift_mean_ = table.shift
        self.shift_variance_ = table.variance
        self.shift_draws_ = table.draws
        self.objective_trace_ = fit.objective_trace
        self.objective_ = float(fit.objective_trace[-1])
        self.n_iter_ = len(fit.objective_trace) - 1
        self.converged_ = fit.converged
        self.message_ = fit.message
        self.device_, self.device_note_ = fit.device, fit.device_note
        self.n_rows_ = fit.n_rows
        self.n_rows_given_ = len(logits)
        inside = (self.grid_ >= fit.low) & (self.grid_ <= fit.high)
        self.collapsed_ = bool(self.variance_ < COLLAPSED and np.ptp(self.shift_mean_[inside]) < COLLAPSED)

    def _predict_proba(self, logits: Floats) -> Floats:
        self.check_params()
        probs = np.empty_like(logits)
        step = max(1, BLOCK_ENTRIES // max(logits.shape[1], len(self.grid_)))
        for start in range(0, len(logits), step):
            probs[start : start + step] = self._predict_block(logits[start : start + step])
        return probs

    def _predict_block(self, logits: Floats) -> Floats:
        inputs, prior = self.kernel_inputs(logits)
        grid, shift = self.grid(), self.shift_mean_
        if self.prediction == "mean":
            return predict_mean(inputs, prior, grid, shift)
        if self.prediction == "draws":
            probs = predict_draws(inputs, prior, grid, self.shift_draws_)
            noisy = self.noise_variance_ > NEGLIGIBLE_NOISE
            return add_white_noise(probs, self.noise_variance_) if noisy else probs
        variance = self.shift_variance_ + self.noise_variance_
        if self.prediction == "delta":
            return predict_delta(inputs, prior, grid, shift, variance)
        return predict_monte_carlo(inputs, prior, grid, shift, variance, self.n_draws, self.random_state)

    def kernel_inputs(self, logits: Floats) -> tuple[Floats, Floats]:
        """What the kernel acts on, and the prior mean there; both of the logits' shape."""
        return kernel_inputs(logits / self.scale_ if self.scale_ != 1.0 else logits, self.inputs)

    def grid(self) -> Grid:
        """The grid of the learned arrays, with how to interpolate on it."""
        return Grid(float(self.grid_[0]), float(self.grid_[-1]), len(self.grid_), self.interpolation_order_)
