"""The studies as workers run them: from plain settings and arrays, by registry name, whole or in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from calib.base import Calibrator, Callback
from calib.data.predictions import Predictions
from calib.data.split import split_rows
from calib.evaluation.attempt import Steps, with_baseline
from calib.evaluation.learning_curve import checked_sizes, count_fits, halved_sizes, one_draw, size_curve
from calib.evaluation.repeated_splits import join_splits, one_split, repeated_splits, split_seeds
from calib.evaluation.size_table import Drawn, join_draws
from calib.jobs.subtasks import Parts, in_parts
from calib.registry import calibrator

if TYPE_CHECKING:
    import pandas as pd

Methods = Sequence[tuple[str, str, Mapping[str, Any]]]
"""(name in tables, registry name, parameters) of each method."""

ARRAYS = ("given_split", "features", "train_features", "train_labels")
"""What of a data set a study is given beside logits and labels, where it holds them."""

LEVEL = 0.95
"""Coverage of the bands."""


def arrays_of(data: Predictions) -> dict[str, Any]:
    """The arrays beyond logits and labels that go to a worker."""
    return {name: array for name in ARRAYS if (array := getattr(data, name)) is not None}


def _splits(methods: Methods, part: int, n_repeats: int, random_state: int, *, data: Mapping[str, Any]) -> Parts:
    seeds = split_seeds(n_repeats, random_state)
    n_fits = len(with_baseline(_made(methods)))
    arguments = [(methods, part, split, seed) for split, seed in enumerate(seeds)]
    return Parts(split_task, arguments, [n_fits] * n_repeats, join_splits)


@in_parts(_splits)
def repeat_task(
    methods: Methods, part: int, n_repeats: int, random_state: int, *, data: Mapping[str, Any], callback: Callback
) -> pd.DataFrame:
    """:func:`repeated_splits` on ``data``: ``logits``, ``labels`` and what :func:`arrays_of` gives."""
    return repeated_splits(
        _made(methods), _predictions(data), part, n_repeats=n_repeats, random_state=random_state, callback=callback
    )


def split_task(
    methods: Methods, part: int, split: int, seed: int, *, data: Mapping[str, Any], callback: Callback
) -> pd.DataFrame:
    """One split of :func:`repeat_task`."""
    made = _made(methods)
    return one_split(made, _predictions(data), part, split, seed, Steps(len(with_baseline(made)), callback))


def _draws(
    methods: Methods,
    part: float | None,
    split_seed: int,
    n_draws: int,
    random_state: int,
    *,
    data: Mapping[str, Any],
) -> Parts:
    n = len(split_rows(data["labels"], part, data.get("given_split"), split_seed)[0])
    made, sizes = _made(methods), checked_sizes(halved_sizes(n), n, n_draws)
    arguments = [(methods, part, split_seed, draw, random_state) for draw in range(n_draws)]
    join = partial(join_draws, with_baseline(made), sizes, n=n, level=LEVEL)
    return Parts(draw_task, arguments, [count_fits(made, sizes, n, draw) for draw in range(n_draws)], join)


@in_parts(_draws)
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
    return size_curve(
        _made(methods),
        calibration,
        test,
        n_draws=n_draws,
        level=LEVEL,
        random_state=random_state,
        callback=callback,
    )


def draw_task(
    methods: Methods,
    part: float | None,
    split_seed: int,
    draw: int,
    random_state: int,
    *,
    data: Mapping[str, Any],
    callback: Callback,
) -> list[Drawn]:
    """One draw of :func:`size_task`."""
    calibration, test = _predictions(data).split(part, random_state=split_seed)
    n, made = len(calibration), _made(methods)
    sizes = halved_sizes(n)
    return one_draw(
        made, calibration, test, sizes, draw, random_state, Steps(count_fits(made, sizes, n, draw), callback)
    )


def _made(methods: Methods) -> dict[str, Calibrator]:
    return {name: calibrator(method, **params) for name, method, params in methods}


def _predictions(data: Mapping[str, Any]) -> Predictions:
    names = tuple(map(str, range(data["logits"].shape[1])))
    # The hash keys caches, of which a worker has none; without one, every split would hash the arrays.
    return Predictions(**data, class_names=names, sha256="in a worker")
