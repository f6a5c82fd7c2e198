"""What each method computes, once for all exports to other languages: outputs to probabilities as a graph.

The formulas are those of the methods' own ``_predict``, without loops over rows and branches that depend on
numbers; ``tests/export/test_formulas.py`` compares them with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calib.base import MINDS_OFFSETS, Calibrator
from calib.calibrators.auto import AutoCalibration
from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.prediction import LARGEST_SHIFT, NEGLIGIBLE_NOISE
from calib.calibrators.one_vs_rest import OneVsRest
from calib.canonical import DEFAULT_FLOOR, ONE_COLUMN
from calib.data.scales import ONE, PLAIN, in_words
from calib.errors import CalibrationError
from calib.export.graph import Array, Draws, Piecewise, Value, apply, constant, side_by_side
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats
from calib.registry import METHODS, registry_name

TINY = float(np.finfo(float).tiny)
OUTPUTS = apply("input")
"""What the model writes, (n, n_classes), or (n, 1) where that is a single column."""


def formula(exported: ExportedCalibrator) -> Value:
    """Calibrated probabilities (n, n_classes) of outputs as they were uploaded.

    Raises
    ------
    CalibrationError
        For a method without a formula, and outputs of which there is none: the top k of very many classes, counts.
    """
    if exported.kind == "topk":
        raise CalibrationError(
            "The calibrator takes the largest logits of very many classes, which no other language is written for; "
            "export a bundle."
        )
    return probabilities(exported.calibrator, canonical(exported))


def canonical(exported: ExportedCalibrator) -> Value:
    """Logits of the outputs, as :func:`calib.canonical.to_canonical` has them; in float64 throughout."""
    kind, outputs = exported.kind, OUTPUTS
    if exported.scale not in (None, PLAIN):
        one = ONE.get(exported.scale) if isinstance(exported.scale, str) else exported.scale
        if one is None:
            raise CalibrationError(
                f"The calibrator takes outputs that are {in_words(exported.scale or PLAIN)}; these are converted by a "
                "bundle alone. Fit on probabilities or logits, or export a bundle."
            )
        outputs = outputs / one
    if kind == "logits":
        return outputs
    if kind == "binary_log_odds":
        return apply("join", outputs * 0.0, outputs)
    floor = float(np.log(exported.floor or DEFAULT_FLOOR))
    if kind == "log_probabilities":
        return apply("where", apply("equal", outputs, -np.inf), floor, outputs)
    probs = apply("join", 1.0 - outputs, outputs) if kind in ONE_COLUMN else outputs
    positive = apply("less", 0.0, probs)
    return apply("where", positive, apply("log", apply("where", positive, probs, 1.0)), floor)


def probabilities(made: Calibrator, logits: Value) -> Value:
    """Probabilities (n, n_classes) of canonical logits."""
    name = registry_name(made)
    write = None if name is None else _METHODS.get(name)
    if write is None and not (name in MAPS and isinstance(made, OneVsRest)):
        raise CalibrationError(
            f"{METHODS[name].title if name else type(made).__name__} has no formula of the outputs alone in "
            "calib/export/formulas.py, as other languages need it; export a bundle, which runs with NumPy."
        )
    if MINDS_OFFSETS not in made.traits:
        logits = logits - apply("row_max", logits)
    return (write or _one_vs_rest)(made, logits)


def has_formula(name: str) -> bool:
    """Whether a method of the registry has a formula."""
    return name in _METHODS or name in MAPS


# -- scaling methods -----------------------------------------------------------------------------------


def _softmax(logits: Value) -> Value:
    return apply("softmax", logits)


def _temperature(made: Any, logits: Value) -> Value:
    return _softmax(logits / made.temperature_)


def _ensemble_temperature(made: Any, logits: Value) -> Value:
    weight = made.weight_
    return (1 - weight) * _temperature(made, logits) + weight / made.n_classes_


def _smoothed(made: Any, logits: Value) -> Value:
    """Log-probabilities after temperature scaling, mixed with a uniform distribution that counts as one row."""
    n, k = made.n_rows_, made.n_classes_
    return apply("log", (_temperature(made, logits) * n + 1 / k) / (n + 1))


def _log_probs(made: Any, logits: Value) -> Value:
    return apply("log_softmax", logits / made.temperature_)


def _changed(start: Callable[[Any, Value], Value], of_raw: bool = False) -> Callable[[Any, Value], Value]:
    """Scores plus an affine map: of themselves, or of the raw log-probabilities."""

    def write(made: Any, logits: Value) -> Value:
        scores, learned = start(made, logits), made.learned_
        if not learned.any():
            return _softmax(scores)
        kept, others = np.flatnonzero(learned), np.flatnonzero(~learned)

        def some(of: Value) -> Value:
            return of if learned.all() else apply("columns", of, given=tuple(kept.tolist()))

        inputs = apply("log_softmax", some(logits)) if of_raw else some(scores)
        bias = constant("bias", made.bias_[kept])
        if made.change_.ndim == 1:
            changed = inputs * constant("change", made.change_[kept]) + some(scores) + bias
        else:
            change = constant("change", made.change_[np.ix_(kept, kept)])
            changed = apply("product", inputs, change) + some(scores) + bias
        if learned.all():
            return _softmax(changed)
        before = _softmax(scores)
        mapped = apply("row_sum", some(before)) * _softmax(changed)
        unmapped = apply("columns", before, given=tuple(others.tolist()))
        back = np.argsort(np.concatenate([kept, others]))
        return apply("columns", apply("join", mapped, unmapped), given=tuple(back.tolist()))

    return write


def _order_preserving(made: Any, logits: Value) -> Value:
    return apply("gaps", logits, given=Array("weights", (made.weights_ / made.temperature_)[None, :]))


# -- GPcalib -------------------------------------------------------------------------------------------


def _gpcalib(made: GPCalib, logits: Value) -> Value:
    if made.offset_:
        logits = logits - made.offset_
    if made.scale_ != 1.0:
        logits = logits / made.scale_
    inputs, prior = logits, logits
    if made.inputs == "probs":
        inputs, prior = _softmax(logits), apply("log_softmax", logits)
    grid = made.grid()
    if made.prediction == "draws":
        growth = np.exp(np.clip(made.shift_draws_, -LARGEST_SHIFT, LARGEST_SHIFT))
        mass = apply("exp", prior - apply("row_max", prior))
        probs = apply("draws", inputs, mass, given=Draws(growth, grid.low, grid.spacing, grid.order))
        probs = probs / apply("row_sum", probs)
        if made.noise_variance_ <= NEGLIGIBLE_NOISE:
            return probs
        spread = probs * apply("exp", min(made.noise_variance_, 1.0) * (0.5 - probs))
        return spread / apply("row_sum", spread)
    latents = prior + on_grid(grid, made.shift_mean_, inputs)
    probs = _softmax(latents)
    if made.prediction == "mean":
        return probs
    variance = on_grid(grid, made.shift_variance_ + made.noise_variance_, inputs)
    if made.prediction == "mc":
        shape = made.n_draws, made.n_classes_
        normals = np.random.default_rng(made.random_state).standard_normal(shape)
        return apply("normals", latents, apply("maximum", variance, 0.0), given=Array("normals", normals))
    if made.n_classes_ == 2:
        second, first = (apply("columns", latents, given=(k,)) for k in (1, 0))
        odds = second - first
    else:
        odds = apply("log_odds", latents)
    level = apply("softplus", apply("maximum", odds, 0.0 - odds))
    spread = apply("minimum", apply("maximum", variance, 0.0), level)
    return _softmax(latents + spread * (0.5 - probs))


def on_grid(grid: Grid, values: Floats, inputs: Value) -> Value:
    """The function that :meth:`~calib.calibrators.gpcalib.interpolation.Grid.interpolate` gives, as polynomials."""
    at = apply("minimum", apply("maximum", inputs, grid.low), grid.high)
    h, nodes = grid.spacing, grid.nodes
    if grid.order == 1:
        return Piecewise(nodes[1:-1], nodes[:-1], np.stack([values[:-1], np.diff(values) / h]))(at)
    # Through four neighbouring values, in units of the spacing from the second of their nodes (Lagrange).
    y0, y1, y2, y3 = (values[step : len(values) - 3 + step] for step in range(4))
    first = -y0 / 3 - y1 / 2 + y2 - y3 / 6
    second = (y0 + y2) / 2 - y1
    third = (y3 - y0) / 6 + (y1 - y2) / 2
    return Piecewise(nodes[2:-2], nodes[1:-2], np.stack([y1, first / h, second / h**2, third / h**3]))(at)


# -- maps of one log-odds ------------------------------------------------------------------------------


def _one_vs_rest(made: Any, logits: Value) -> Value:
    if made.scales_first and made.temperature_ != 1.0:
        logits = logits / made.temperature_
    if made.classes == "top":
        return apply("in_proportion", logits, one_map(made, apply("top_log_odds", logits)))
    if made.n_classes_ == 2:
        second, first = (apply("columns", logits, given=(k,)) for k in (1, 0))
        event = one_map(made, second - first)
        return apply("join", 1.0 - event, event)
    probs = _mapped(made, logits)
    total = apply("row_sum", probs)
    empty = apply("less", total, TINY)
    filled = apply("where", empty, _softmax(logits), probs)
    return filled / apply("where", empty, 1.0, total) if made.normalize else filled


def one_map(made: OneVsRest, log_odds: Value) -> Value:
    """The first map of a method, of log-odds of any shape; the identity where it learned none."""
    return maps(made, made.maps_[:1], log_odds) if made.maps_[0] is not None else apply("sigmoid", log_odds)


def maps(made: OneVsRest, learned: Sequence[Any], log_odds: Value) -> Value:
    """One map of every entry, or one for each column."""
    return MAPS[registry_name(made) or ""](made, learned, log_odds)


def _mapped(made: OneVsRest, logits: Value) -> Value:
    log_odds = apply("log_odds", logits)
    if len(made.maps_) == 1:
        return one_map(made, log_odds)
    mapped = [k for k, learned in enumerate(made.maps_) if learned is not None]
    if len(mapped) == len(made.maps_):
        return maps(made, made.maps_, log_odds)
    scaled = _softmax(logits if made.scales_first else logits / made.temperature_)
    if not mapped:
        return scaled
    kept = maps(made, [made.maps_[k] for k in mapped], apply("columns", log_odds, given=tuple(mapped)))
    others = [k for k in range(len(made.maps_)) if k not in mapped]
    joined = apply("join", kept, apply("columns", scaled, given=tuple(others)))
    return apply("columns", joined, given=tuple(np.argsort(mapped + others).tolist()))


def _numbers(learned: Sequence[Any], *names: str) -> list[Any]:
    """What the maps learned by these names: plain numbers of one map, and a row of them of several."""
    if len(learned) == 1:
        return [float(getattr(learned[0], name)) for name in names]
    return [constant(name, [float(getattr(each, name)) for each in learned]) for name in names]


def _platt(made: Any, learned: Sequence[Any], x: Value) -> Value:
    slope, intercept = _numbers(learned, "slope", "intercept")
    score = x if made.input == "log_odds" else apply("sigmoid", x)
    return apply("sigmoid", slope * score + intercept)


def _beta(made: Any, learned: Sequence[Any], x: Value) -> Value:
    a, b, c = _numbers(learned, "a", "b", "c")
    return apply("sigmoid", b * apply("softplus", x) - a * apply("softplus", 0.0 - x) + c)


def _quadratic(made: Any, learned: Sequence[Any], x: Value) -> Value:
    return apply("sigmoid", side_by_side([_parabola(each) for each in learned])(x))


def _parabola(learned: Any) -> Piecewise:
    low, high, first, last = learned.low, learned.high, learned.first_slope, learned.last_slope
    range_ = high - low
    width = range_ or 1.0
    at_low = learned.intercept - first * range_**2 / (2 * width)
    at_high = learned.intercept + last * range_**2 / (2 * width)
    inside = [at_low, first * range_ / width, (last - first) / (2 * width)]
    pieces = [[at_low, first, 0.0], inside, [at_high, last, 0.0]]
    if not range_:
        return Piecewise(np.array([low]), np.array([low, low]), np.array([pieces[0], pieces[2]]).T)
    return Piecewise(np.array([low, high]), np.array([low, low, high]), np.array(pieces).T)


def _spline(made: Any, learned: Sequence[Any], x: Value) -> Value:
    return apply("sigmoid", side_by_side([_smooth(each) for each in learned])(x))


def _smooth(learned: Any) -> Piecewise:
    """A quadratic spline, straight beyond its knots."""
    knots, values, slopes = learned.knots, learned.values, learned.slopes
    bends = np.diff(slopes) / (2 * np.diff(knots))
    coefficients = [np.append(values[:1], values), np.append(slopes[:1], slopes), np.concatenate([[0.0], bends, [0.0]])]
    return Piecewise(knots, np.append(knots[:1], knots), np.array(coefficients))


def _lines(made: Any, learned: Sequence[Any], x: Value) -> Value:
    """Straight lines from knot to knot, level beyond them."""
    return side_by_side([_line(each) for each in learned])(x)


def _line(learned: Any) -> Piecewise:
    knots, values = learned.knots, learned.values
    slope = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [0.0]])
    return Piecewise(knots, np.append(knots[:1], knots), np.stack([np.append(values[:1], values), slope]))


def _steps(made: Any, learned: Sequence[Any], x: Value) -> Value:
    return side_by_side([_step(each, "edges", "values") for each in learned])(x)


def _step(learned: Any, edges: str, values: str, right: bool = True) -> Piecewise:
    breaks, levels = getattr(learned, edges), getattr(learned, values)
    return Piecewise(breaks, np.zeros(len(levels)), levels[None, :], right)


def _venn_abers(made: Any, learned: Sequence[Any], x: Value) -> Value:
    low = side_by_side([_step(each, "low_edges", "low") for each in learned])(x)
    high = side_by_side([_step(each, "high_edges", "high", right=False) for each in learned])(x)
    return high / (1.0 - low + high)


def _auto(made: AutoCalibration, logits: Value) -> Value:
    members = zip(made.weights_.tolist(), made.fitted_members(), strict=True)
    first, *others = (weight * probabilities(member, logits) for weight, member in members)
    return sum(others, first)


Write = Callable[[Any, Value], Value]

_METHODS: Mapping[str, Write] = {
    "identity": lambda made, logits: _softmax(logits),
    "temperature": _temperature,
    "ensemble_temperature": _ensemble_temperature,
    "vector": _changed(_log_probs),
    "dirichlet": _changed(_log_probs, of_raw=True),
    "structured_vector": _changed(_smoothed),
    "structured_matrix": _changed(_smoothed),
    "order_preserving": _order_preserving,
    "gpcalib": _gpcalib,
    "auto": _auto,
}
"""How each method that takes all logits is written, by its registry name."""

MAPS: Mapping[str, Callable[[Any, Sequence[Any], Value], Value]] = {
    "platt": _platt,
    "beta": _beta,
    "quadratic": _quadratic,
    "spline": _spline,
    "isotonic": _lines,
    "bayes_iso": _lines,
    "enir": _lines,
    "histogram": _steps,
    "bbq": _steps,
    "scaling_binning": _steps,
    "imax": _steps,
    "venn_abers": _venn_abers,
}
"""How each map of one log-odds is written, by its method's registry name."""
