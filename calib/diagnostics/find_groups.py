"""Groups of rows in which probabilities are too high or too low, looked for among all columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calib.diagnostics.subgroups import GroupGap, gap_sentence
from calib.errors import CalibrationError
from calib.formatting import aligned, for_terminal, percent, points, points_between
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools, target_pair
from calib.numerics import Floats, Ints

MOST_NUMBERS = 10
"""Different numbers up to which each of a column is a group."""
PARTS = ((0, 1), (0, 2), (2, 4), (4, 6), (6, 8), (8, 10), (9, 10))
"""Groups of a column of more numbers, between tenths of its rows: fifths, and the tenth at either end."""
SHARES = (0.8, 0.2)
"""Of the error, for groups of one column and of two, which are so many that more would hardly help them."""


@dataclass(frozen=True, eq=False, repr=False)
class FoundGroups:
    """Groups in which probabilities are significantly too high or too low; it prints as a table.

    Attributes
    ----------
    groups : at most as many as were asked for, the one whose interval is farthest from 0 and from the average first.
    average : the gap of all rows, mean probability minus observed rate, with its own interval.
    n_judged : groups that were looked at, for all of which the intervals hold together.
    level : with which they do.
    """

    groups: tuple[GroupGap, ...]
    average: Interval
    n_judged: int
    level: float

    @property
    def sentence(self) -> str:
        """The finding, such as "Fine on average, but topic = chemistry +10.0 points (+4.0 to +16.0), 412 rows."."""
        return gap_sentence(self.average, self.groups, self.n_judged)

    def __repr__(self) -> str:
        head = ["group", "rows", "predicted", "observed", "points", f"{100 * self.level:g} % joint interval"]
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
    target: int | None = None,
    most: int = 10,
    least_rows: int = 50,
    level: float = 0.95,
) -> FoundGroups:
    """Find the groups of rows in which probabilities are too high or too low.

    Groups are the values of a column, or of a column of numbers its fifths and the tenth at either end; and every
    combination of two such groups of two columns. No label chooses them, so that all rows judge each of them.
    The gap of a group is its mean probability minus its observed rate. It has the interval of the rate by Clopper and
    Pearson (1934), which holds also where the rows of a group differ in their probabilities (Hoeffding 1956, theorem
    4). Four fifths of ``1 - level`` are shared equally by the groups of one column, the rest by those of two
    (Bonferroni): where no group is off, none is reported with at least this level. Where all rows together are off,
    groups that are off by no more than these are not reported.

    Parameters
    ----------
    probs, labels : (n, K) probabilities and (n,) classes, for the confidence in the predicted class; or (n,)
        probabilities of an event and 1 where it happened. Rows must be independent and not those of a fit.
    features : a DataFrame; a mapping of names to (n,) columns; an (n, d) array; or one (n,) column, such as known
        groups. Texts and up to ten different numbers count as values, missing ones as a value of their own.
    target : of K classes one, for its probability in place of the confidence.
    most : groups that are reported. One that is off only by rows of those before it is left out.
    least_rows : rows that a group must have.
    level : joint coverage of the intervals.

    Returns
    -------
    FoundGroups

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
    said, came = target_pair(np.asarray(probs), np.asarray(labels), target)
    columns = [_column(name, values) for name, values in _by_name(features, len(said))]
    ones = [_sums(said, came, [k], columns) for k in range(len(columns))]
    twos = [_sums(said, came, pair, columns) for pair in combinations(range(len(columns)), 2)]
    parts = [_Sums.joined(sums).large(least_rows, len(said) - 1) for sums in (ones, twos)]
    errors = [
        np.full(len(p.rows), share * (1.0 - level) / max(1, len(p.rows)))
        for p, share in zip(parts, SHARES, strict=True)
    ]
    looked_at, error = _Sums.joined(parts), np.concatenate(errors)
    gap, low, high = looked_at.gaps(error)
    average = Interval(*(float(ends[0]) for ends in _Sums.of_rows(said, came).gaps(np.array([1.0 - level]))))
    distance = np.maximum(low - max(average.value, 0.0), min(average.value, 0.0) - high)
    order = np.argsort(-distance, kind="stable")[: int((distance > 0).sum())]
    groups: list[GroupGap] = []
    covered = np.zeros(len(said), dtype=bool)
    for k in order:
        if len(groups) == most:
            break
        first, part, second, other = looked_at.of[k]
        inside = columns[first].rows_of(part)
        name = columns[first].names[part]
        if second >= 0:
            inside = inside & columns[second].rows_of(other)
            name = f"{name} and {columns[second].names[other]}"
        if not _is_off(said, came, inside & ~covered, least_rows, error[k : k + 1], average.value):
            continue
        covered |= inside
        rows, predicted, observed = (float(values[k]) for values in looked_at[1:])
        interval = Interval(float(gap[k]), float(low[k]), float(high[k]))
        groups.append(GroupGap(name, round(rows), predicted / rows, observed / rows, interval))
    return FoundGroups(tuple(groups), average, len(looked_at.rows), level)


