"""Non-parametric Bayesian isotonic calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.base import EQUIVARIANT, GIVES_UNCERTAINTY, param
from calib.bayes_iso.groups import group_ties
from calib.bayes_iso.schemes import fit_map
from calib.calibrators.isotonic import interpolate_monotone
from calib.calibrators.one_vs_rest import BinaryCalibrator, Map
from calib.numerics import Floats


@dataclass(eq=False, repr=False, kw_only=True)
class BayesIso(BinaryCalibrator):
    """The average of many monotone maps, each weighted by how likely it makes the labels.

    Allikivi and Kull, Non-parametric Bayesian Isotonic Calibration, ECML PKDD 2019.
    """

    n_maps: int = param(10_000, low=100, high=1_000_000, help="Number of maps to sample.")
    bounds: str = param(
        "pav",
        choices=("pav", "paper"),
        help="Where maps are sampled: around the isotonic fit, as the authors' code has it, or as the paper says.",
    )
    scheme: str = param(
        "auto",
        choices=("auto", "plain"),
        help="How maps are sampled: all at once, as the paper does.",
    )

    def promises(self, n_classes: int) -> frozenset[str]:
        # Seen from the other of two classes, other maps are sampled.
        own = super().promises(n_classes) | {GIVES_UNCERTAINTY}
        return own - ({EQUIVARIANT} if n_classes == 2 else set())

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        fitted = fit_map(
            group_ties(log_odds, self.targets(positives)), self.scheme, self.bounds, self.n_maps, self.random_state
        )
        fitted["values"] = self.bounded(fitted["values"])
        return fitted

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        return interpolate_monotone(log_odds, state["knots"], state["values"])
