"""Fits to files larger than memory: the calibrators of the registry, learned from a stream of rows.

Temperature scaling in one pass, most of the time.

I-Max binning from counts of log-odds in narrow cells.

Stored logits in the place of an array, for fits that look at the range and at some of the rows only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from calib.base import Calibrator, Callback, check_labels, no_callback
from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.imax import IMaxBinning
from calib.calibrators.imax.sums import LARGEST_LOG_ODDS, SigmoidSums
from calib.calibrators.temperature import TemperatureScaling
from calib.canonical import Kind
from calib.errors import CalibrationError, missing_package
from calib.hardware import cpu_description
from calib.numerics import Floats, Ints, one_vs_rest_log_odds
from calib.out_of_core.parallel import in_order
from calib.out_of_core.reading import open_rows
from calib.out_of_core.rows import ArrayRows, Block, LogitRows, Progress, Rows, no_progress
from calib.out_of_core.survey import StoredPredictions, stored, survey
from calib.registry import calibrator as make_calibrator

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
    for part, n in in_order(lambda block: _derivatives_of_block(block, data.labels, inverse), data.logits.blocks()):
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


def _derivatives_of_block(block: Block, labels: Ints, inverse: float) -> tuple[Slopes, int]:
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


N_CELLS = 2**20
"""Cells over the range of the log-odds: 1e-4 wide for logits that span 100, so a hundredth of a percent of odds."""


def check_can_stream(calibrator: IMaxBinning) -> None:
    """Refuse what needs all log-odds of a class, or another calibrator's probabilities, at once."""
    if not calibrator.share_classes:
        raise CalibrationError(
            "I-Max with a map for each class is not fitted from a stream; keep share_classes=True, or fit fewer rows."
        )
    if calibrator.representatives not in ("empirical", "raw"):
        raise CalibrationError(
            f"I-Max with representatives={calibrator.representatives!r} is not fitted from a stream; choose "
            "representatives='empirical' or 'raw', or fit fewer rows."
        )
    if calibrator.scaled_model:
        raise CalibrationError(
            "I-Max with scaled_model=True is not fitted from a stream; fit fewer rows, or leave it out."
        )


def fit_imax(calibrator: IMaxBinning, data: StoredPredictions, progress: Progress) -> None:
    """Place the bins as the fit to all pairs at once does, with their edges moved to the nearest cell's end.

    One pass counts the pairs of each cell and keeps the label's log-odds of each row. The iterations take a cell
    for as many pairs in its middle. No final bin cuts a cell, so counts and frequencies are exact.
    """
    check_can_stream(calibrator)
    low, high = log_odds_range(data)
    count, of_labels = _collect(data, low, high, progress)
    n_pairs = int(count.sum())
    calibrator.source_notes_ = []
    calibrator.n_rows_, calibrator.fallback_rows_ = len(data), 0
    calibrator.margin_ = 1 / (n_pairs + 2)
    calibrator.maps_ = [{}]
    if 0 < len(of_labels) < n_pairs:
        cells = np.flatnonzero(count)
        width = (high - low) / N_CELLS
        sums = SigmoidSums.of_weighted(low + width * (cells + 0.5), count[cells])
        edges = _between_cells(calibrator.place_edges(sums), sums, low + width * cells, width)
        calibrator.maps_ = [calibrator.map_between(edges, sums, np.sort(of_labels))]
    calibrator.unmapped_classes_ = sum(not state for state in calibrator.maps_)


def log_odds_range(data: StoredPredictions) -> tuple[float, float]:
    """Bounds of all one-vs-rest log-odds, from the range of the logits: ``z_k - logsumexp`` of K - 1 others."""
    span, others = data.high - data.low, float(np.log(data.n_classes - 1))
    low, high = max(-span - others, -LARGEST_LOG_ODDS), min(span - others, LARGEST_LOG_ODDS)
    margin = 1e-9 * (high - low) or 0.5
    return low - margin, high + margin


def _collect(data: StoredPredictions, low: float, high: float, progress: Progress) -> tuple[Ints, Floats]:
    """Pairs in each cell, (N_CELLS,), and the log-odds of the pairs whose class is the label, in any order."""
    count = np.zeros(N_CELLS, dtype=np.int64)
    of_labels, done = [], 0
    for part, labels, n in in_order(
        lambda block: _masses_of_block(block, data.labels, low, high), data.logits.blocks()
    ):
        count += part
        of_labels.append(labels)
        done += n
        progress("log-odds", done, len(data))
    return count, np.concatenate(of_labels)


def _masses_of_block(block: Block, labels: Ints, low: float, high: float) -> tuple[Ints, Floats, int]:
    start, logits = block
    labels = labels[start : start + len(logits)]
    log_odds = one_vs_rest_log_odds(logits.astype(np.float64))
    if logits.shape[1] == 2:
        log_odds = log_odds[:, 1:]
        of_labels = log_odds[labels == 1, 0]
    else:
        of_labels = log_odds[np.arange(len(labels)), labels]
    cell = ((log_odds - low) * (N_CELLS / (high - low))).ravel()
    np.clip(cell, 0, N_CELLS - 1, out=cell)
    return np.bincount(cell.astype(np.int64), minlength=N_CELLS), of_labels, len(logits)


