"""Results of simulations: a table of rounds, final scores compared between strategies, in words too, and curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.active_learning.simulation import ARMS, Round
from calib.evaluation.studies import corrected_interval
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
    runs : mapping of tuple to list of Round
        What :func:`calib.active_learning.simulate` returned, by arm and seed.

    Returns
    -------
    pandas.DataFrame
        What :func:`compare_arms` and :func:`learning_curve` take.

    Examples
    --------
    >>> from calib.active_learning.simulation import Round
    >>> def rounds(labels, errors):
    ...     return [
    ...         Round(n, 0, "training", 0, error, 0.1, 0.5, 0.1, 1.0)
    ...         for n, error in zip(labels, errors, strict=True)
    ...     ]
    >>> runs = {
    ...     ("plain", 0): rounds([100, 300], [0.4, 0.2]),
    ...     ("set_points", 0): rounds([100, 200], [0.4, 0.25]),
    ... }
    >>> rounds_table(runs)[["arm", "round", "n_labels", "error"]].to_numpy().tolist()
    [['plain', 0, 100, 0.4], ['plain', 1, 300, 0.2], ['set_points', 0, 100, 0.4], ['set_points', 1, 200, 0.25]]
    """
    import pandas as pd

    rows = [
        {"arm": arm, "shuffle": shuffle, "round": number, **asdict(latest)}
        for (arm, shuffle), rounds in runs.items()
        for number, latest in enumerate(rounds)
    ]
    return pd.DataFrame(rows)


LABELS, FOR_CALIBRATION = "n_labels", "n_calibration"
ERROR_AT_EQUAL = "error_at_equal_labels"
QUANTITIES = (LABELS, FOR_CALIBRATION, *MEASURES, ERROR_AT_EQUAL)
COLUMNS = (
    *("arm", "title", "quantity", "n_shuffles", "value", "low", "high"),
    *("difference", "difference_low", "difference_high", "share"),
)
ENOUGH = 5
"""Shuffles from which an arm is said to save labels or to cost some."""


