"""Temperature scaling of arrays, of rows in blocks and of the top k of very many classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from calib.base import KEEPS_ACCURACY, KEEPS_RANKING, Calibrator, Callback, LabelledBlocks
from calib.calibrators.minimisation import NumPyCrossEntropy, ScaledCrossEntropy, with_loss
from calib.calibrators.top_k_outputs import TopKCalibrator, effective_others, log_partition_bounds
from calib.errors import CalibrationError
from calib.hardware import DEVICES, cpu_description, worth_a_gpu
from calib.numerics import SMALLEST_UNIT, Floats, Ints, blocks, logit_unit, softmax, unit_rows
from calib.parameters import LARGEST, Number, State, Text, param
from calib.top_k import Groups, TopK

PILOT_ELEMENTS = 20_000_000
"""Numbers of the rows, drawn at random, whose temperature the first pass over blocks starts from."""

GUESS_ENTRIES = 500_000
"""Numbers of the rows, drawn at random, whose temperature a fit to four times as many or more starts from."""

TOLERANCE = 1e-7
"""Estimated error of log T at which no further pass is made; the mean NLL is then exact to about its square."""

MOST_PASSES = 60

TEMPERATURE = Number(1e-100, LARGEST)
"""What a temperature is; it is in the unit of the logits, whatever that is."""

UNIT = Number(SMALLEST_UNIT, 1 / SMALLEST_UNIT).or_absent(1.0)
"""What a unit is; 1 in records from before there was one."""


STARTS_ANYWHERE = "Fit it again on all rows, old and new; with `start=` the search goes on from an earlier fit."
"""What methods say of more rows whose fit is a search for one optimum."""

OTHERS = Number(0, LARGEST).or_absent(0.0)
"""How many equal classes stand for those outside the top k; 0 where all do, or there were none."""


@dataclass(eq=False, repr=False, kw_only=True)
class ScalingCalibrator(Calibrator):
    """Base of methods that scale and shift logits to minimise the cross-entropy.

    A subclass says in ``passes`` about how often its fit evaluates the loss, and writes the hook
    ``_fit_scaling(cross_entropy, logits, labels, callback, start)``, which stores what it learned and may be called
    again from the beginning; ``start`` is an earlier fit or None. Only big arrays go to a GPU by themselves: see
    :data:`calib.hardware.WORTH_A_GPU`.
    """

    device: str = param(
        "auto", choices=DEVICES, help="Where to fit; auto takes a GPU where there is one and the data are big."
    )

    positive: ClassVar[bool] = True
    state: ClassVar[State] = {"device_note_": Text().or_absent("")}

    def _fit_scaling(
        self,
        cross_entropy: ScaledCrossEntropy,
        logits: Floats,
        labels: Ints,
        callback: Callback,
        start: Calibrator | None = None,
    ) -> None:
        raise TypeError(f"{type(self).__name__} has no _fit_scaling")

    def notes(self) -> list[str]:
        return [self.device_note_] if self.device_note_ else []

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        def fitted(loss: ScaledCrossEntropy) -> None:
            self._fit_scaling(loss, logits, labels, callback, extras.get("start"))

        ran = with_loss(fitted, logits, labels, self.device, worth_a_gpu(self.device, self.reads(logits.size)))
        self.device_, self.device_note_ = ran.device, ran.note


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
class TemperatureScaling(ScalingCalibrator, TopKCalibrator):
    """Divide all logits by one temperature; keeps the accuracy.

    Guo et al., On Calibration of Modern Neural Networks, ICML 2017, section 4.2. The negative
    log-likelihood is convex in 1/T, so its slope has one root, which a bracketed solve on log T finds. The bracket is
    relative to the unit of the logits, :func:`calib.numerics.logit_unit`, so that logits times a constant have the same
    probabilities.

    Of the top k of very many classes the rows whose label lies among the k decide, by the likelihood of the label given
    that it does: all other classes cancel in ``exp(z_y / T) / sum_{j <= k} exp(z_j / T)``, so that nothing is assumed
    of them. What T makes of their sum is then chosen by :func:`calib.calibrators.top_k_outputs.effective_others`. Where
    these rows have no best temperature, as with k = 1 or equal logits, all rows decide, with the other classes taken
    as equal.
    """

    max_log_temperature: float = param(
        5.0, low=0.1, high=10.0, help="Bound on |log T| in units of the logits' usual gap; reached on separable data."
    )

    state: ClassVar[State] = {"temperature_": TEMPERATURE, "unit_": UNIT, "others_": OTHERS}
    passes: ClassVar[int] = 10
    starts: ClassVar[bool] = True
    more_rows: ClassVar[str] = STARTS_ANYWHERE
    keeps_half: ClassVar[bool] = True

    def promises(self, n_classes: int) -> frozenset[str]:
        return super().promises(n_classes) | {KEEPS_ACCURACY, KEEPS_RANKING}

    @property
    def at_bound(self) -> bool:
        """Whether the temperature is at its bound, so that the rows have no best one."""
        return bool(abs(np.log(self.temperature_ / self.unit_)) > 0.999 * self.max_log_temperature)

    def notes(self) -> list[str]:
        notes = super().notes()
        if self.at_bound:
            notes.insert(
                0,
                f"The temperature {self.temperature_:.3g} is at its bound: the fewer mistakes a calibration set "
                "holds, the less it can say, and this one has no best temperature. Check the labels, or use more rows.",
            )
        return notes

    def _fit_scaling(
        self,
        cross_entropy: ScaledCrossEntropy,
        logits: Floats,
        labels: Ints,
        callback: Callback,
        start: Calibrator | None = None,
    ) -> None:
        from scipy.optimize import brentq

        self.unit_, self.others_ = logit_unit(logits[unit_rows(logits.shape)]), 0.0
        bound, log_unit = self.max_log_temperature, float(np.log(self.unit_))
        if (logits[np.arange(len(labels)), labels] == logits.max(axis=1)).all():
            self._every_label_on_top(any(np.ptp(row) > 0 for row in logits))
            return
        if isinstance(start, TemperatureScaling):
            guess: float | None = float(np.clip(np.log(start.temperature_) - log_unit, -bound, bound))
        else:
            guess = self._guess(logits, labels)
        ones, zeros = np.ones(logits.shape[1]), np.zeros(logits.shape[1])
        calls = 0

        @cache
        def slope(log_units: float) -> float:
            """Derivative of the NLL in 1/T, which falls as T grows, at a temperature of so many units, in logarithm."""
            nonlocal calls
            value, by_scale, _ = cross_entropy(np.exp(-log_unit - log_units) * ones, zeros)
            calls += 1
            callback(calls, self.passes, value)
            return float(by_scale.sum())

        if guess is not None:
            low, high = _around(slope, guess, bound)
        else:
            low, high = (0.0, bound) if slope(0.0) > 0 else (-bound, 0.0)
        if slope(high) >= 0:
            root = high
        elif slope(low) <= 0:
            root = low
        else:
            root = brentq(slope, low, high, xtol=1e-10)
        self.temperature_: float = float(np.exp(log_unit + root))

    def _guess(self, logits: Floats, labels: Ints) -> float | None:
        """Logarithm of the temperature, in units, of a part of very many rows; None of few, and where there is none."""
        n_rows = GUESS_ENTRIES // logits.shape[1]
        if len(labels) < 4 * n_rows or n_rows < MOST_PASSES:
            return None
        rows = np.sort(np.random.default_rng(0).choice(len(labels), n_rows, replace=False))
        part = replace(self, device="cpu").fit(logits[rows], labels[rows])
        return None if part.at_bound else float(np.log(part.temperature_ / self.unit_))

    def fit_top_k(self, outputs: TopK, labels: Ints, callback: Callback) -> None:
        """Find the temperature from the rows whose label lies in the top k, then what it makes of the rest."""
        self.device_, self.device_note_ = cpu_description(), ""
        rank = outputs.rank_of(labels)
        inside = rank < outputs.k
        if (outputs.values[inside, 0] > outputs.values[inside, -1]).any():
            values, columns = (outputs.values, rank) if inside.all() else (outputs.values[inside], rank[inside])
            self._fit_scaling(NumPyCrossEntropy(values, columns), values, columns, callback)
            if not outputs.n_others:
                return
            if not self.at_bound:
                self.others_ = effective_others(outputs, ~inside, 1 / self.temperature_)
                return
        groups = outputs.groups()
        loss = NumPyCrossEntropy(groups.logits, rank, groups.log_counts)
        self._fit_scaling(loss, groups.logits, rank, callback)

    def predict_groups(self, groups: Groups) -> Floats:
        """See the base class."""
        return softmax(groups.logits / self.temperature_, groups.counts)

    def nll_bounds(self, outputs: TopK, labels: Ints) -> tuple[Floats, Floats]:
        """From the bounds of the log-partition, :func:`calib.calibrators.top_k_outputs.log_partition_bounds`."""
        low, high = log_partition_bounds(outputs, 1 / self.temperature_, labels)
        own = outputs.label_logits(labels) / self.temperature_
        return low - own, high - own

    def fit_blocks(self, data: LabelledBlocks, callback: Callback) -> None:
        """Find the temperature of the fit to all rows at once, to :data:`TOLERANCE`, in one pass most of the time.

        The temperature of a random part lies within its standard error of the answer. From there the four first
        derivatives of the NLL, summed in one pass, give the root of its slope to the fifth order of the remaining
        step; only where that step was long is another pass made. Roots are bracketed by the sign of the slope, which
        is monotone, so it ends in any case.
        """
        self.device_, self.device_note_ = cpu_description(), ""
        self.unit_, self.others_ = logit_unit(data.take(unit_rows(data.shape))), 0.0
        if data.label_on_top.all():
            self._every_label_on_top(data.rows_differ)
            return
        lowest, highest = (float(np.log(self.unit_)) + sign * self.max_log_temperature for sign in (-1, 1))
        low, high = lowest, highest
        tried = set()
        log_t = self._pilot(data)
        for number in range(1, MOST_PASSES + 1):
            at = slopes(data, float(np.exp(-log_t)), f"pass {number}")
            if (at.first >= 0 and log_t >= highest) or (at.first <= 0 and log_t <= lowest):
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
        self.temperature_ = self.unit_ * float(np.exp(-self.max_log_temperature)) if rows_differ else 1.0

    def _pilot(self, data: LabelledBlocks) -> float:
        """log T of a random part of the rows, that of the unit where that part has no best temperature."""
        n, n_classes = data.shape
        most = max(2, PILOT_ELEMENTS // n_classes)
        generator = np.random.default_rng(self.random_state)
        rows = np.arange(n) if n <= most else np.sort(generator.choice(n, most, replace=False))
        try:
            pilot = replace(self, device="cpu").fit(data.take(rows), data.labels[rows])
        except CalibrationError:
            return float(np.log(self.unit_))
        away = float(np.log(pilot.temperature_ / pilot.unit_))
        return float(np.log(pilot.temperature_ if abs(away) < 0.999 * self.max_log_temperature else self.unit_))

    def _predict_proba(self, logits: Floats) -> Floats:
        return softmax(logits / self.temperature_)


def _around(slope: Callable[[float], float], guess: float, bound: float) -> tuple[float, float]:
    """An interval within plus and minus ``bound`` with a root of a falling function, as narrow as a guess allows.

    Its ends are ``bound`` where the root lies beyond.
    """
    width, sign = 0.02, 1.0 if slope(guess) > 0 else -1.0
    inner = guess
    while True:
        outer = float(np.clip(inner + sign * width, -bound, bound))
        if sign * slope(outer) <= 0 or abs(outer) >= bound:
            return min(inner, outer), max(inner, outer)
        inner, width = outer, 4 * width


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
