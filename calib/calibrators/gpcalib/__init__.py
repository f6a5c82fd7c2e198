"""GPcalib: calibration by one latent Gaussian process on all logits (Wenger et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from calib.base import (
    EQUIVARIANT,
    GIVES_UNCERTAINTY,
    KEEPS_ACCURACY,
    KEEPS_RANKING,
    Callback,
    LabelledBlocks,
    no_callback,
)
from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.posterior import LatentTable, check_shifts, keep_predicted, tabulate
from calib.calibrators.gpcalib.prediction import bounds_of_draws, predict
from calib.calibrators.gpcalib.statistics import (
    Logits,
    QuadraticLikelihood,
    StoredLogits,
    in_units,
    kernel_inputs,
    logit_offset,
    logit_scale,
)
from calib.calibrators.top_k_outputs import TopKCalibrator
from calib.errors import CalibrationError, missing_package
from calib.hardware import DEVICES, worth_a_gpu
from calib.arrays import check_labels, check_logits
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, blocks
from calib.parameters import LARGEST, Array, Count, Either, Entries, Number, State, Text, Truth, param, unusable
from calib.top_k import Groups, TopK

FIXED = ("inputs", "covariance", "monotone")
"""Parameters that prediction must have as the fit had them."""

KEEPING = ("mean", "draws")
"""Ways to predict in which a rising latent function keeps the ranking."""

FULL_COVARIANCE = 30
"""How many times as long a fit with the covariance of a row's classes takes."""

COLLAPSED = 1e-3
"""Range of the latent shift over the data below which it changes no probability visibly."""


