"""Results of simulations: a table of rounds, final scores compared between strategies, in words too, and curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.active_learning.simulation import Round
from calib.active_learning.strategies import ARMS
from calib.metrics.bootstrap import Interval
from calib.numerics import Floats

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measure:
    """One number that is followed along the way.

    Attributes
    ----------
    title : how pages call it.
    meaning : one sentence.
    percent : whether it is shown in percent.
    """

    title: str
    meaning: str
    percent: bool = True


MEASURES = {
    "error": Measure("Error", "Share of test rows predicted wrong."),
    "ece": Measure("ECE", "Distance between confidence and accuracy on test rows, in 15 bins."),
    "over": Measure("Overconfidence", "Mean confidence of wrong predictions."),
    "under": Measure("Underconfidence", "Mean of one minus the confidence of right predictions."),
    "nll": Measure("NLL", "Mean negative log-probability of the true class.", percent=False),
}
"""By the column of the table."""


def rounds_table(runs: Mapping[tuple[str, int], list[Round]]) -> pd.DataFrame:
    """A row for each round, with the columns arm, shuffle, round and the fields of :class:`Round`.

    Parameters
    ----------
    runs : what :func:`calib.active_learning.simulate` returned, by arm and seed.
    """
    import pandas as pd

    rows = [
        {"arm": arm, "shuffle": shuffle, "round": number, **asdict(latest)}
        for (arm, shuffle), rounds in runs.items()
        for number, latest in enumerate(rounds)
    ]
    return pd.DataFrame(rows)


def final_rounds(table: pd.DataFrame) -> pd.DataFrame:
    """The last round of each arm and shuffle."""
    return table.loc[table.groupby(["arm", "shuffle"], sort=False)["round"].idxmax()].reset_index(drop=True)


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
    table : from :func:`rounds_table`. Shuffles that not all arms have finished are left out.
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


def verdicts(summary: pd.DataFrame) -> list[str]:
    """One sentence or two for each arm but the first, Markdown.

    Each says whether the arm asked for fewer labels, and at what price in error; a difference whose interval holds zero
    is not significant.

    Parameters
    ----------
    summary : from :func:`compare_arms`.
    """
    if summary.empty:
        return []
    arms = list(summary["arm"].unique())
    reference = str(summary["title"].iloc[0])
    if len(arms) > 1 and summary["n_shuffles"].iloc[0] < 2:
        return ["One shuffle shows no spread; run more to compare the arms."]
    sentences = []
    for arm in arms[1:]:
        rows = {row["quantity"]: row for row in summary[summary["arm"] == arm].to_dict("records")}
        sentences.append(f"**{rows[LABELS]['title']}** {_labels(rows[LABELS])} {_error(rows, reference)}")
    return sentences


def _labels(row: dict[str, Any]) -> str:
    low, high = row["difference_low"], row["difference_high"]
    if low == high == 0:
        return f"asked for as many labels, {row['value']:,.0f};"
    interval = f"95\u00a0% interval {low:+,.0f} to {high:+,.0f}"
    if low <= 0 <= high:
        return (
            f"asked for a number of labels that does not differ significantly ({row['difference']:+,.0f}, {interval});"
        )
    more = "more" if low > 0 else "fewer"
    return (
        f"asked for {abs(row['difference']):,.0f} labels {more} ({row['share']:+,.1%} of {_reference(row):,.0f}, "
        f"{interval});"
    )


def _error(rows: dict[str, dict[str, Any]], reference: str) -> str:
    labels, error, equal = rows[LABELS], rows["error"], rows[AT_EQUAL]
    fewer, more = labels["difference_high"] < 0, labels["difference_low"] > 0
    lower, higher = error["difference_high"] < 0, error["difference_low"] > 0
    interval = f"{100 * error['difference_low']:+.2f} to {100 * error['difference_high']:+.2f} percentage points"
    if error["difference_low"] == error["difference_high"] == 0:
        said = f"its final error of {error['value']:.2%} is that of {reference} in every shuffle"
    elif lower:
        said = f"its final error of {error['value']:.2%} is lower ({interval})"
    elif higher:
        said = f"its final error of {error['value']:.2%} is higher ({interval})"
    else:
        same = f"does not differ significantly from that of {reference}"
        said = f"its final error of {error['value']:.2%} {same} ({interval})"
    if fewer and not higher:
        verdict = "It saved labels."
    elif fewer:
        verdict = "Fewer labels, but at a price in error: " + _at_equal(equal)
    elif lower and not more:
        verdict = "It lowered the error."
    elif more and not lower:
        verdict = "It did not help here."
    elif more:
        verdict = "More labels for less error: " + _at_equal(equal)
    else:
        verdict = "It did not help here." if higher else "There is no significant difference."
    return f"{said}. {verdict}"


def _at_equal(row: dict[str, Any]) -> str:
    low, high = row["difference_low"], row["difference_high"]
    how = "lower" if high < 0 else "higher" if low > 0 else "not significantly different"
    return f"with equally many labels its error is {how} ({100 * low:+.2f} to {100 * high:+.2f} percentage points)."


def _reference(row: dict[str, Any]) -> float:
    return row["value"] - row["difference"]


N_POINTS = 100
MOST_ROUNDS = 500
"""Rounds of a shuffle that are regressed on, and rounds of all that the kernel is chosen from.

