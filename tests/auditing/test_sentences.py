"""Every number in the sentences of the audit and of a comparison, for the samples, by NumPy without calib."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import calib
from calib.auditing import Audit
from calib.auditing.compare import Comparison
from calib.data.samples import SAMPLES
from calib.reporting import html, report_from_comparison
from tests.reporting.conftest import Reading

NUMBER = r"([+\u2212]?\d[\d,]*(?:\.\d+)?)"


def assert_shown(pattern: str, sentence: str, *values: float) -> None:
    """The numbers at the places of # are these, to the last digit shown."""
    places = re.escape(pattern).replace(r"\#", NUMBER).replace(r"\ ", r"\s")
    found = re.search(places, sentence)
    assert found, (pattern, sentence)
    for text, value in zip(found.groups(), values, strict=True):
        shown = float(text.replace("\u2212", "-").replace(",", ""))
        decimals = len(text.partition(".")[2])
        assert abs(shown - value) <= 0.5001 * 10.0**-decimals, (text, value, sentence)


@cache
def audited(name: str) -> tuple[calib.Predictions, Audit]:
    data = calib.load_sample(name)
    return data, calib.audit(data)


def outcome(data: calib.Predictions) -> tuple[np.ndarray, np.ndarray, bool]:
    """Probabilities and whether they came true; of an event, of correct answers, or of the predicted class."""
    if data.kind == "pairs":
        return data.probs[:, 1], data.labels == 1, False
    if data.event is not None:
        return data.probs[:, data.event.column], data.labels == data.event.column, True
    named = data.logits.argmax(axis=1)
    return data.probs[np.arange(len(data)), named], named == data.labels, False


def mean_error(values: np.ndarray, clusters: np.ndarray | None) -> float:
    """Standard error of a mean over rows, by sums over clusters."""
    away = values - values.mean()
    if clusters is not None:
        away = np.array([away[clusters == name].sum() for name in np.unique(clusters)])
    m = len(away)
    return float(np.sqrt((away**2).sum() * m / (m - 1)) / len(values))


@pytest.mark.parametrize("name", SAMPLES)
def test_level_and_rows(name):
    data, found = audited(name)
    p, y, is_event = outcome(data)
    level = found.of("level").sentence
    if is_event:
        assert_shown("# % predicted, # % observed", level, 100 * p.mean(), 100 * y.mean())
        ratio = y.mean() / p.mean()
        away = np.exp(1.959964 * mean_error(y - ratio * p, data.clusters) / y.mean())
        assert_shown("O:E # (95 %: # to #)", level, ratio, ratio / away, ratio * away)
    else:
        means = 100 * p.mean(), 100 * y.mean()
        assert_shown("mean confidence # %, accuracy # %", level, *means)
        gap = 100 * (p.mean() - y.mean())
        half = 1.959964 * 100 * mean_error(p - y, data.clusters)
        ends = gap, gap - half, gap + half
        assert_shown("# points (95 %: # to #)", level, *ends)
    visible = 100 * 4.15 * mean_error(p - y, data.clusters)
    rows = found.of("rows").sentence
    counts = (len(data), y.sum()) if is_event else (len(data), (~y).sum())
    word = "with the event" if is_event else "wrong"
    assert_shown(f"# rows, # {word}: an overall gap of # points", rows, *counts, visible)


@pytest.mark.parametrize("name", SAMPLES)
def test_skill(name):
    data, found = audited(name)
    p, y, _ = outcome(data)
    sentence = found.of("skill").sentence
    n, k = data.probs.shape
    of_label = data.probs[np.arange(n), data.labels]
    counts = np.bincount(data.labels, minlength=k)
    without = (counts[data.labels] - 1 + 0.5) / (n - 1 + k / 2)
    losses = -np.log(np.maximum(of_label, 1e-15)).mean(), -np.log(without).mean()
    assert_shown("NLL # against #", sentence, *losses)
    if "AUROC" in sentence:
        above, below = p[y], p[~y]
        pairs = (above[:, None] > below).mean() + 0.5 * (above[:, None] == below).mean()
        assert_shown("AUROC #", sentence, pairs)
    if "; accuracy" in sentence:
        assert_shown("; accuracy # %", sentence, 100 * y.mean())
    if "giving every" in sentence:
        assert_shown("giving every", sentence)
        assert_shown(" #\u00a0%: NLL", sentence, 100 * y.mean())


