"""The arena's tables: excess NLL, ranks, what ties with the best by paired errors, the regret of `auto`, costs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range, t

from benchmarks.measure import markdown
from calib.numerics import Floats
from calib.registry import METHODS

ALPHA = 0.05
UNIT = 1e-4
"""Nats in which scores are printed."""

DIGITS = 6
"""After the point, in nats, to which scores are ranked, so that the same map of two packages shares its rank."""

CELL = ["shape", "classes", "rows"]
AUTO = METHODS["auto"].title
OWN = {method.title for method in METHODS.values()}


def mean_ranks(losses: pd.DataFrame) -> pd.Series:
    """Average rank of each method over the cells, 1 the best; equal losses share a rank."""
    return losses.rank(axis=1).mean()


def friedman(losses: pd.DataFrame) -> float:
    """p value of Friedman's test that all methods have the same ranks."""
    return float(friedmanchisquare(*losses.to_numpy().T).pvalue)


def by_cell(found: pd.DataFrame) -> pd.DataFrame:
    """Mean score of every method (columns) in every cell (rows), infinite where one of its fits failed."""
    scores = found.assign(score=found["score"].astype(float).fillna(np.inf))
    table = scores.pivot_table(
        index=CELL, columns="method", values="score", aggfunc="mean", dropna=False
    )
    return table.dropna(how="all").dropna(axis=1, how="all").fillna(np.inf).round(DIGITS)


def pooled(values: pd.DataFrame) -> tuple[Floats, Floats, int]:
    """Means of columns over cells, their standard errors, and the errors' degrees of freedom.

    Parameters
    ----------
    values : scores or paired differences, (replicates of all cells, methods), indexed by cell and replicate. Replicates
        are independent, those of different cells too, so that a mean over C cells has the variance
        ``sum_c s_c^2 / R_c / C^2``.
    """
    groups = values.groupby(level=CELL)
    variance = (groups.var(ddof=1) / groups.count()).sum() / groups.ngroups**2
    freedom = len(values) - groups.ngroups
    return groups.mean().mean().to_numpy(), np.sqrt(variance.to_numpy()), freedom


def behind(found: pd.DataFrame) -> pd.DataFrame:
    """Mean score of each method, its standard error, and how far it is behind the best by paired differences.

    Methods with a failed fit have NaN; the best is the lowest mean of the others. ``tied`` says that the interval of
    the paired difference from the best holds 0.
    """
    scores = found.assign(score=found["score"].astype(float)).pivot_table(
        index=[*CELL, "replicate"], columns="method", values="score", dropna=False
    )
    scores = scores.dropna(how="all")  # other cells' classes and rows
    whole = scores.loc[:, scores.notna().all()]
    means, errors, _ = pooled(whole)
    best = whole.columns[int(np.argmin(means))]
    more, more_error, freedom = pooled(whole.sub(whole[best], axis=0))
    bound = t.ppf(1 - ALPHA / 2, freedom) if freedom > 0 else np.inf
    table = pd.DataFrame(
        {
            "mean": means,
            "error": errors,
            "behind": more,
            "behind_error": more_error,
            "tied": more <= bound * more_error,
        },
        index=whole.columns,
    )
    return table.reindex(scores.columns)


def critical_difference(n_methods: int, n_cells: int) -> float:
    """Nemenyi's: mean ranks that differ by less are not significantly different (Demsar, JMLR 2006, section 3.2.2)."""
    quantile = float(studentized_range.ppf(1 - ALPHA, n_methods, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_cells)))


