"""The parts of the Latent GP page: the function with its bands, and what it does to a confidence."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib.calibrators.gpcalib import GPCalib
from calib.data.samples import true_latent
from calib.latent import LatentCurve, confidence_effect, latent_curve
from calib.plots.latent import Space, latent_function, objective_trace
from calib.plots.style import method_style
from calib.ui import figures
from calib.ui.fits import ShownFit
from calib.ui.session import keep, session
from calib.ui.wording import number, plural

HOW_TO_READ = (
    "The solid line is the posterior mean of the latent function, with bands at 1 and 2 standard deviations; the "
    "dotted line is the identity (an uncalibrated model), the dashed one temperature scaling. Diamonds are the "
    "inducing points. Only differences between latents matter, so all curves are shifted to agree where the data "
    "lie. Beneath: the calibration logits of true classes and of all others."
)
SPACES: tuple[Space, ...] = ("latent", "probability")


def draw(fit: ShownFit, calibrator: GPCalib, temperature: float | None) -> None:
    """Draw the latent function and the objective over the iterations."""
    now = session()
    assert now.calibration is not None
    space: Space | None = st.segmented_control(
        "Shown as", SPACES, default="latent", required=True, format_func=str.capitalize, key="latent/space",
        persist_state="session",
    )  # fmt: skip
    logits, labels = now.calibration.logits, now.calibration.labels
    curve = keep(("latent", fit.key, temperature), lambda: latent_curve(calibrator, logits, labels, temperature))
    fig = keep(
        ("latent figure", fit.key, temperature, space),
        lambda: latent_function(
            curve, fit.style, method_style("temperature"), space=space or "latent", truth=_truth(curve), height=560
        ),
    )
    figures.show(fig, "latent-function", HOW_TO_READ)
    with st.expander("Objective over the iterations"):
        figures.show(
            objective_trace(curve.objective_trace, fit.style),
            "latent-objective",
            "The variational objective in nats at each iteration of the fit; it ends flat where the fit converged.",
        )


def effect(fit: ShownFit, calibrator: GPCalib) -> None:
    """What the function does to a confidence, and what the fit reports."""
    now = session()
    assert now.test is not None
    assert now.calibration is not None
    with st.container(horizontal=True, gap="large"):
        logits = now.test.logits
        for before, after, spread in keep(("effect", fit.key), lambda: confidence_effect(calibrator, logits)):
            st.metric(f"confidence {before:.2f} becomes", f"{after:.3f} ± {spread:.3f}", width="content")
    st.caption(
        f"{plural(len(calibrator.inducing_inputs_), 'inducing point')} · objective {number(calibrator.objective_, 5)} "
        f"after {plural(calibrator.n_iter_, 'iteration')} · length scale {number(calibrator.lengthscale_)} · "
        f"fitted in {number(fit.fit_seconds)} s on {calibrator.device_}"
    )
    for note in calibrator.notes():
        st.warning(note)


def _truth(curve: LatentCurve) -> np.ndarray | None:
    """The true latent function of a simulated sample, shifted like the other curves."""
    name = session().sample
    function = true_latent(name) if name is not None else None
    if function is None or curve.space != "logits":
        return None
    truth = function(curve.inputs)
    weights = curve.density_label + curve.density_other
    centres = (curve.density_edges[1:] + curve.density_edges[:-1]) / 2
    at = np.interp(centres, curve.inputs, truth - curve.identity)
    return truth - np.average(at, weights=weights)