def _between_cells(edges: Floats, sums: SigmoidSums, begins: Floats, width: float) -> Floats:
    """Edges moved out of the cells they cut; those between two cells, or beyond all, stay."""
    cuts = sums.positions(edges)[1:-1]
    inside = (cuts > 0) & (cuts < len(begins))
    moved = edges.copy()
    moved[inside] = np.clip(edges[inside], begins[cuts[inside] - 1] + width, begins[cuts[inside]])
    return moved


class LazyLogits:
    """As much of a float64 array (n, n_classes) as a fit to sampled rows asks for; rows are read by indexing."""

    ndim = 2

    def __init__(self, data: StoredPredictions, scale: float = 1.0):
        self._data, self._scale = data, scale
        self.shape = data.logits.shape
        self.size = self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def min(self) -> float:
        """Smallest logit, from the pass for the range."""
        return self._data.low / self._scale

    def max(self) -> float:
        """Largest logit, from the pass for the range."""
        return self._data.high / self._scale

    def __getitem__(self, rows: Any) -> Floats:
        numbers = np.arange(len(self))[rows]
        taken = self._data.logits.take(numbers).astype(np.float64)
        return taken / self._scale if self._scale != 1.0 else taken

    def __truediv__(self, scale: float) -> LazyLogits:
        return LazyLogits(self._data, self._scale * scale)


METHODS = ("gpcalib", "temperature", "imax")
"""What can be fitted from a stream: their objectives need little per row."""


def fit_streaming(
    method: str,
    outputs: Any,
    labels: Any,
    *,
    kind: Kind = "logits",
    floor: float | None = None,
    callback: Callback | None = None,
    progress: Progress = no_progress,
    **params: Any,
) -> Calibrator:
    """Fit a calibrator to outputs that need not fit into memory: a pass for the range, and one for the sums.

    Parameters
    ----------
    method : "gpcalib", "temperature" or "imax".
    outputs : path of a .npy or Parquet file, or an array or memory map, of shape (n, n_classes).
    labels : (n,) integers in [0, n_classes).
    kind, floor : what the outputs are; None takes for zeros what loading takes.
    callback : of the optimiser, as in :meth:`calib.base.Calibrator.fit`.
    progress : ``progress(what, rows done, rows in all)``.
    **params : the method's parameters.

    Raises
    ------
    CalibrationError
        For a method that needs all rows at once, and for arrays that cannot be used.
    """
    calibrator = check_method(make_calibrator(method, **params))
    if isinstance(outputs, (str, Path)):
        with open_rows(Path(outputs)) as rows:
            return _fit(calibrator, rows, labels, kind, floor, callback, progress)
    return _fit(calibrator, ArrayRows(outputs), labels, kind, floor, callback, progress)


def check_method(calibrator: Calibrator) -> Calibrator:
    """The calibrator, if it can be fitted from a stream with its parameters."""
    calibrator.check_params()
    if not isinstance(calibrator, (GPCalib, TemperatureScaling, IMaxBinning)):
        raise CalibrationError(
            f"{type(calibrator).__name__} needs all rows in memory; from a stream {', '.join(METHODS)} are fitted. "
            "Choose one of them, or fit fewer rows: 20,000 are plenty."
        )
    if isinstance(calibrator, IMaxBinning):
        check_can_stream(calibrator)
    return calibrator


def fit_stored(
    calibrator: Calibrator,
    data: StoredPredictions,
    callback: Callback | None = None,
    progress: Progress = no_progress,
) -> Calibrator:
    """Fit a calibrator of :func:`check_method` to rows that were surveyed; returns it."""
    if len(data) < calibrator.min_rows:
        raise CalibrationError(f"{len(data)} rows were given; at least {calibrator.min_rows} are needed.")
    calibrator.n_classes_ = data.n_classes
    try:
        if isinstance(calibrator, TemperatureScaling):
            fit_temperature(calibrator, data, progress)
        elif isinstance(calibrator, IMaxBinning):
            fit_imax(calibrator, data, progress)
        else:
            # It asks for the range, and then for the rows it would draw from all of them in memory too.
            calibrator._fit(cast(Floats, LazyLogits(data)), data.labels, callback or no_callback)
    except BaseException as error:
        del calibrator.n_classes_  # as in Calibrator.fit: half a fit is none
        if isinstance(error, ModuleNotFoundError):
            raise CalibrationError(missing_package(error)) from error
        raise
    return calibrator


def _fit(
    calibrator: Calibrator,
    outputs: Rows,
    labels: Any,
    kind: Kind,
    floor: float | None,
    callback: Callback | None,
    progress: Progress,
) -> Calibrator:
    labels = check_labels(labels, LogitRows(outputs, kind, floor).shape)
    found = survey(outputs, labels, kind, progress)
    return fit_stored(calibrator, stored(outputs, labels, kind, found, floor), callback, progress)
