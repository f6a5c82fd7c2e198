"""The latent function as curves ready to draw: as it is, or as what it does to a probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.diagnostics.inducing import InducingPoints
from calib.diagnostics.latent import LatentCurve
from calib.diagnostics.latent_baseline import RivalCurve
from calib.numerics import Floats
from calib.plots.axes import Scale, on_scale, probability_axis
from calib.plots.style import Limits

_MOST_POINTS = 140
_PAD = 0.06
"""Room above and below the curves, as a share of their range."""


@dataclass(frozen=True, eq=False)
class LatentView:
    """Curves over one axis in their natural units; those over x have shape (m,).

    Attributes
    ----------
    x : places on the horizontal axis, increasing.
    mean, bands : the posterior mean; (low, high) at 2 and at 1 standard deviations.
    references : name -> curve, the prior first and, where given, temperature and truth.
    inducing : the inducing points in the picture.
    edges, label, other : the histograms of the data beneath.
    every : 1 if all calibration rows are counted there, n if every n-th.
    x_title, y_title : names of the axes.
    label_at : index of the point by whose height the curves' names are ordered.
    scale, limits : of both axes where they are probabilities; scale is None for latents.
    piled : whether the data are probabilities, most of which lie at the ends.
    """

    x: Floats
    mean: Floats
    bands: tuple[tuple[Floats, Floats], ...]
    references: dict[str, Floats]
    inducing: InducingPoints
    edges: Floats
    label: Floats
    other: Floats
    every: int
    x_title: str
    y_title: str
    label_at: int = -1
    scale: Scale | None = None
    limits: Limits = (0.0, 1.0)
    piled: bool = False

    def place(self, values: Floats) -> Floats:
        """Where values lie on the axes."""
        return values if self.scale is None else on_scale(values, self.scale, self.limits)

    def x_axis(self) -> dict[str, Any]:
        """Range and ticks of the horizontal axis."""
        if self.scale is None:
            return {"range": [float(self.x[0]), float(self.x[-1])]}
        return probability_axis(self.scale, self.limits)

    def span(self) -> Limits:
        """Range of the vertical axis that holds the curves; a wide band may leave the picture."""
        drawn = [self.place(values) for values in (self.mean, *self.references.values())]
        low, high = min(float(part.min()) for part in drawn), max(float(part.max()) for part in drawn)
        pad = _PAD * max(high - low, 1e-9)
        return low - pad, high + pad


def latent_view(curve: LatentCurve) -> LatentView:
    """The latents themselves, thinned to at most 140 points."""
    keep = np.linspace(0, len(curve.inputs) - 1, min(len(curve.inputs), _MOST_POINTS)).astype(int)
    mean, sd = curve.mean[keep], curve.sd[keep]
    logits = curve.space == "logits"
    return LatentView(
        x=curve.inputs[keep],
        mean=mean,
        bands=tuple((mean - width * sd, mean + width * sd) for width in (2, 1)),
        references={name: values[keep] for name, values in _references(curve, curve.prior_name).items()},
        inducing=curve.inducing,
        edges=curve.density_edges,
        label=curve.density_label,
        other=curve.density_other,
        every=curve.every,
        x_title="logit z" if logits else "probability p",
        y_title=f"latent g({'z' if logits else 'p'}), up to a shift",
        piled=not logits,
    )


def probability_view(curve: RivalCurve) -> LatentView:
    """What the latents do to a class of probability p against one rival of probability 1 - p."""
    logit = curve.scale == "logit"
    # A usual prior is the diagonal in every space, and is then the same line for all fits.
    prior = "identity" if np.array_equal(curve.prior, curve.probs) else curve.prior_name
    return LatentView(
        x=curve.probs,
        mean=curve.mean,
        bands=curve.bands,
        references=_references(curve, prior),
        inducing=curve.inducing,
        edges=curve.density_edges,
        label=curve.density_label,
        other=curve.density_other,
        every=curve.every,
        x_title="probability against one rival",
        y_title="calibrated probability",
        # All curves meet at 1; their order is seen where they are apart.
        label_at=-1 if logit else int(np.searchsorted(curve.probs, 0.85)),
        scale=curve.scale,
        limits=(float(curve.probs[0]), float(curve.probs[-1])) if logit else (0.0, 1.0),
        piled=True,
    )


def _references(curve: LatentCurve | RivalCurve, prior: str) -> dict[str, Floats]:
    every = {prior: curve.prior, "temperature": curve.temperature, "truth": curve.truth}
    return {name: values for name, values in every.items() if values is not None}
