"""The latent function of GPcalib: what it does to a logit, how sure it is, and where the data lie."""

from __future__ import annotations

from typing import Literal

import plotly.graph_objects as go

from calib.latent import LatentCurve
from calib.numerics import Floats
from calib.plots.style import Style

Space = Literal["latent", "probability"]


def latent_function(
    curve: LatentCurve,
    style: Style,
    temperature_style: Style,
    space: Space = "latent",
    truth: Floats | None = None,
    title: str = "",
    height: int = 480,
) -> go.Figure:
    """The posterior mean with bands at 1 and 2 standard deviations, over the data it was learned from.

    Parameters
    ----------
    curve : the latent function and its companions.
    style, temperature_style : of the method, and of temperature scaling.
    space : "probability" draws what the latents do to the probability of one class whose rivals keep theirs.
    truth : (n_points,) the true latent function at ``curve.inputs``, where it is known.
    """
    raise NotImplementedError


def objective_trace(trace: Floats, style: Style, title: str = "", height: int = 200) -> go.Figure:
    """The objective in nats over the iterations of the fit."""
    raise NotImplementedError