def diagram(by_title: dict[str, pd.DataFrame], path: Path) -> None:
    """Mean ranks beside each other, those within the critical difference of the lowest in a band; needs matplotlib.

    Parameters
    ----------
    by_title : scores as from :func:`by_cell`, by the title of their panel.
    path : of the picture to write.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    most = max(losses.shape[1] for losses in by_title.values())
    figure, axes = pyplot.subplots(
        1, len(by_title), figsize=(5.2 * len(by_title), 0.21 * most + 1), squeeze=False
    )
    for axis, (title, losses) in zip(axes.flat, by_title.items(), strict=True):
        ranks = mean_ranks(losses).sort_values(ascending=False)
        difference = critical_difference(losses.shape[1], len(losses))
        axis.axvspan(ranks.iloc[-1], ranks.iloc[-1] + difference, color="0.88")
        own = [name in OWN for name in ranks.index]
        axis.scatter(
            ranks,
            range(len(ranks)),
            c=["black" if mine else "white" for mine in own],
            edgecolors="black",
            s=22,
        )
        axis.set_yticks(range(len(ranks)), ranks.index, fontsize=8)
        axis.set_xlabel("mean rank", fontsize=9)
        axis.set_title(
            f"{title}, {len(losses)} cells, critical difference {difference:.1f}", fontsize=9
        )
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def regret(found: pd.DataFrame) -> Iterator[tuple[int, int, Floats]]:
    """By classes and rows, how much worse `auto` is in each cell than the best of the other registered methods."""
    losses = by_cell(found[found["method"].isin(OWN)])
    for (classes, rows), cells in losses.groupby(level=["classes", "rows"]):
        yield classes, rows, (cells[AUTO] - cells.drop(columns=AUTO).min(axis=1)).to_numpy()


def of_classes(found: pd.DataFrame) -> str:
    """The table of all cells with one number of classes: scores by rows, ranks, seconds, failures, zeros."""
    sizes = sorted(found["rows"].unique())
    losses = by_cell(found)
    ranks = mean_ranks(losses).sort_values()
    judged = {rows: behind(found[found["rows"] == rows]) for rows in sizes}
    by_method = found.groupby("method")
    seconds = found[found["rows"] == sizes[-1]].groupby("method")["seconds"].mean()
    lines = []
    for method, rank in ranks.items():
        cells = []
        for table in judged.values():
            row = table.loc[method]
            cell = f"{row['mean'] / UNIT:.1f} ± {row['error'] / UNIT:.1f}"
            cells.append("–" if np.isnan(row["mean"]) else f"**{cell}**" if row["tied"] else cell)
        own = by_method.get_group(method)
        counts = [int((own["failure"] != "").sum()), int(own["zeros"].sum())]
        lines.append([method, *cells, f"{rank:.1f}", f"{seconds[method]:.2f}", *counts])
    heads = [f"{rows:,} rows" for rows in sizes]
    text = markdown(
        ["method", *heads, "mean rank", f"CPU s, {sizes[-1]:,} rows", "failed", "p < 1e-15"], lines
    )
    replicates = found.groupby(CELL)["replicate"].nunique()
    fits = (
        f"{replicates.min()}"
        if replicates.min() == replicates.max()
        else f"{replicates.min()} to {replicates.max()}"
    )
    return (
        f"{text}\n\n{len(losses)} cells, {fits} replicates each. Friedman's test of equal ranks: p = "
        f"{friedman(losses):.1g}; critical difference of mean ranks (Nemenyi, {1 - ALPHA:.0%}): "
        f"{critical_difference(*losses.shape[::-1]):.1f}."
    )


def everywhere(found: pd.DataFrame) -> str:
    """Mean ranks over the cells of all numbers of classes, of the methods that were tried in each of them.

    A cell counts once, however many classes it has; ranks are among these methods alone.
    """
    cells = found.groupby("method")[CELL].apply(lambda tried: len(tried.drop_duplicates()))
    losses = by_cell(found[found["method"].isin(cells.index[cells == cells.max()])])
    ranks = {"all cells": mean_ranks(losses)}
    ranks |= {f"{k} classes": mean_ranks(part) for k, part in losses.groupby(level="classes")}
    table = pd.DataFrame(ranks).sort_values("all cells")
    lines = [
        [method, *(f"{rank:.1f}" for rank in row)]
        for method, row in zip(table.index, table.values, strict=True)
    ]
    return (
        f"{markdown(['method', *table], lines)}\n\n{len(losses)} cells. Friedman's test: p = {friedman(losses):.1g}; "
        f"critical difference {critical_difference(*losses.shape[::-1]):.1f}."
    )


def of_real(found: pd.DataFrame) -> str:
    """The table of real outputs: scores by data and rows, and ranks; splits overlap, so no errors are given."""
    losses = by_cell(found)
    ranks = mean_ranks(losses).sort_values()
    lines = []
    for method, rank in ranks.items():
        scores = [
            f"{round(value / UNIT)}" if np.isfinite(value) else "–" for value in losses[method]
        ]
        lines.append([method, *scores, f"{rank:.1f}"])
    heads = [f"{shape}, {rows:,}" for shape, _, rows in losses.index]
    test = f"p = {friedman(losses):.1g}" if len(losses) > 1 else "one cell"
    return (
        f"{markdown(['method', *heads, 'mean rank'], lines)}\n\n{len(losses)} cells. Friedman's test: {test}; critical "
        f"difference {critical_difference(*losses.shape[::-1]):.1f}."
    )


def failures(found: pd.DataFrame) -> str:
    """Why fits failed, one line for each reason, whatever the numbers in it."""
    failed = found[found["failure"] != ""]
    failed = failed.assign(failure=[re.sub(r"\d+", "#", why) for why in failed["failure"]])
    lines = []
    for (method, why), group in failed.groupby(["method", "failure"]):
        where = sorted(
            {
                f"{k} classes, {n:,} rows"
                for k, n in zip(group["classes"], group["rows"], strict=True)
            }
        )
        lines.append([method, len(group), "; ".join(where), " ".join(why.split())[:160]])
    return markdown(["method", "fits", "where", "why"], lines) if lines else "No fit failed."


def tables(records: list[dict[str, Any]], figure: Path | None = None) -> str:
    """All tables as Markdown, and the diagram of mean ranks into a file."""
    found = pd.DataFrame(records)
    known, real = found[found["source"] == "known"], found[found["source"] == "real"]
    parts, diagrams = [], {}
    for classes, group in known.groupby("classes"):
        parts.append(
            f"### {classes} classes, known truth\n\nMean excess NLL x 1e-4 with its standard error over replicates; in "
            f"bold the best and what is no worse by the paired 95 % interval.\n\n{of_classes(group)}"
        )
        diagrams[f"{classes} classes"] = by_cell(group)
    parts.append(
        f"### Any number of classes, mean ranks where the truth is known\n\n{everywhere(known)}"
    )
    lines = []
    for classes, rows, values in regret(known):
        lines.append(
            [
                classes,
                f"{rows:,}",
                *(f"{value / UNIT:.1f}" for value in (values.mean(), values.max())),
            ]
        )
    header = ["classes", "rows", "mean", "largest"]
    parts.append(
        "### Regret of auto\n\nExcess NLL x 1e-4 above that of the best other registered method of each cell, chosen "
        f"afterwards.\n\n{markdown(header, lines)}"
    )
    for is_binary, group in real.groupby(real["classes"] == 2):
        parts.append(
            f"### Real outputs of {'two' if is_binary else 'more'} classes\n\nNLL x 1e-4 on rows outside the fit less "
            f"the uncalibrated model's, by data and rows to calibrate with.\n\n{of_real(group)}"
        )
    parts.append(f"### Failures\n\n{failures(found)}")
    if figure is not None:
        diagram(diagrams, figure)
    return "\n\n".join(parts)