@dataclass(eq=False, repr=False, kw_only=True)
class GPCalib(TopKCalibrator):
    """One latent function ``g ~ GP(mu, k)`` applied to every logit: ``p = softmax(g(z_1), ..., g(z_K))``.

    Wenger, Kjellstrom and Triebel, Non-Parametric Calibration for Classification, AISTATS 2020, sections 3
    and S2. The prior mean says that the model is calibrated already: ``mu(z) = z``, or ``mu(p) = ln p`` with the
    kernel on the probabilities. A fit runs in NumPy and SciPy, on a GPU in TensorFlow and GPflow; prediction is
    NumPy on a grid of a few hundred nodes. ``prediction`` may be chosen after the fit.

    A constant added to all logits changes nothing. One that differs from row to row does, and so does the unit of the
    logits, since the paper's prior mean is the logit itself and its lengthscale 10; with ``inputs="probs"`` rows may be
    shifted at will. Logits whose best temperature lies outside 0.2 to 5 are divided by it first: the paper has no such
    step, but from there the objective does not find back.
    """

    n_inducing: int = param(10, low=2, high=100, help="Inducing inputs; more give a finer latent function.")
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
    monotone: bool = param(False, help="Constrain the latent function to increase, so that no predicted class changes.")
    max_iter: int = param(1000, low=1, high=100_000, help="Most iterations of L-BFGS.")
    device: str = param(
        "auto", choices=DEVICES, help="Where to fit; auto takes a GPU where there is one and the data are big."
    )

    more_rows: ClassVar[str] = "`partial_fit` goes on with the new rows alone, as if the earlier ones were there."
    positive: ClassVar[bool] = True
    state: ClassVar[State] = {
        "offset_": Number().or_absent(0.0),
        "scale_": Number(1e-7, 1e7),
        "variance_": Number(0),
        "lengthscale_": Number(1 / LARGEST),
        "noise_variance_": Number(0),
        "inducing_inputs_": Array("inducing"),
        "q_mean_": Array("inducing"),
        "q_sqrt_": Either(Array("inducing", "inducing"), Array("inducing")),
        "quadratic_likelihood_": Entries(
            low=Number(),
            high=Number(),
            constant=Number(),
            slope=Array("points"),
            curvature=Array("points", "points"),
            variance_slope=Array("points"),
        ),
        "fitted_as_": Entries(inputs=Text(), covariance=Text(), monotone=Truth()),
        "grid_": Array("grid", order="rising"),
        "interpolation_order_": Count(1, 3),
        "shift_mean_": Array("grid"),
        "shift_variance_": Array("grid", low=0),
        "shift_draws_": Array("draws", "grid"),
        "objective_trace_": Array("steps", free=True),
        "objective_": Number(free=True),
        "n_iter_": Count(),
        "converged_": Truth(),
        "message_": Text(),
        "device_": Text(),
        "device_note_": Text(),
        "n_rows_": Count(1),
        "n_rows_given_": Count(1),
        "n_parts_": Count(1),
        "collapsed_": Truth(),
    }
    keeps_half: ClassVar[bool] = True
    minds_offsets: ClassVar[bool] = True
    passes: ClassVar[int] = 50

    def reads(self, n_logits: int) -> int:
        return super().reads(n_logits) * (FULL_COVARIANCE if self.covariance == "full" else 1)

    def promises(self, n_classes: int) -> frozenset[str]:
        promised = super().promises(n_classes) | {GIVES_UNCERTAINTY}
        if self.prediction == "mc":  # each column has its own samples
            promised -= {EQUIVARIANT}
        if self.monotone and self.prediction in KEEPING:
            promised |= {KEEPS_ACCURACY, KEEPS_RANKING}
        return promised

    def check_params(self) -> None:
        super().check_params()
        if self.covariance == "full" and self.prediction in ("delta", "mc"):
            raise CalibrationError(
                f"prediction={self.prediction!r} treats the latent values of a row as independent, which a fit with "
                "covariance='full' does not; choose prediction='draws' or 'mean'."
            )

    def check_state(self) -> None:
        super().check_state()
        check_unchanged(self)
        if self.quadratic_likelihood_["low"] >= self.quadratic_likelihood_["high"]:
            raise unusable("quadratic_likelihood_ has no range")
        if len(self.grid_) < 4 or self.interpolation_order_ == 2:
            raise unusable(f"order {self.interpolation_order_} on {len(self.grid_)} nodes is no interpolation")
        check_shifts(np.vstack([self.shift_mean_, self.shift_draws_]), self.grid(), self.inputs, self.monotone)

    def notes(self) -> list[str]:
        return fit_notes(self)

    def partial_fit(self, logits: Any, labels: Any, *, callback: Callback | None = None) -> Self:
        """Learn from more calibration rows as if they had been in the fit, without the earlier rows.

        A fit keeps a second-order expansion of its rows' likelihood (33 kB, also in exports;
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
        logits, labels, callback : as in :meth:`fit`; one row is enough.

        Raises
        ------
        CalibrationError
            If the number of classes or ``inputs`` is not that of the fit, or an array is not usable.
        """
        if not self.fitted:
            return self.fit(logits, labels, callback=callback)
        self.check_params()
        rows: Logits
        if isinstance(logits, TopK):
            self._check_n_classes(logits.shape)
            rows, labels = logits.to_fit(check_labels(labels, logits.shape))
        else:
            rows = check_logits(self._check_fitted_input(logits))
            labels = check_labels(labels, rows.shape)
        earlier = earlier_likelihood(self)
        if not len(rows):
            raise CalibrationError("There are no rows to learn from; give at least one.")
        try:
            self._learn(rows, labels, self.offset_, self.scale_, earlier, callback or no_callback)
        except ModuleNotFoundError as error:
            raise CalibrationError(missing_package(error)) from error
        return self

    def _fit(self, logits: Logits, labels: Ints, callback: Callback, **extras: Any) -> None:
        self._learn(logits, labels, logit_offset(logits), logit_scale(logits, labels), None, callback)

    def fit_blocks(self, data: LabelledBlocks, callback: Callback) -> None:
        """Fit as to all rows at once; the range of the logits and a sample of the rows are enough."""
        self._fit(StoredLogits(data), data.labels, callback)

    def fit_top_k(self, outputs: TopK, labels: Ints, callback: Callback) -> None:
        """Fit as to all classes, if those outside the top k are equal: their sums are one term with their number.

        The k-means centres of the inducing inputs count that term once, which keeps them where the probability is.
        """
        groups, columns = outputs.to_fit(labels)
        self._learn(groups, columns, logit_offset(groups), logit_scale(groups, columns), None, callback)

    def check_top_k(self) -> None:
        if self.prediction == "mc":
            raise CalibrationError(
                "prediction='mc' draws a latent value for each class; choose prediction='draws', 'mean' or 'delta' for "
                "the top k of very many classes."
            )

    def _learn(
        self,
        logits: Logits,
        labels: Ints,
        offset: float,
        scale: float,
        earlier: QuadraticLikelihood | None,
        callback: Callback,
    ) -> None:
        from calib.calibrators.gpcalib.training import fit_latent_gp

        n_draws, seed = self.n_draws, self.random_state
        fit = fit_latent_gp(
            in_units(logits, offset, scale),
            labels,
            space=self.inputs,
            n_inducing=self.n_inducing,
            covariance=self.covariance,
            variational=self.variational,
            max_iter=self.max_iter,
            device=self.device,
            use_gpu=worth_a_gpu(self.device, self.reads(logits.size)),
            seed=seed,
            callback=callback,
            earlier=earlier,
        )
        low, high = fit.likelihood.low, fit.likelihood.high
        table = tabulate(fit.posterior, low, high, self.inputs, n_draws=n_draws, seed=seed, monotone=self.monotone)
        # Nothing was changed until here, so that an earlier fit survives a cancelled one.
        self.offset_, self.scale_ = offset, scale
        self.variance_ = fit.posterior.variance
        self.lengthscale_ = fit.posterior.lengthscale
        self.noise_variance_ = fit.posterior.noise_variance
        self.inducing_inputs_ = fit.posterior.inducing_inputs
        self.q_mean_ = fit.posterior.q_mean
        self.q_sqrt_ = fit.posterior.q_sqrt
        self.quadratic_likelihood_ = vars(fit.likelihood)
        self.fitted_as_ = {name: getattr(self, name) for name in FIXED}
        self.grid_ = table.grid.nodes
        self.interpolation_order_ = table.grid.order
        self.shift_mean_ = table.shift
        self.shift_variance_ = table.variance
        self.shift_draws_ = table.draws
        self.objective_trace_ = fit.report.trace
        self.objective_ = float(fit.report.trace[-1])
        self.n_iter_ = fit.report.n_iter
        self.converged_ = fit.report.converged
        self.message_ = fit.report.message
        self.device_, self.device_note_ = fit.device, fit.device_note
        self.n_rows_: int = fit.n_rows + (self.n_rows_ if earlier else 0)
        self.n_rows_given_: int = len(logits) + (self.n_rows_given_ if earlier else 0)
        self.n_parts_: int = 1 + (self.n_parts_ if earlier else 0)
        inside = (self.grid_ >= low) & (self.grid_ <= high)
        self.collapsed_ = bool(self.variance_ < COLLAPSED and np.ptp(self.shift_mean_[inside]) < COLLAPSED)

    def _predict_proba(self, logits: Floats) -> Floats:
        return self._predict(logits, None)

    def predict_groups(self, groups: Groups) -> Floats:
        """See the base class."""
        return self._predict(groups.logits, groups.counts)

    def nll_bounds(self, outputs: TopK, labels: Ints) -> tuple[Floats, Floats] | None:
        """From the extremes of the latent function below the k-th logit, as :func:`.prediction.bounds_of_draws` says.

        None where k is K and nothing is open, for ``prediction="delta"``, which is not monotone in what is not known,
        and for logits that were scaled before the fit, since the sum of the rest is known in the given unit alone.
        """
        if self.prediction not in ("mean", "draws") or self.scale_ != 1.0 or not outputs.n_others:
            return None
        draws = self.shift_mean_[None] if self.prediction == "mean" else self.shift_draws_
        low, high = np.empty(len(outputs)), np.empty(len(outputs))
        for rows in blocks(len(outputs), max(outputs.k + 2, len(self.grid_)), PREDICTED_ENTRIES):
            groups, columns = outputs[rows].with_labels(labels[rows])
            inputs, prior = self.kernel_inputs(groups.logits, groups.counts)
            low[rows], high[rows] = bounds_of_draws(inputs, prior, groups.counts, columns, self.grid(), draws)
        unknown = np.isnan(outputs.label_logits(labels))
        # White noise of variance v multiplies a probability p by exp(v (1/2 - p)) before rows are normalised.
        noise = min(self.noise_variance_, 1.0) if self.prediction == "draws" else 0.0
        return np.where(unknown, np.nan, low - noise), np.where(unknown, np.nan, high + noise)

    def _predict(self, logits: Floats, counts: Floats | None) -> Floats:
        self.check_params()
        check_unchanged(self)
        table = LatentTable(self.grid(), self.shift_mean_, self.shift_variance_, self.shift_draws_)
        probs = np.empty_like(logits)
        for rows in blocks(len(logits), max(logits.shape[1], len(self.grid_)), PREDICTED_ENTRIES):
            number = None if counts is None else counts[rows]
            inputs, prior = self.kernel_inputs(logits[rows], number)
            probs[rows] = predict(
                self.prediction, inputs, prior, table, self.noise_variance_, self.n_draws, self.random_state, number
            )
        if self.monotone and self.prediction in KEEPING:
            keep_predicted(probs, logits)
        return probs

    def kernel_inputs(self, logits: Floats, counts: Floats | None = None) -> tuple[Floats, Floats]:
        """What the kernel acts on, and the prior mean there; both of the logits' shape."""
        return kernel_inputs(in_units(logits, self.offset_, self.scale_), self.inputs, counts)

    def grid(self) -> Grid:
        """The grid of the learned arrays, with how to interpolate on it."""
        return Grid(float(self.grid_[0]), float(self.grid_[-1]), len(self.grid_), self.interpolation_order_)


