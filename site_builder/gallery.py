"""Gallery of figures, each with the lines that draw it: a function of at most ten lines is a figure of the page."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

import calib
from calib.diagnostics.binning import binning_picture, information_by_bins
from calib.diagnostics.bins import binning_limits, error_by_bins
from calib.diagnostics.gaps import by_band
from calib.diagnostics.histograms import threshold_counts
from calib.diagnostics.over_under import over_under_confidence, theorem_one
from calib.diagnostics.reliability import diagram_parts
from calib.diagnostics.risk_coverage import risk_coverage
from calib.diagnostics.sequential_tests import tests_over_time
from calib.evaluation import evaluate
from calib.evaluation.view import EVENT, TOP_LABEL
from calib.metrics import net_benefit, risk_model
from calib.metrics.binning import BINNINGS
from calib.plots.binning import SCHEME_NAMES, SCHEME_STYLES, bins_over_densities
from calib.plots.bins import (
    error_by_bins_chart,
    error_by_rows_chart,
    information_rate_chart,
    steps_chart,
)
from calib.plots.decisions import decision_curves, risk_diagram, set_sizes, threshold_chart
from calib.plots.monitoring import e_value_chart, o_e_chart
from calib.plots.over_under import band_chart, ratio_to_odds, theorem_chain
from calib.plots.reliability import reliability_diagram
from calib.plots.risk_model import risk_model_diagram
from calib.plots.style import method_style
from calib.reporting.parts import figure_html
from calib.sklearn import ReliabilityDisplay
from site_builder.pictures import draw_script

PAGE = "gallery.md"
RAW, AFTER = method_style("identity"), method_style("temperature")


def parts_of(sample: str, method: str) -> tuple[calib.Predictions, np.ndarray, np.ndarray]:
    """Half of a sample's rows, with probabilities before and after a method that the other half fitted."""
    calibration, test = calib.load_sample(sample).split(0.5, random_state=0)
    return test, test.probs, calib.calibrator(method).fit(calibration).predict_proba(test)


def top(probs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Confidence in the predicted class, and whether it is right."""
    return probs.max(axis=1), probs.argmax(axis=1) == labels


def reliability_before_and_after() -> go.Figure:
    """Reliability of a random forest, in grey, and after temperature scaling."""
    test, before, after = parts_of("digits-forest", "temperature")
    behind = diagram_parts(*top(before, test.labels), None, "equal_mass")
    parts = diagram_parts(*top(after, test.labels), None, "equal_mass")
    return reliability_diagram(parts, AFTER, view=TOP_LABEL, behind=behind)


def display_of_scikit_learn() -> go.Figure:
    """Reliability as scikit-learn's display has it, with 95 % Wilson intervals."""
    test, before, _ = parts_of("clinic-tumours", "platt")
    return ReliabilityDisplay.from_predictions(test.labels, before).figure_


def calibration_curve_of_a_risk() -> go.Figure:
    """Calibration curve of a clinical risk: a spline with its 95 % band over the histogram of risks."""
    data = calib.load_sample("clinic-tumours")
    panel = risk_model(data.probs[:, 1], data.labels == 1, n_resamples=0)
    return risk_model_diagram(panel.curve, RAW)


def error_by_number_of_bins() -> go.Figure:
    """ECE by kind and number of bins: it is a choice, not a property of the model."""
    test, before, after = parts_of("digits-mlp", "temperature")
    errors = [error_by_bins(*top(probs, test.labels)) for probs in (before, after)]
    lines = list(zip(("raw model", "Temperature"), errors, (RAW, AFTER), strict=True))
    return error_by_bins_chart(lines, {kind: kind.replace("_", " ") for kind in BINNINGS}, "ECE")


def error_by_number_of_rows() -> go.Figure:
    """ECE by test rows: few rows make every model look worse."""
    test, before, after = parts_of("digits-mlp", "temperature")
    errors = [error_by_bins(*top(probs, test.labels)) for probs in (before, after)]
    lines = list(zip(("raw model", "Temperature"), errors, (RAW, AFTER), strict=True))
    return error_by_rows_chart(lines, "ECE")


def over_and_underconfidence() -> go.Figure:
    """Ratio of over- to underconfidence against the odds of a right prediction (Wenger et al. 2020)."""
    test, before, after = parts_of("digits-cnn", "temperature")
    evaluations = [evaluate(probs, test.labels) for probs in (before, after)]
    found = over_under_confidence(evaluations)
    return ratio_to_odds(list(zip(("raw model", "Temperature"), found, (RAW, AFTER), strict=True)))


def lower_bound_of_the_error() -> go.Figure:
    """Absolute gap, which bounds the ECE of any bins from below (theorem 1 of Wenger et al. 2020)."""
    test, before, after = parts_of("digits-cnn", "temperature")
    found = [theorem_one(*top(probs, test.labels)) for probs in (before, after)]
    return theorem_chain(list(zip(("raw model", "Temperature"), found, (RAW, AFTER), strict=True)))


def bands_of_confidence() -> go.Figure:
    """Contribution of each band of confidence to the gap."""
    test, before, after = parts_of("digits-cnn", "temperature")
    bands = [by_band(evaluate(probs, test.labels)) for probs in (before, after)]
    return band_chart(list(zip(("raw model", "Temperature"), bands, (RAW, AFTER), strict=True)))


def threshold_of_an_action() -> go.Figure:
    """Risk by outcome, and the threshold from which one acts."""
    test, _, after = parts_of("simulated-loans", "platt")
    counts = threshold_counts(after[:, 1], test.labels == 1, 0.1, "linear")
    return threshold_chart(counts, AFTER, EVENT, "look at")


def net_benefit_over_thresholds() -> go.Figure:
    """Decision curves: net benefit of the raw risk and after Platt scaling."""
    test, before, after = parts_of("simulated-loans", "platt")
    grid, happened = np.linspace(0.02, 0.4, 40), test.labels == 1
    curves = [net_benefit(probs[:, 1], happened, grid) for probs in (before, after)]
    return decision_curves(
        list(zip(("raw model", "Platt"), curves, (RAW, AFTER), strict=True)), 0.1
    )


def error_among_answers() -> go.Figure:
    """Risk-coverage curve: the error among the most confident predictions."""
    test, before, after = parts_of("simulated-answers", "platt")
    curves = [risk_coverage(probs[:, 1], test.correct) for probs in (before, after)]
    return risk_diagram(list(zip(("stated", "Platt"), curves, (RAW, AFTER), strict=True)), 0.2)


def sizes_of_prediction_sets() -> go.Figure:
    """Number of classes in 90 % prediction sets."""
    calibration, chosen, judged = calib.load_sample("digits-cnn").three_parts()
    fitted = calib.calibrator("temperature").fit(calibration)
    sets = calib.decisions.fit_sets(fitted, chosen, alpha=0.1).predict(fitted.predict_proba(judged))
    return set_sizes([("Temperature", np.bincount(sets.sum(axis=1), minlength=11), AFTER)])


def bins_of_imax() -> go.Figure:
    """Edges of three kinds of bins over the densities of the log-odds (Patel et al. 2020)."""
    data = calib.load_sample("digits-cnn")
    picture = binning_picture(data.logits, data.labels, n_bins=10)
    rails = [(SCHEME_NAMES[s], picture.schemes[s], SCHEME_STYLES[s]) for s in SCHEME_NAMES]
    return bins_over_densities(picture.density, rails)


def information_of_bins() -> go.Figure:
    """Information about the label that 2 to 32 bins keep."""
    data = calib.load_sample("digits-cnn")
    picture = binning_picture(data.logits, data.labels, n_bins=10)
    found = information_by_bins(picture.density, (2, 4, 8, 16, 32))
    return information_rate_chart(found, binning_limits(picture.density, 10))


def limits_of_binning() -> go.Figure:
    """Steps of I-Max to its optimum."""
    data = calib.load_sample("digits-cnn")
    picture = binning_picture(data.logits, data.labels, n_bins=10)
    return steps_chart(binning_limits(picture.density, 10))


def test_after_every_batch() -> go.Figure:
    """E-value after every batch of rows whose risks are 40 % too high from the sixth on."""
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.05, 0.5, 2400)
    happened = rng.random(2400) < np.where(np.arange(2400) < 1000, risk, 0.6 * risk)
    return e_value_chart(tests_over_time(risk, happened, size=200), RAW)


