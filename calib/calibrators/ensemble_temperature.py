"""Ensemble temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from calib.base import KEEPS_ACCURACY, KEEPS_RANKING, Callback
from calib.calibrators.temperature import OTHERS, TEMPERATURE, TemperatureScaling
from calib.calibrators.top_k_outputs import TopKCalibrator, log_partition_bounds
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints, blocks, softmax
from calib.parameters import ROUNDING, Array, Items, State, Text, param
from calib.top_k import Groups, TopK

_SAMPLE = 1_000_000  # numbers read at each temperature of the first, coarse search
_COARSE = np.linspace(-3.0, 3.0, 25)  # log-temperatures of that search, from that of temperature scaling
_PASSES = 12  # about how often the fine search reads all logits
_MAX_STEPS = 100
PAPERS_RANGE = (0.05, 5.0)
"""Temperatures that the authors' code allows."""


@dataclass(eq=False, repr=False, kw_only=True)
class EnsembleTemperatureScaling(TopKCalibrator):
    """A weighted average of the scaled model and the uniform distribution; keeps the accuracy.

    Zhang, Kailkhura and Han, Mix-n-Match: Ensemble and Compositional Methods for Uncertainty Calibration in Deep
    Learning, ICML 2020: ``w_1 softmax(z / T) + w_2 softmax(z) + w_3 / K``, the weights at least zero and of sum one.

    ``form="paper"`` is the authors' code: T of least squared error in 0.05 to 5, then the weights of least squared
    error. Three things lose by it on few rows, and beyond T = 5 on many. Squared error hardly sees the small
    probabilities of labels, which decide the log-likelihood. The raw model is a second temperature, which few rows
    cannot tell from the first, and the only part that minds the unit of the logits. And T is chosen as if there were no
    weights. By default weights and temperature therefore minimise the negative log-likelihood together, without the raw
    model; the value on the calibration set is never above that of temperature scaling.

    The best weights at one temperature are a convex problem, whatever the number of classes. Their loss is a function
    of T alone. A coarse search over some of the rows finds its deepest valley, and L-BFGS the ground of it.

    Of the top k of very many classes as many equal ones stand for the others as temperature scaling finds
    (:func:`calib.calibrators.top_k_outputs.effective_others`); temperature and weights are those of the greatest
    likelihood given these.
    """

    form: str = param(
        "joint",
        choices=("joint", "paper"),
        help="Temperature and weight of the uniform distribution together, or the paper's two stages of squared error.",
    )
    max_log_temperature: float = param(
        5.0, low=0.1, high=10.0, help="Bound on |log T| in units of the logits' usual gap; reached on separable data."
    )

    more_rows: ClassVar[str] = "Fit it again on all rows, old and new: the deepest valley of the loss is searched anew."
    state: ClassVar[State] = {
        "temperature_": TEMPERATURE,
        "weights_": Array(3, low=0, high=1 + ROUNDING, total=1),
        "temperature_notes_": Items(Text()),
        "others_": OTHERS,
    }
    positive: ClassVar[bool] = True
    needs_classes: ClassVar[bool] = True  # for the uniform distribution over them
    keeps_half: ClassVar[bool] = True

    def promises(self, n_classes: int) -> frozenset[str]:
        return super().promises(n_classes) | {KEEPS_ACCURACY, KEEPS_RANKING}

    def notes(self) -> list[str]:
        if self.weights_[0] > 1 - 1e-6:
            return [
                "The temperature-scaled model has all the weight, so this is temperature scaling with "
                f"T = {self.temperature_:.3g}.",
                *self.temperature_notes_,
            ]
        return self.temperature_notes_

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        self.others_ = 0.0
        if self.form == "paper":
            self.temperature_, self.weights_ = two_stages(logits, labels, callback)
            at_end = min(abs(self.temperature_ - end) for end in PAPERS_RANGE) < 1e-3
            ends = " to ".join(f"{end:g}" for end in PAPERS_RANGE)
            self.temperature_notes_ = [f"The temperature is at the end of the paper's range, {ends}."] if at_end else []
            return
        start = self._scaled().fit(logits, labels, callback=callback)
        self._mix(start, Groups(logits, np.broadcast_to(1.0, logits.shape)), labels, callback)

    def fit_top_k(self, outputs: TopK, labels: Ints, callback: Callback) -> None:
        """Find temperature and weights from all rows, with as many other classes as temperature scaling finds."""
        start = self._scaled().fit(outputs, labels, callback=callback)
        self.others_ = start.others_
        self._mix(start, outputs.groups(self.equal_others), outputs.rank_of(labels), callback, outputs.n_others)

    def check_top_k(self) -> None:
        if self.form == "paper":
            raise CalibrationError("form='paper' needs the outputs of all classes; choose form='joint' for the top k.")

    def predict_groups(self, groups: Groups) -> Floats:
        """See the base class."""
        counts = groups.counts
        probs = self._mixed(softmax(groups.logits / self.temperature_, counts), self._raw(groups.logits, counts))
        # Where fewer classes stand for the others, each has the uniform probability of several.
        missing = self.n_classes_ - counts.sum(axis=1)
        probs[:, -1] += self.weights_[2] / self.n_classes_ * missing / np.maximum(counts[:, -1], 1.0)
        return probs

    def nll_bounds(self, outputs: TopK, labels: Ints) -> tuple[Floats, Floats]:
        """From the bounds of the log-partition, in which the label's probability falls."""
        own = outputs.label_logits(labels)
        raw = np.exp(own - log_partition_bounds(outputs, 1.0, labels)[0])
        partitions = log_partition_bounds(outputs, 1 / self.temperature_, labels)
        low, high = (-np.log(self._mixed(np.exp(own / self.temperature_ - each), raw)) for each in partitions)
        return low, high

    def _scaled(self) -> TemperatureScaling:
        return TemperatureScaling(max_log_temperature=self.max_log_temperature, device="cpu")

    def _raw(self, logits: Floats, counts: Floats | None = None) -> Floats:
        """Probabilities of the raw model; zeros where it has no weight."""
        return softmax(logits, counts) if self.weights_[1] > 0 else np.zeros(1)

    def _mixed(self, scaled: Floats, raw: Floats) -> Floats:
        """The weighted average of two probabilities of the same classes and of the uniform one."""
        of_scaled, of_raw, of_uniform = self.weights_
        scaled = scaled * of_scaled
        scaled += of_raw * raw
        scaled += of_uniform / self.n_classes_
        return scaled

    def _mix(
        self, scaled: TemperatureScaling, groups: Groups, labels: Ints, callback: Callback, n_others: int = 0
    ) -> None:
        """Find temperature and weights, from those of temperature scaling.

        Parameters
        ----------
        labels : (n,) columns of the labels.
        n_others : for how many classes the last column stands; 0 where each column is a class.
        """
        from scipy.optimize import minimize

        bound = self.max_log_temperature
        self.temperature_notes_ = [note for note in scaled.notes() if note != scaled.device_note_]
        log_unit, log_scaled = float(np.log(scaled.unit_)), float(np.log(scaled.temperature_))
        every = max(1, groups.size // _SAMPLE)
        some = _Profile(groups[::every], labels[::every], n_others)
        inside = np.clip(log_scaled + _COARSE, log_unit - bound, log_unit + bound)
        coarse = min(inside, key=lambda log_temperature: some(log_temperature)[0])
        calls = 0
        profile = _Profile(groups, labels, n_others)

        @cache
        def reported(log_temperature: float) -> tuple[float, float, Floats]:
            nonlocal calls
            best = profile(log_temperature)
            calls += 1
            callback(calls, _PASSES, best[0])
            return best

        deepest = minimize(
            lambda at: reported(float(at[0]))[:2],
            [min((log_scaled, float(coarse)), key=lambda log_temperature: reported(log_temperature)[0])],
            jac=True,
            method="L-BFGS-B",
            bounds=[(log_unit - bound, log_unit + bound)],
            options={"ftol": 1e-14, "gtol": 1e-9},
        )
        log_temperature = float(deepest.x[0])
        self.temperature_ = float(np.exp(log_temperature))
        weights = reported(log_temperature)[2]
        self.weights_ = np.array([weights[0], 0.0, weights[1]])

    def _predict_proba(self, logits: Floats) -> Floats:
        return self._mixed(softmax(logits / self.temperature_), self._raw(logits))


class _Profile:
    """The least mean negative log-likelihood at a temperature, over the weights of the two components.

    Parameters
    ----------
    groups : (n, m) logits, not copied, and how many equal classes each column stands for.
    labels : (n,) columns of the labels; where that is the last of several classes, the label is one of these.
    n_others : for how many classes the last column stands; 0 where each column is a class.
    """

    def __init__(self, groups: Groups, labels: Ints, n_others: int = 0):
        self._groups, self._labels = groups, labels
        n_columns = groups.shape[1]
        n_classes = n_columns - 1 + n_others if n_others else n_columns
        outside = labels == n_columns - 1 if n_others else np.zeros(len(labels), dtype=bool)
        self._probs = np.full((len(labels), 2), 1 / n_classes)
        self._probs[outside, 1] = n_others / n_classes

    def __call__(self, log_temperature: float) -> tuple[float, float, Floats]:
        """Value in nats, its slope in log T, and the best weights, shape (2,).

        The weights are the best, so that the slope is the loss's at these weights, as if they were fixed.
        """
        scaled, slope = self._label_probs(float(np.exp(-log_temperature)))
        self._probs[:, 0] = scaled
        weights = mixture_weights(self._probs)
        mixed = self._probs @ weights
        return -float(np.log(mixed).mean()), -float((weights[0] * slope / mixed).mean()), weights

    def _label_probs(self, inverse: float) -> tuple[Floats, Floats]:
        """Probability of each row's column in ``softmax(inverse * logits)`` and its slope in log T, both (n,)."""
        n, n_columns = self._groups.shape
        probs, slope = np.empty(n), np.empty(n)
        for block in blocks(n, n_columns):
            logits, counts, labels = self._groups.logits[block], self._groups.counts[block], self._labels[block]
            rows = np.arange(len(labels))
            shifted = logits - logits.max(axis=1, keepdims=True)
            shifted *= inverse
            odds = np.exp(shifted)
            odds *= counts
            of_labels = odds[rows, labels]
            total = odds.sum(axis=1)
            probs[block] = of_labels / total
            slope[block] = probs[block] * (np.einsum("nk,nk->n", odds, shifted) / total - shifted[rows, labels])
        return probs, slope


def two_stages(logits: Floats, labels: Ints, callback: Callback) -> tuple[float, Floats]:
    """Temperature and weights (3,) of the paper: each has the least squared error, the temperature first."""
    from scipy.optimize import minimize, minimize_scalar

    raw = softmax(logits)
    rows = np.arange(len(labels))
    calls = 0

    def loss(temperature: float) -> float:
        nonlocal calls
        probs = softmax(logits / temperature)
        calls += 1
        value = float((np.einsum("nk,nk->n", probs, probs) - 2 * probs[rows, labels]).mean())
        callback(calls, 2 * _PASSES, value)
        return value

    low, high = PAPERS_RANGE
    bounds, options = np.log(PAPERS_RANGE), {"xatol": 1e-10}
    inner = float(
        np.exp(minimize_scalar(lambda t: loss(np.exp(t)), bounds=bounds, method="bounded", options=options).x)
    )
    temperature = min((inner, low, high), key=loss)
    parts = [softmax(logits / temperature), raw, np.full(logits.shape, 1 / logits.shape[1])]
    products = np.array([[float(np.einsum("nk,nk->", one, other)) for other in parts] for one in parts]) / len(rows)
    of_labels = np.array([float(part[rows, labels].mean()) for part in parts])
    best = minimize(
        lambda w: (w @ products @ w - 2 * of_labels @ w, 2 * (products @ w - of_labels)),
        np.array([1.0, 0.0, 0.0]),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * 3,
        constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}],
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    weights = np.clip(best.x, 0.0, None)
    return temperature, weights / weights.sum()