A regression through n rounds holds n x n numbers: batches of one label from a pool of 16,000 would take gigabytes.
"""


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """One measure of one arm against the labels asked for.

    Attributes
    ----------
    labels : (n,) numbers of labels, up to the average that a shuffle ended with.
    mean : (n,) mean over shuffles of their regressions.
    low, high : (n,) the t interval of that mean over shuffles; NaN with one shuffle.
    shuffles : labels and values of each shuffle's rounds, as measured; of more than 500 as many, evenly spread.
    """

    labels: Floats
    mean: Floats
    low: Floats
    high: Floats
    shuffles: tuple[tuple[Floats, Floats], ...]


def learning_curve(table: pd.DataFrame, arm: str, measure: str, level: float = 0.95) -> LearningCurve:
    """Smooth and average one arm's rounds over shuffles.

    The kernel, a squared exponential with white noise, is that under which the shuffles, each by itself, are most
    likely. With it a regression goes through each, reverting to the mean of all; the curve is their mean. The
    paper regresses once through all rounds, as if they were independent: rounds of one shuffle are not, and its band
    would be too narrow. A shuffle that has ended keeps its last value, as no further labels change it.

    Parameters
    ----------
    table : from :func:`rounds_table`.
    arm : one of its arms.
    measure : a column, such as "error".
    level : coverage of the band.
    """
    from scipy.stats import t

    rounds = table[(table["arm"] == arm) & table[measure].notna()]
    shuffles = tuple(
        _spread(one["n_labels"].to_numpy(float), one[measure].to_numpy(float)) for _, one in rounds.groupby("shuffle")
    )
    if not shuffles:
        empty = np.empty(0)
        return LearningCurve(empty, empty, empty, empty, ())
    first = min(labels[0] for labels, _ in shuffles)
    last = float(np.mean([labels[-1] for labels, _ in shuffles]))
    grid = np.linspace(first, last, N_POINTS) if last > first else np.array([first])
    regressions = _regressions(shuffles, grid)
    mean, n = regressions.mean(axis=0), len(shuffles)
    half = np.full(len(grid), math.nan)
    if n > 1:
        half = t.ppf(0.5 + level / 2, n - 1) * regressions.std(axis=0, ddof=1) / math.sqrt(n)
    return LearningCurve(grid, mean, mean - half, mean + half, shuffles)


def _spread(labels: Floats, values: Floats) -> tuple[Floats, Floats]:
    """At most so many rounds of a shuffle as are regressed on, the first and the last among them."""
    if len(labels) <= MOST_ROUNDS:
        return labels, values
    chosen = np.linspace(0, len(labels) - 1, MOST_ROUNDS).round().astype(int)
    return labels[chosen], values[chosen]


def _regressions(shuffles: tuple[tuple[Floats, Floats], ...], grid: Floats) -> Floats:
    """(n_shuffles, n) values of each shuffle's regression on the grid."""
    labels = np.concatenate([labels for labels, _ in shuffles])
    values = np.concatenate([values for _, values in shuffles])
    width, centre, scale = float(np.ptp(labels)), float(values.mean()), float(values.std())
    if not width or not scale:
        return np.array([np.interp(grid, *shuffle) for shuffle in shuffles])
    scaled = [((own / width)[:, None], (measured - centre) / scale) for own, measured in shuffles]
    kernel = _kernel(scaled)
    measured = []
    for own_labels, own_values in scaled:
        regression = _regression(kernel)
        regression.fit(own_labels, own_values)
        places = np.minimum(grid / width, own_labels[-1])
        measured.append(centre + scale * regression.predict(places[:, None]))
    return np.array(measured)


def _kernel(shuffles: list[tuple[Floats, Floats]]) -> Any:
    """The kernel under which the shuffles, each a function of its own, are most likely.

    As one function, what sets shuffles apart would count as noise, and their ends be smoothed away with it.
    """
    from scipy.optimize import minimize
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(0.3, (0.05, 5.0)) + WhiteKernel(0.1, (1e-4, 1.0))
    every = slice(None, None, -(-sum(len(values) for _, values in shuffles) // MOST_ROUNDS))
    regressions = [_regression(kernel).fit(labels[every], values[every]) for labels, values in shuffles]

    def loss(theta: Floats) -> tuple[float, Floats]:
        parts = [regression.log_marginal_likelihood(theta, eval_gradient=True) for regression in regressions]
        return -sum(value for value, _ in parts), -np.sum([gradient for _, gradient in parts], axis=0)

    best = minimize(loss, kernel.theta, jac=True, bounds=kernel.bounds, method="L-BFGS-B")
    return kernel.clone_with_theta(best.x)


def _regression(kernel: Any) -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor

    return GaussianProcessRegressor(kernel, optimizer=None, random_state=0)