def _is_off(said: Floats, came: Bools, rows: Bools, least_rows: int, error: Floats, average: float) -> bool:
    """Whether some rows are enough, and have a significant gap beyond the average one."""
    if np.count_nonzero(rows) < least_rows:
        return False
    _, low, high = _Sums.of_rows(said[rows], came[rows]).gaps(error)
    return bool(low[0] > max(average, 0.0) or high[0] < min(average, 0.0))


@dataclass(frozen=True, eq=False)
class _Column:
    """A column in cells of which its groups are made.

    Attributes
    ----------
    cell : (n,) number of each row's cell.
    groups : (n_groups, n_cells) whether a group holds a cell.
    names : of the groups.
    """

    cell: Ints
    groups: Bools
    names: tuple[str, ...]

    def rows_of(self, group: int) -> Bools:
        """(n,) whether a group holds a row."""
        return np.asarray(self.groups[group][self.cell])


def _column(name: str, values: npt.NDArray[Any]) -> _Column:
    import pandas as pd

    missing = np.asarray(pd.isna(values))
    known = values[~missing]
    if known.dtype.kind in "fiu" and len(np.unique(known)) > MOST_NUMBERS:
        return _column_of_numbers(name, values.astype(float), missing)
    is_name = f"{name} = " if name else ""
    texts = np.where(missing, "", [f"{each:g}" if known.dtype.kind in "fiu" else str(each) for each in values])
    levels, cell = np.unique(texts[~missing], return_inverse=True)
    of_row = np.full(len(values), len(levels))
    of_row[~missing] = cell
    names = [*(f"{is_name}{level}" for level in levels), f"{name or 'group'} missing"]
    return _Column(of_row, np.eye(len(names), dtype=bool), tuple(names))


def _column_of_numbers(name: str, values: Floats, missing: Bools) -> _Column:
    """Groups that end at tenths of the rows; the last cell is that of missing numbers."""
    tenths = np.quantile(values[~missing], np.arange(1, 10) / 10, method="inverted_cdf")
    ends = np.concatenate([[-np.inf], tenths, [np.inf]])
    inner = np.unique(tenths)
    cell = np.where(missing, len(inner) + 1, np.searchsorted(inner, values))
    below, above = np.append(-np.inf, inner), np.append(inner, np.inf)
    found: dict[bytes, tuple[Bools, str]] = {}
    for first, last in PARTS:
        low, high = ends[first], ends[last]
        holds = np.append((below >= low) & (above <= high), False)
        lower, upper = f"{low:.4g} < " if first and last < 10 else "", f" ≤ {high:.4g}"
        words = f"{lower}{name}{upper}" if last < 10 else f"{name} > {low:.4g}"
        found.setdefault(holds.tobytes(), (holds, words))
    nothing_known = np.arange(len(inner) + 2) == len(inner) + 1
    found[nothing_known.tobytes()] = nothing_known, f"{name} missing"
    groups, names = zip(*found.values(), strict=True)
    return _Column(cell, np.array(groups), names)


