"""Split rows into a calibration and a test part: seeded, stratified, of an exact size, or of whole clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calib.arrays import check_number
from calib.data.findings import verb
from calib.errors import DataError, Finding, missing_package
from calib.formatting import plural
from calib.numerics import Ints

Rows = tuple[Ints, Ints]
"""Row numbers of the calibration part and of the test part."""

FEWEST_CLUSTERS = 2
"""Fewest clusters in each part: with one alone, nothing shows how clusters differ."""

N_DRAWS = (5, 100)
"""Least and most random orders of the clusters, of which the best is cut; many clusters need few."""
MOST_PLACED = 1_000_000
"""Clusters in all these orders together; a million take about a second."""


def split_rows(
    labels: Ints,
    part: Any,
    loaded: npt.NDArray[np.bool_] | None,
    random_state: int,
    clusters: npt.NDArray[Any] | None = None,
) -> Rows:
    """Row numbers of both parts; no row is lost or taken twice.

    Parameters
    ----------
    labels : (n,) classes, whose frequencies a fraction or a count keeps in both parts.
    part : calibration part as a fraction in (0, 1), a count in [1, n - 1], row numbers or a mask of rows; None
        takes ``loaded`` if it marks some but not all rows, and half of the rows otherwise.
    loaded : (n,) split that came with the data, True for calibration.
    random_state : seed of the draw.
    clusters : (n,) what rows that belong together share; a draw keeps their rows in one part. A split that came with
        the data, and rows named by hand, stay as they are.

    Raises
    ------
    DataError
        If a part would be empty, the row numbers are not different rows of the data, or there are fewer than four
        clusters.
    """
    n = len(labels)
    check_number("random_state", random_state, 0, 2**32 - 1, whole=True)
    if part is None and loaded is not None and 0 < np.count_nonzero(loaded) < n:
        return np.flatnonzero(loaded), np.flatnonzero(~loaded)
    if part is not None and np.ndim(part):
        return chosen_rows(np.asarray(part), n)
    size = part_size(0.5 if part is None else part, n)
    if clusters is not None:
        return whole_clusters(
            labels, np.unique(clusters, return_inverse=True)[1], size, random_state
        )
    return stratified_rows(labels, size, random_state)


def part_size(part: Any, n: int) -> int:
    """Rows of the calibration part; a fraction leaves at least one row on either side."""
    if isinstance(part, (float, np.floating)) and 0 < part < 1 and n >= 2:
        return int(min(max(round(part * n), 1), n - 1))
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool) and 0 < part < n:
        return int(part)
    raise _refused(
        f"A calibration part of {part!r} cannot be taken from {plural(n, 'row')}; both parts need at least one row."
    )


def chosen_rows(part: npt.NDArray[Any], n: int) -> Rows:
    """The rows named by hand in their order, and all others in ascending order."""
    if part.dtype.kind == "b" and part.shape == (n,):
        part = np.flatnonzero(part)
    if part.ndim != 1 or part.dtype.kind not in "iu" or not 0 < len(part) < n:
        raise _refused(
            f"{plural(len(part), 'row')} cannot be taken from {n:,} by row number; both parts need at least one row."
        )
    if part.min() < 0 or part.max() >= n:
        raise _refused(
            f"Row numbers run from {part.min():,} to {part.max():,}, but there are rows 0 to {n - 1:,}."
        )
    if repeated := len(part) - len(np.unique(part)):
        raise _refused(f"{repeated:,} row numbers are named more than once.")
    return part.astype(np.int64), np.setdiff1d(np.arange(n), part)


def stratified_rows(labels: Ints, size: int, random_state: int) -> Rows:
    """Random rows with the frequencies of the labels, in ascending order.

    Labels of a single row form one stratum together; a single one of them goes with the most frequent label. Where a
    part is smaller than the number of strata, no frequencies can be kept, and rows are drawn without regard to labels.
    """
    try:
        from sklearn.model_selection import train_test_split
    except ModuleNotFoundError as error:
        raise DataError([Finding("error", "missing_package", missing_package(error))]) from error

    labels = labels.astype(np.int64, copy=False)  # unsigned ones cannot be negative
    counts = np.bincount(labels)
    alone = counts[labels] == 1
    strata = np.where(alone, -1 if np.count_nonzero(alone) > 1 else counts.argmax(), labels)
    enough = len(np.unique(strata)) <= min(size, len(labels) - size)
    stratify = strata if enough else None
    rows = np.arange(len(labels))
    drawn = train_test_split(rows, train_size=size, stratify=stratify, random_state=random_state)
    return np.sort(drawn[0]), np.sort(drawn[1])


def whole_clusters(labels: Ints, cluster: Ints, size: int, random_state: int) -> Rows:
    """Random clusters whose rows are about as many as asked for, with about the frequencies of the labels.

    Clusters are put in a random order in which every beginning has its share of those that mostly have one label
    (systematic sampling). The order is cut after the cluster where the size is nearest to that asked for. Of up to 100
    such orders the one is taken whose counts of rows, in all and by label, are nearest to what was asked for.

    Parameters
    ----------
    labels : (n,) integers.
    cluster : (n,) number of each row's cluster.
    size : rows asked for in the calibration part.
    random_state : seed of the draw.

    Raises
    ------
    DataError
        If there are fewer than four clusters, two for each part.
    """
    n_rows = np.bincount(cluster)
    if len(n_rows) < 2 * FEWEST_CLUSTERS:
        raise _too_few_clusters(len(n_rows), len(labels))
    n_labels = int(labels.max()) + 1
    pairs, count = np.unique(cluster * n_labels + labels, return_counts=True)
    owner, label = np.divmod(pairs, n_labels)
    most = label[np.lexsort((-count, owner))[np.searchsorted(owner, np.arange(len(n_rows)))]]
    target = np.bincount(labels) * (size / len(labels))
    generator = np.random.default_rng(random_state)
    best = np.zeros(0, dtype=bool)
    distance = np.inf
    for _ in range(int(np.clip(MOST_PLACED // len(n_rows), *N_DRAWS))):
        order = _spread(most, n_rows, generator)
        total = np.cumsum(n_rows[order])[FEWEST_CLUSTERS - 1 : -FEWEST_CLUSTERS]
        chosen = np.zeros(len(n_rows), dtype=bool)
        chosen[order[: FEWEST_CLUSTERS + int(np.argmin(np.abs(total - size)))]] = True
        drawn = np.bincount(label[chosen[owner]], count[chosen[owner]], minlength=n_labels)
        further = abs(drawn.sum() - size) + np.abs(drawn - target).sum()
        if further < distance:
            best, distance = chosen, further
    return np.flatnonzero(best[cluster]), np.flatnonzero(~best[cluster])


def _spread(stratum: Ints, n_rows: Ints, generator: np.random.Generator) -> Ints:
    """A random order of clusters in which the rows of every stratum are spread evenly."""
    shuffled = generator.permutation(len(stratum))
    by_stratum = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    before = np.cumsum(n_rows[by_stratum]) - n_rows[by_stratum] / 2
    in_all = np.bincount(stratum, n_rows)
    start = np.cumsum(in_all) - in_all
    strata = stratum[by_stratum]
    place = np.empty(len(stratum))
    place[by_stratum] = (before - start[strata]) / in_all[strata]
    return shuffled[np.argsort(place[shuffled], kind="stable")]


def describe_clusters(
    calibration: npt.NDArray[Any] | None,
    test: npt.NDArray[Any] | None,
    requested: int | None = None,
) -> str:
    """Describe how a split treats clusters, in one sentence; "" for data without clusters.

    Parameters
    ----------
    calibration, test : (m,) clusters of the rows of both parts.
    requested : calibration rows that were asked for; None where the split came with the data or by row numbers.
    """
    if calibration is None or test is None:
        return ""
    sides = set(calibration.tolist()), set(test.tolist())
    if both := sides[0] & sides[1]:
        n = len(sides[0] | sides[1])
        have = verb(len(both), "has", "have")
        return (
            f"{len(both):,} of {n:,} clusters {have} rows in both parts of this split, which may make calibrators look "
            "better than they are; a random split keeps clusters whole."
        )
    sentence = f"Clusters are kept whole: {len(sides[0]):,} for calibration, {len(sides[1]):,} for the test."
    if requested is None or requested == len(calibration):
        return sentence
    rows = f"{len(calibration):,} calibration rows where {requested:,} were asked for"
    return f"{sentence} That gives {rows}."


def _too_few_clusters(n_clusters: int, n: int) -> DataError:
    message = (
        f"A split needs at least {2 * FEWEST_CLUSTERS} clusters, {FEWEST_CLUSTERS} for each part, but the {n:,} rows "
        f"are of {plural(n_clusters, 'cluster')}; the column may name something else."
    )
    action = 'Read the data without clusters (clusters="").'
    return DataError([Finding("error", "few_clusters", message, action, {"clusters": ""})])


def _refused(message: str) -> DataError:
    action = "Give a fraction between 0 and 1, a count, or different row numbers."
    return DataError([Finding("error", "split", message, action)])