def observed_over_expected() -> go.Figure:
    """Cumulated O:E of the same rows, with a confidence sequence that holds however often one looks."""
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.05, 0.5, 2400)
    happened = rng.random(2400) < np.where(np.arange(2400) < 1000, risk, 0.6 * risk)
    return o_e_chart(tests_over_time(risk, happened, size=200), RAW)


FIGURES: tuple[Callable[[], go.Figure], ...] = (
    reliability_before_and_after,
    display_of_scikit_learn,
    calibration_curve_of_a_risk,
    error_by_number_of_bins,
    error_by_number_of_rows,
    over_and_underconfidence,
    lower_bound_of_the_error,
    bands_of_confidence,
    threshold_of_an_action,
    net_benefit_over_thresholds,
    error_among_answers,
    sizes_of_prediction_sets,
    bins_of_imax,
    information_of_bins,
    limits_of_binning,
    test_after_every_batch,
    observed_over_expected,
)
"""Figures of the gallery, in its order."""


def lines_of(figure: Callable[[], go.Figure]) -> str:
    """Code of a figure without its signature and its docstring."""
    source = inspect.getsource(figure)
    return (
        textwrap.dedent(source.split('"""', 2)[2].lstrip("\n"))
        .replace("return ", "figure = ")
        .rstrip()
    )


def shared() -> str:
    """Imports, helpers and styles that the figures share."""
    source = inspect.getsource(inspect.getmodule(top))  # type: ignore[arg-type]
    lines = source[source.index("import numpy") : source.index("PAGE = ")].splitlines()
    ours = [line for line in lines if not re.search("site_builder|reporting", line)]
    styles = 'RAW, AFTER = method_style("identity"), method_style("temperature")'
    helpers = [inspect.getsource(helper).rstrip() for helper in (parts_of, top)]
    return "\n\n".join(["\n".join(ours).strip(), styles, *helpers])


def page() -> str:
    """Text of the gallery."""
    drawings = [
        "\n\n".join(
            [
                f"## {figure.__name__.replace('_', ' ').capitalize()}",
                inspect.getdoc(figure) or "",
                f'<div class="drawing">{figure_html(figure())}</div>',
                f"```python\n{lines_of(figure)}\n```",
            ]
        )
        for figure in FIGURES
    ]
    return "\n\n".join(
        [
            "# Gallery",
            "Figures of the app, each with the lines that draw it, on samples of this project. "
            "`figure.show()` opens one. Shared imports and helpers are [at the foot](#imports-and-helpers).",
            *drawings,
            "## Imports and helpers",
            f"```python\n{shared()}\n```",
            draw_script(0),
        ]
    )
