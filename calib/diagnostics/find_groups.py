"""Groups of rows in which probabilities are too high or too low, looked for among all columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.arrays import check_number, named_columns
from calib.diagnostics.gaps import GroupGap, gap_sentence
from calib.errors import CalibrationError
from calib.formatting import aligned, for_terminal, percent, points, points_between
from calib.metrics.bootstrap import Interval, drawn_units
from calib.metrics.confidence import target_pair
from calib.numerics import Floats, Ints

MOST_NUMBERS = 10
"""Different numbers up to which each of a column is a group."""
PARTS = ((0, 1), (0, 2), (2, 4), (4, 6), (6, 8), (8, 10), (9, 10))
"""Groups of a column of more numbers, between tenths of its rows: fifths, and the tenth at either end."""
ERROR = 0.05
"""Probability that any group is reported where none is off."""
SHARES = (0.8, 0.2)
"""Of the error, for groups of one column and of two, which are so many that more would hardly help them."""


@dataclass(frozen=True, eq=False, repr=False)
class FoundGroups:
    """Groups in which probabilities are significantly too high or too low; it prints as a table.

    Attributes
    ----------
    groups : tuple of GroupGap
        At most as many as were asked for, the one whose interval is farthest from 0 and from the average first.
    average : Interval
        The gap of all rows, mean probability minus observed rate, with its own interval.
    n_judged : int
        Groups that were looked at, for all of which the 95 % intervals hold together.
    """

    groups: tuple[GroupGap, ...]
    average: Interval
    n_judged: int

    @property
    def sentence(self) -> str:
        """The finding, such as "Fine on average, but topic = chemistry +10.0 points (+4.0 to +16.0), 412 rows."."""
        return gap_sentence(self.average, self.groups, self.n_judged)

    def __repr__(self) -> str:
        head = [
            "group",
            "rows",
            "predicted",
            "observed",
            "points",
            "95 % joint interval",
        ]
        body = [
            [
                group.name,
                f"{group.rows:,}",
                percent(group.predicted),
                percent(group.observed),
                points(group.gap.value),
                points_between(group.gap.low, group.gap.high),
            ]
            for group in self.groups
        ]
        return for_terminal("\n".join([self.sentence, *(aligned([head, *body]) if body else [])]))


def find_groups(
    probs: Any,
    labels: Any,
    features: Any,
    *,
    clusters: Any = None,
    most: int = 10,
    least_rows: int = 50,
) -> FoundGroups:
    """Find the groups of rows in which probabilities are too high or too low.

    Groups are the values of a column, or of a column of numbers its fifths and the tenth at either end; and every
    combination of two such groups of two columns. No label chooses them, so that all rows judge each of them.
    The gap of a group is its mean probability minus its observed rate. It has the interval of the rate by Clopper and
    Pearson (1934), which holds also where the rows of a group differ in their probabilities (Hoeffding 1956, theorem
    4). Of 5 % error four fifths are shared equally by the groups of one column, the rest by those of two (Bonferroni):
    where no group is off, none is reported with a probability of at least 95 %. Where all rows together are off,
    groups that are off by no more than these are not reported.

    With clusters an interval also holds every gap that Student's t-test of the clusters' sums does not reject; these
    need not be of equal size or variance (Ibragimov and Müller 2010). A group in few clusters is then seldom reported,
    one within a single cluster is not judged.

    Parameters
    ----------
    probs, labels : array_like
        (n, K) probabilities and (n,) classes, for the confidence in the predicted class; or (n,) probabilities of an
        event and 1 where it happened. Rows must not be those of a fit; without clusters they must be independent.
    features : array_like, DataFrame or mapping of str to array_like
        A DataFrame; a mapping of names to (n,) columns; an (n, d) array; or one (n,) column, such as known groups.
        Texts and up to ten different numbers count as values, missing ones as a value of their own.
    clusters : array_like of shape (n,) or None, default None
        Value that rows which belong together share, such as a patient.
    most : int, default 10
        Groups that are reported. One that is off only by rows of those before it is left out.
    least_rows : int, default 50
        Rows that a group must have.

    Returns
    -------
    FoundGroups
        Its ``groups``, those that are off most clearly first; it prints as a table.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> topic, length = rng.choice(["law", "chemistry", "sport", "art"], 2000), rng.normal(size=2000)
    >>> p = rng.uniform(0.6, 1.0, 2000)
    >>> right = rng.random(2000) < p - np.select([topic == "chemistry", topic == "sport"], [0.12, -0.1])
    >>> found = find_groups(p, right, {"topic": topic, "length": length})
    >>> [(group.name, round(group.gap.value, 3)) for group in found.groups]
    [('topic = chemistry', 0.141), ('topic = sport', -0.123)]
    """
    from scipy.sparse import csc_array, triu

    check_number("most", most, 1, whole=True)
    check_number("least_rows", least_rows, 1, whole=True)
    probability, outcome = target_pair(probs, labels, None)
    n = len(probability)
    residual = probability - outcome
    unit, n_units, clustered = drawn_units(n, clusters)

    def gap_of(inside: Ints, error: float) -> Interval:
        sums = np.bincount(unit[inside]), np.bincount(unit[inside], residual[inside])
        between = _between_clusters(*sums) if clustered else None
        ends = _gaps(len(inside), probability[inside].sum(), outcome[inside].sum(), error, between)
        return Interval(*(float(part) for part in ends))

    average = gap_of(np.arange(n), ERROR)
    single = [
        (column, label, rows)
        for column, (name, values) in enumerate(_columns(features, n).items())
        for label, rows in _groups(name, values)
        if least_rows <= len(rows) < n
    ]
    starts = np.cumsum([0, *(len(rows) for _, _, rows in single)])
    indices = np.concatenate([np.zeros(0, dtype=int), *(rows for _, _, rows in single)])
    member = csc_array((np.ones(len(indices)), indices, starts), shape=(n, len(single)))
    both = triu(member.T @ member).tocoo()  # on the diagonal the groups of one column
    column = np.array([column for column, _, _ in single], dtype=int)
    is_single = both.row == both.col
    large = (both.data >= least_rows) & (is_single | (column[both.row] != column[both.col]))
    first, second, is_single, rows = (
        values[large] for values in (both.row, both.col, is_single, both.data)
    )
    between = None
    if clustered:
        of_unit = csc_array((np.ones(n), (unit, np.arange(n))), shape=(n_units, n))
        by_row = member.tocsr()
        between = np.empty((4, len(rows)))
        for k in np.unique(first):
            inside = single[k][2]
            pairs = np.flatnonzero(first == k)
            part = by_row[inside][:, second[pairs]]
            sums = (
                of_unit[:, inside] @ table
                for table in (part, part.multiply(residual[inside, None]))
            )
            between[:, pairs] = _between_clusters(*sums)
        several = between[0] > 1
        first, second, is_single, rows, between = (
            values[..., several] for values in (first, second, is_single, rows, between)
        )
    if not len(rows):
        return FoundGroups((), average, 0)
    predicted, observed = (
        (member.T @ member.multiply(column[:, None]).tocsc()).tocsr()[first, second]
        for column in (probability, outcome)
    )
    error = ERROR * np.where(
        is_single, SHARES[0] / max(1, is_single.sum()), SHARES[1] / max(1, (~is_single).sum())
    )
    gap, low, high = _gaps(rows, predicted, observed, error, between)
    above = max(average.value, 0.0)
    below = min(average.value, 0.0)
    distance = np.maximum(low - above, below - high)
    order = np.argsort(-distance, kind="stable")[: int((distance > 0).sum())]
    groups: list[GroupGap] = []
    covered = np.zeros(n, dtype=bool)
    for k in order:
        if len(groups) == most:
            break
        parts = [single[place] for place in dict.fromkeys((first[k], second[k]))]
        inside = parts[0][2] if len(parts) == 1 else np.intersect1d(parts[0][2], parts[1][2])
        new = inside[~covered[inside]]
        if len(new) < least_rows:
            continue
        alone = gap_of(new, error[k])
        if not (alone.low > above or alone.high < below):
            continue
        covered[inside] = True
        interval = Interval(float(gap[k]), float(low[k]), float(high[k]))
        means = float(predicted[k] / rows[k]), float(observed[k] / rows[k])
        groups.append(
            GroupGap(" and ".join(label for _, label, _ in parts), len(inside), *means, interval)
        )
    return FoundGroups(tuple(groups), average, len(rows))


def _between_clusters(rows: Any, residuals: Any) -> npt.NDArray[Any]:
    """Number of a group's clusters, and their sums of squared rows, rows times residuals, and squared residuals.

    Parameters
    ----------
    rows, residuals : (clusters,) or sparse (clusters, groups)
        Rows of each cluster in the group, and the sum of their residuals.
    """
    parts = (rows > 0), rows * rows, rows * residuals, residuals * residuals
    return np.stack([part.sum(axis=0) for part in parts])


def _gaps(
    rows: Any, predicted: Any, observed: Any, error: Any, between: Any = None
) -> tuple[Any, Any, Any]:
    """Return mean probability minus observed rate, from sums, with its interval at level ``1 - error``."""
    from scipy.special import betaincinv, stdtrit

    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(
            observed > 0, betaincinv(observed, rows - observed + 1.0, error / 2.0), 0.0
        )
        most = np.where(
            observed < rows, betaincinv(observed + 1.0, rows - observed, 1.0 - error / 2.0), 1.0
        )
    mean = predicted / rows
    gap = mean - observed / rows
    low = mean - most
    high = mean - least
    if between is None:
        return gap, low, high
    # Gaps g with (sum x)^2 <= limit sum x^2, where x are the clusters' residuals less g for each of their rows.
    n_clusters, squares, products, residuals = between
    t = stdtrit(np.maximum(n_clusters - 1.0, 1.0), 1.0 - error / 2.0)
    limit = n_clusters * t**2 / (n_clusters - 1.0 + t**2)
    a = rows**2 - limit * squares
    b = rows**2 * gap - limit * products
    c = (rows * gap) ** 2 - limit * residuals
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
        lower = np.where(a > 0, (b - root) / a, -1.0)
        upper = np.where(a > 0, (b + root) / a, 1.0)
    return (
        gap,
        np.minimum(low, np.maximum(lower, mean - 1.0)),
        np.maximum(high, np.minimum(upper, mean)),
    )


def _groups(name: str, values: npt.NDArray[Any]) -> list[tuple[str, Ints]]:
    """The groups of a column in words, and the rows of each; missing values are the last."""
    import pandas as pd

    missing = np.asarray(pd.isna(values))
    present = values[~missing]
    numbers = present.dtype.kind in "fiu"
    if numbers and len(np.unique(present)) > MOST_NUMBERS:
        groups = _groups_of_numbers(name, np.where(missing, np.nan, values).astype(float))
    else:
        texts = [f"{value:g}" if numbers else str(value) for value in present]
        levels, level = np.unique(texts, return_inverse=True)
        rows = np.flatnonzero(~missing)[np.argsort(level, kind="stable")]
        ends = np.cumsum(np.bincount(level))
        is_name = f"{name} = " if name else ""
        groups = [
            (f"{is_name}{text}", part)
            for text, part in zip(levels, np.split(rows, ends[:-1]), strict=False)
        ]
    return [*groups, (f"{name or 'group'} missing", np.flatnonzero(missing))]


def _groups_of_numbers(name: str, values: Floats) -> list[tuple[str, Ints]]:
    """Groups that end at tenths of the rows."""
    tenths = np.quantile(values[~np.isnan(values)], np.arange(1, 10) / 10, method="inverted_cdf")
    ends = [-np.inf, *tenths, np.inf]
    groups: dict[bytes, tuple[str, Ints]] = {}
    for first, last in PARTS:
        low = ends[first]
        high = ends[last]
        rows = np.flatnonzero((values > low) & (values <= high))
        lower = f"{low:.4g} < " if first and last < 10 else ""
        upper = f" ≤ {high:.4g}"
        title = f"{lower}{name}{upper}" if last < 10 else f"{name} > {low:.4g}"
        groups.setdefault(rows.tobytes(), (title, rows))
    return list(groups.values())


def _columns(features: Any, n: int) -> dict[str, npt.NDArray[Any]]:
    columns = named_columns(features, n, "")
    if not columns:
        raise CalibrationError(
            "There is no column to look for groups in; give a table with at least one."
        )
    return columns
