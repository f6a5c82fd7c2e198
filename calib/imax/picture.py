"""Everything the picture of the bins shows, for all classes together or for one."""

from __future__ import annotations

from dataclasses import dataclass

from calib.imax.bins import BinnedPairs
from calib.imax.density import LogOddsDensity
from calib.imax.ranks import RankHistogram
from calib.imax.trace import EdgeTrace
from calib.numerics import Floats


@dataclass(frozen=True, eq=False)
class BinningPicture:
    """Bins of every scheme over the densities of the log-odds; information in nats.

    Attributes
    ----------
    target : the class whose pairs these are (CW); None where all classes are pooled (sCW).
    n_rows, n_classes : of the logits.
    n_pairs : number of one-vs-rest pairs, n_rows or n_rows * n_classes.
    density : histogram and kernel density of the log-odds for y = 0 and y = 1.
    schemes : "imax", "equal_mass" and "equal_size" -> its bins.
    traces : the iterations of I-Max from each start, the best first; ``schemes["imax"]`` is where the best ends.
    trace_information : (n_steps,) I(bin; y) under the kernel densities along each of ``traces``, in nats.
    ranks : log-odds by rank; None for one class.
    information : I(log-odds; y) under the kernel densities, in nats: the most that any binning can keep.
    label_entropy : H(y) in nats, which bounds that in turn.
    """

    target: int | None
    n_rows: int
    n_classes: int
    n_pairs: int
    density: LogOddsDensity
    schemes: dict[str, BinnedPairs]
    traces: tuple[EdgeTrace, ...]
    trace_information: tuple[Floats, ...]
    ranks: RankHistogram | None
    information: float
    label_entropy: float

    @property
    def best(self) -> EdgeTrace:
        """The iterations that led to the bins of I-Max."""
        return self.traces[0]
