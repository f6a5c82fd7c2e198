"""Figures 6 and 7 of Chouraqui et al. (2023): what smaller training sets cost in calibration and save in time."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pandas as pd

from benchmarks.chouraqui2023 import DIGITS_REDUCTIONS
from benchmarks.geometry_methods import FAST, all_confidences, scores, separation
from benchmarks.geometry_speed import SIDE, Sets, simulated_sets
from benchmarks.geometry_splits import Split
from benchmarks.measure import markdown
from calib.calibrators.geometric import fast_separation
from calib.calibrators.geometric.reductions import REDUCTIONS, reduce_training

FACTORS = (2, 4)
AS_RANDOM_ROWS = "kmeans"
"""Not timed: its centroids take long to find, and then as long as a random choice of as many rows."""


def by_reduction(splits: Sequence[Split]) -> pd.DataFrame:
    """Scores of fast separation by reduction and t; without a reduction t is 1."""
    records = []
    for split in splits:
        for name in REDUCTIONS:
            for factor in FACTORS if name != "none" else (1,):
                title = f"{name}, {factor}"
                said = all_confidences(split, [separation(title, reduction=name, factor=factor)])[title]
                records.append({"reduction": name, "t": factor, **scores(said, split.right[1])})
    return pd.DataFrame(records)


def per_second(sets: Sets, name: str, factor: int) -> tuple[float, float]:
    """Fast separations of images per CPU second, and CPU seconds to reduce the training set.

    Reducing the inputs and putting the training set in order are part of the separations' time.
    """
    started = time.process_time()
    images = sets.train_features.reshape(-1, SIDE, SIDE)
    reduced = reduce_training(name, factor, images, sets.train_labels)
    made = time.process_time()
    inputs = reduced.transform(sets.features.reshape(-1, SIDE, SIDE))
    fast_separation(reduced.train_features, reduced.train_labels, inputs, sets.predicted)
    return len(sets.features) / (time.process_time() - made), made - started


def table(splits: Sequence[Split], rows: int, inputs: int) -> str:
    """ECE and Brier score on the shuffles, and the speed at a large simulated training set.

    Parameters
    ----------
    splits : shuffles of the digits with one classifier.
    rows, inputs : size of the simulated data.
    """
    found = by_reduction(splits).groupby(["reduction", "t"])[["ece", "brier"]].agg(["mean", "sem"])
    sets = simulated_sets("digits", rows, inputs)
    lines = []
    for name in REDUCTIONS:
        for i, factor in enumerate(FACTORS if name != "none" else (1,)):
            here = found.loc[(name, factor)]
            there = f"{DIGITS_REDUCTIONS[name][i]:.2f}" if name in DIGITS_REDUCTIONS else "–"
            speed, making = per_second(sets, name, factor) if name != AS_RANDOM_ROWS else (None, None)
            lines.append(
                [
                    name,
                    factor,
                    f"{here['ece', 'mean']:.2f} ± {here['ece', 'sem']:.2f}",
                    there,
                    f"{here['brier', 'mean']:.2f} ± {here['brier', 'sem']:.2f}",
                    "–" if speed is None else f"{speed:,.0f}",
                    "–" if making is None else f"{making:.1f}",
                ]
            )
    at = f"at {rows:,} x {SIDE * SIDE}"
    header = [f"{FAST.title}, reduced by", "t", "ECE %", "reference", "Brier %", f"per CPU s {at}", "CPU s to reduce"]
    return markdown(header, lines)
