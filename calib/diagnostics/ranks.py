"""Log-odds by the rank a classifier gives their class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.imax.density import LogOddsDensity, count_in_cells
from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class RankHistogram:
    """Where the log-odds of the first, second, ... class of each row lie (Patel et al. 2020, figure S2).

    Attributes
    ----------
    edges : (n_cells + 1,) equally spaced log-odds.
    titles : one for each group of ranks, "1st", "2nd", "3rd", "4th and 5th", "below"; fewer for few classes.
    count : (n_groups, n_cells) classes of that rank in each cell.
    """

    edges: Floats
    titles: tuple[str, ...]
    count: Ints


_GROUPS = (("1st", 1), ("2nd", 2), ("3rd", 3), ("4th and 5th", 5))


def rank_histogram(log_odds: Floats, density: LogOddsDensity) -> RankHistogram:
    """Count log-odds by rank in the cells of their density.

    Parameters
    ----------
    log_odds : (n, n_classes) one-vs-rest log-odds; they rank the classes of a row as its logits do.
    density : of the same log-odds.
    """
    low, width, n_cells = float(density.edges[0]), density.cell_width, len(density.count_label)
    n_classes = log_odds.shape[1]
    n_top = min(_GROUPS[-1][1], n_classes)
    ranked = np.partition(log_odds, n_classes - n_top, axis=1) if n_top < n_classes else log_odds.copy()
    ranked[:, n_classes - n_top :].sort(axis=1)
    titles, counts, end = [], [], n_classes
    for title, last in (*_GROUPS, ("below", n_classes)):
        start = max(n_classes - last, 0)
        if start < end:
            titles.append(title)
            counts.append(count_in_cells(ranked[:, start:end], low, width, n_cells))
            end = start
    return RankHistogram(density.edges, tuple(titles), np.array(counts))
