"""Temperature scaling in one pass, most of the time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.temperature import TemperatureScaling
from calib.errors import CalibrationError
from calib.hardware import cpu_description
from calib.numerics import Floats, Ints
from calib.out_of_core.parallel import in_order
from calib.out_of_core.progress import Progress
from calib.out_of_core.rows import Block
from calib.out_of_core.stored import StoredPredictions

PILOT_ELEMENTS = 20_000_000
"""Numbers of the rows, drawn at random, whose temperature the pass starts from: 20,000 rows of 1000 classes."""

TOLERANCE = 1e-7
"""Estimated error of log T at which no further pass is made; the mean NLL is then exact to about its square."""

MOST_PASSES = 60

_CACHED_ELEMENTS = 65_536


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


def fit_temperature(calibrator: TemperatureScaling, data: StoredPredictions, progress: Progress) -> None:
    """Store the temperature that the fit to all rows at once finds, to :data:`TOLERANCE`.

    The temperature of a random part lies within its standard error of the answer. From there the four first
    derivatives of the NLL, summed in one pass, give the root of its slope to the fifth order of the remaining
    step; only where that step was long is another pass made. Roots are bracketed by the sign of the slope, which
    is monotone, so it ends in any case.
    """
    calibrator.device_, calibrator.device_note_ = cpu_description(), ""
    bound = calibrator.max_log_temperature
    if data.label_on_top.all():
        # As in memory: the NLL falls all the way to T = 0, unless no temperature changes anything.
        calibrator.temperature_ = float(np.exp(-bound)) if data.rows_differ else 1.0
        return
    low, high = -bound, bound
    tried = set()
    log_t = _pilot(calibrator, data)
    for number in range(1, MOST_PASSES + 1):
        at = slopes(data, float(np.exp(-log_t)), f"pass {number}", progress)
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
    calibrator.temperature_ = float(np.exp(log_t))


def slopes(data: StoredPredictions, inverse: float, what: str, progress: Progress) -> Slopes:
    """The derivatives at ``1 / T = inverse``, from one pass over all rows."""
    total, done = Slopes(), 0
    for part, n in in_order(lambda block: _of_block(block, data.labels, inverse), data.logits.blocks()):
        total, done = total + part, done + n
        progress(what, done, len(data))
    return total


def _pilot(calibrator: TemperatureScaling, data: StoredPredictions) -> float:
    """log T of a random part of the rows, 0 where that part has no best temperature."""
    most = max(2, PILOT_ELEMENTS // data.n_classes)
    generator = np.random.default_rng(calibrator.random_state)
    rows = np.arange(len(data)) if len(data) <= most else np.sort(generator.choice(len(data), most, replace=False))
    pilot = TemperatureScaling(**{**calibrator.get_params(), "device": "cpu"})
    try:
        log_t = float(np.log(pilot.fit(data.logits.take(rows), data.labels[rows]).temperature_))
    except CalibrationError:
        return 0.0
    return log_t if abs(log_t) < 0.999 * calibrator.max_log_temperature else 0.0


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


def _of_block(block: Block, labels: Ints, inverse: float) -> tuple[Slopes, int]:
    start, logits = block
    step = max(1, _CACHED_ELEMENTS // logits.shape[1])
    total = Slopes()
    for first in range(0, len(logits), step):
        part = logits[first : first + step].astype(np.float64)
        total += _of_rows(part, labels[start + first : start + first + len(part)], inverse)
    return total, len(logits)


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
