"""Which calibrator wins how often over many data sets and classifiers: win rates, ranks, Friedman's test, a diagram."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare

PAIR = ["data", "model"]
LOSSES = {"brier": "Brier", "log_loss": "log-loss"}
ALPHA = 0.05


def by_pair(found: pd.DataFrame, size: int, loss: str) -> pd.DataFrame:
    """Mean loss of every method (columns) on every pair of data and model (rows) at one size of calibration set."""
    return found[found["size"] == size].pivot_table(index=PAIR, columns="method", values=loss, aggfunc="mean")


def win_rate(losses: pd.DataFrame, ours: str, rivals: list[str]) -> float:
    """Share of pairs on which our loss is below that of all rivals; NaN without pairs."""
    if losses.empty:
        return np.nan
    return float((losses[ours].to_numpy()[:, None] < losses[rivals].to_numpy()).all(axis=1).mean())


def without_flagged(found: pd.DataFrame, ours: str) -> pd.DataFrame:
    """The divisions of each data set in which no one map of ours outweighed all others."""
    case = [*PAIR, "fold", "size"]
    flagged = found[found["method"] == ours].set_index(case)["flagged"]
    return found[~found.set_index(case).index.map(flagged).to_numpy(dtype=bool)]


def mean_ranks(losses: pd.DataFrame) -> pd.Series:
    """Average rank of each method over the pairs, 1 the best; equal losses share a rank."""
    return losses.rank(axis=1).mean()


def friedman(losses: pd.DataFrame) -> float:
    """p value of Friedman's test that all methods have the same ranks."""
    return float(friedmanchisquare(*losses.to_numpy().T).pvalue)


def nemenyi(losses: pd.DataFrame) -> pd.DataFrame:
    """p values of all pairs of methods by Nemenyi's test, which follows Friedman's (Demsar, JMLR 2006)."""
    import scikit_posthocs

    found = scikit_posthocs.posthoc_nemenyi_friedman(losses.to_numpy())
    return pd.DataFrame(found.to_numpy(), index=losses.columns, columns=losses.columns)


def diagram(tables: dict[str, pd.DataFrame], path: str | Path, columns: int) -> None:
    """Critical-difference diagrams: methods by average rank, a bar over those that Nemenyi's test cannot tell apart.

    Parameters
    ----------
    tables : losses as from :func:`by_pair`, by the title of their diagram.
    path : of the picture to write.
    columns : diagrams beside each other.
    """
    import matplotlib

    matplotlib.use("Agg")
    import scikit_posthocs
    from matplotlib import pyplot

    rows = -(-len(tables) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(6.5 * columns, 2.6 * rows), squeeze=False)
    for axis, (title, losses) in zip(axes.flat, tables.items(), strict=True):
        axis.set_title(title, fontsize=10)
        scikit_posthocs.critical_difference_diagram(
            mean_ranks(losses),
            nemenyi(losses),
            alpha=ALPHA,
            ax=axis,
            label_fmt_left="{label} ({rank:.2f})",
            label_fmt_right="({rank:.2f}) {label}",
            label_props={"fontsize": 8},
            color_palette=["black"] * losses.shape[1],
            marker_props={"s": 12},
            crossbar_props={"linewidth": 3, "color": "black"},
        )
    figure.tight_layout(w_pad=8)  # the names stand beside the axes
    figure.savefig(path, dpi=80)
    pyplot.close(figure)
