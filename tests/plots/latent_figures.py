"""Small instances of what the pictures of a latent function are drawn from."""

from __future__ import annotations

import dataclasses

import numpy as np
import plotly.graph_objects as go
from scipy.special import expit

from calib.diagnostics.latent import InducingPoints, LatentCurve
from calib.diagnostics.latent_effect import EffectCurve
from calib.diagnostics.latent_pairwise import PairwiseCurve
from calib.plots.annotations import overlay_styles
from calib.plots.latent import ObjectiveTrace, latent_function, latent_view, objective_traces, probability_view
from calib.plots.latent_effect import effect_chart
from calib.plots.style import method_style

TEMPERATURE = method_style("temperature")
STYLES = overlay_styles([method_style("gpcalib", index) for index in range(3)])
STYLE = STYLES[0]
FIGURES = ("latent", "ln prior", "overlay", "probability", "probability logit", "effect", "effect logit", "objective")


def points_on(inputs: np.ndarray, mean: np.ndarray, sd: float) -> InducingPoints:
    places = np.linspace(inputs[0], inputs[-1], 5)
    centre = np.interp(places, inputs, mean)
    return InducingPoints(places, centre, tuple((centre - width * sd, centre + width * sd) for width in (2, 1)), 1)


def latent_of(space: str = "logits", n_points: int = 3000, slope: float = 0.5) -> LatentCurve:
    """A latent function that halves every logit; its data are log-probabilities (or probabilities)."""
    inputs = np.linspace(-12, 0, n_points) if space == "logits" else np.linspace(0.001, 1, n_points)
    prior = inputs if space == "logits" else np.log(inputs)
    return LatentCurve(
        inputs=inputs, mean=slope * prior, sd=np.full(n_points, 0.3), prior=prior,
        prior_name="identity" if space == "logits" else "ln prior", temperature=prior / 3, truth=0.4 * prior,
        inducing=points_on(inputs, slope * prior, 0.3), density_edges=np.linspace(inputs[0], inputs[-1], 31),
        density_label=np.arange(30.0), density_other=np.arange(30.0)[::-1], every=1, space=space,
    )  # fmt: skip


def pairwise_of(scale: str = "linear", slope: float = 0.5) -> PairwiseCurve:
    """The same as a map of a probability."""
    log_odds = np.linspace(-7, 7, 100)
    probs = expit(log_odds)
    edges = np.linspace(0, 1, 31) if scale == "linear" else expit(np.linspace(-7, 7, 31))
    return PairwiseCurve(
        probs=probs, mean=expit(slope * log_odds),
        bands=tuple((expit(slope * log_odds - width), expit(slope * log_odds + width)) for width in (0.2, 0.1)),
        prior=probs, prior_name="identity", temperature=expit(log_odds / 3), truth=None,
        inducing=points_on(probs, expit(slope * log_odds), 0.01), density_edges=edges,
        density_label=np.arange(30.0), density_other=np.arange(30.0)[::-1], every=4, scale=scale,
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
    curves = [latent_view(latent_of(slope=slope)) for slope in (0.5, 0.6, 0.4)]
    effects = {
        scale: [(name, effect_of(scale, slope), s) for name, slope, s in zip(names, (0.8, 0.9), STYLES, strict=False)]
        for scale in ("linear", "logit")
    }
    traces = [
        ObjectiveTrace(name, -1000 / np.arange(1.0, 5001.0) - step, step == 0, style)
        for step, (name, style) in enumerate(zip(names, STYLES, strict=True))
    ]
    return {
        "latent": latent_function([("GPcalib", curves[0], STYLE)], TEMPERATURE),
        "ln prior": latent_function([("GPcalib", latent_view(latent_of("probs")), STYLE)], TEMPERATURE),
        "overlay": latent_function(list(zip(names, curves, STYLES, strict=True)), TEMPERATURE),
        "probability": latent_function([("GPcalib", probability_view(pairwise_of()), STYLE)], TEMPERATURE),
        "probability logit": latent_function(
            [(name, probability_view(pairwise_of("logit", slope)), style)
             for name, slope, style in zip(names, (0.5, 0.8, 0.6), STYLES, strict=True)],
            TEMPERATURE,
        ),
        "effect": effect_chart(effects["linear"], TEMPERATURE),
        "effect logit": effect_chart(effects["logit"], TEMPERATURE, probe=0.93),
        "objective": objective_traces(traces),
    }  # fmt: skip
