"""Log-odds by the rank a classifier gives their class."""

from __future__ import annotations

from dataclasses import dataclass

from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class RankHistogram:
    """Where the log-odds of the first, second, ... class of each row lie (Patel et al. 2020, figure S2).

    Attributes
    ----------
    edges : (n_cells + 1,) equally spaced log-odds.
    titles : one for each group of ranks, such as "1st", "2nd", "3rd", "4th-5th", "below".
    count : (n_groups, n_cells) classes of that rank in each cell.
    """

    edges: Floats
    titles: tuple[str, ...]
    count: Ints
