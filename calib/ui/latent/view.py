"""Parts of the Latent GP page: the finding, the latent functions, and their effect on a confidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import plotly.graph_objects as go
import streamlit as st

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.temperature import TemperatureScaling
from calib.data import Predictions
from calib.diagnostics.latent import LatentCurve, latent_curve, of_rows
from calib.diagnostics.latent_effect import (
    ConfidenceEffect,
    EffectCurve,
    EffectNear,
    confidence_effect,
    effect_curve,
    effect_near,
)
from calib.diagnostics.latent_pairwise import PairwiseCurve, pairwise_curve
from calib.formatting import escape_markdown, number, percent, plural
from calib.plots.annotations import overlay_styles, short_names
from calib.plots.axes import Scale, crowded
from calib.plots.latent import ObjectiveTrace, latent_function, latent_view, objective_traces, probability_view
from calib.plots.latent_effect import effect_chart
from calib.plots.style import Style, method_style
from calib.registry import METHODS, variant_of
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready, rows_of
from calib.ui.latent.text import against_others, against_temperature, becomes, collapsed, finding, least_sure, level
from calib.ui.session import OpenSession, keep
from calib.ui.widgets import scale_of_probabilities, segments

T = TypeVar("T")

HOW_TO_READ = (
    "Each line is the posterior mean of a latent function; the first has bands at 1 and 2 standard deviations, the "
    "others the outline of the wider one. The dotted line is the prior mean: the outputs as they are, unless its name "
    "has a scale; the dashed one is temperature scaling. Diamonds are the inducing points, with whiskers at 1 and 2 "
    "standard deviations. Only differences between latents matter, so all curves are shifted to agree where the data "
    "lie. Below: histograms of the calibration inputs of true classes and of all others, each scaled separately."
)
HOW_TO_READ_PROBABILITY = (
    "The calibrated probability of a class to which the model gives this probability, where one other class has all "
    "the rest (two-class probability). On the dotted diagonal nothing changes. With two classes, a known true "
    "probability is that of class 1. Functions of logits and of probabilities share these axes; for logits, the pair "
    "is placed at the mean logit of true classes. Beneath: how many raw probabilities of true classes there are, and "
    "downwards of all others."
)
HOW_TO_READ_EFFECT = (
    "Test rows are binned by the confidence of the raw model (across); up is the mean calibrated probability of the "
    "same classes, with bands that hold 68 and 95\u00a0% of the functions drawn from the posterior. Grey dots are the "
    "shares of right predictions with 95\u00a0% Wilson intervals: a good calibration passes through them."
)
HOW_TO_READ_OBJECTIVE = (
    "The variational objective in nats at each iteration of the fit; it ends flat, with a dot, where the fit "
    "converged, and with a cross where it did not. Objectives of other inputs or covariances are other objectives."
)
SPACES = ("latent", "probability")
LEVELS = (*(k / 100 for k in range(1, 100)), 0.995, 0.998, 0.999, 0.9995, 0.9999)
"""Raw confidences that can be followed, where the test rows have such."""
USUAL = 0.93


@dataclass(frozen=True)
class LatentFit:
    """A fit as this page draws it: ``name`` is short enough to stand beside a line, ``style`` a shade of its colour."""

    session: OpenSession
    fit: ShownFit
    gp: GPCalib
    name: str
    style: Style
    temperature: float | None

    def curve(self) -> LatentCurve:
        """The latent function over the calibration set."""
        return self._computed("latent", latent_curve, self.session.calibration)

    def pairwise(self, scale: Scale) -> PairwiseCurve:
        """What it does to a probability."""
        return self._computed("pairwise", pairwise_curve, self.session.calibration, scale)

    def effect(self) -> ConfidenceEffect:
        """What it does to the confidence of the test rows."""
        return self._computed("effect", confidence_effect, self.session.test)

    def effect_curve(self, scale: Scale) -> EffectCurve:
        """The same in bins."""
        return keep(("effect curve", self.fit.key, self.temperature, scale), lambda: effect_curve(self.effect(), scale))

    def _computed(self, name: str, compute: Callable[..., T], part: Predictions, *more: Any) -> T:
        key = (name, self.fit.key, self.temperature, *more)
        what = f"the latent function of {self.name}"
        about = (self.gp, self.temperature, self.session.sample, *more)
        return ready(key, what, of_rows, compute, *about, data=rows_of(part))


def latent_fits(fits: list[ShownFit]) -> list[ShownFit]:
    """Those of the fits that have a latent function."""
    return [fit for fit in fits if isinstance(fit.calibrator, GPCalib)]


def prepared(session: OpenSession, chosen: list[ShownFit], fits: list[ShownFit]) -> list[LatentFit]:
    """The chosen fits with short names and shades, and the temperature of the first scaling that is fitted."""
    scalings = (fit.calibrator for fit in fits)
    temperature = next((float(c.temperature_) for c in scalings if isinstance(c, TemperatureScaling)), None)
    names = short_names(
        METHODS["gpcalib"].title, [variant_of(fit.calibrator, fit.calibrator.n_classes_) for fit in chosen]
    )
    styles = overlay_styles([fit.style for fit in chosen])
    return [
        LatentFit(session, fit, fit.calibrator, name, style, temperature)
        for fit, name, style in zip(chosen, names, styles, strict=True)
        if isinstance(fit.calibrator, GPCalib)
    ]


def show_finding(fits: list[LatentFit], scale: Scale) -> None:
    """The finding, and the notes of each fit."""
    first = fits[0]
    if first.gp.collapsed_:
        st.markdown(collapsed(first.name, first.gp.scale_))
    else:
        curve = first.effect_curve(scale)
        st.markdown(" ".join(filter(None, [finding(first.name, first.effect()), against_temperature(curve)])))
    for fit in fits:
        for note in fit.gp.notes():
            st.warning(escape_markdown(f"{fit.name}: {note}" if len(fits) > 1 else note))


def what_is_drawn(fits: list[LatentFit], scale: Scale) -> None:
    """What the bands are, where the first fit is least sure, and which of the others leave its band."""
    first = fits[0]
    if first.gp.collapsed_:
        return
    others = [(fit.name, fit.effect_curve(scale)) for fit in fits[1:]]
    curve = first.effect_curve(scale)
    said = (least_sure(first.name, curve), against_others(first.name, curve, others))
    st.caption(" ".join(filter(None, ("Shaded: 1 and 2 posterior standard deviations (68 and 95\u00a0%).", *said))))


def choose_space(begin: Scale) -> Scale | None:
    """Let the visitor see latents, or probabilities on the scale that is returned."""
    with st.container(horizontal=True, gap="large"):
        space = segments("Shown as", SPACES, "latent", "latent/space", str.capitalize)
        return scale_of_probabilities(begin, f"latent/scale/{begin}") if space == "probability" else None


def functions(fits: list[LatentFit], scale: Scale | None) -> None:
    """The latent functions, those of logits and those of probabilities apart; with a scale as maps of a probability."""
    if scale is not None:
        _draw_functions(fits, "probability", HOW_TO_READ_PROBABILITY, scale, 560)
        return
    spaces = list(dict.fromkeys(fit.gp.inputs for fit in fits))
    for inputs in spaces:
        within = [fit for fit in fits if fit.gp.inputs == inputs]
        _draw_functions(within, f"latent-{inputs}", HOW_TO_READ, None, 560 if len(spaces) == 1 else 440)


def _draw_functions(fits: list[LatentFit], name: str, how_to_read: str, scale: Scale | None, height: int) -> None:
    def build() -> go.Figure:
        views = [latent_view(fit.curve()) if scale is None else probability_view(fit.pairwise(scale)) for fit in fits]
        lines = [(fit.name, view, fit.style) for fit, view in zip(fits, views, strict=True)]
        return latent_function(lines, method_style("temperature"), height=height)

    widgets.show_kept(("latent figure", name, scale, height, *_key(fits)), build, name, how_to_read)


def probe(fits: list[LatentFit]) -> float:
    """Let the visitor follow one confidence of the raw model through the fits; returns it."""
    effect = fits[0].effect()
    lowest, highest = float(effect.before[0]), float(effect.before[-1])
    options = [step for step in LEVELS if lowest <= step <= highest] or [float(f"{highest:.3g}")]
    usual = USUAL if lowest <= USUAL <= highest else float(effect.before[len(effect.before) // 2])
    chosen = begin = min(options, key=lambda step: abs(step - usual))
    if len(options) > 1:
        chosen = st.select_slider(
            "A confidence of the raw model", options, value=begin, format_func=level,
            key=f"latent/probe/{options[0]}/{options[-1]}", persist_state="session",
        )  # fmt: skip
    nearest = [effect_near(fit.effect(), chosen) for fit in fits]
    with st.container(horizontal=True, gap="medium"):
        for fit, near in zip(fits, nearest, strict=True):
            if near is not None:
                label = f"{level(near.before)} becomes" + (f" · {fit.name}" if len(fits) > 1 else "")
                sd = None if fit.gp.collapsed_ else near.sd
                st.metric(label, becomes(near.after, sd), width="content")
        if nearest[0] is not None and nearest[0].temperature is not None:
            label = (
                f"{level(nearest[0].before)} becomes · temperature" if len(fits) > 1 else "temperature scaling gives"
            )
            st.metric(label, becomes(nearest[0].temperature, None), width="content")
    meaning = "" if all(fit.gp.collapsed_ for fit in fits) else "± is one posterior standard deviation. "
    st.caption(meaning + _beneath(nearest[0], chosen, effect.every))
    return chosen


def effects(fits: list[LatentFit], scale: Scale, marked: float) -> None:
    """All confidences of the test rows, before and after."""
    curves = [(fit.name, fit.effect_curve(scale), fit.style) for fit in fits]
    widgets.show_kept(
        ("effect figure", scale, marked, *_key(fits)),
        partial(effect_chart, curves, method_style("temperature"), probe=marked),
        "effect-on-confidence",
        HOW_TO_READ_EFFECT,
    )


def _beneath(near: EffectNear | None, chosen: float, every: int) -> str:
    if near is None:
        return f"No test row has a confidence near {level(chosen)}."
    of = "" if every == 1 else f" (of every {every}th)"
    return (
        f"{plural(near.count, 'test row')}{of} nearest to {level(chosen)}, of "
        f"which {percent(near.accuracy)} are right (95\u00a0%: {percent(near.accuracy_low)} to "
        f"{percent(near.accuracy_high)})."
    )


def progress(fits: list[LatentFit]) -> None:
    """The objective over the iterations, and what each fit reports."""
    for fit in fits:
        effect = fit.effect()
        name = f"**{fit.name}**: " if len(fits) > 1 else ""
        st.caption(
            f"{name}{plural(len(fit.gp.inducing_inputs_), 'inducing point')} · objective "
            f"{number(fit.gp.objective_, 5)} after {plural(fit.gp.n_iter_, 'iteration')} · length scale "
            f"{number(fit.gp.lengthscale_)} · {effect.changed:,} of {len(effect.before):,} predicted classes changed · "
            f"fitted in {number(fit.fit.fit_seconds)} s on {fit.gp.device_}"
        )
    traces = [ObjectiveTrace(fit.name, fit.gp.objective_trace_, fit.gp.converged_, fit.style) for fit in fits]
    widgets.show_kept(
        ("objective figure", *_key(fits)), lambda: objective_traces(traces), "latent-objective", HOW_TO_READ_OBJECTIVE
    )


def readable_scale(raw: ShownFit) -> Scale:
    """The scale that resolves most of the raw model's confidences."""
    return "logit" if crowded(raw.evaluation.confidence) else "linear"


def _key(fits: list[LatentFit]) -> tuple[tuple[str, str, float | None], ...]:
    return tuple((fit.fit.key, fit.name, fit.temperature) for fit in fits)
