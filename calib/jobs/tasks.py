"""The functions that workers run, named by reference in the messages sent to them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from calib.base import Calibrator, Callback
from calib.hardware import cpu_description
from calib.registry import calibrator


def fit_calibrator(
    method: str, params: Mapping[str, Any], *, data: Mapping[str, Any], callback: Callback
) -> Calibrator:
    """Fit a registered method on ``data``: ``logits``, ``labels`` and the arrays the method needs."""
    _fit_small(method)
    callback(0, 0, math.nan)  # the time counts from here: the next fit of this method will not wait for imports
    fitted = calibrator(method, **params).fit(**data, callback=callback)
    if not hasattr(fitted, "device_"):
        setattr(fitted, "device_", cpu_description())  # noqa: B010 - of this worker: the app may be on another machine
    return fitted


def fit_small(methods: tuple[str, ...], *, data: Mapping[str, Any], callback: Callback) -> None:
    """Fit methods on a handful of rows, so that whatever they import is there before a person waits for it."""
    for name in methods:
        _fit_small(name)


@cache  # once for each process
def _fit_small(name: str) -> None:
    generator = np.random.default_rng(0)
    logits, labels = generator.normal(size=(60, 3)), np.arange(60) % 3
    features = generator.normal(size=(60, 4))
    more: dict[str, Any] = {"features": features, "train_features": features, "train_labels": labels}
    with suppress(Exception):  # a method that cannot be fitted says so when it is asked for
        unfitted = calibrator(name)
        unfitted.fit(logits, labels, **{array: more[array] for array in unfitted.needs})