def fit_notes(fitted: GPCalib) -> list[str]:
    """Sentences about a fitted calibrator, most important first."""
    notes = [*_about_the_optimum(fitted), *_about_the_rows(fitted)]
    if fitted.device_note_:
        notes.append(fitted.device_note_)
    if fitted.monotone and fitted.prediction in ("delta", "mc"):
        notes.append(
            f"prediction={fitted.prediction!r} can change predicted classes even with monotone=True; "
            "choose draws or mean to keep them all."
        )
    return notes


def _about_the_optimum(fitted: GPCalib) -> list[str]:
    notes = []
    if fitted.collapsed_ and fitted.scale_ == 1.0:
        notes.append(
            "The kernel variance went to 0: the latent function is the prior mean on this calibration set "
            f"(N = {fitted.n_rows_}). Use more calibration rows, or temperature scaling."
        )
    if not fitted.converged_:
        notes.append(
            f"The fit did not converge ({fitted.message_}); the objective is {fitted.objective_:.1f}. "
            f"{_what_to_do(fitted)}"
        )
    if fitted.scale_ != 1.0:
        notes.append(
            f"The logits are far from log-probabilities, so they were divided by {fitted.scale_:g} before the fit"
            f"{', which then changed nothing more' if fitted.collapsed_ else ''}. "
            "Check that they are the outputs just before the softmax."
        )
    return notes


