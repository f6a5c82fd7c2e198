"""The studies as workers run them: from plain settings and arrays, by registry name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calib.base import Calibrator, Callback
from calib.data.predictions import Predictions
from calib.registry import calibrator
from calib.studies.repeated import repeated_splits
from calib.studies.size_curve import size_curve

if TYPE_CHECKING:
    import pandas as pd

Methods = Sequence[tuple[str, str, Mapping[str, Any]]]
"""(name in tables, registry name, parameters) of each method."""

ARRAYS = ("given_split", "features", "train_features", "train_labels")
"""What of a data set a study is given beside logits and labels, where it holds them."""


def arrays_of(data: Predictions) -> dict[str, Any]:
    """The arrays beyond logits and labels that go to a worker."""
    return {name: array for name in ARRAYS if (array := getattr(data, name)) is not None}


def repeat_task(
    methods: Methods, part: int, n_repeats: int, random_state: int, *, data: Mapping[str, Any], callback: Callback
) -> pd.DataFrame:
    """:func:`repeated_splits` on ``data``: ``logits``, ``labels`` and what :func:`arrays_of` gives."""
    return repeated_splits(
        _made(methods), _predictions(data), part, n_repeats=n_repeats, random_state=random_state, callback=callback
    )


def size_task(
    methods: Methods,
    part: float | None,
    split_seed: int,
    n_draws: int,
    random_state: int,
    *,
    data: Mapping[str, Any],
    callback: Callback,
) -> pd.DataFrame:
    """:func:`size_curve` on the split of ``data`` that ``Predictions.split(part, split_seed)`` gives."""
    calibration, test = _predictions(data).split(part, random_state=split_seed)
    return size_curve(_made(methods), calibration, test, n_draws=n_draws, random_state=random_state, callback=callback)


def _made(methods: Methods) -> dict[str, Calibrator]:
    return {name: calibrator(method, **params) for name, method, params in methods}


def _predictions(data: Mapping[str, Any]) -> Predictions:
    names = tuple(map(str, range(data["logits"].shape[1])))
    # The hash keys caches, of which a worker has none; without one, every split would hash the arrays.
    return Predictions(**data, class_names=names, sha256="in a worker")
