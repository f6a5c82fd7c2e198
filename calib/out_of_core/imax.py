"""I-Max binning from counts of log-odds in narrow cells."""

from __future__ import annotations

import numpy as np

from calib.calibrators.imax import IMaxBinning
from calib.calibrators.imax.sums import LARGEST_LOG_ODDS, SigmoidSums
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints, one_vs_rest_log_odds
from calib.out_of_core.parallel import in_order
from calib.out_of_core.progress import Progress
from calib.out_of_core.rows import Block
from calib.out_of_core.stored import StoredPredictions

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
    for part, labels, n in in_order(lambda block: _of_block(block, data.labels, low, high), data.logits.blocks()):
        count += part
        of_labels.append(labels)
        done += n
        progress("log-odds", done, len(data))
    return count, np.concatenate(of_labels)


def _of_block(block: Block, labels: Ints, low: float, high: float) -> tuple[Ints, Floats, int]:
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
