"""Parts of the Latent GP page: the finding, the latent functions, and their effect on a confidence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.temperature import TemperatureScaling
from calib.diagnostics.latent import LatentCurve, latent_curve, of_rows
from calib.diagnostics.latent_effect import EffectStudy, study_effect
from calib.formatting import escape_markdown, number, plural
from calib.plots.annotations import short_names
from calib.plots.axes import crowded
from calib.plots.latent import effect_chart, latent_function
from calib.plots.style import method_style
from calib.registry import METHODS, variant_of
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready, rows_of
from calib.ui.latent.text import (
    against_temperature,
    collapsed,
    finding,
    least_sure,
    temperature_on_rows,
)
from calib.ui.session import OpenSession

HOW_TO_READ = (
    "Each line is the posterior mean of a latent function; the first has bands at 1 and 2 standard deviations, the "
    "others the outline of the wider one. The dotted line is the prior mean: the outputs as they are, unless its name "
    "has a scale; the dashed one is temperature scaling. Diamonds are the inducing points, with whiskers at 1 and 2 "
    "standard deviations. Only differences between latents matter, so all curves are shifted to agree where the data "
    "decide a probability, and shown there. Below: histograms of the calibration inputs of true classes and of all "
    "others, each scaled separately; the outermost cells hold all beyond."
)
HOW_TO_READ_EFFECT = (
    "Test rows are binned by the confidence of the raw model (across); up is the mean calibrated probability of the "
    "same classes, with bands that hold 68 and 95\u00a0% of the functions drawn from the posterior. Grey dots are the "
    "shares of right predictions with 95\u00a0% Wilson intervals: a good calibration passes through them."
)


@dataclass(frozen=True, eq=False)
class LatentFit:
    """A fit as this page draws it, with a name short enough to stand beside a line."""

    fit: ShownFit
    gp: GPCalib
    name: str
    curve: LatentCurve
    effect: EffectStudy


def latent_fits(fits: list[ShownFit]) -> list[ShownFit]:
    """Those of the fits that have a latent function."""
    return [fit for fit in fits if isinstance(fit.calibrator, GPCalib)]


def prepared(session: OpenSession, chosen: list[ShownFit], fits: list[ShownFit]) -> list[LatentFit]:
    """The chosen fits with short names, beside the temperature of the first scaling that is fitted."""
    scalings = (fit.calibrator for fit in fits)
    temperature = next((float(c.temperature_) for c in scalings if isinstance(c, TemperatureScaling)), None)
    scale = "logit" if crowded(fits[0].evaluation.confidence) else "linear"
    names = short_names(
        METHODS["gpcalib"].title, [variant_of(fit.calibrator, fit.calibrator.n_classes_) for fit in chosen]
    )
    made = []
    for fit, name in zip(chosen, names, strict=True):
        assert isinstance(fit.calibrator, GPCalib)
        what, about = f"the latent function of {name}", (fit.calibrator, temperature, session.sample)
        key, rows = (fit.key, temperature), (rows_of(session.calibration), rows_of(session.test))
        curve = ready(("latent", *key), what, of_rows, latent_curve, *about, data=rows[0])
        effect = ready(("effect", *key), what, of_rows, study_effect, *about, scale, data=rows[1])
        made.append(LatentFit(fit, fit.calibrator, name, curve, effect))
    return made


def show_finding(fits: list[LatentFit]) -> None:
    """The finding, and the notes of each fit."""
    first = fits[0]
    if first.gp.collapsed_:
        st.markdown(collapsed(first.name, first.gp.scale_))
    else:
        said = (finding(first.name, first.effect), against_temperature(first.curve.temperature_outside))
        st.markdown(" ".join(filter(None, said)))
    for fit in fits:
        for note in fit.gp.notes():
            st.warning(escape_markdown(f"{fit.name}: {note}" if len(fits) > 1 else note))


def functions(fits: list[LatentFit]) -> None:
    """The latent functions, those of logits and those of probabilities apart."""
    spaces = list(dict.fromkeys(fit.gp.inputs for fit in fits))
    for inputs in spaces:
        within = [fit for fit in fits if fit.gp.inputs == inputs]
        height = 560 if len(spaces) == 1 else 440

        def build(within: list[LatentFit] = within, height: int = height) -> go.Figure:
            lines = [(fit.name, fit.curve, fit.fit.style) for fit in within]
            return latent_function(lines, method_style("temperature"), height)

        widgets.show_kept(("latent figure", height, *_key(within)), build, f"latent-{inputs}", HOW_TO_READ)
    if not fits[0].gp.collapsed_:
        sure = least_sure(fits[0].name, fits[0].effect.curve)
        st.caption(f"Shaded: 1 and 2 posterior standard deviations (68 and 95\u00a0%). {sure}")


def effects(fits: list[LatentFit]) -> None:
    """All confidences of the test rows, before and after, and what each fit reports."""
    curves = [(fit.name, fit.effect.curve, fit.fit.style) for fit in fits]
    draw = partial(effect_chart, curves, method_style("temperature"))
    widgets.show_kept(("effect figure", *_key(fits)), draw, "effect-on-confidence", HOW_TO_READ_EFFECT)
    if not fits[0].gp.collapsed_ and (said := temperature_on_rows(fits[0].effect.curve)):
        st.caption(said)
    for fit in fits:
        name = f"**{fit.name}**: " if len(fits) > 1 else ""
        st.caption(
            f"{name}{plural(len(fit.gp.inducing_inputs_), 'inducing point')} · objective "
            f"{number(fit.gp.objective_, 5)} after {plural(fit.gp.n_iter_, 'iteration')} · length scale "
            f"{number(fit.gp.lengthscale_)} · {fit.effect.changed:,} of {fit.effect.n_rows:,} predicted classes "
            f"changed · fitted in {number(fit.fit.fit_seconds)} s on {fit.gp.device_}"
        )


def _key(fits: list[LatentFit]) -> tuple[tuple[str, str, bool], ...]:
    return tuple((fit.fit.key, fit.name, fit.curve.temperature is not None) for fit in fits)
