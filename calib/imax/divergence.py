"""Whether pooling the classes costs more in bias than it saves in noise."""

from __future__ import annotations

from dataclasses import dataclass

from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class SharingDivergence:
    """Distance of class-wise and of pooled calibration sets from the truth of a class (Patel et al. 2020, figure S1).

    For a class k and n rows, the distribution of its log-odds where it is the label (y = 1) is estimated from the
    rows of class k alone (CW) and from the rows of all classes (sCW). Each is compared with a baseline of that
    class from rows kept apart, by the square root of the Jensen-Shannon divergence to base 2: 0 is the same
    distribution, 1 no overlap.

    Attributes
    ----------
    classes : (n_chosen,) the classes compared.
    n_rows : (n_sizes,) increasing sizes of the calibration set.
    classwise, shared : (n_chosen, n_sizes) mean distance over the draws; NaN where no row of the class was drawn.
    n_baseline : (n_chosen,) rows behind each baseline.
    """

    classes: Ints
    n_rows: Ints
    classwise: Floats
    shared: Floats
    n_baseline: Ints
