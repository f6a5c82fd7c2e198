"""GPcalib: calibration by one latent Gaussian process on all logits (Wenger et al., 2020)."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from calib.arrays import check_of_rows
from calib.base import (
    EQUIVARIANT,
    KEEPS_ACCURACY,
    KEEPS_HALF,
    KEEPS_RANKING,
    MINDS_OFFSETS,
    POSITIVE,
    ROWS_SUM_TO_ONE,
    Calibrator,
    Progress,
    silent,
)
from calib.calibrators.backend import DEVICES
from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.posterior import KERNELS
from calib.calibrators.gpcalib.prediction import (
    LARGEST_SHIFT,
    NEGLIGIBLE_NOISE,
    add_white_noise,
    keep_predicted,
    predict_draws,
    tabulate,
)
from calib.calibrators.gpcalib.statistics import (
    DEPTH,
    GAPS,
    QuadraticLikelihood,
    cut,
    kernel_inputs,
    logit_scale,
)
from calib.calibrators.steps import Step
from calib.errors import CalibrationError, missing_package
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, blocks, logit_unit, softmax
from calib.outputs import class_indices
from calib.parameters import param

FIXED = ("inputs", "covariance", "monotone")
"""Parameters that prediction must have as the fit had them."""

SIGNIFICANT_GAIN = 1.92
"""Nats by which one parameter raises the likelihood of all rows in at most 5 % of calibrated samples."""

COLLAPSED = 1e-3
"""Range of the latent shift over the data below which it changes no probability visibly."""


@dataclass(eq=False, repr=False, kw_only=True)
class GPCalib(Calibrator):
    """One latent function ``g ~ GP(mu, k)`` applied to every logit: ``p = softmax(g(z_1), ..., g(z_K))``.

    Wenger, Kjellstrom and Triebel, Non-Parametric Calibration for Classification, AISTATS 2020, sections 3
    and S2. The prior mean says that the model is calibrated already: ``mu(z) = z``, or ``mu(p) = ln p`` with the
    kernel on the probabilities. ``engine="gpflow"`` fits a ``gpflow.models.SVGP`` on TensorFlow's device,
    ``"numpy"`` the same model with the RBF kernel by derivatives written out, without TensorFlow. Prediction is NumPy
    on a grid of at most 2,048 nodes. ``prediction`` may be chosen after the fit.

    A constant added to all logits changes nothing. One that differs from row to row does, and so does the unit of the
    logits, since the paper's prior mean is the logit itself and its lengthscale 10; with ``inputs="probs"`` rows may be
    shifted at will. Logits whose best temperature lies outside 0.2 to 5 are divided by it first: the paper has no such
    step, but from there the objective does not find back. Of more than two classes logits more than 50, or five median
    gaps of the two largest, below the largest of their row are first cut at that: the softmax does not see them, the
    kernel would.

    Examples
    --------
    >>> import calib
    >>> fitted = GPCalib().fit(calib.load_sample("wine-forest"))
    >>> fitted.predict_proba([[0.6, 0.3, 0.1]]).shape
    (1, 3)
    """

    n_inducing: int = param(
        10, low=2, high=100, help="Inducing inputs; more give a finer latent function."
    )
    inputs: str = param(
        "logits",
        choices=("logits", "probs"),
        help="Whether the kernel compares logits or probabilities.",
    )
    kernel: str = param(
        "rbf",
        choices=KERNELS,
        help="Covariance of the latent function; only GPflow fits others than the RBF.",
    )
    covariance: str = param(
        "diagonal",
        choices=("diagonal", "full"),
        help="Latent covariance of a row's classes in the objective.",
    )
    likelihood: str = param(
        "expansion",
        choices=("expansion", "monte_carlo"),
        help="Expected likelihood in the objective: the paper's expansion, or GPflow's mean over 64 drawn functions.",
    )
    variational: str = param(
        "diagonal",
        choices=("diagonal", "full"),
        help="Covariance of the whitened inducing variables.",
    )
    prediction: str = param(
        "draws",
        choices=("mean", "draws"),
        help="Average over functions drawn from the posterior (draws), or take its mean alone (mean).",
    )
    n_draws: int = param(128, low=2, high=4096, help="Functions drawn from the posterior.")
    monotone: bool = param(
        False, help="Constrain the latent function to increase, so that no predicted class changes."
    )
    max_iter: int = param(1000, low=1, high=100_000, help="Most iterations of L-BFGS.")
    engine: str = param(
        "auto",
        choices=("auto", "numpy", "gpflow"),
        help="What computes the fit; auto takes GPflow for other kernels than the RBF and on a GPU.",
    )
    device: str = param(
        "auto",
        choices=DEVICES,
        help="Where to fit; auto takes a GPU where there is one and the data are big or GPflow fits.",
    )

    traits: ClassVar[frozenset[str]] = frozenset(
        {EQUIVARIANT, KEEPS_HALF, MINDS_OFFSETS, POSITIVE, ROWS_SUM_TO_ONE}
    )

    headline = ("variance_", "lengthscale_")

    def promises(self, n_classes: int) -> frozenset[str]:
        traits = self.traits - ({MINDS_OFFSETS} if self.inputs == "probs" else set())
        return traits | ({KEEPS_ACCURACY, KEEPS_RANKING} if self.monotone else set())

    def partial_fit(self, outputs: Any, labels: Any = None, *, progress: Progress = silent) -> Self:
        """Learn from more calibration rows as if they had been in the fit, without the earlier rows.

        A fit keeps a second-order expansion of its rows' likelihood (33 kB, also in pickles;
        :class:`calib.calibrators.gpcalib.statistics.QuadraticLikelihood`). It is added to the objective of
        the new rows, and posterior, kernel and inducing inputs are fitted again, at the cost of the new rows alone. An
        unfitted calibrator is fitted; a cancelled or failed ``partial_fit`` leaves the calibrator as it was. The scale
        of the logits stays that of the first fit.

        1000 rows of CIFAR-10 or CIFAR-100 in 2 to 20 random parts end within 0.3 nats of the fit to all rows at once,
        in 5 parts sorted by range within 1.6. A streaming posterior (Bui et al., Streaming Sparse Gaussian Process
        Approximations, NeurIPS 2017) was tried too: up to 7 nats, and no use after a first part too small to learn
        from.

        Parameters
        ----------
        outputs, labels, progress : array_like, array_like, callable
            As in :meth:`fit`; one row is enough.

        Returns
        -------
        Self
            The calibrator itself.

        Raises
        ------
        CalibrationError
            If the number of classes or a parameter of the fit was changed, or an array is not usable.
        """
        if not self.fitted:
            return self.fit(outputs, labels, progress=progress)
        self.check_params()
        self._check_unchanged()
        rows = self._hook_input(self.to_logits(outputs))
        labels = check_of_rows("labels", getattr(outputs, "labels", labels), len(rows))
        codes = class_indices(labels, self.classes_, "labels")
        if not len(rows):
            raise CalibrationError("There are no rows to learn from; give at least one.")
        longer = copy(self)
        try:
            longer._fit_latent(
                rows, codes, QuadraticLikelihood(**self.quadratic_likelihood_), progress
            )
        except ModuleNotFoundError as error:
            raise CalibrationError(missing_package(error)) from error
        vars(self).update(vars(longer))
        return self

    def check_params(self) -> None:
        super().check_params()
        needs_gpflow = self.kernel != "rbf" or self.likelihood != "expansion"
        if self.engine == "numpy" and needs_gpflow:
            raise CalibrationError(
                f"engine='numpy' has no derivatives of kernel={self.kernel!r} with likelihood={self.likelihood!r}; "
                "take engine='gpflow', or kernel='rbf' and likelihood='expansion'."
            )

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress) -> None:
        self.depth_ = max(DEPTH, GAPS * logit_unit(logits))
        self.scale_, self.temperature_gain_ = logit_scale(cut(logits, self.depth_), labels)
        self.n_rows_ = self.n_rows_given_ = self.n_parts_ = 0
        self._fit_latent(logits, labels, None, progress)

    def _fit_latent(
        self, logits: Floats, labels: Ints, earlier: QuadraticLikelihood | None, progress: Progress
    ) -> None:
        from calib.calibrators.gpcalib.training import fit_latent_gp

        fit, device, note = fit_latent_gp(
            cut(logits, self.depth_) / self.scale_, labels, self, earlier, progress
        )
        posterior = fit.posterior
        low, high = fit.likelihood.low, fit.likelihood.high
        grid, shift, draws = tabulate(
            posterior, low, high, self.inputs, self.n_draws, self.random_state, self.monotone
        )
        self.variance_ = posterior.variance
        self.lengthscale_ = posterior.lengthscale
        self.noise_variance_ = posterior.noise_variance
        self.alpha_ = posterior.alpha
        self.inducing_inputs_ = posterior.inducing_inputs
        self.q_mean_ = posterior.q_mean
        self.q_sqrt_ = posterior.q_sqrt
        self.quadratic_likelihood_ = vars(fit.likelihood)
        self.fitted_as_ = {name: getattr(self, name) for name in FIXED}
        self.grid_, self.interpolation_order_ = grid.nodes, grid.order
        self.shift_mean_, self.shift_draws_ = shift, draws
        self.objective_trace_, self.objective_, self.n_iter_ = (
            fit.trace,
            float(fit.trace[-1]),
            len(fit.trace) - 1,
        )
        self.converged_, self.message_ = fit.converged, fit.message
        self.device_, self.device_note_ = device, note
        self.n_rows_ += fit.n_rows
        self.n_rows_given_ += len(logits)
        self.n_parts_ += 1
        self.n_samples_fit_ = self.n_rows_given_
        nodes, _ = grid.window(low, high)
        self.collapsed_ = bool(
            self.variance_ < COLLAPSED and np.ptp(self.shift_mean_[nodes]) < COLLAPSED
        )

    def _predict(self, logits: Floats) -> Floats:
        self.check_params()
        self._check_unchanged()
        grid = self.grid()
        noise = self.noise_variance_
        probs = np.empty_like(logits)
        for rows in blocks(len(logits), max(logits.shape[1], grid.size), PREDICTED_ENTRIES):
            inputs, prior = self.kernel_inputs(logits[rows])
            if self.prediction == "mean":
                probs[rows] = softmax(prior + grid.interpolate(self.shift_mean_, inputs))
                continue
            probs[rows] = predict_draws(inputs, prior, grid, self.shift_draws_)
            if noise > NEGLIGIBLE_NOISE:
                probs[rows] = add_white_noise(probs[rows], noise)
        if self.monotone:
            keep_predicted(probs, logits)
        return probs

    def steps(self) -> list[Step]:
        of_probs = self.inputs == "probs"
        start: list[Step] = [{"step": "cut", "depth": self.depth_}] if self.n_classes_ > 2 else []
        start += [{"step": "affine", "scale": 1 / self.scale_}]
        start += [{"step": "log_softmax"}] if of_probs else []
        grid = self.grid()
        if self.prediction == "draws":
            nodes = {
                "low": grid.low,
                "spacing": grid.spacing,
                "order": grid.order,
                "of_probabilities": of_probs,
            }
            noise = (
                min(self.noise_variance_, 1.0) if self.noise_variance_ > NEGLIGIBLE_NOISE else 0.0
            )
            growth = np.exp(np.clip(self.shift_draws_.T, -LARGEST_SHIFT, LARGEST_SHIFT))
            return [
                *start,
                {"step": "draws", "growth": growth, **nodes},
                *(_noise(noise) if noise else []),
            ]
        shift: list[Step] = [
            *([{"step": "softmax"}] if of_probs else []),
            grid.polynomials(self.shift_mean_),
        ]
        return [
            *start,
            {"step": "mix", "weights": [1.0, 1.0], "parts": [[], shift]},
            {"step": "softmax"},
        ]

    def kernel_inputs(self, logits: Floats) -> tuple[Floats, Floats]:
        """Kernel inputs and the prior mean there.

        Parameters
        ----------
        logits : ndarray of shape (n, n_classes)
            Canonical logits.

        Returns
        -------
        tuple of ndarray
            Both of the logits' shape.
        """
        return kernel_inputs(cut(logits, self.depth_) / self.scale_, self.inputs)

    def grid(self) -> Grid:
        """Grid of the learned arrays.

        Returns
        -------
        Grid
            With the order of its interpolation.
        """
        return Grid(
            float(self.grid_[0]), float(self.grid_[-1]), len(self.grid_), self.interpolation_order_
        )

    def notes(self) -> list[str]:
        notes = []
        if self.collapsed_ and self.scale_ == 1.0:
            cause = f": these {self.n_rows_:,} rows show no miscalibration that one function of every logit corrects."
            if self.temperature_gain_ > SIGNIFICANT_GAIN:
                cause = f", although temperature scaling fits these {self.n_rows_:,} rows better. Use it, or more rows."
            notes.append(f"The kernel variance went to 0, so the model's probabilities stay{cause}")
        if not self.converged_:
            advice = "Check the labels, or use temperature scaling."
            if self.n_iter_ >= self.max_iter:
                advice = "Raise max_iter."
            elif self.inputs == "probs":
                advice = (
                    "Choose inputs='logits', where small probabilities lie apart from each other, "
                    "or check the labels."
                )
            notes.append(
                f"The fit did not converge ({self.message_}); the objective is {self.objective_:.1f}. {advice}"
            )
        if self.scale_ != 1.0:
            rest = ", which then changed nothing more" if self.collapsed_ else ""
            notes.append(
                f"The outputs were divided by {self.scale_:g}, their most probable temperature, before the fit{rest}."
            )
        if self.n_rows_ < self.n_rows_given_:
            notes.append(
                f"Fitted on {self.n_rows_:,} of the {self.n_rows_given_:,} calibration rows, chosen at random: "
                "more would not move the latent function."
            )
        if self.n_parts_ > 1:
            notes.append(
                f"Fitted in {self.n_parts_} parts, {self.n_rows_:,} rows in all: the likelihood of earlier parts is "
                "expanded to second order, so the objective is that of all rows to a good approximation."
            )
        if self.device_note_:
            notes.append(self.device_note_)
        return notes

    def _check_unchanged(self) -> None:
        """Raise CalibrationError for parameters changed after the fit; how to predict may be changed."""
        for name, value in self.fitted_as_.items():
            if getattr(self, name) != value:
                raise CalibrationError(
                    f"{name}={getattr(self, name)!r} was set after the fit, which had {name}={value!r}; "
                    "fit again, or set it back."
                )


def _noise(variance: float) -> list[Step]:
    """:func:`calib.calibrators.gpcalib.prediction.add_white_noise` as steps, on logarithms."""
    less: list[Step] = [
        {"step": "softmax"},
        {"step": "affine", "scale": -variance, "offset": variance / 2},
    ]
    return [
        {"step": "log"},
        {"step": "mix", "weights": [1.0, 1.0], "parts": [[], less]},
        {"step": "softmax"},
    ]
