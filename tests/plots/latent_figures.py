"""Small instances of what the pictures of a latent function are drawn from."""

from __future__ import annotations

import dataclasses

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.latent import EffectCurve, InducingPoints, LatentCurve
from calib.plots.annotations import overlay_styles
from calib.plots.latent import latent_function
from calib.plots.latent_effect import effect_chart
from calib.plots.style import method_style

TEMPERATURE = method_style("temperature")
STYLES = overlay_styles([method_style("gpcalib", index) for index in range(3)])
STYLE = STYLES[0]
FIGURES = ("latent", "ln prior", "overlay", "effect", "effect logit")


def latent_of(space: str = "logits", n_points: int = 140, slope: float = 0.5) -> LatentCurve:
    """A latent function that halves every logit; its data are log-probabilities (or probabilities)."""
    inputs = np.linspace(-12, 0, n_points) if space == "logits" else np.linspace(0.001, 1, n_points)
    prior = inputs if space == "logits" else np.log(inputs)
    places = np.linspace(inputs[0], inputs[-1], 5)
    centre = np.interp(places, inputs, slope * prior)
    points = InducingPoints(places, centre, tuple((centre - 0.3 * w, centre + 0.3 * w) for w in (2, 1)), 1)
    return LatentCurve(
        inputs=inputs, mean=slope * prior, sd=np.full(n_points, 0.3), prior=prior,
        prior_name="identity" if space == "logits" else "ln prior", temperature=prior / 3, temperature_outside=0.0,
        truth=0.4 * prior, inducing=points, density_edges=np.linspace(inputs[0], inputs[-1], 31),
        density_label=np.arange(30.0), density_other=np.arange(30.0)[::-1], every=1, space=space,
    )  # fmt: skip


def effect_of(scale: str = "linear", slope: float = 0.8, n: int = 12) -> EffectCurve:
    """Confidences from 0.4 to 0.99 become ``slope`` of themselves."""
    before = np.linspace(0.4, 0.99, n)
    after = slope * before
    return EffectCurve(
        before=before, after=after, sd=np.full(n, 0.01),
        bands=tuple((after - width, after + width) for width in (0.02, 0.01)),
        accuracy=after, accuracy_low=after - 0.05, accuracy_high=np.minimum(after + 0.05, 1.0),
        count=np.arange(10, 10 + n), temperature=0.9 * before, truth=0.7 * before, scale=scale,
    )  # fmt: skip


def without(thing, *names: str):
    """The same without these references."""
    return dataclasses.replace(thing, **dict.fromkeys(names))


def latent_figures() -> dict[str, go.Figure]:
    names = ("GPcalib", "inputs=probs", "monotone=True")
    curves = [latent_of(slope=slope) for slope in (0.5, 0.6, 0.4)]
    effects = {
        scale: [(name, effect_of(scale, slope), s) for name, slope, s in zip(names, (0.8, 0.9), STYLES, strict=False)]
        for scale in ("linear", "logit")
    }
    return {
        "latent": latent_function([("GPcalib", curves[0], STYLE)], TEMPERATURE),
        "ln prior": latent_function([("GPcalib", latent_of("probs"), STYLE)], TEMPERATURE),
        "overlay": latent_function(list(zip(names, curves, STYLES, strict=True)), TEMPERATURE),
        "effect": effect_chart(effects["linear"], TEMPERATURE),
        "effect logit": effect_chart(effects["logit"], TEMPERATURE),
    }