def compare_arms(table: pd.DataFrame) -> pd.DataFrame:
    """Compute means over shuffles with 95 % t intervals, and differences to the first arm, shuffle by shuffle.

    Shuffles share their pool and their test rows: intervals say what another shuffle would change, not what other data
    would. ``error_at_equal_labels`` is the error after as many labels as the arm that asked for the fewest took on
    that shuffle, on the straight line between rounds.

    Parameters
    ----------
    table : pandas.DataFrame
        From :func:`rounds_table`. Shuffles that not all arms have finished are left out.

    Returns
    -------
    pandas.DataFrame
        A row for each arm and quantity, with the columns arm, title, quantity, n_shuffles, value, low, high,
        difference, difference_low, difference_high, and share: the difference relative to the first arm's mean.

    Examples
    --------
    After 200 labels the arm without calibration is on the line from 0.4 at 100 labels to 0.2 at 300.

    >>> from calib.active_learning.simulation import Round
    >>> def rounds(labels, errors):
    ...     return [
    ...         Round(n, 0, "training", 0, error, 0.1, 0.5, 0.1, 1.0)
    ...         for n, error in zip(labels, errors, strict=True)
    ...     ]
    >>> runs = {
    ...     ("plain", 0): rounds([100, 300], [0.4, 0.2]),
    ...     ("set_points", 0): rounds([100, 200], [0.4, 0.25]),
    ... }
    >>> summary = compare_arms(rounds_table(runs)).set_index(["quantity", "arm"])["value"]
    >>> summary["error_at_equal_labels"].round(3).to_dict()
    {'plain': 0.3, 'set_points': 0.25}
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    if not table.empty:
        n_arms = table.groupby("shuffle")["arm"].nunique()
        table = table[table["shuffle"].isin(n_arms[n_arms == table["arm"].nunique()].index)]
    if table.empty:
        return pd.DataFrame(rows, columns=COLUMNS)
    finals = table.loc[table.groupby(["arm", "shuffle"], sort=False)["round"].idxmax()].reset_index(
        drop=True
    )
    fewest = finals.groupby("shuffle")[LABELS].min()
    runs = dict(iter(table.groupby(["arm", "shuffle"])))
    for place, (arm, shuffle) in enumerate(zip(finals["arm"], finals["shuffle"], strict=True)):
        labels, errors = (runs[arm, shuffle][name].to_numpy(float) for name in (LABELS, "error"))
        finals.loc[place, ERROR_AT_EQUAL] = np.interp(fewest[shuffle], labels, errors)
    arms = list(table["arm"].unique())
    for quantity in QUANTITIES:
        values = finals.pivot(index="shuffle", columns="arm", values=quantity)
        reference = values[arms[0]]
        for arm in arms:
            interval = mean_interval(values[arm].dropna())
            change = mean_interval((values[arm] - reference).dropna())
            share = change.value / reference.mean() if reference.mean() else math.nan
            about = (arm, ARMS[arm].title if arm in ARMS else arm, quantity, len(values))
            rows.append(dict(zip(COLUMNS, (*about, *interval, *change, share), strict=True)))
    return pd.DataFrame(rows)


def mean_interval(values: Any) -> Interval:
    """Mean with its t interval; unbounded for one value, NaN for none."""
    return corrected_interval(
        values, n_calibration=1, n_test=0
    )  # no row of one value is in another


def verdicts(summary: pd.DataFrame) -> list[str]:
    """A sentence or two for each arm but the first, Markdown.

    An arm is said to save labels where its error at equally many labels is significantly lower than the first arm's,
    over at least ``ENOUGH`` shuffles.

    Parameters
    ----------
    summary : pandas.DataFrame
        From :func:`compare_arms`.

    Returns
    -------
    list of str
        In the order of the arms.

    Examples
    --------
    >>> from calib.active_learning.simulation import Round
    >>> def rounds(labels, errors):
    ...     return [
    ...         Round(n, 0, "training", 0, error, 0.1, 0.5, 0.1, 1.0)
    ...         for n, error in zip(labels, errors, strict=True)
    ...     ]
    >>> runs = {("plain", n): rounds([100, 300], [0.4, 0.2 + n / 1000]) for n in range(5)}
    >>> runs |= {("set_points", n): rounds([100, 200], [0.4, 0.25 + n / 1000]) for n in range(5)}
    >>> print(verdicts(compare_arms(rounds_table(runs)))[0].partition(" Against")[0])
    **Calibrated at set points saved labels.**
    """
    if summary.empty:
        return []
    arms = list(summary["arm"].unique())
    reference = str(summary["title"].iloc[0])
    n = int(summary["n_shuffles"].iloc[0])
    if len(arms) > 1 and n < 2:
        return [f"One shuffle shows no spread; run at least {ENOUGH} to compare the arms."]
    sentences = []
    for arm in arms[1:]:
        rows = {row["quantity"]: row for row in summary[summary["arm"] == arm].to_dict("records")}
        error = rows[ERROR_AT_EQUAL]
        value, low, high = (100 * error[f"difference{end}"] for end in ("", "_low", "_high"))
        if n < ENOUGH:
            verdict = f"cannot be judged yet: {n} of {ENOUGH} shuffles are done"
        elif high < 0:
            verdict = "saved labels"
        elif low > 0:
            verdict = "cost labels"
        else:
            verdict = "shows no significant saving of labels"
        sentences.append(
            f"**{error['title']} {verdict}.** Against {reference}, the error at equally many labels differs by "
            f"{value:+.2f} points (95\u00a0%: {low:+.2f} to {high:+.2f}). It ended after {rows[LABELS]['value']:,.0f} "
            f"labels ({rows[LABELS]['difference']:+,.0f}) with an error of {rows['error']['value']:.2%} "
            f"({100 * rows['error']['difference']:+.2f} points)."
        )
    return sentences


N_POINTS = 100


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """One measure of one arm against the labels requested.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Numbers of labels, up to the average that a shuffle ended with.
    mean : ndarray of shape (n,)
        Mean over shuffles, each the straight line between its rounds.
    low, high : ndarray of shape (n,)
        The t interval of that mean over shuffles; NaN with one shuffle.
    shuffles : tuple of tuple of ndarray
        Labels and values of each shuffle's rounds.
    """

    labels: Floats
    mean: Floats
    low: Floats
    high: Floats
    shuffles: tuple[tuple[Floats, Floats], ...]


def learning_curve(table: pd.DataFrame, arm: str, measure: str) -> LearningCurve:
    """Average one arm's rounds over shuffles.

    A shuffle that has ended keeps its last value, as no further labels change it.

    Parameters
    ----------
    table : pandas.DataFrame
        From :func:`rounds_table`.
    arm : str
        One of its arms.
    measure : str
        A column, such as "error".
    """
    rounds = table[(table["arm"] == arm) & table[measure].notna()]
    shuffles = tuple(
        (shuffle[LABELS].to_numpy(float), shuffle[measure].to_numpy(float))
        for _, shuffle in rounds.groupby("shuffle")
    )
    if not shuffles:
        empty = np.empty(0)
        return LearningCurve(empty, empty, empty, empty, ())
    first = min(labels[0] for labels, _ in shuffles)
    last = float(np.mean([labels[-1] for labels, _ in shuffles]))
    grid = np.linspace(first, last, N_POINTS) if last > first else np.array([first])
    lines = np.array([np.interp(grid, *shuffle) for shuffle in shuffles])
    mean, low, high = np.transpose([mean_interval(line) for line in lines.T])
    if len(shuffles) == 1:
        low = high = np.full(len(grid), math.nan)
    return LearningCurve(grid, mean, low, high, shuffles)


@dataclass(frozen=True, eq=False)
class ArmStudy:
    """Finished simulations as a page tells them.

    Attributes
    ----------
    table : every round.
    summary : of the shuffles that all arms have done.
    curves : by arm and measure.
    """

    table: pd.DataFrame
    summary: pd.DataFrame
    curves: dict[tuple[str, str], LearningCurve]


def study_arms(runs: Mapping[tuple[str, int], list[Round]]) -> ArmStudy:
    """The rounds of simulations, by arm and seed, compared and averaged."""
    table = rounds_table(runs)
    arms = list(table["arm"].unique())
    curves = {
        (arm, measure): learning_curve(table, arm, measure) for arm in arms for measure in MEASURES
    }
    return ArmStudy(table, compare_arms(table), curves)