def mixture_weights(likelihoods: Floats) -> Floats:
    """Weights of a mixture, at least zero and of sum one, under which its mean log-likelihood is greatest.

    Sequential quadratic programming (Kim, Carbonetto, Stephens and Anitescu, A Fast Algorithm for Maximum Likelihood
    Estimation of Mixture Proportions Using Sequential Quadratic Programming, JCGS 2020): with the sum of the weights
    added to the loss they need only be non-negative, which makes each step a small non-negative least squares problem.

    Parameters
    ----------
    likelihoods : (n, m) of each row under each component; in every row one is above zero.

    Returns
    -------
    (m,) array
    """
    from scipy.optimize import nnls

    n, m = likelihoods.shape

    def loss(weights: Floats) -> float:
        with np.errstate(divide="ignore"):
            return float(weights.sum() - np.log(likelihoods @ weights).mean())

    weights = np.full(m, 1 / m)
    value = loss(weights)
    for _ in range(_MAX_STEPS):
        ratio = likelihoods / (likelihoods @ weights)[:, None]
        gradient = 1 - ratio.mean(axis=0)
        curvature = ratio.T @ ratio / n
        curvature += 1e-10 * np.trace(curvature) * np.eye(m)  # two components may be the same
        root = np.linalg.cholesky(curvature)
        direction = nnls(root.T, np.linalg.solve(root, curvature @ weights - gradient))[0] - weights
        promised = -float(gradient @ direction)
        if promised < 1e-14:
            break
        size = 1.0
        while (trial := loss(weights + size * direction)) > value - 1e-4 * size * promised and size > 1e-9:
            size /= 2
        if trial >= value:
            break  # rounding is all that is left to gain
        weights, value = weights + size * direction, trial
    return weights / weights.sum()
