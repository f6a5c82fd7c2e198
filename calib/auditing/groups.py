"""Groups of rows, pairs of groups and periods whose gap differs from the overall one, with joint intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.auditing.findings import GroupFinding
from calib.auditing.rows import AuditRows
from calib.data.predictions import Predictions
from calib.evaluation.evaluation import Evaluation
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools
from calib.metrics.estimate import NORMAL_FROM, Estimate
from calib.metrics.scoring_rules import auroc_interval
from calib.numerics import Floats, Ints

LEAST_ROWS = 40
LEAST_EVENTS = 5
"""Expected events, and expected non-events, that a judged group has."""
LEAST_CLUSTERS = 4
MOST_SHARE = 0.95
"""Share of the rows beyond which a group is the whole set."""
MOST_TEXTS = 50
"""Texts of a column beyond which it names rows, not groups."""
MOST_NUMBERS = 20
"""Numbers of a column beyond which they are cut into bins."""
BINS = 5
PERIODS = 6
PERIODS_OF_PAIRS = 3
TOLERANCE = 0.01
"""Difference from the overall gap below which no group is a problem."""
JOINT_GROUPS = 200
"""Groups up to which joint intervals use their correlation; more are treated as independent."""
JOINT_ROWS = 5_000
MOST_SHARES = 5
"""Groups of a contrast."""
MODEL_ERROR = 0.05
"""Probability with which a calibrated model has any problem."""
GROUPS_ERROR = MODEL_ERROR / 2
"""The same of its groups, of which there are the most."""
SINGLE = 0.9
"""Share of the error that groups of single columns may make; the rest is for their pairs."""
POWER = 1.2816
"""Standard errors by which a true gap exceeds the least visible one in nine cases of ten."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Groups that do not overlap.

    Attributes
    ----------
    columns : names of the columns they come from.
    code : (n,) number of each row's group.
    names : of the groups.
    """

    columns: tuple[str, ...]
    code: Ints
    names: tuple[str, ...]

    def __and__(self, other: Partition) -> Partition:
        """Return the pairs of groups that have rows."""
        width = len(other.names)
        pair = self.code * width + other.code
        used = np.flatnonzero(np.bincount(pair))
        place = np.zeros(len(self.names) * width, dtype=np.int64)
        place[used] = np.arange(len(used))
        names = (
            f"{self.names[pair // width]} × {other.names[pair % width]}" for pair in used.tolist()
        )
        return Partition((*self.columns, *other.columns), place[pair], tuple(names))


def partition(name: str, values: npt.NDArray[Any]) -> Partition | None:
    """Return the groups of a column; None where it has a single value, or texts of more than 50 values."""
    import pandas as pd

    missing = np.asarray(pd.isna(values))
    texts = values.astype(str)
    if values.dtype.kind in "fiu" and len(np.unique(values[~missing])) > MOST_NUMBERS:
        texts = _bin_names(values, missing)
    texts = np.where(missing, "missing", texts)
    code, names = pd.factorize(texts, sort=True)
    if not 1 < len(names) <= MOST_TEXTS:
        return None
    return Partition((name,), code, tuple(_name(name, str(text)) for text in names))


def _bin_names(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> npt.NDArray[np.str_]:
    ends = np.unique(
        np.quantile(values[~missing], np.linspace(0.0, 1.0, BINS + 1), method="inverted_cdf")
    )
    place = np.clip(np.searchsorted(ends, values, side="left") - 1, 0, len(ends) - 2)
    labels = [f"{low:g} to {high:g}" for low, high in pairwise(ends)]
    return np.array(labels)[place]


def _name(column: str, value: str) -> str:
    """Name of a group; a value that says little alone stands behind its column."""
    letters = sum(character.isalpha() for character in value)
    is_vague = letters < 3 or value.lower() in (
        "yes",
        "true",
        "false",
        "none",
        "other",
        "missing",
        "unknown",
    )
    return f"{column} {value}" if is_vague else value


def periods(times: npt.NDArray[Any], n_periods: int) -> tuple[Partition | None, Floats]:
    """Return periods of about equal counts, and the rank of each row's time from 0 to 1."""
    try:
        values: npt.NDArray[Any] = times.astype(float)
    except ValueError:
        values = times
    steps, place = np.unique(values, return_inverse=True)
    rank = place / max(len(steps) - 1, 1)
    if len(steps) < 2:
        return None, rank
    before = np.cumsum(np.bincount(place)) - 1
    period = (before * n_periods // len(values))[place]
    used, code = np.unique(period, return_inverse=True)
    names = []
    for k in range(len(used)):
        inside = steps[np.unique(place[code == k])[[0, -1]]]
        first, last = (f"{end:g}" if values.dtype.kind == "f" else str(end) for end in inside)
        names.append(first if first == last else f"{first} to {last}")
    return Partition(("time",), code, tuple(names)), rank


@dataclass(frozen=True, eq=False)
class Family:
    """Groups that are judged together.

    Attributes
    ----------
    rows : all rows.
    partitions : of which each group with enough rows is judged.
    share : of the error that this family may make.
    error : probability with which all families find a problem where there is none.
    """

    rows: AuditRows
    partitions: Sequence[Partition]
    share: float
    error: float = GROUPS_ERROR

    @cached_property
    def _cells(self) -> dict[str, npt.NDArray[Any]]:
        parts = [self._judged(k) for k in range(len(self.partitions))]
        return (
            {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
            if parts
            else {}
        )

    def __len__(self) -> int:
        return len(self._cells["gap"]) if self.partitions else 0

    def _judged(self, k: int) -> dict[str, npt.NDArray[Any]]:
        """Quantities of the groups of one partition that have enough rows."""
        rows, code = self.rows, self.partitions[k].code
        m, w = len(self.partitions[k].names), rows.sample.weights
        squared = w if rows.sample.kind == "frequency" else w**2
        risk = rows.level_shifted
        n = np.bincount(code, minlength=m)
        weight = np.bincount(code, w, m).astype(float)
        predicted = np.bincount(code, w * rows.predicted, m) / weight
        observed = np.bincount(code, w * rows.observed, m) / weight
        gap = np.bincount(code, w * rows.residual, m) / weight
        expected = np.bincount(code, risk, m)
        share = weight / w.sum()
        enough = (n >= LEAST_ROWS) & (expected >= LEAST_EVENTS) & (n - expected >= LEAST_EVENTS)
        enough &= share < MOST_SHARE
        units = self._units(code, w, n, m)
        chosen = np.flatnonzero(enough & (units >= LEAST_CLUSTERS))
        within, away = self._variances(k, chosen, gap, weight, squared, units)
        floor = (np.bincount(code, squared * risk * (1.0 - risk), m) / weight**2)[chosen]
        return {
            "partition": np.full(len(chosen), k),
            "cell": chosen,
            "rows": n[chosen],
            "events": np.bincount(code, rows.observed, m)[chosen],
            "predicted": predicted[chosen],
            "observed": observed[chosen],
            "gap": gap[chosen],
            "own_error": np.sqrt(np.maximum(within, floor)),
            "error": np.sqrt(np.maximum(away, floor * (1.0 - share[chosen]))),
            "degrees": np.where(
                rows.sample.clustered & (units[chosen] < NORMAL_FROM), units[chosen] - 1.0, np.inf
            ),
            "weight": weight[chosen],
        }

    def _units(self, code: Ints, w: Floats, n: Ints, m: int) -> Floats:
        """Independent units of each group: rows, or the clusters of equal weight that its clusters are worth."""
        sample = self.rows.sample
        if not sample.clustered:
            return n.astype(float)
        pairs, place = np.unique(sample.unit * m + code, return_inverse=True)
        sums = np.bincount(place, w)
        squares = np.bincount(pairs % m, sums**2, m)
        return np.bincount(pairs % m, sums, m) ** 2 / np.maximum(squares, 1e-300)

    def _variances(
        self, k: int, chosen: Ints, gap: Floats, weight: Floats, squared: Floats, units: Floats
    ) -> tuple[Floats, Floats]:
        """Variance of each chosen group's gap, and of its difference from the overall gap."""
        rows, code = self.rows, self.partitions[k].code
        factor = units[chosen] / (units[chosen] - 1.0)
        if rows.sample.clustered:
            inside, overall = self._by_cluster(k, chosen, gap, weight)
            return factor * (inside**2).sum(axis=0), factor * (
                (inside - overall[:, None]) ** 2
            ).sum(axis=0)
        m = len(weight)
        centred = rows.residual - gap[code]
        overall = rows.residual - float(rows.level.value)
        total = rows.sample.total
        within = np.bincount(code, squared * centred**2, m) / weight**2
        both = np.bincount(code, squared * centred * overall, m) / (weight * total)
        away = within - 2.0 * both + float(squared @ overall**2) / total**2
        return factor * within[chosen], factor * away[chosen]

    def _by_cluster(
        self, k: int, chosen: Ints, gap: Floats, weight: Floats
    ) -> tuple[Floats, Floats]:
        """(units, chosen) influence of each cluster on a group's gap, and (units,) on the overall one."""
        rows, code = self.rows, self.partitions[k].code
        sample, w = rows.sample, rows.sample.weights
        place = np.full(len(weight), -1)
        place[chosen] = np.arange(len(chosen))
        member = place[code] >= 0
        key = sample.unit[member] * len(chosen) + place[code[member]]
        added = (w * (rows.residual - gap[code]) / weight[code])[member]
        inside = (
            np.bincount(key, added, sample.n_units * len(chosen))
            .astype(float)
            .reshape(sample.n_units, len(chosen))
        )
        centred = w * (rows.residual - float(rows.level.value)) / sample.total
        overall = np.bincount(sample.unit, centred, sample.n_units).astype(float)
        return inside, overall

    @cached_property
    def critical(self) -> dict[str, Floats]:
        """:meth:`joint_critical` of cautions, at 95 %, and of problems."""
        levels = {"caution": 0.95, "problem": 1.0 - self.error}
        return {severity: self.joint_critical(level) for severity, level in levels.items()}

    def joint_critical(self, level: float) -> Floats:
        """(k,) half the width of joint intervals in standard errors, at ``1 - (1 - level) * share``."""
        from scipy.special import ndtr, ndtri, stdtrit

        error = (1.0 - level) * self.share
        k = len(self)
        z = float(ndtri(1.0 - error / (2.0 * k)))
        if k <= JOINT_GROUPS:
            z = min(z, Estimate(np.zeros(k), self._influence).joint_critical(1.0 - error))
        degrees = self._cells["degrees"]
        finite = np.isfinite(degrees)
        return np.where(finite, stdtrit(np.where(finite, degrees, 1.0), ndtr(z)), z)

    @cached_property
    def _influence(self) -> Floats:
        """(units, k) influence on the differences from the overall gap; of many independent rows of some of them."""
        rows, cells = self.rows, self._cells
        columns = []
        if rows.sample.clustered:
            for k, part in enumerate(self.partitions):
                chosen = cells["cell"][cells["partition"] == k]
                if len(chosen):
                    gap, weight = (np.ones(len(part.names)) for _ in range(2))
                    gap[chosen] = cells["gap"][cells["partition"] == k]
                    weight[chosen] = cells["weight"][cells["partition"] == k]
                    inside, overall = self._by_cluster(k, chosen, gap, weight)
                    columns.append(inside - overall[:, None])
            return np.concatenate(columns, axis=1)
        some = np.linspace(0, len(rows) - 1, min(len(rows), JOINT_ROWS)).astype(int)
        residual, w = rows.residual[some], rows.sample.weights[some]
        overall = w * (residual - float(rows.level.value)) / rows.sample.total
        influence = np.empty((len(some), len(self)))
        for j, (k, cell) in enumerate(zip(cells["partition"], cells["cell"], strict=True)):
            inside = self.partitions[k].code[some] == cell
            influence[:, j] = (
                inside * w * (residual - cells["gap"][j]) / cells["weight"][j] - overall
            )
        return influence

    @cached_property
    def differences(self) -> Floats:
        """(k,) gaps less the overall one."""
        return np.asarray(self._cells["gap"] - float(self.rows.level.value))

    @cached_property
    def strength(self) -> Floats:
        """(k,) differences in standard errors."""
        return np.abs(self.differences) / self._cells["error"]

    @cached_property
    def severities(self) -> list[str]:
        """Severity of each judged group."""
        surely = (self.strength > self.critical["problem"]) & (np.abs(self.differences) > TOLERANCE)
        likely = self.strength > self.critical["caution"]
        return [
            "problem" if a else "caution" if b else "fine"
            for a, b in zip(surely, likely, strict=True)
        ]

    def finding(self, j: int) -> GroupFinding:
        """One judged group with the joint interval of its own gap."""
        cells = self._cells
        part = self.partitions[cells["partition"][j]]
        gap, half = (
            float(cells["gap"][j]),
            float(self.critical["caution"][j] * cells["own_error"][j]),
        )
        return GroupFinding(
            part.names[cells["cell"][j]],
            int(cells["rows"][j]),
            float(cells["predicted"][j]),
            float(cells["observed"][j]),
            Interval(gap, max(gap - half, -1.0), min(gap + half, 1.0)),
            self.severities[j],  # type: ignore[arg-type]
            part.columns,
            int(cells["events"][j]),
        )

    def off(self, severity: str, column: str | None = None) -> list[int]:
        """Numbers of the groups of a severity, of one column alone where it is named, the clearest first."""
        columns = (
            [self.partitions[k].columns for k in self._cells["partition"]] if len(self) else []
        )
        chosen = [
            j
            for j in range(len(self))
            if self.severities[j] == severity and column in (None, columns[j][0])
        ]
        return sorted(chosen, key=lambda j: -self.strength[j])

    def column(self, j: int) -> str:
        """Name of the first column of a judged group."""
        return self.partitions[self._cells["partition"][j]].columns[0]

    @property
    def least_visible(self) -> float:
        """The smallest difference that would be a problem in nine cases of ten, in the group where it is smallest."""
        return float(((self.critical["problem"] + POWER) * self._cells["error"]).min())


@dataclass(frozen=True, eq=False)
class JudgedGroups:
    """Groups of single columns and pairs of them, two families that share the error."""

    single: Family
    pairs: Family

    @classmethod
    def from_rows(cls, rows: AuditRows) -> JudgedGroups:
        """Judge every column of groups and every pair of columns; times join the pairs as three periods."""
        partitions = [partition(name, values) for name, values in rows.groups.items()]
        single = [part for part in partitions if part is not None]
        joined = list(single)
        if rows.times is not None and single:
            period, _ = periods(rows.times, PERIODS_OF_PAIRS)
            joined += [period] if period is not None else []
        pairs = [first & second for first, second in combinations(joined, 2)]
        return cls(Family(rows, single, SINGLE), Family(rows, pairs, 1.0 - SINGLE))

    def __len__(self) -> int:
        return len(self.single) + len(self.pairs)

    def off(self, severity: str) -> list[GroupFinding]:
        """Groups of a severity: those of single columns first, then pairs, each the clearest first."""
        return [family.finding(j) for family in self._families for j in family.off(severity)]

    @property
    def leading(self) -> str | None:
        """The column with the clearest problem of a single group, or None."""
        first = self.single.off("problem")[:1] if len(self.single) else []
        return self.single.column(first[0]) if first else None

    def ordered(self) -> list[GroupFinding]:
        """Every judged group, from the lowest gap to the highest."""
        every = [family.finding(j) for family in self._families for j in range(len(family))]
        return sorted(every, key=lambda group: group.gap.value)

    def of_column(self, column: str) -> list[GroupFinding]:
        """Problems of a column's groups, the clearest first."""
        return [self.single.finding(j) for j in self.single.off("problem", column)]

    def code(self, column: str) -> Ints:
        """(n,) number of each row's group of a column."""
        return next(part.code for part in self.single.partitions if part.columns == (column,))

    @property
    def least_visible(self) -> float:
        """The smallest difference that would be a problem in nine cases of ten."""
        return min(family.least_visible for family in self._families)

    @property
    def _families(self) -> list[Family]:
        return [family for family in (self.single, self.pairs) if len(family)]


def groups_of_data(bare: Predictions, view: str, *, data: Mapping[str, Any]) -> list[GroupFinding]:
    """Return every judged group of a data set whose arrays are given apart, as workers map them."""
    rows = AuditRows.from_predictions(replace(bare, **data), view)
    return JudgedGroups.from_rows(rows).ordered()


def groups_of_evaluation(evaluation: Evaluation, part: Predictions) -> list[GroupFinding]:
    """Return every judged group of the rows on which a calibrator was evaluated.

    Parameters
    ----------
    evaluation : of one calibrator.
    part : the rows' groups and times.
    """
    return JudgedGroups.from_rows(AuditRows.from_evaluation(evaluation, part)).ordered()


def rows_in_group(
    groups: Mapping[str, npt.NDArray[Any]],
    times: npt.NDArray[Any] | None,
    columns: Sequence[str],
    name: str,
) -> Bools | None:
    """Return a mask of the rows in a judged group; None where there is no such group.

    Parameters
    ----------
    groups, times : (n,) columns of groups by name, and times or None.
    columns, name : of the group.
    """
    parts = [partition(column, groups[column]) for column in columns if column in groups]
    if "time" in columns and "time" not in groups and times is not None:
        parts.append(periods(times, PERIODS_OF_PAIRS)[0])
    partitions = [part for part in parts if part is not None]
    if not partitions or len(partitions) != len(columns):
        return None
    joined = partitions[0] if len(partitions) == 1 else partitions[0] & partitions[1]
    if name not in joined.names:
        return None
    return np.asarray(joined.code == joined.names.index(name))


@dataclass(frozen=True, eq=False)
class Contrast:
    """A group of rows beside all others; each value is a pair.

    Attributes
    ----------
    rows : number of rows.
    predicted, observed : mean probability and the rate at which it came true.
    auroc : how well the outputs rank; NaN where one outcome is missing.
    shares : groups of other columns whose shares differ most.
    """

    rows: tuple[int, int]
    predicted: tuple[float, float]
    observed: tuple[float, float]
    auroc: tuple[float, float]
    shares: dict[str, tuple[float, float]]


def contrast(
    bare: Predictions, view: str, columns: Sequence[str], name: str, *, data: Mapping[str, Any]
) -> Contrast | None:
    """Compare a judged group with all other rows; None where there is no such group."""
    rows = AuditRows.from_predictions(replace(bare, **data), view)
    inside = rows_in_group(rows.groups, rows.times, columns, name)
    if inside is None:
        return None
    parts = np.flatnonzero(inside), np.flatnonzero(~inside)
    samples = [rows.sample.take(part, rows.observed[part]) for part in parts]

    def means(values: npt.NDArray[Any]) -> tuple[float, float]:
        first, second = (
            sample.mean(values[part]) for sample, part in zip(samples, parts, strict=True)
        )
        return first, second

    first, second = (
        float(auroc_interval(rows.predicted[part], rows.observed[part], sample).value)
        for sample, part in zip(samples, parts, strict=True)
    )
    shares = {
        group: means(split.code == k)
        for column, values in rows.groups.items()
        if column not in columns and (split := partition(column, values)) is not None
        for k, group in enumerate(split.names)
    }
    differing = sorted(shares, key=lambda group: -abs(shares[group][0] - shares[group][1]))
    return Contrast(
        (len(parts[0]), len(parts[1])),
        means(rows.predicted),
        means(rows.observed),
        (first, second),
        {group: shares[group] for group in differing[:MOST_SHARES]},
    )
