"""Over- and underconfidence (Wenger et al. 2020, section 2.2): their balance, Theorem 1, and where the gap lies."""

from calib.over_under.balance import Balance, Change, balances
from calib.over_under.groups import BAND_EDGES, GroupGaps, band_of, by_band, by_class, gaps_by_group
from calib.over_under.theorem import TheoremOne, theorem_by_bins, theorem_one

__all__ = [
    "BAND_EDGES",
    "Balance",
    "Change",
    "GroupGaps",
    "TheoremOne",
    "balances",
    "band_of",
    "by_band",
    "by_class",
    "gaps_by_group",
    "theorem_by_bins",
    "theorem_one",
]
