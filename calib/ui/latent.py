"""Parts of the Latent GP page: the finding, the latent functions, and their effect on a confidence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.temperature import TemperatureScaling
from calib.diagnostics.latent import (
    EffectCurve,
    EffectStudy,
    GroupChange,
    LatentCurve,
    latent_curve,
    of_rows,
    study_effect,
)
from calib.formatting import escape_markdown, listed, number, percent, plural
from calib.plots.axes import crowded
from calib.plots.latent import effect_chart, latent_function
from calib.plots.style import method_style
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready, rows_of, short_titles
from calib.ui.session import OpenSession

HALF_A_POINT = 0.005
SAME = 0.05
"""Share outside a 95 % band that is expected by chance."""


def finding(name: str, effect: EffectStudy) -> str:
    """Describe the effect on high, middle and low confidences."""
    if not effect.changes:
        return f"Too few test rows ({effect.n_rows}) for the effect of {name} on their confidences."
    return f"**{name} {_describe_changes(effect.changes)}.**"


def against_temperature(outside: float | None) -> str:
    """Return whether the line of one temperature lies in the drawn band; see ``LatentCurve.temperature_outside``."""
    if outside is None:
        return ""
    if outside > SAME:
        return (
            f"One temperature cannot follow this curve: it leaves the 95\u00a0% band at {percent(outside, 0)} of the "
            "logits that decide."
        )
    inside = percent(1 - outside, 0)
    return f"One temperature follows this curve, in the 95\u00a0% band at {inside} of the logits that decide."


def least_sure(name: str, curve: EffectCurve) -> str:
    """Place where the posterior is widest."""
    widest = int(np.argmax(curve.sd))
    return (
        f"The posterior of {name} is widest at confidences about {number(float(curve.before[widest]))} (sd "
        f"{points(float(curve.sd[widest]))} points)."
    )


def collapsed(name: str, scale: float) -> str:
    """For a fit whose kernel variance went to 0."""
    did = "changes nothing" if scale == 1.0 else f"only divides the logits by {scale:g}"
    return f"**{name} {did} here**: it has no band; its uncertainty is unknown, not zero."


def points(share: float) -> str:
    """A share in percentage points, without a sign."""
    return number(100 * abs(share), 1) if 0 < abs(share) < 0.0005 else f"{100 * abs(share):.1f}"


def _describe_changes(groups: list[GroupChange]) -> str:
    """Lowers confidences above 0.9 by 3.1 points (±0.4) and those from 0.5 to 0.9 by 9.0 points (±1.2)."""
    clauses: dict[str, list[str]] = {}
    for group in groups:
        verb, amount = _change(group)
        noun = "those" if clauses else "confidences"
        clauses.setdefault(verb, []).append(f"{noun} {_range(group)} {amount}")
    return listed([f"{verb} {listed(objects)}" for verb, objects in clauses.items()])


def _change(group: GroupChange) -> tuple[str, str]:
    """Describe the change of the confidences of a range, and its size."""
    low = group.change - 2 * group.sd
    high = group.change + 2 * group.sd
    most = max(abs(low), abs(high))
    if most < HALF_A_POINT:
        return "leaves", f"as they are (within {points(most)} points)"
    if group.certain:
        return (
            "raises" if group.change > 0 else "lowers",
            f"by {points(group.change)} points (sd {points(group.sd)})",
        )
    return "may move", f"by anything from {_signed(low)} to {_signed(high)} points"


def _range(group: GroupChange) -> str:
    if group.high == 1.0:
        return f"above {group.low:g}"
    return f"up to {group.high:g}" if group.low == 0.0 else f"from {group.low:g} to {group.high:g}"


def _signed(share: float) -> str:
    return f"{'−' if share < 0 else '+'}{100 * abs(share):.1f}"


HOW_TO_READ = (
    "Each line is the posterior mean of a latent function. The first has bands at 1 and 2 standard deviations, the "
    "others the outline of the wider one. The dotted line is the prior mean: the outputs as they are, unless its "
    "name has a scale; the dashed one is temperature scaling. Diamonds are the inducing points, with whiskers at 1 "
    "and 2 standard deviations. Only differences between latents matter, so all curves are shifted to agree where "
    "the data decide a probability, and shown there. A logit decides by its p\u00a0(1\u00a0−\u00a0p). Below: the "
    "calibration inputs of true classes and of all others, on one square-root scale; the outermost cells hold all "
    "beyond."
)
HOW_TO_READ_EFFECT = (
    "Test rows are binned by the confidence of the raw model (across). Up is the mean calibrated probability of the "
    "same classes. Bands contain 68 and 95\u00a0% of the functions drawn from the posterior. Grey dots are the "
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
    """Fits that have a latent function."""
    return [fit for fit in fits if isinstance(fit.calibrator, GPCalib)]


def prepared(session: OpenSession, chosen: list[ShownFit], fits: list[ShownFit]) -> list[LatentFit]:
    """The chosen fits with short names, beside the temperature of the first scaling that is fitted."""
    scalings = (fit.calibrator for fit in fits)
    temperature = next(
        (float(c.temperature_) for c in scalings if isinstance(c, TemperatureScaling)), None
    )
    scale = "logit" if crowded(fits[0].evaluation.confidence) else "linear"
    result = []
    for fit, name in zip(chosen, short_titles(chosen), strict=True):
        assert isinstance(fit.calibrator, GPCalib)
        what = f"the latent function of {name}"
        about = (fit.calibrator, temperature, session.sample)
        key = (fit.key, temperature)
        rows = (rows_of(session.calibration), rows_of(session.test))
        curve = ready(("latent", *key), what, of_rows, latent_curve, *about, data=rows[0])
        effect = ready(("effect", *key), what, of_rows, study_effect, *about, scale, data=rows[1])
        result.append(LatentFit(fit, fit.calibrator, name, curve, effect))
    return result


def show_finding(fits: list[LatentFit]) -> None:
    """The finding, and the notes of each fit."""
    first = fits[0]
    if first.gp.collapsed_:
        st.markdown(collapsed(first.name, first.gp.scale_))
    else:
        sentences = (
            finding(first.name, first.effect),
            against_temperature(first.curve.temperature_outside),
        )
        st.markdown(" ".join(filter(None, sentences)))
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

        widgets.show_cached(
            ("latent figure", height, *_key(within)), build, f"latent-{inputs}", HOW_TO_READ
        )
    if not fits[0].gp.collapsed_:
        sure = least_sure(fits[0].name, fits[0].effect.curve)
        st.caption(f"Shaded: 1 and 2 posterior standard deviations (68 and 95\u00a0%). {sure}")


def effects(fits: list[LatentFit]) -> None:
    """Show the confidences of all test rows, before and after, and what each fit reports."""
    curves = [(fit.name, fit.effect.curve, fit.fit.style) for fit in fits]
    draw = partial(effect_chart, curves, method_style("temperature"))
    widgets.show_cached(
        ("effect figure", *_key(fits)), draw, "effect-on-confidence", HOW_TO_READ_EFFECT
    )
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
