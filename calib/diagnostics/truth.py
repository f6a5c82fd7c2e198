"""The calibration function that a simulated data set is known to have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.data.samples import TrueFunction
from calib.numerics import Floats, softmax


@dataclass(frozen=True)
class Truth:
    """What perfect calibration would be, as far as it is known.

    Attributes
    ----------
    latent : the perfect latent function of a logit, up to a shift; None where unknown.
    map : for two classes, the true probability of class 1 at each given probability; None where unknown.
    """

    latent: TrueFunction | None = None
    map: TrueFunction | None = None

    def probabilities(self, logits: Floats) -> Floats | None:
        """True probabilities, (n, n_classes), of rows of logits; None where unknown."""
        if self.latent is not None:
            return softmax(self.latent(logits))
        if self.map is not None:
            second = self.map(softmax(logits)[:, 1])
            return np.stack([1.0 - second, second], axis=1)
        return None
