"""One small instance of everything the figures are drawn from."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from calib.diagnostics.over_under import over_under_confidence, theorem_one
from calib.diagnostics.reliability import confidence_histogram, corp_curve, reliability_curve
from calib.diagnostics.subgroups import by_band, by_class
from calib.evaluation import evaluate
from calib.metrics import risk_model
from calib.numerics import softmax
from calib.plots.confidences import confidence_densities
from calib.plots.over_under import band_chart, before_after, per_class_chart, ratio_to_odds
from calib.plots.reliability import reliability_diagram
from calib.plots.risk_model import risk_model_diagram
from calib.plots.style import method_style
from calib.plots.theorem import theorem_chain
from tests.plots.latent_figures import latent_figures

NAMES = ("identity", "temperature", "gpcalib")


def words(fig: go.Figure) -> list[str]:
    """What is written in a figure, as plotly's HTML without colours."""
    return [re.sub(r"<span[^>]*>|</span>", "", note.text) for note in fig.layout.annotations]


def traces(fig: go.Figure, name: str) -> list[Any]:
    """The traces of a figure that have this name."""
    return [trace for trace in fig.data if trace.name == name]


def figures_with_a_title(overconfident: tuple[np.ndarray, np.ndarray], title: str = "") -> dict[str, go.Figure]:
    """Those whose title the caller gives."""
    logits, labels = overconfident
    probs = softmax(logits)
    style = method_style("gpcalib")
    curve = reliability_curve(probs, labels, n_bins=12, binning="equal_mass")
    evaluation = evaluate(probs, labels)
    classes = [f"class {k}" for k in range(logits.shape[1])]
    return {
        "reliability": reliability_diagram(curve, style, title=title),
        "reliability logit": reliability_diagram(curve, style, "logit", title=title),
        "reliability corp": reliability_diagram(curve, style, title=title, line=corp_curve(probs, labels)),
        "densities": confidence_densities(confidence_histogram(probs, labels), style, title=title),
        "classes": per_class_chart(classes, np.arange(4), [("raw", by_class(evaluation), style)], title=title),
        "risk model": risk_model_diagram(risk_model(*evaluation.pair, n_resamples=0).curve, style, title=title),
    }


def every_figure(overconfident: tuple[np.ndarray, np.ndarray]) -> dict[str, go.Figure]:
    logits, labels = overconfident
    probs = softmax(logits)
    style = method_style("gpcalib")
    evaluation = evaluate(probs, labels)
    named = [(name, method_style(name)) for name in NAMES]
    better = evaluate(softmax(logits / 2), labels)
    both = [evaluation, better, better]
    results = over_under_confidence(both)
    rows = [(name, result, style) for (name, style), result in zip(named, results, strict=True)]
    return {
        **figures_with_a_title(overconfident),
        "over": before_after(rows, "over"),
        "under": before_after(rows, "under"),
        "ratio": ratio_to_odds(rows),
        "theorem": theorem_chain([(name, theorem_one(*evaluation.pair), s) for name, s in named]),
        "bands": band_chart([("raw", by_band(evaluation), style)]),
        **latent_figures(),
    }


@pytest.fixture(scope="session")
def figures(overconfident: tuple[np.ndarray, np.ndarray]) -> dict[str, go.Figure]:
    return every_figure(overconfident)


@pytest.fixture(scope="session")
def titled_figures(overconfident: tuple[np.ndarray, np.ndarray]) -> dict[str, go.Figure]:
    return figures_with_a_title(overconfident, title="R&D <b>x")