def _what_to_do(fitted: GPCalib) -> str:
    if fitted.n_iter_ >= fitted.max_iter:
        return "Raise max_iter."
    if fitted.inputs == "probs":
        return "Choose inputs='logits', where small probabilities lie apart from each other, or check the labels."
    return "Check the labels, or use temperature scaling."


def _about_the_rows(fitted: GPCalib) -> list[str]:
    notes = []
    if fitted.n_rows_ < fitted.n_rows_given_:
        notes.append(
            f"Fitted on {fitted.n_rows_:,} of the {fitted.n_rows_given_:,} calibration rows, chosen at random: "
            "more would not move the latent function."
        )
    if fitted.n_parts_ > 1:
        notes.append(
            f"Fitted in {fitted.n_parts_} parts, {fitted.n_rows_:,} rows in all: the likelihood of earlier parts is "
            "expanded to second order, so the objective is that of all rows to a good approximation."
        )
    return notes


def check_unchanged(fitted: GPCalib) -> None:
    """Raise CalibrationError for parameters changed after the fit; how to predict may be changed."""
    fitted_as = dict(fitted.fitted_as_)
    if fitted.prediction == "draws":
        fitted_as["n_draws"] = len(fitted.shift_draws_)
    for name, value in fitted_as.items():
        if getattr(fitted, name) != value:
            raise CalibrationError(
                f"{name}={getattr(fitted, name)!r} was set after the fit, which had {name}={value!r}; "
                "fit again, or set it back."
            )


def earlier_likelihood(fitted: GPCalib) -> QuadraticLikelihood:
    """Likelihood of the rows of all fits so far, for :meth:`GPCalib.partial_fit`."""
    inputs = fitted.fitted_as_["inputs"]
    if fitted.inputs != inputs:
        raise CalibrationError(
            f"The calibrator was fitted with inputs={inputs!r}; to use inputs={fitted.inputs!r}, fit it on all rows."
        )
    return QuadraticLikelihood(**fitted.quadratic_likelihood_)
