"""The latent function as curves ready to draw: as it is, or as what it does to a probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib.latent import LatentCurve
from calib.numerics import Floats, sigmoid
from calib.plots.scales import regrid

Space = Literal["latent", "probability"]

_MOST_POINTS = 240
_CELLS = 50
_LEAST_PROBABILITY = 0.001


@dataclass(frozen=True, eq=False)
class LatentView:
    """Curves over one axis; every array but the edges and counts has shape (m,).

    Attributes
    ----------
    x : places on the horizontal axis, increasing.
    mean, bands : the posterior mean; (low, high) at 2 and at 1 standard deviations.
    references : name -> curve, for the identity and, where given, temperature and truth.
    edges, label, other : the histograms of the data beneath.
    x_title, y_title : names of the axes.
    label_at : index of the point by whose height the curves' names are ordered.
    """

    x: Floats
    mean: Floats
    bands: tuple[tuple[Floats, Floats], ...]
    references: dict[str, Floats]
    edges: Floats
    label: Floats
    other: Floats
    x_title: str
    y_title: str
    label_at: int


def latent_view(curve: LatentCurve, truth: Floats | None) -> LatentView:
    """The latents themselves, thinned to at most 240 points."""
    keep = np.linspace(0, len(curve.inputs) - 1, min(len(curve.inputs), _MOST_POINTS)).astype(int)
    mean, sd = curve.mean[keep], curve.sd[keep]
    symbol = "z" if curve.space == "logits" else "p"
    return LatentView(
        x=curve.inputs[keep],
        mean=mean,
        bands=tuple((mean - width * sd, mean + width * sd) for width in (2, 1)),
        references={name: values[keep] for name, values in _references(curve, truth).items()},
        edges=curve.density_edges,
        label=curve.density_label,
        other=curve.density_other,
        x_title="logit z" if symbol == "z" else "probability p",
        y_title=f"latent g({symbol}), up to a shift",
        label_at=-1,
    )


def probability_view(curve: LatentCurve, truth: Floats | None) -> LatentView:
    """What the latents do to a class of probability p against one rival of probability 1 - p.

    ``q = sigmoid(g(ln p + m) - g(ln(1 - p) + m))`` does not depend on the latents' shift and makes the identity
    the diagonal. m is 0 where the logits are log-probabilities, else the mean logit of the true class. The bands
    treat the two latents as independent, which is cautious: their correlation is not part of the curve.
    """
    origin = _log_normaliser(curve)
    p = _probabilities(curve, origin)
    first, second = (np.log(p) + origin, np.log1p(-p) + origin) if curve.space == "logits" else (p, 1 - p)

    def log_odds(values: Floats) -> Floats:
        return np.interp(first, curve.inputs, values) - np.interp(second, curve.inputs, values)

    mean = log_odds(curve.mean)
    sd = np.hypot(np.interp(first, curve.inputs, curve.sd), np.interp(second, curve.inputs, curve.sd))
    edges, grid = curve.density_edges, np.linspace(0, 1, _CELLS + 1)
    if curve.space == "logits":
        edges = np.exp(np.minimum(edges - origin, 0.0))
    edges = np.clip(edges, 0.0, 1.0)
    return LatentView(
        x=p,
        mean=sigmoid(mean),
        bands=tuple((sigmoid(mean - width * sd), sigmoid(mean + width * sd)) for width in (2, 1)),
        references={name: sigmoid(log_odds(values)) for name, values in _references(curve, truth).items()},
        edges=grid,
        label=regrid(edges, curve.density_label, grid),
        other=regrid(edges, curve.density_other, grid),
        x_title="probability against one rival",
        y_title="calibrated probability",
        label_at=int(np.searchsorted(p, 0.85)) if len(p) > 1 and p[-1] > 0.85 else -1,
    )


def _references(curve: LatentCurve, truth: Floats | None) -> dict[str, Floats]:
    every = {"identity": curve.identity, "temperature": curve.temperature, "truth": truth}
    return {name: np.asarray(values) for name, values in every.items() if values is not None}


def _log_normaliser(curve: LatentCurve) -> float:
    edges, counts = curve.density_edges, curve.density_label
    held = np.flatnonzero(counts + curve.density_other)
    # The bin of the largest log-probabilities may reach a little above 0.
    if curve.space == "probs" or held.size == 0 or edges[held[-1]] <= 0 or counts.sum() == 0:
        return 0.0
    return float(np.average((edges[1:] + edges[:-1]) / 2, weights=counts))


def _probabilities(curve: LatentCurve, origin: float) -> Floats:
    """Probabilities, dense at both ends, whose own and whose rival's input lie in the range of the curve."""
    lowest = float(curve.inputs[0])
    least = np.exp(lowest - origin) if curve.space == "logits" else lowest
    least = float(np.clip(least, _LEAST_PROBABILITY, 0.4))
    end = np.log1p(-least) - np.log(least)
    return sigmoid(np.linspace(-end, end, _MOST_POINTS))
