"""Folds of the Calibration maps page: Bayes-Iso before the labels, and maps of replicates beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from calib.calibrators.bayes_iso import BayesIsoMap
from calib.diagnostics.map_samples import N_REPLICATES, prior_draws, replicate_maps
from calib.formatting import listed, number
from calib.plots.map_samples import sampled_maps
from calib.plots.style import COLORS, TRUTH, Style
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready, rows_of
from calib.ui.session import OpenSession
from calib.ui.text import literal

RANKS = "share of pairs with a lower score"
WIDTH = 320
"""Pixels of a panel: three fit beside each other at 1500."""
PRIOR = (
    "Left 200 maps as Bayes-Iso draws them before it sees labels: any rising map may come. In the middle 200 within "
    "the bounds (green) that running means of the labels give. Right the posterior mean with its 90\u00a0% band."
)
REPLICATES = (
    "Each thin line is the map that the method learned from the same scores with labels drawn anew from the true map, "
    "the thick line. Lines far apart show variance, a bundle beside the truth shows bias."
)


def prior(session: OpenSession, fit: ShownFit, posterior: BayesIsoMap, target: int | None) -> None:
    """Draw the prior, the prior within its bounds, and the posterior of a Bayes-Iso."""
    key = ("prior of", fit.key, target)
    data = rows_of(session.calibration)
    draws = ready(key, "draws of the prior", prior_draws, target, posterior, data=data)
    bound, band = Style(COLORS[2]), Style(fit.style.color, dash="dash")
    none = np.empty((0, len(draws.ranks)))
    mean = ("mean", draws.mean, Style(fit.style.color))
    panels = (
        ("Prior", draws.prior, ()),
        (
            "Within bounds",
            draws.bounded,
            (("lower", draws.lower, bound), ("upper", draws.upper, bound)),
        ),
        ("Posterior", none, (("5 %", draws.low, band), ("95 %", draws.high, band), mean)),
    )
    with st.container(horizontal=True, gap="small"):
        for title, maps, known in panels:
            draw = partial(sampled_maps, draws.ranks, maps, fit.style, title, RANKS, known)
            with st.container(width=WIDTH):
                widgets.show_kept((title, *key), draw, f"bayes-iso-{title}", PRIOR)


def replicates(session: OpenSession, fits: Sequence[ShownFit], sample: str) -> None:
    """Draw ten maps of each method on labels from the true map."""
    found = []
    for fit in fits:
        key = ("replicates", fit.key)
        what = f"{N_REPLICATES} maps of {fit.title}"
        params = session.specs[fit.key].params
        data = rows_of(session.calibration)
        found.append(ready(key, what, replicate_maps, fit.method, params, sample, data=data))
    errors = [
        f"{number(each.error)} with {literal(fit.title)}"
        for fit, each in zip(fits, found, strict=True)
    ]
    st.markdown(f"The root mean squared error of {N_REPLICATES} maps is {listed(errors)}.")
    with st.container(horizontal=True, gap="small"):
        for fit, each in zip(fits, found, strict=True):
            truth = (("truth", each.truth, Style(TRUTH)),)
            draw = partial(
                sampled_maps,
                each.probs,
                each.maps,
                fit.style,
                fit.title,
                "probability of the model",
                truth,
            )
            with st.container(width=WIDTH):
                widgets.show_kept(
                    ("replicates of", fit.key), draw, f"replicates-{fit.title}", REPLICATES
                )
