"""Every figure, drawn from data sets on which axes are most likely to go wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from scipy.special import expit, logit, logsumexp

from calib.auditing.findings import GroupFinding, Severity
from calib.calibrators.bayes_iso import BayesIso
from calib.calibrators.geometric.search import TrainingSet
from calib.diagnostics.binning import BinningPicture, binning_picture, information_by_bins
from calib.diagnostics.bins import binning_limits, error_by_bins, set_divergence
from calib.diagnostics.calibration_maps import (
    balanced_edges,
    class_pairs,
    posterior_map,
    score_axis,
)
from calib.diagnostics.gaps import by_band, gaps_by_group
from calib.diagnostics.histograms import (
    Frequencies,
    confidence_histogram,
    frequencies,
    sided_counts,
    threshold_counts,
)
from calib.diagnostics.latent import EffectCurve, LatentCurve
from calib.diagnostics.map_samples import prior_draws
from calib.diagnostics.over_under import over_under_confidence, theorem_one
from calib.diagnostics.reliability import diagram_parts, reliability_curve
from calib.diagnostics.risk_coverage import risk_coverage
from calib.diagnostics.separation import explain, neighbourhood, success_rates
from calib.diagnostics.sequential_tests import batches_of, sequential_tests
from calib.errors import CalibrationError
from calib.evaluation import evaluate
from calib.evaluation.view import EVENT, TOP_LABEL, View
from calib.metrics import net_benefit, risk_model
from calib.metrics.binning import BINNINGS
from calib.metrics.bootstrap import Interval, share_interval
from calib.numerics import one_vs_rest_log_odds, softmax
from calib.plots.active_learning import ArmLine, learning_curves
from calib.plots.binning import (
    SCHEME_NAMES,
    SCHEME_STYLES,
    Rail,
    bins_over_densities,
    representatives,
)
from calib.plots.bins import (
    error_by_bins_chart,
    error_by_rows_chart,
    information_rate_chart,
    set_divergence_chart,
    steps_chart,
)
from calib.plots.decisions import decision_curves, risk_diagram, set_sizes, threshold_chart
from calib.plots.geometry import success_curve, zone_chart
from calib.plots.groups import forest
from calib.plots.latent import effect_chart, latent_function
from calib.plots.map_samples import sampled_maps
from calib.plots.maps import EndRow, MapLine, MapPicture, calibration_maps, end_rows
from calib.plots.monitoring import confidence_drift, e_value_chart, o_e_chart
from calib.plots.numbered import numbered_scores_chart
from calib.plots.over_under import (
    band_chart,
    per_class_chart,
    ratio_to_odds,
    theorem_chain,
)
from calib.plots.reliability import SIDE, before_and_after, reliability_diagram
from calib.plots.risk_model import risk_model_diagram
from calib.plots.style import TRUTH, Style, method_style
from calib.tasks.numbered import NumberedScores

RAW, SCALED, GP = (method_style(name) for name in ("identity", "temperature", "gpcalib"))


@dataclass(frozen=True)
class Case:
    """Outputs of a model on which figures are tried: logits (n, n_classes), labels and weights (n,)."""

    logits: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None = None

    @property
    def binary(self) -> bool:
        """Whether the second class is an event."""
        return self.logits.shape[1] == 2


def _event(risk: np.ndarray, seed: int) -> Case:
    happened = np.random.default_rng(seed).random(len(risk)) < risk
    return Case(np.stack([np.zeros(len(risk)), logit(risk)], axis=1), happened.astype(int))


def _rare() -> Case:
    return _event(expit(np.random.default_rng(1).normal(-6, 1.5, 1500)), 2)


def _classes() -> Case:
    generator = np.random.default_rng(3)
    labels = generator.integers(0, 100, 600)
    logits = generator.normal(size=(600, 100))
    logits[np.arange(600), labels] += 3
    return Case(2 * logits, labels)


def _useless() -> Case:
    generator = np.random.default_rng(4)
    return Case(0.01 * generator.normal(size=(600, 3)), generator.integers(0, 3, 600))


def _perfect() -> Case:
    labels = np.random.default_rng(5).integers(0, 3, 600)
    return Case(20 * np.eye(3)[labels], labels)


def _two_risks() -> Case:
    return _event(np.where(np.arange(400) % 3 == 0, 0.7, 0.1), 6)


def _extremes() -> Case:
    generator = np.random.default_rng(7)
    logits = generator.choice([0.0, 5.0, 700.0], size=(200, 2))
    return Case(logits, generator.integers(0, 2, 200))


def _six_levels() -> Case:
    return _event(np.random.default_rng(8).choice([0.05, 0.1, 0.3, 0.5, 0.8, 0.95], 500), 9)


def _mostly_certain() -> Case:
    """57 % of the rows have a probability of 1."""
    generator = np.random.default_rng(10)
    logits = np.where(generator.random(500) < 0.57, 800.0, generator.normal(1, 2, 500))
    labels = generator.random(500) < 0.9 * expit(logits)
    return Case(np.stack([np.zeros(500), logits], axis=1), labels.astype(int))


def _one_in_200() -> Case:
    return _event(expit(np.random.default_rng(11).normal(-5.8, 1.0, 4000)), 12)


def _log_probabilities() -> Case:
    """97 classes whose log-probabilities go down to -5,796, as those of decision trees and of naive Bayes do."""
    generator = np.random.default_rng(13)
    labels = generator.integers(0, 97, 400)
    logits = -np.exp(generator.uniform(0, np.log(5796), (400, 97)))
    logits[np.arange(400), labels] = np.where(generator.random(400) < 0.6, 0.0, -3.0)
    logits[0, 0], labels[0] = -5796.0, 1
    return Case(logits - logsumexp(logits, axis=1, keepdims=True), labels)


def _weighted() -> Case:
    generator = np.random.default_rng(14)
    case = _event(expit(generator.normal(-1, 1, 600)), 15)
    weights = np.exp(generator.normal(0, 1.5, 600)) * (generator.random(600) < 0.9)
    return replace(case, weights=weights)


CASES: dict[str, Callable[[], Case]] = {
    "rare event": _rare, "100 classes": _classes, "useless": _useless, "perfect": _perfect,
    "two risks": _two_risks, "extremes": _extremes, "six levels": _six_levels, "mostly certain": _mostly_certain,
    "one in 200": _one_in_200, "log-probabilities": _log_probabilities, "weighted": _weighted,
}  # fmt: skip


def zoo(case: Case, name: str = "GPcalib") -> dict[str, go.Figure]:
    """Every figure of a case; ``name`` is what a class, group, column and method is called."""
    figures: dict[str, go.Figure] = {}
    for draw in (
        _reliability,
        _over_under,
        _decide,
        _maps,
        _bins,
        _latent,
        _geometry,
        _others,
    ):
        figures |= draw(case, name)
    return figures


def _pair(case: Case) -> tuple[np.ndarray, np.ndarray]:
    probs = softmax(case.logits)
    if case.binary:
        return probs[:, 1], case.labels == 1
    return probs.max(axis=1), probs.argmax(axis=1) == case.labels


def _view(case: Case, name: str) -> View:
    return replace(EVENT, event_name=name) if case.binary else TOP_LABEL


def _reliability(case: Case, name: str) -> dict[str, go.Figure]:
    said, outcome = _pair(case)
    view = _view(case, name)
    weights = case.weights
    figures = {}
    for binning in ("equal_mass", "equal_width"):
        parts = diagram_parts(said, outcome, None, binning, weights=weights)
        behind = diagram_parts(said**1.5, outcome, None, binning, weights=weights)
        for scale in ("linear", "logit"):
            for side in (SIDE, 252):
                figures[f"reliability {binning} {scale} {side}"] = reliability_diagram(
                    parts, GP, view=view, behind=behind, scale=scale, title=name, side=side
                )
    both = [confidence_histogram(s, outcome, scale="logit") for s in (said, said**1.3)]
    figures["drift"] = confidence_drift(*both, GP, view=view)
    errors = [error_by_bins(s, outcome, weights) for s in (said, said**1.5)]
    lines = list(zip(("raw", name), errors, (RAW, GP), strict=True))
    titles = {kind: kind for kind in BINNINGS}
    figures["error by bins"] = error_by_bins_chart(lines, titles, "ECE")
    figures["error by rows"] = error_by_rows_chart(lines, "ECE")
    curve = parts.curve
    means, rates = (
        np.stack([curve.confidence, curve.accuracy], axis=1),
        np.stack([curve.accuracy] * 2, axis=1),
    )
    figures["before and after"] = before_and_after(means, rates, GP)
    if case.binary:
        figures["risk model"] = risk_model_diagram(
            risk_model(said, outcome, n_resamples=0).curve, GP, title=name
        )
    return figures


def _groups(case: Case, name: str) -> list[GroupFinding]:
    """Every class as a group, by the share of its rows that are right."""
    right = case.logits.argmax(axis=1) == case.labels
    found = []
    for k in np.unique(case.labels)[:18]:
        rate = float(right[case.labels == k].mean())
        gap = Interval(rate - 0.5, max(rate - 0.7, -1.0), min(rate - 0.3, 1.0))
        severity: Severity = "problem" if abs(gap.value) > 0.2 else "fine"
        found.append(GroupFinding(f"{name} {k}", 40, 0.5, rate, gap, severity, ("class",), 20))
    return found


def _over_under(case: Case, name: str) -> dict[str, go.Figure]:
    probs = softmax(case.logits)
    evaluations = [evaluate(p, case.labels) for p in (probs, softmax(case.logits / 2))]

    def rows_of(found: list[Any]) -> list[tuple[str, Any, Style]]:
        return list(zip(("raw", name), found, (RAW, GP), strict=True))

    rows = rows_of(over_under_confidence(evaluations))
    classes = rows_of([gaps_by_group(*e.pair, e.predicted, e.n_classes) for e in evaluations])
    names = [f"{name} {k}" for k in range(probs.shape[1])]
    order = classes[0][1].worst_first()[:12]
    return {
        "ratio": ratio_to_odds(rows),
        "theorem": theorem_chain(rows_of([theorem_one(*e.pair) for e in evaluations])),
        "bands": band_chart(rows_of([by_band(e) for e in evaluations])),
        "classes": per_class_chart(names, order, classes, title=name),
        "groups": forest(_groups(case, name), 40, EVENT),
    }


def _decide(case: Case, name: str) -> dict[str, go.Figure]:
    probs = softmax(case.logits)
    confidence, correct = probs.max(axis=1), probs.argmax(axis=1) == case.labels
    named = [
        ("raw", risk_coverage(confidence, correct), RAW),
        (name, risk_coverage(confidence[::-1], correct), GP),
    ]
    counts = np.bincount(
        np.minimum((probs > 0.05).sum(axis=1), probs.shape[1]), minlength=probs.shape[1] + 1
    )
    view = _view(case, name)
    sides = [
        threshold_counts(*_pair(case), cut, scale)
        for cut, scale in ((0.8, "linear"), (0.02, "logit"))
    ]
    figures = {
        "threshold": threshold_chart(sides[0], GP, view, "act", (0.1, 0.7)),
        "threshold on log-odds": threshold_chart(sides[1], GP, view, "act", (0.001, 0.5)),
        "risk coverage": risk_diagram(named, 0.05, title=name),
        "set sizes": set_sizes([("raw", counts, RAW), (name, counts, GP)]),
    }
    if case.binary:
        said, happened = _pair(case)
        grid = np.linspace(0.01, 0.6, 40)
        curves = [
            ("raw", net_benefit(said, happened, grid), RAW),
            (name, net_benefit(said**1.2, happened, grid), GP),
        ]
        figures["decision curve"] = decision_curves(curves, 0.2)
        found = sequential_tests(said, happened, *batches_of(len(said), size=40))
        figures |= {"e-values": e_value_chart(found, GP), "O:E": o_e_chart(found, GP)}
    return figures


def map_picture(
    name: str,
    kind: str,
    grid: np.ndarray,
    log_odds: np.ndarray,
    positives: np.ndarray,
    seen: Frequencies,
) -> MapPicture:
    """The rows beneath maps, whose truth is the sigmoid of their log-odds."""
    axis = score_axis(kind, log_odds)
    cells = np.linspace(*axis.limits, 21)
    inside, others = (
        np.histogram(axis.place(log_odds[rows]), cells)[0] for rows in (positives, ~positives)
    )
    return MapPicture(name, axis, grid, seen, "test", cells, inside, others, truth=expit(grid))


def _maps(case: Case, name: str) -> dict[str, go.Figure]:
    two = np.stack(
        [np.zeros(len(case.labels)), one_vs_rest_log_odds(np.clip(case.logits, -300, 300))[:, 1]],
        axis=1,
    )
    labels = (case.labels == 1).astype(int)
    log_odds, positives = class_pairs(two, labels)
    seen = frequencies(log_odds, positives, balanced_edges(log_odds, positives, 8))
    figures = {}
    try:
        posterior = posterior_map(BayesIso(n_maps=200).fit(two, labels))
    except CalibrationError:
        posterior = None
    scales = (
        ("rank", "linear"),
        ("log_odds", "logit"),
        ("probability", "linear"),
        ("log_odds", "change"),
    )
    for kind, scale in scales:
        grid = np.linspace(log_odds.min(), log_odds.max() + 1e-9, 61)
        picture = map_picture(name, kind, grid, log_odds, positives, seen)
        lines = [MapLine(name, RAW, expit(grid)), MapLine("half", GP, expit(grid / 2))]
        known = None if posterior is None else (posterior, GP)
        figures[f"maps {kind} {scale}"] = calibration_maps(picture, lines, scale, known)
    if posterior is not None:
        draws = prior_draws(1, posterior, data={"logits": two, "labels": labels})
        bounds = (("lower", draws.lower, GP), (name, draws.upper, GP))
        arguments = (draws.ranks, draws.bounded, RAW, name, "rank", bounds)
        figures["prior"] = sampled_maps(*arguments)
        truth = (("truth", draws.mean, Style(TRUTH)),)
        replicates = draws.ranks, draws.bounded[:10], GP, name, "probability of the model", truth
        figures["replicates"] = sampled_maps(*replicates)
    share = Interval(
        float(positives.mean()), 0.9 * float(positives.mean()), float(positives.mean()) ** 0.5
    )
    rows = [
        EndRow(name, RAW, float(expit(log_odds).max()), "overconfident"),
        EndRow("b", GP, 0.3, "fits"),
    ]
    figures["ends"] = end_rows(rows, share, 50, name)
    return figures


def rails_of(picture: BinningPicture, name: str) -> list[Rail]:
    """The three schemes, and bins that were given."""
    rails = [
        (SCHEME_NAMES[scheme], picture.schemes[scheme], SCHEME_STYLES[scheme])
        for scheme in SCHEME_NAMES
    ]
    return [*rails, (name, picture.schemes[name], method_style("imax", 1))]


def _bins(case: Case, name: str) -> dict[str, go.Figure]:
    logits = np.clip(case.logits, -30, 30)
    given = {name: (np.array([-1.0, 2.0]), np.array([0.1, 0.4, 0.9]))}
    try:
        picture = binning_picture(logits, case.labels, n_bins=8, fitted_bins=given)
    except CalibrationError:
        return {}
    rails = rails_of(picture, name)
    by_bins = information_by_bins(picture.density, (2, 4, 8))
    limits = binning_limits(picture.density, 8)
    sets = set_divergence(data={"logits": logits, "labels": case.labels})
    return {
        "bins": bins_over_densities(picture.density, rails),
        "representatives": representatives(picture.density, rails),
        "representatives logit": representatives(picture.density, rails, "logit"),
        "information by rate": information_rate_chart(by_bins, limits),
        "steps": steps_chart(limits),
        "sets": set_divergence_chart(sets),
    }


def halved(inputs: np.ndarray) -> LatentCurve:
    """A latent function that halves every logit."""
    return LatentCurve(
        inputs=inputs, mean=inputs / 2, sd=np.linspace(3, 0.1, len(inputs)), prior=inputs, prior_name="identity",
        temperature=inputs / 3, temperature_outside=0.0, truth=0.4 * inputs, inducing=inputs[::20],
        density_edges=np.linspace(inputs[0], 0, 31),
        density_label=np.arange(30.0), density_other=1000 * np.arange(30.0)[::-1], every=1, space="logits",
    )  # fmt: skip


def _latent(case: Case, name: str) -> dict[str, go.Figure]:
    probs = softmax(case.logits)
    low = max(float(np.log(np.clip(probs, 1e-12, 1)).min()), -30.0)
    curve = halved(np.linspace(min(low, -0.5), 0.0, 80))
    figures = {"latent": latent_function([(name, curve, GP), ("b", curve, RAW)], SCALED)}
    styles = [GP, method_style("gpcalib", 1)]
    for scale in ("linear", "logit"):
        figures[f"effect {scale}"] = effect_chart(effects(case, name, scale, styles), SCALED)
    return figures


def effects(case: Case, name: str, scale: str, styles: list) -> list:
    said, outcome = (
        softmax(case.logits).max(axis=1),
        softmax(case.logits).argmax(axis=1) == case.labels,
    )
    curve = reliability_curve(said, outcome, n_bins=10, binning="equal_mass")
    before = curve.confidence
    lines = []
    for title, power, style in zip((name, "b"), (1.5, 0.7), styles, strict=True):
        after = before**power
        bands = tuple(
            (np.clip(after - w, 1e-9, 1), np.clip(after + w, 0, 1 - 1e-12)) for w in (0.2, 0.1)
        )
        lines.append((title, EffectCurve(
            before=before, after=after, sd=np.full(len(before), 0.1), bands=bands, accuracy=curve.accuracy,
            accuracy_low=curve.low, accuracy_high=curve.high, count=curve.count, temperature=before**1.1, truth=None,
            scale=scale,
        ), style))  # fmt: skip
    return lines


def _geometry(case: Case, name: str) -> dict[str, go.Figure]:
    said, outcome = _pair(case)
    separation = np.log(np.clip(said, 1e-9, 1)) + 0.3
    rates = success_rates(separation, outcome, 7)
    grid = np.linspace(separation.min(), separation.max() + 1e-9, 31)
    maps = [(name, RAW, np.linspace(0, 1, 31)), ("sigmoid", GP, np.full(31, 0.5))]
    histogram = sided_counts(separation, outcome, 0.0)
    labels = np.arange(60) % 3
    train = np.column_stack([np.cos(2 * labels), np.sin(2 * labels), np.arange(60) / 60])
    training = TrainingSet.from_arrays(train, labels)
    why = explain(training, train[1] * 0.9, 1)
    around = neighbourhood(training, train[1] * 0.9, 1, [0, 1])
    return {
        "success": success_curve(rates, histogram, grid, maps, "separation"),
        "zone": zone_chart(why, around, [name] * len(around.rows)),
    }


def _numbered(case: Case, name: str) -> go.Figure:
    numbers = np.array([1.0, 10.0, 50.0])
    outcome = case.labels == case.labels[0]
    rate = share_interval(int(outcome.sum()), len(outcome))
    scores = dict.fromkeys(("error", "NLL", "ECE"), (rate,) * 3)
    return numbered_scores_chart(
        NumberedScores(name, (name, "b", "c"), numbers, ("1", "10", "50"), scores)
    )


def _others(case: Case, name: str) -> dict[str, go.Figure]:
    labels = np.arange(20.0, 201, 20)
    error = float((softmax(case.logits).argmax(axis=1) != case.labels).mean())
    values = [error * np.exp(-labels / 80) + 0.01 * k for k in range(3)]
    mean = np.mean(values, axis=0)
    arm = ArmLine(name, name, GP, labels, mean, mean - 0.4, mean + 0.4, tuple((labels, v) for v in values),
                  np.array([40.0, 60.0]))  # fmt: skip
    lines = {"learning": learning_curves([arm, arm], "Error")}
    return lines | {"numbered models": _numbered(case, name)}
