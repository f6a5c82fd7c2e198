"""Temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np

from calib.base import KEEPS_ACCURACY, KEEPS_RANKING, Callback, LabelledBlocks
from calib.calibrators.scaling import ScaledCrossEntropy, ScalingCalibrator
from calib.errors import CalibrationError
from calib.hardware import cpu_description
from calib.numerics import Floats, Ints, blocks, softmax
from calib.parameters import param

PILOT_ELEMENTS = 20_000_000
"""Numbers of the rows, drawn at random, whose temperature the first pass over blocks starts from."""

TOLERANCE = 1e-7
"""Estimated error of log T at which no further pass is made; the mean NLL is then exact to about its square."""

MOST_PASSES = 60


@dataclass(frozen=True)
class Slopes:
    """Sums over rows of the derivatives of the NLL in ``b = 1 / T``: cumulants of the logits under softmax(b z).

    The first is the mean logit minus that of the label, the others are the second to the fourth cumulant.
    """

    first: float = 0.0
    second: float = 0.0
    third: float = 0.0
    fourth: float = 0.0

    def __add__(self, other: Slopes) -> Slopes:
        return Slopes(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass(eq=False, repr=False, kw_only=True)
class TemperatureScaling(ScalingCalibrator):
    """Divide all logits by one temperature; keeps the accuracy.

    Guo et al., On Calibration of Modern Neural Networks, ICML 2017, section 4.2. The negative
    log-likelihood is convex in 1/T, so its slope has one root, which a bracketed solve on log T finds.
    """

    max_log_temperature: float = param(5.0, low=0.1, high=10.0, help="Bound on |log T|; reached on separable data.")

    passes: ClassVar[int] = 10

    def promises(self, n_classes: int) -> frozenset[str]:
        return super().promises(n_classes) | {KEEPS_ACCURACY, KEEPS_RANKING}

    def notes(self) -> list[str]:
        notes = super().notes()
        if abs(np.log(self.temperature_)) > 0.999 * self.max_log_temperature:
            notes.insert(
                0,
                f"The temperature {self.temperature_:.3g} is at its bound: the fewer mistakes a calibration set "
                "holds, the less it can say, and this one has no best temperature. Check the labels, or use more rows.",
            )
        return notes

    def _fit_scaling(self, cross_entropy: ScaledCrossEntropy, logits: Floats, labels: Ints, callback: Callback) -> None:
        from scipy.optimize import brentq

        bound = self.max_log_temperature
        if (logits[np.arange(len(labels)), labels] == logits.max(axis=1)).all():
            self._every_label_on_top(any(np.ptp(row) > 0 for row in logits))
            return
        ones, zeros = np.ones(logits.shape[1]), np.zeros(logits.shape[1])
        calls = 0

        @cache
        def slope(log_temperature: float) -> float:
            """Derivative of the NLL in 1/T, which falls as T grows."""
            nonlocal calls
            value, by_scale, _ = cross_entropy(np.exp(-log_temperature) * ones, zeros)
            calls += 1
            callback(calls, self.passes, value)
            return float(by_scale.sum())

        low, high = (0.0, bound) if slope(0.0) > 0 else (-bound, 0.0)
        if slope(high) >= 0:
            root = high
        elif slope(low) <= 0:
            root = low
        else:
            root = brentq(slope, low, high, xtol=1e-10)
        self.temperature_ = float(np.exp(root))

    def fit_blocks(self, data: LabelledBlocks, callback: Callback) -> None:
        """Find the temperature of the fit to all rows at once, to :data:`TOLERANCE`, in one pass most of the time.

        The temperature of a random part lies within its standard error of the answer. From there the four first
        derivatives of the NLL, summed in one pass, give the root of its slope to the fifth order of the remaining
        step; only where that step was long is another pass made. Roots are bracketed by the sign of the slope, which
        is monotone, so it ends in any case.
        """
        self.device_, self.device_note_ = cpu_description(), ""
        bound = self.max_log_temperature
        if data.label_on_top.all():
            self._every_label_on_top(data.rows_differ)
            return
        low, high = -bound, bound
        tried = set()
        log_t = self._pilot(data)
        for number in range(1, MOST_PASSES + 1):
            at = slopes(data, float(np.exp(-log_t)), f"pass {number}")
            if (at.first >= 0 and log_t >= bound) or (at.first <= 0 and log_t <= -bound):
                break
            tried.add(log_t)
            low, high = (log_t, high) if at.first > 0 else (low, log_t)
            log_t, error = _step(at, log_t)
            if error <= TOLERANCE:
                break
            if not low < log_t < high:
                end = high if log_t >= high else low
                log_t = (low + high) / 2 if end in tried else end
        self.temperature_ = float(np.exp(log_t))

    def _every_label_on_top(self, rows_differ: bool) -> None:
        """The NLL falls all the way to T = 0, below float resolution long before.

        Where all logits of a row are equal, any temperature is as good as none.
        """
        self.temperature_ = float(np.exp(-self.max_log_temperature)) if rows_differ else 1.0

    def _pilot(self, data: LabelledBlocks) -> float:
        """log T of a random part of the rows, 0 where that part has no best temperature."""
        n, n_classes = data.shape
        most = max(2, PILOT_ELEMENTS // n_classes)
        generator = np.random.default_rng(self.random_state)
        rows = np.arange(n) if n <= most else np.sort(generator.choice(n, most, replace=False))
        try:
            pilot = replace(self, device="cpu").fit(data.take(rows), data.labels[rows])
        except CalibrationError:
            return 0.0
        log_t = float(np.log(pilot.temperature_))
        return log_t if abs(log_t) < 0.999 * self.max_log_temperature else 0.0

    def _predict_proba(self, logits: Floats) -> Floats:
        return softmax(logits / self.temperature_)


def slopes(data: LabelledBlocks, inverse: float, title: str) -> Slopes:
    """The derivatives at ``1 / T = inverse``, from one pass over all rows."""
    parts = data.each(lambda logits, labels: _of_block(logits, labels, inverse), title)
    return sum(parts, Slopes())


def _step(at: Slopes, log_t: float) -> tuple[float, float]:
    """log T where the slope, expanded to third order, is zero; and about how far that is from the truth."""
    inverse = float(np.exp(-log_t))
    if at.first == 0 or not at.second > 0:
        return log_t, 0.0
    step = -at.first / at.second
    roots = np.roots([at.fourth / 6, at.third / 2, at.second, at.first])
    ahead = roots[np.isreal(roots) & (roots.real * step > 0)].real  # the slope rises: its root lies on one side
    if len(ahead):
        step = float(ahead[np.argmin(np.abs(ahead))])
    if inverse + step <= 0:
        return np.inf, np.inf
    # Cumulants of order m grow about as (m - 1)! / b^m, so the first term left out is about step / b of the last.
    last = abs(at.fourth) * abs(step) ** 3 / 6 / at.second + abs(step) * (abs(step) / inverse) ** 2
    return -float(np.log(inverse + step)), last * abs(step) / inverse / (inverse + step)


def _of_block(logits: Floats, labels: Ints, inverse: float) -> Slopes:
    total = Slopes()
    for rows in blocks(*logits.shape):
        total += _of_rows(logits[rows].astype(np.float64), labels[rows], inverse)
    return total


def _of_rows(logits: Floats, labels: Ints, inverse: float) -> Slopes:
    logits -= logits.max(axis=1, keepdims=True)
    probs = np.exp(inverse * logits)
    probs /= probs.sum(axis=1, keepdims=True)
    mean = np.einsum("nk,nk->n", probs, logits)
    of_labels = logits[np.arange(len(labels)), labels]
    logits -= mean[:, None]
    probs *= logits
    probs *= logits
    second = probs.sum(axis=1)
    probs *= logits
    third = float(probs.sum())
    fourth = float(np.einsum("nk,nk->", probs, logits)) - 3 * float(second @ second)
    return Slopes(float((mean - of_labels).sum()), float(second.sum()), third, fourth)