@pytest.mark.parametrize("name", SAMPLES)
def test_spread(name):
    data, found = audited(name)
    _, y, is_event = outcome(data)
    z = data.logits - data.logits.max(axis=1, keepdims=True)
    if is_event or data.kind == "pairs":
        column = data.event.column if is_event else 1
        s = z[:, column] - z[:, 1 - column]
        slope = minimize(
            lambda t: (np.logaddexp(0, t[0] + t[1] * s) - y * (t[0] + t[1] * s)).mean(),
            np.array([0.0, 1.0]),
            method="BFGS",
            options={"gtol": 1e-9},
        ).x[1]
    else:
        label = z[np.arange(len(z)), data.labels]

        def pull(t: float) -> float:
            weight = np.exp(t * z)
            return float((label - (weight * z).sum(axis=1) / weight.sum(axis=1)).mean())

        slope = brentq(pull, 1e-3, 50.0, xtol=1e-12)
    assert_shown(": slope #" if is_event or data.kind == "pairs" else "logits #",
                 found.of("spread").sentence, slope)  # fmt: skip


def fitted(design: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Coefficients of a logistic regression, by Newton's method written out."""
    coef = np.zeros(design.shape[1])
    for _ in range(400):
        risk = 1 / (1 + np.exp(-design @ coef))
        hessian = (design.T * (risk * (1 - risk))) @ design
        step = np.linalg.solve(hessian, design.T @ (y - risk))
        coef += step * min(1.0, 2.0 / np.abs(design @ step).max())
    return coef


def spline_of(s: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Harrell's restricted cubic spline, a column for each of its terms."""
    t, (last, end) = knots[:-2], knots[-2:]
    cube = [np.maximum(s - knot, 0) ** 3 for knot in knots]
    scale = (end - knots[0]) ** 2
    terms = [
        (cube[j] - cube[-2] * (end - t[j]) / (end - last) + cube[-1] * (last - t[j]) / (end - last))
        / scale
        for j in range(len(t))
    ]
    return np.column_stack([np.ones_like(s), s, *terms])


def folds_of(data: calib.Predictions) -> np.ndarray:
    unit = np.arange(len(data))
    if data.clusters is not None:
        unit = np.unique(data.clusters, return_inverse=True)[1]
    return (np.random.default_rng(0).permutation(unit.max() + 1) % 5)[unit]


def curve_of(s: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Log-odds of new rows by a spline with 5 knots, with 3 or none where its terms are too much alike."""
    few = min(y.sum(), (~y).sum()) < 100
    for shares in ([] if few else [0.05, 0.275, 0.5, 0.725, 0.95], [0.1, 0.5, 0.9]):
        knots = np.quantile(s, shares)
        if len(knots) and (np.diff(knots) > 0).all():
            design = spline_of(s, knots)
            coef = fitted(design, y)
            if np.abs(coef * np.sqrt((design**2).mean(axis=0))).max() <= 30:
                return spline_of(new, knots) @ coef
    return line_of(s, y, new)


def line_of(s: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    coef = fitted(np.column_stack([np.ones_like(s), s]), y)
    return coef[0] + coef[1] * new


def losses_outside(s: np.ndarray, y: np.ndarray, fold: np.ndarray) -> list[float]:
    """Mean losses of a line and of a spline in the log-odds, on rows outside of each fit."""
    losses = []
    for predict in (line_of, curve_of):
        z = np.empty(len(s))
        for k in range(5):
            z[fold == k] = predict(s[fold != k], y[fold != k], s[fold == k])
        losses.append(float((np.logaddexp(0, z) - y * z).mean()))
    return losses


@pytest.mark.parametrize("name", SAMPLES)
def test_shape_and_what_a_map_gains(name):
    data, found = audited(name)
    shape, skill = found.of("shape").sentence, found.of("skill").sentence
    if "nats" not in shape and "after a map" not in skill:
        return
    _, y, _ = outcome(data)
    z = data.logits - data.logits.max(axis=1, keepdims=True)
    if data.n_classes == 2:
        column = 1 if data.kind == "pairs" or data.event is None else data.event.column
        s = z[:, column] - z[:, 1 - column]
    else:
        largest = np.exp(z.max(axis=1)) / np.exp(z).sum(axis=1)
        s = np.log(largest / (1 - largest))
    line, curve = losses_outside(s, y, folds_of(data))
    if "nats" in shape:
        assert_shown("log-odds, by # nats", shape, line - curve)
    if "after a map" in skill:
        assert_shown("intercept and slope #", skill, line)


def test_what_a_map_for_each_group_gains(rng):
    s, group = rng.normal(size=3000), rng.choice(["a", "b", "c"], 3000)
    y = rng.random(3000) < 1 / (1 + np.exp(-s - (group == "a") + (group == "b")))
    data = calib.from_outputs(1 / (1 + np.exp(-s)), y)
    found = calib.audit(data, groups={"place": group})
    fold, line, losses = folds_of(data), np.empty(3000), np.empty(3000)
    for k in range(5):
        line[fold == k] = line_of(s[fold != k], y[fold != k], s[fold == k])

    def penalised(t: np.ndarray, z: np.ndarray, happened: np.ndarray) -> float:
        at = t[0] + t[1] * z  # an offset for each of two classes, half of the difference each
        prior = (t[0] ** 2 / 2 + (t[1] - 1) ** 2) / (2 * 0.35**2)
        return float((np.logaddexp(0, at) - happened * at).sum() + prior)

    for k in range(5):
        for name in "abc":
            rest, inside = (fold != k) & (group == name), (fold == k) & (group == name)
            a, b = minimize(penalised, [0.0, 1.0], (line[rest], y[rest]), method="BFGS").x
            at = a + b * line[inside]
            losses[inside] = np.logaddexp(0, at) - y[inside] * at
    shared = min((np.logaddexp(0, z) - y * z).mean() for z in (line, s))
    sentence = found.of("remedy").sentence
    assert_shown(
        "value of place (by_group) corrects that, by # nats", sentence, shared - losses.mean()
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_ends_and_classes(name):
    data, found = audited(name)
    sentence = found.of("ends").sentence
    largest = data.probs.max(axis=1)
    of_label = data.probs[np.arange(len(data)), data.labels]
    certain = largest >= 0.99
    wrong = certain & (of_label < largest)
    if certain.any():
        plural = "prediction" if certain.sum() == 1 else "predictions"
        assert_shown(f"# of # {plural}", sentence, wrong.sum(), certain.sum())
        assert_shown("where # are expected", sentence, (1 - largest[certain]).sum())
    assert ("No prediction" in sentence) is not certain.any()
    zeros = int((of_label == 0.0).sum())
    assert ("exactly 0" in sentence) is bool(zeros)
    if "occurs" in found.of("classes").sentence:
        named = data.logits.argmax(axis=1)
        sentence = found.of("classes").sentence
        column = next(k for k, c in enumerate(data.class_names) if sentence.startswith(f"{c} is"))
        times = (named == column).sum(), (data.labels == column).sum()
        off = 100 * (data.probs[:, column].mean() - (data.labels == column).mean())
        assert_shown("predicted # times and occurs # times", sentence, *times)
        assert_shown("off by # points", sentence, off)


@pytest.mark.parametrize("name", ["simulated-loans", "simulated-answers"])
def test_groups_and_weights(name):
    data, found = audited(name)
    p, y, _ = outcome(data)
    sentence = found.of("groups").sentence
    if found.of("groups").severity == "problem":
        assert_shown("gap of all rows, # points", sentence, 100 * (p - y).mean())
        for group in found.of("groups").groups:
            rows = data.groups == group.name
            values = 100 * (p - y)[rows].mean(), 100 * p[rows].mean(), 100 * y[rows].mean()
            if f"{group.name} \u2212" in sentence:
                assert_shown(f"{group.name} #", sentence, values[0])
            np.testing.assert_allclose(
                (100 * group.gap.value, 100 * group.predicted, 100 * group.observed), values
            )
    weights = found.of("weights").sentence
    if data.weights is not None:
        w = data.weights / data.weights.sum()
        means = 100 * (w @ p), 100 * (w @ y), 100 * p.mean(), 100 * y.mean()
        assert_shown("# % predicted, # % observed with them, # % predicted, # % observed without",
                     weights, *means)  # fmt: skip
    assert_shown("by # clusters", weights, len(np.unique(data.clusters)))


@cache
def compared(name: str) -> tuple[Comparison, dict[str, np.ndarray], calib.Predictions]:
    first, second = calib.load_sample(name).split(0.5)
    methods = {each: calib.calibrator(each) for each in ("temperature", "platt")}
    found = calib.compare(methods, first, second)
    probs = {each: made.predict_proba(second) for each, made in methods.items()}
    return found, {"identity": second.probs, **probs}, second


def ece(p: np.ndarray, data: calib.Predictions) -> float:
    """The ECE of an event, or of the confidence, in 15 bins of equal width."""
    named = p.argmax(axis=1)
    said, happened = p[np.arange(len(p)), named], named == data.labels
    if data.event is not None:
        said, happened = p[:, data.event.column], data.labels == data.event.column
    place = np.clip(np.ceil(said * 15).astype(int) - 1, 0, 14)
    gaps = [abs((said - happened)[place == b].sum()) for b in range(15)]
    return float(sum(gaps) / len(p))


@pytest.mark.parametrize("name", ["digits-cnn", "clinic-tumours", "simulated-loans", "wine-forest"])
def test_scores_and_recommendation(name):
    found, probs, data = compared(name)
    at = np.arange(len(data))
    binary = data.event is not None
    losses = {}
    for method, p in probs.items():
        truth = np.zeros_like(p)
        truth[at, data.labels] = 1.0
        losses[method] = -np.log(np.maximum(p[at, data.labels], 1e-15)).mean()
        naive = {
            "NLL": losses[method],
            "Brier": ((p - truth) ** 2).sum(axis=1).mean() / (2.0 if binary else 1.0),
            "accuracy": (p.argmax(axis=1) == data.labels).mean(),
            "ECE": ece(p, data),
        }
        rows = found.table[found.table.method == method].set_index("score")["value"]
        for score, value in naive.items():
            assert rows[score] == pytest.approx(value, abs=1e-7), (method, score)
    answer = found.recommendation
    assert answer is not None
    chosen = answer.best if answer.method == "identity" else answer.method
    gain = losses["identity"] - losses[chosen]
    assert answer.gain.value == pytest.approx(gain, abs=1e-7)
    text = str(answer)
    if answer.verdict == "take":
        moved = (probs[chosen].argmax(axis=1) != probs["identity"].argmax(axis=1)).mean()
        if moved:
            assert_shown("# % of the predicted classes change", text, 100 * moved)
        if "It lowers" in text:
            amount = re.search(r"by (\d[\d.]*(?:e-\d+)?)", text)
            assert amount and float(amount[1]) == pytest.approx(gain, rel=0.01)


@pytest.mark.parametrize("name", ["digits-cnn", "clinic-tumours", "simulated-loans"])
def test_scores_in_the_report(name):
    found, probs, second = compared(name)
    data = calib.load_sample(name)
    parts = data.split(0.5)
    methods = {each: calib.calibrator(each).fit(parts[0]) for each in ("temperature", "platt")}
    page = Reading(html(report_from_comparison(found, data, parts, methods)))
    cells, at = page.cells("overview"), np.arange(len(second))
    titles = dict(zip(found.table.method, found.table.title, strict=True))
    for method, p in probs.items():
        row = cells[titles[method]]
        assert_shown("#", row["NLL"], -np.log(np.maximum(p[at, second.labels], 1e-15)).mean())
        if "Accuracy" in row:
            assert_shown("#", row["Accuracy"], (p.argmax(axis=1) == second.labels).mean())
        (of_event,) = (each for each in row if each.startswith("ECE"))
        assert_shown("#", row[of_event], ece(p, second))
    level = "# % predicted, # % observed" if data.event else "confidence # %, accuracy # %"
    p, y, _ = outcome(data)
    assert_shown(level, page.text, 100 * p.mean(), 100 * y.mean())