class _Sums(NamedTuple):
    """Groups that are looked at, each of which is one of a column or one of each of two.

    Attributes
    ----------
    of : (m, 4) column and group, and the second column and group or -1 and -1.
    rows, predicted, observed : (m,) rows, sums of their probabilities, and how often the event happened.
    """

    of: Ints
    rows: Floats
    predicted: Floats
    observed: Floats

    @classmethod
    def of_rows(cls, said: Floats, came: Bools) -> _Sums:
        """The sums of all of some rows."""
        return cls(np.zeros((1, 4), dtype=int), *(np.array([total]) for total in (len(said), said.sum(), came.sum())))

    @classmethod
    def joined(cls, parts: Sequence[_Sums]) -> _Sums:
        """All groups of some parts."""
        empty = cls(np.zeros((0, 4), dtype=int), *[np.zeros(0)] * 3)
        return cls(*map(np.concatenate, zip(empty, *parts, strict=True)))

    def large(self, least_rows: int, most_rows: int) -> _Sums:
        """Those with enough rows, but not all there are."""
        kept = (self.rows >= least_rows) & (self.rows <= most_rows)
        return _Sums(self.of[kept], self.rows[kept], self.predicted[kept], self.observed[kept])

    def gaps(self, error: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean probability minus observed rate, (m,), with its interval that misses the truth with these shares."""
        from scipy.special import betaincinv

        with np.errstate(invalid="ignore"):
            low = betaincinv(self.observed, self.rows - self.observed + 1.0, error / 2.0)
            high = betaincinv(self.observed + 1.0, self.rows - self.observed, 1.0 - error / 2.0)
        low = np.where(self.observed > 0, low, 0.0)
        high = np.where(self.observed < self.rows, high, 1.0)
        mean = self.predicted / self.rows
        return mean - self.observed / self.rows, mean - high, mean - low


def _sums(said: Floats, came: Bools, chosen: Sequence[int], columns: list[_Column]) -> _Sums:
    """Sums over the groups of a column, or over all pairs of groups of two: first by cell, then added up."""
    one = columns[chosen[0]]
    other = columns[chosen[1]] if len(chosen) == 2 else _Column(np.zeros(1, dtype=int), np.array([[True]]), ("",))
    shape = one.groups.shape[1], other.groups.shape[1]
    cell = one.cell * shape[1] + other.cell
    tables = [np.bincount(cell, weights, shape[0] * shape[1]).reshape(shape) for weights in (None, said, came)]
    rows, predicted, observed = ((one.groups @ table @ other.groups.T).ravel().astype(float) for table in tables)
    of = np.indices((len(one.groups), len(other.groups))).reshape(2, -1)
    second = chosen[1] if len(chosen) == 2 else -1
    numbers = np.column_stack([np.full_like(of[0], chosen[0]), of[0], np.full_like(of[0], second), of[1]])
    return _Sums(numbers, rows, predicted, observed)


def _by_name(features: Any, n: int) -> list[tuple[str, npt.NDArray[Any]]]:
    """Columns with their names, each of n rows."""
    if hasattr(features, "columns"):
        named = [(str(name), features[name].to_numpy()) for name in features.columns]
    elif isinstance(features, Mapping):
        named = [(str(name), np.asarray(values)) for name, values in features.items()]
    else:
        array = np.asarray(features)
        named = [("", array)] if array.ndim == 1 else [(f"feature {k + 1}", column) for k, column in enumerate(array.T)]
    for name, values in named:
        if values.shape != (n,):
            raise CalibrationError(
                f"There must be one value of {name or 'the groups'} for each of {n:,} rows; got shape {values.shape}."
            )
    if not named:
        raise CalibrationError("There is no column to look for groups in; give a table with at least one.")
    return named
