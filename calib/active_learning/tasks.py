"""A simulation as workers run it: one arm on one shuffle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calib.active_learning.plan import Plan
from calib.active_learning.pool import Pool
from calib.active_learning.simulation import Round, simulate
from calib.base import Callback


def run_arm(
    settings: Mapping[str, Any], arm: str, seed: int, *, data: Mapping[str, Any], callback: Callback
) -> list[Round]:
    """:func:`calib.active_learning.simulate` on the arrays of :func:`arrays_of`."""
    return simulate(Plan(**settings), arm, _pool(data), seed=seed, callback=callback)


def arrays_of(pool: Pool) -> dict[str, Any]:
    """A pool as arrays that go to a worker; ``logits`` has no rows, only a column for each class."""
    return {
        "logits": np.empty((0, pool.n_classes)),
        "labels": pool.labels,
        "features": pool.features,
        "test_features": pool.test_features,
        "test_labels": pool.test_labels,
    }


def _pool(data: Mapping[str, Any]) -> Pool:
    arrays = {name: array for name, array in data.items() if name != "logits"}
    return Pool(**arrays, n_classes=data["logits"].shape[1])
