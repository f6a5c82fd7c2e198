"""Where each arm ended, and by how much it differs from the arm that never calibrates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.active_learning.strategies import ARMS
from calib.active_learning.table import MEASURES, final_rounds
from calib.metrics.bootstrap import Interval

if TYPE_CHECKING:
    import pandas as pd

LABELS = "n_labels"
AT_EQUAL = "error_at_equal_labels"
FOR_CALIBRATION = "n_calibration"
QUANTITIES = (LABELS, FOR_CALIBRATION, *MEASURES, AT_EQUAL)


def compare_arms(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Means over shuffles with intervals, and differences to the first arm, shuffle by shuffle.

    Shuffles share their pool and their test rows: intervals say what another shuffle would change, not what other data
    would. ``error_at_equal_labels`` is the error after as many labels as the arm that asked for the fewest took on
    that shuffle, between rounds on the straight line.

    Parameters
    ----------
    table : from :func:`calib.active_learning.table.table_of`. Shuffles that not all arms have finished are left out.
    level : coverage of the t intervals.

    Returns
    -------
    pandas.DataFrame
        A row for each arm and quantity, with the columns arm, title, quantity, n_shuffles, value, low, high,
        difference, difference_low, difference_high, and share: the difference relative to the first arm's mean.
    """
    import pandas as pd

    table = _common(table)
    if table.empty:
        columns = ["arm", "title", "quantity", "n_shuffles", "value", "low", "high"]
        return pd.DataFrame(columns=[*columns, "difference", "difference_low", "difference_high", "share"])
    finals = final_rounds(table).assign(**{AT_EQUAL: 0.0})
    finals[AT_EQUAL] = _at_equal_labels(table, finals)
    arms = list(table["arm"].unique())
    rows: list[dict[str, Any]] = []
    for quantity in QUANTITIES:
        values = finals.pivot(index="shuffle", columns="arm", values=quantity)
        reference = values[arms[0]]
        for arm in arms:
            own = mean_interval(values[arm].dropna(), level)
            change = mean_interval((values[arm] - reference).dropna(), level)
            rows.append(
                {
                    "arm": arm,
                    "title": ARMS[arm].title if arm in ARMS else arm,
                    "quantity": quantity,
                    "n_shuffles": len(values),
                    "value": own.value,
                    "low": own.low,
                    "high": own.high,
                    "difference": change.value,
                    "difference_low": change.low,
                    "difference_high": change.high,
                    "share": change.value / reference.mean() if reference.mean() else math.nan,
                }
            )
    return pd.DataFrame(rows)


def mean_interval(values: Any, level: float = 0.95) -> Interval:
    """Mean with its t interval; unbounded for one value, NaN for none."""
    from scipy.stats import t

    values = np.asarray(values, dtype=float)
    n = len(values)
    if not n:
        return Interval(math.nan, math.nan, math.nan)
    mean = float(values.mean())
    if n == 1:
        return Interval(mean, -math.inf, math.inf)
    half = float(t.ppf(0.5 + level / 2, n - 1) * values.std(ddof=1) / math.sqrt(n))
    return Interval(mean, mean - half, mean + half)


def _common(table: pd.DataFrame) -> pd.DataFrame:
    """Rounds of the shuffles that every arm has run, so that differences are paired."""
    if table.empty:
        return table
    n_arms = table.groupby("shuffle")["arm"].nunique()
    return table[table["shuffle"].isin(n_arms[n_arms == table["arm"].nunique()].index)]


def _at_equal_labels(table: pd.DataFrame, finals: pd.DataFrame) -> list[float]:
    fewest = finals.groupby("shuffle")[LABELS].min()
    runs = dict(iter(table.groupby(["arm", "shuffle"])))
    return [
        float(np.interp(fewest[shuffle], runs[arm, shuffle][LABELS], runs[arm, shuffle]["error"]))
        for arm, shuffle in zip(finals["arm"], finals["shuffle"], strict=True)
    ]
