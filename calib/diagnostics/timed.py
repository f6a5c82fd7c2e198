"""Separations of as many inputs as a time limit allows, and what they cost."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from calib.calibrators.geometric.neighbours import nearest
from calib.calibrators.geometric.pruning import exact
from calib.calibrators.geometric.training_set import TrainingSet
from calib.numerics import Floats, Ints

EXACT = "exact"
FIRST = {"l2": 64}
"""Inputs of the first block; BLAS wants some company. Other kinds take them one by one and begin with ``FEW``."""
FEW = 8
GROWTH = 4
"""Beyond ``LEAST`` inputs a block is at most so many times as large as all before it, never larger than ``MOST``."""
MOST = 1024
LEAST = 60
"""Inputs that are looked at whatever the time: rates and correlations of fewer say nothing."""


@dataclass(frozen=True, eq=False)
class Timed:
    """Separations of a seeded draw of inputs.

    Attributes
    ----------
    rows : (m,) row numbers, ascending.
    separation : (m,) may be infinite.
    fast : (m,) fast separations (L2) of the same rows where ``separation`` is exact, else the same numbers.
    n : how many inputs there were.
    cpu_seconds : of this thread, and of the numerical libraries where these were told to use one.
    """

    rows: Ints
    separation: Floats
    fast: Floats
    n: int
    cpu_seconds: float

    @property
    def whole(self) -> bool:
        """Whether all inputs were reached."""
        return len(self.rows) == self.n

    @property
    def per_second(self) -> float:
        """Inputs for each second of processor time."""
        return len(self.rows) / max(self.cpu_seconds, 1e-9)


def timed_separation(
    training: TrainingSet, features: Floats, predicted: Ints, kind: str, seconds: float, random_state: int = 0
) -> Timed:
    """Separations in a seeded order until the time is up; at least ``LEAST`` of them where there are as many.

    Parameters
    ----------
    training : the training set.
    features, predicted : as :meth:`TrainingSet.queries` returns them.
    kind : an entry of ``DISTANCES`` for fast separation, or "exact".
    seconds : wall-clock time after which no further block is begun.
    random_state : seed of the order.
    """
    n = len(features)
    order = np.random.default_rng(random_state).permutation(n)
    if kind in ("l2", EXACT):
        _ = training.squared, training.outline  # made once for all inputs
    fast, separation = np.empty(n), np.empty(n)
    begun, cpu, done, size = time.perf_counter(), time.thread_time(), 0, FIRST.get(kind, FEW)
    while done < n:
        rows = order[done : done + size]
        if kind == EXACT:
            found = exact(training, features[rows], predicted[rows])
            fast[rows], separation[rows] = found.nearest.fast, found.separation
        else:
            fast[rows] = separation[rows] = nearest(training, features[rows], predicted[rows], kind).fast
        done += len(rows)
        elapsed = time.perf_counter() - begun
        if elapsed >= seconds and done >= LEAST:
            break
        # No block longer than the time left, judged by the rate so far.
        size = int(np.clip(done / max(elapsed, 1e-9) * (seconds - elapsed), 1, min(GROWTH * done, MOST)))
        size = max(size, LEAST - done)
    spent = time.thread_time() - cpu
    rows = np.sort(order[:done])
    return Timed(rows, separation[rows], fast[rows], n, spent)
