"""Every registered method is held to the contract of the base class and to what it promises itself."""

from __future__ import annotations

import contextlib
import copy
import pickle
import re
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any
from unittest.mock import Mock
from zlib import crc32

import numpy as np
import pytest
import sklearn.base

import calib
from calib.base import (
    EQUIVARIANT,
    KEEPS_ACCURACY,
    KEEPS_RANKING,
    MINDS_OFFSETS,
    POSITIVE,
    ROWS_SUM_TO_ONE,
    Calibrator,
)
from calib.errors import CalibrationError, FitCancelled
from calib.export.runtime import ExportedCalibrator, from_arrays
from calib.records import flatten, unflatten
from calib.registry import registry_name
from tests.conftest import simulate
from tests.forged_records import forged, reread

# Optional: configurations of methods whose fits are slow or whose options are many. All others are tested in those
# that follow from their declared parameters.
CHOSEN: dict[str, list[dict[str, Any]]] = {
    "bayes_iso": [
        {},
        {"n_maps": 300, "scheme": "plain"},
        {"n_maps": 300, "scheme": "plain", "share_classes": False},
    ],
    "imax": [
        {},
        {"share_classes": False},
        {"normalize": False, "monotone": True},
        {"scheme": "equal_mass", "monotone": True, "representatives": "temperature"},
        {"representatives": "isotonic", "share_classes": False, "n_bins": 4},
        {"scaled_model": True, "n_bins": 1},
    ],
    "geometric": [
        {},
        {"exact": True, "map": "sigmoid"},
        {"distance": "l1", "reduction": "kmeans"},
        {"distance": "linf", "map": "sigmoid", "reduction": "pca", "factor": 1},
    ],
    # Few and short fits: each costs a second. calibrators/gpcalib/test_gpcalib.py has every combination of options.
    "gpcalib": [
        {"max_iter": 5},
        {
            "max_iter": 5,
            "inputs": "probs",
            "variational": "full",
            "prediction": "mean",
            "monotone": True,
        },
    ],
}


SLOW = ("auto", "bayes_iso", "gpcalib")
"""Methods whose further variants `make test-long` holds to the contract."""


def variants_of(cls: type[Calibrator]) -> list[dict[str, Any]]:
    """The defaults, each other value of an option alone, all options changed, all numbers at either end."""
    changed: dict[str, list[Any]] = {}
    ends: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for f in fields(cls):
        if f.name in ("random_state", "device"):
            continue
        if f.metadata["choices"] is not None:
            changed[f.name] = [value for value in f.metadata["choices"] if value != f.default]
        elif isinstance(f.default, bool):
            changed[f.name] = [not f.default]
        else:
            for end, value in zip(ends, (f.metadata["low"], f.metadata["high"]), strict=True):
                if value is not None:
                    end[f.name] = value
    alone = [{name: value} for name, values in changed.items() for value in values]
    together = {name: values[-1] for name, values in changed.items()}
    made = [{}, *alone, together, *ends]
    return [params for n, params in enumerate(made) if params not in made[:n]]


VARIANTS = {
    name: CHOSEN.get(name) or variants_of(method.cls) for name, method in calib.METHODS.items()
}


def each_variant(quick: Callable[[str, int], bool]) -> pytest.MarkDecorator:
    """One case for each variant, of which those are long whose name and number in their method are not quick."""
    return pytest.mark.parametrize(
        ("name", "params"),
        [
            pytest.param(
                name,
                params,
                id=f"{name}-{'-'.join(f'{key}={value}' for key, value in params.items())}",
                marks=[] if quick(name, number) else [pytest.mark.long],
            )
            for name, variants in VARIANTS.items()
            for number, params in enumerate(variants)
        ],
    )


def most_changed(name: str, number: int) -> bool:
    """Whether it is the first of a quick method's variants that changes the most parameters."""
    changes = [len(params) for params in VARIANTS[name]]
    return name not in SLOW and number == changes.index(max(changes))


every_variant = each_variant(lambda name, number: number == 0 or most_changed(name, number))
every_variant_that_is_quick = each_variant(
    lambda name, number: name not in SLOW and (number == 0 or most_changed(name, number))
)
"""Without those whose fits take half a second, which `make test-long` holds to the same."""


def make(name: str, params: dict[str, Any]) -> Calibrator:
    return calib.calibrator(name, **params)


def sample(n: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident logits in float64 that float32 holds exactly, and their labels."""
    logits, labels = simulate(n, n_classes, seed=seed)
    return logits.astype(np.float32).astype(float), labels


def inputs(logits: Any) -> np.ndarray:
    """Features that belong to rows of logits, whatever their company and the names of their classes."""
    return np.tanh(np.sort(np.asarray(logits, dtype=float), axis=1) / 10)


def members(logits: Any) -> np.ndarray:
    """Groups that belong to rows of logits, whatever their company and the names of their classes."""
    spread = np.ptp(np.asarray(logits, dtype=float), axis=1)
    return np.where(spread > 4.0, "wide", "narrow")


def extras(name: str, logits: Any, renamed: np.ndarray | None = None) -> dict[str, Any]:
    """What a method needs beyond logits and labels; ``renamed`` holds the new number of each class."""
    arrays: dict[str, Any] = {}
    if needs := calib.METHODS[name].needs:
        train_logits, train_labels = sample(40, np.shape(logits)[1], seed=9)
        train_labels = train_labels if renamed is None else renamed[train_labels]
        known = {
            "features": inputs(logits),
            "train_features": inputs(train_logits),
            "train_labels": train_labels,
            "groups": members(logits),
        }
        arrays = {array: known[array] for array in needs}
    return arrays


def fit(calibrator: Calibrator, logits: Any, labels: Any, **more: Any) -> Calibrator:
    """Fit with all that the method needs."""
    name = registry_name(calibrator)
    assert name is not None
    return calibrator.fit(logits, labels, **{**extras(name, logits), **more})


def answer(calibrator: Calibrator, logits: Any) -> np.ndarray:
    """Probabilities (n, n_classes), or the confidence (n,) where a method gives no more."""
    if calibrator.gives_probabilities:
        groups = members(logits) if calibrator.needs_groups else None
        return calibrator.predict_proba(logits, groups=groups)
    return calibrator.predict_confidence(logits, inputs(logits))


@cache
def _fitted(name: str, params: tuple[tuple[str, Any], ...], n_classes: int) -> Calibrator:
    return fit(make(name, dict(params)), *sample(150, n_classes))


def fitted(name: str, params: dict[str, Any], n_classes: int = 4) -> Calibrator:
    """One fit per variant and number of classes, shared by all tests."""
    return _fitted(name, tuple(sorted(params.items())), n_classes)


def check_probs(calibrator: Calibrator, logits: np.ndarray) -> np.ndarray:
    """Probabilities that are finite, in [0, 1] and sum to what the method promises, or confidences; returns them."""
    calibrator.check_state()
    probs = answer(calibrator, logits)
    assert probs.shape == (logits.shape if calibrator.gives_probabilities else logits.shape[:1])
    assert probs.dtype == np.float64
    assert np.isfinite(probs).all()
    assert probs.min(initial=0) >= 0
    assert probs.max(initial=0) <= 1 + 1e-12
    if not calibrator.gives_probabilities:
        return probs
    total = probs.sum(axis=1)
    assert (total > 0).all()
    if ROWS_SUM_TO_ONE in calibrator.promises(logits.shape[1]):
        np.testing.assert_allclose(total, 1, atol=1e-9)
    return probs


def hard_rows(n_classes: int) -> np.ndarray:
    """Rows with ties, near ties, equal entries and entries of +-1e3."""
    generator = np.random.default_rng(1)
    rounded = generator.integers(-2, 3, size=(200, n_classes)).astype(float)
    near = rounded + 1e-12 * generator.normal(size=rounded.shape)
    extreme = 1e3 * generator.choice([-1.0, 0.0, 1.0], size=(50, n_classes))
    spread = generator.normal(size=(200, n_classes)) * np.geomspace(0.1, 100, 200)[:, None]
    return np.concatenate([rounded, near, extreme, spread, np.zeros((1, n_classes))])


@every_variant
@pytest.mark.parametrize("n_classes", [2, 4])
def test_promises_hold_on_hard_rows(name, params, n_classes):
    calibrator = fitted(name, params, n_classes)
    logits = hard_rows(n_classes)
    probs = check_probs(calibrator, logits)
    promised = calibrator.promises(n_classes)
    if KEEPS_ACCURACY in promised:
        np.testing.assert_array_equal(calibrator.predict(logits), np.argmax(logits, axis=1))
    if KEEPS_RANKING in promised:
        order = np.argsort(logits, axis=1, kind="stable")
        ranked = np.take_along_axis(probs, order, axis=1)
        # Entries whose logits differ by rounding alone may swap by rounding alone.
        assert (np.diff(ranked, axis=1) >= -1e-12).all()
    if POSITIVE in calib.METHODS[name].cls.traits and name not in SLOW:
        assert answer(calibrator, sample(100, n_classes, seed=3)[0]).min() > 0


def extreme_set() -> tuple[np.ndarray, np.ndarray]:
    logits, labels = sample(60, 3)
    logits[:3] = 1e3 * np.array([[1, -1, -1], [-1, 1, 1], [-1, -1, -1]])
    return logits, labels


def without_a_class() -> tuple[np.ndarray, np.ndarray]:
    logits, labels = sample(80, 4)
    return logits[labels != 2], labels[labels != 2]


HARD_SETS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "extremes": extreme_set,
    "a class without rows": without_a_class,
    "one class of two": lambda: (sample(20, 2)[0], np.zeros(20, dtype=int)),
    "two rows": lambda: sample(2, 2, seed=2),
    "seven rows": lambda: sample(7, 3, seed=7),
    "equal rows": lambda: (np.ones((12, 3)), np.arange(12) % 3),
}


@every_variant_that_is_quick
def test_hard_calibration_sets(name, params):
    for hard, made in HARD_SETS.items():
        logits, labels = made()
        try:
            check_probs(fit(make(name, params), logits, labels), hard_rows(logits.shape[1]))
        except Exception as error:
            error.add_note(f"On the calibration set {hard!r}.")
            raise


@every_variant_that_is_quick
@pytest.mark.parametrize("n_classes", [2, 4])
def test_relabelling_the_classes(name, params, n_classes):
    calibrator = fitted(name, params, n_classes)
    if EQUIVARIANT not in calibrator.promises(n_classes):
        return
    logits, labels = sample(150, n_classes)
    order = np.roll(np.arange(n_classes), 1)
    renamed = np.argsort(order)
    relabelled = fit(
        make(name, params),
        logits[:, order],
        renamed[labels],
        **extras(name, logits[:, order], renamed),
    )
    test, _ = sample(100, n_classes, seed=5)
    # Iterative fits sum in another order, and end within their tolerance of each other.
    expected = answer(calibrator, test)
    if calibrator.gives_probabilities:
        expected = expected[:, order]
    np.testing.assert_allclose(answer(relabelled, test[:, order]), expected, atol=1e-5)


UNIT_FREE = {
    "temperature", "ensemble_temperature", "vector", "structured_vector", "structured_matrix", "order_preserving"
}  # fmt: skip
"""Methods whose probabilities do not depend on the unit of the logits, with their defaults."""


@every_variant_that_is_quick
def test_a_constant_added_to_the_logits_changes_nothing(name, params):
    logits, labels = sample(150, 4)
    test, _ = sample(100, 4, seed=5)
    offsets = {"all": 1e6}
    if MINDS_OFFSETS not in calib.METHODS[name].cls.traits:
        offsets["rows"] = np.random.default_rng(2).choice([-1e6, -3.0, 1e6], size=(150, 1))
    expected = answer(fitted(name, params), test)
    for offset in offsets.values():
        moved = fit(make(name, params), logits + offset, labels, **extras(name, logits))
        # The sum has lost the last ten digits, which moves where an iterative fit stops.
        tolerance = 1e-3 if name == "gpcalib" else 1e-6
        shifted = test + np.resize(offset, (100, 1))
        given = () if moved.gives_probabilities else (inputs(test),)
        groups = members(test) if moved.needs_groups else None
        found = (moved.predict_proba if moved.gives_probabilities else moved.predict_confidence)(
            shifted, *given, groups=groups
        )
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", sorted(UNIT_FREE))
@pytest.mark.parametrize("unit", [200.0, 1e-4])
def test_the_unit_of_the_logits_changes_nothing(name, unit):
    logits, labels = sample(150, 4)
    test, _ = sample(100, 4, seed=5)
    scaled = make(name, {}).fit(unit * logits, labels)
    np.testing.assert_allclose(
        scaled.predict_proba(unit * test), answer(fitted(name, {}), test), atol=1e-6
    )
    again = reread(ExportedCalibrator(scaled)).calibrator
    np.testing.assert_allclose(
        again.predict_proba(unit * test), scaled.predict_proba(unit * test), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("name", calib.METHODS)
def test_dtype_and_memory_layout_do_not_matter_and_inputs_are_not_written_to(name):
    params = VARIANTS[name][0]
    calibrator = fitted(name, params)
    logits, labels = sample(50, 4)
    before = logits.copy()
    logits.flags.writeable = labels.flags.writeable = False
    expected = answer(calibrator, logits)
    layouts = [
        logits.astype(np.float32),
        np.asfortranarray(logits),
        np.repeat(logits, 2, axis=0)[::2],
        logits.tolist(),
    ]
    for layout in layouts:
        np.testing.assert_allclose(answer(calibrator, layout), expected, rtol=1e-9, atol=1e-12)
    if calib.METHODS[name].fast and name not in SLOW:
        expected = answer(fit(make(name, params), logits, labels), logits)
        for layout in layouts:
            refitted = fit(make(name, params), layout, labels.astype(np.uint8))
            np.testing.assert_allclose(answer(refitted, logits), expected, atol=1e-5)
    np.testing.assert_array_equal(logits, before)


def rounded_probabilities(n: int, n_classes: int, digits: int) -> np.ndarray:
    """Rows of decimals that sum to one; few of them differ, and float32 tells apart what float64 has as one."""
    shares = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.4), n)
    steps = np.diff(np.round(np.cumsum(shares, axis=1) * 10**digits), axis=1, prepend=0.0)
    return np.round(steps / 10**digits, digits)


@every_variant
def test_probabilities_in_float32_get_what_they_get_in_float64(name, params):
    """Where the calibrator is fitted to them, and where they come to one that was fitted in float64."""
    for n_classes, digits in [(3, 2), (2, 4), (10, 3)][: 1 if name in SLOW else 3]:
        probs = rounded_probabilities(600, n_classes, digits)
        chances = np.cumsum(0.7 * probs + 0.3 / n_classes, axis=1)
        labels = (np.random.default_rng(0).random((600, 1)) > chances).sum(axis=1)
        for outputs in (probs, probs[:, 1])[: 2 if n_classes == 2 else 1]:
            double, single = (
                calib.from_outputs(each, labels).logits
                for each in (outputs, outputs.astype(np.float32))
            )
            fits = [fit(make(name, params), rows[:300], labels[:300]) for rows in (double, single)]
            expected = answer(fits[0], double)
            np.testing.assert_allclose(answer(fits[0], single), expected, atol=0.005)
            np.testing.assert_allclose(answer(fits[1], single), expected, atol=0.005)


@every_variant
def test_a_fit_is_the_same_again_from_its_seed_its_state_and_its_pickle(name, params):
    calibrator, logits = fitted(name, params), hard_rows(4)
    calibrator.check_state()
    outline, arrays = flatten(calibrator.get_state())
    from_state = make(name, params).set_state(unflatten(outline, arrays))
    refitted = fit(make(name, params), *sample(150, 4))
    for again in (calibrator, refitted, from_state, pickle.loads(pickle.dumps(calibrator))):
        np.testing.assert_array_equal(answer(again, logits), answer(calibrator, logits))
    assert from_state.notes() == calibrator.notes()
    assert all(isinstance(note, str) and note.endswith(".") for note in calibrator.notes())
    assert isinstance(calibrator.variant(4), str)
    clone = sklearn.base.clone(calibrator)
    assert clone.get_params() == calibrator.get_params() and not clone.fitted


WITH_STEPS = [name for name, method in calib.METHODS.items() if not method.needs]


@pytest.mark.parametrize("name", WITH_STEPS)
@pytest.mark.parametrize("number", [16, pytest.param(200, marks=pytest.mark.long)])
def test_forged_records_are_refused_or_keep_the_promises(name, number):
    """Of some variants in turn; each is refused in a sentence or predicts as its method promises."""
    rng = np.random.default_rng(crc32(name.encode()))
    few = name in SLOW or number == 16
    variants = [
        each for n, each in enumerate(VARIANTS[name]) if not few or n == 0 or most_changed(name, n)
    ]
    refused = 0
    for i in range(number):
        n_classes = (4, 2)[i % 2]
        arrays = forged(
            ExportedCalibrator(fitted(name, variants[i // 2 % len(variants)], n_classes)), rng
        )
        try:
            made = from_arrays(arrays)
        except CalibrationError as error:
            refused += 1
            assert re.fullmatch(r"[^\n]{20,500}\.", str(error)), error
            continue
        n_columns = made.calibrator.n_classes_
        with contextlib.suppress(CalibrationError):
            check_probs(
                made.calibrator, np.concatenate([hard_rows(n_columns), 1e6 * np.eye(n_columns)])
            )
        assert all(isinstance(note, str) for note in made.calibrator.notes())
    assert (0 if number == 16 else 40) < refused < 200


@every_variant
def test_a_row_has_one_answer_and_one_confidence_in_any_company(name, params):
    calibrator, logits = fitted(name, params), hard_rows(4)
    together = answer(calibrator, logits)
    alone = np.concatenate([answer(calibrator, row[None]) for row in logits[:50:5]])
    np.testing.assert_allclose(together[:50:5], alone, rtol=1e-9, atol=1e-12)
    assert answer(calibrator, logits[:0]).shape == (0, *together.shape[1:])
    groups = members(logits) if calibrator.needs_groups else None
    predicted = calibrator.predict(logits, groups=groups)
    confidence = calibrator.predict_confidence(logits, inputs(logits), groups=groups)
    assert confidence.shape == predicted.shape == (len(logits),)
    if calibrator.gives_probabilities:
        np.testing.assert_array_equal(confidence, together[np.arange(len(logits)), predicted])
    else:
        np.testing.assert_array_equal(predicted, np.argmax(logits, axis=1))
        with pytest.raises(CalibrationError, match="a confidence in the predicted class only"):
            calibrator.predict_proba(logits)


@pytest.mark.parametrize("name", calib.METHODS)
def test_a_fit_that_fails_leaves_the_earlier_one(name):
    calibrator = copy.deepcopy(fitted(name, VARIANTS[name][0]))
    before = answer(calibrator, hard_rows(4))
    logits, labels = sample(90, 4, seed=8)
    with contextlib.suppress(FitCancelled):
        fit(calibrator, logits, labels, progress=Mock(side_effect=FitCancelled))
        return  # it is over before it reports anything
    np.testing.assert_array_equal(answer(calibrator, hard_rows(4)), before)
    with pytest.raises(CalibrationError, match="shape"):
        fit(calibrator, logits, labels[:-1])
    np.testing.assert_array_equal(answer(calibrator, hard_rows(4)), before)


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", calib.METHODS)
def test_parameters_are_explained_and_refused_where_they_are_wrong(name):
    cls = calib.METHODS[name].cls
    for f in fields(cls):
        assert f.metadata.get("help"), f"{name}.{f.name} has no help"
        assert f.metadata["help"].endswith("."), f"the help of {name}.{f.name} is no sentence"
        with pytest.raises(CalibrationError, match=f.name):
            make(name, {f.name: 5 if f.default == "" else "no such value"})
    with pytest.raises(CalibrationError, match="no parameter 'bandwidth'"):
        make(name, {"bandwidth": 1})


@pytest.mark.parametrize("name", calib.METHODS)
def test_unusable_arrays_are_refused(name):
    logits, labels = sample(10, 3)
    nan = logits.copy()
    nan[4, 1] = np.nan
    few = calib.METHODS[name].cls.min_rows - 1
    for bad_logits, bad_labels, says in [
        (nan, labels, "1 of 10 rows"),
        (logits[:, :1], labels, "3 different values"),
        (logits[0], labels, "shape"),
        (logits.astype(str), labels, "numbers"),
        (logits, labels[:-1], r"shape \(9,\) for 10 rows"),
        (logits, np.arange(10), "10 different values"),
        (logits, labels + 0.5, "fractions"),
        (logits[:few], labels[:few], f"has {few} rows?;"),
    ]:
        with pytest.raises(CalibrationError, match=says):
            given = extras(name, logits)
            if "groups" in given:
                given["groups"] = given["groups"][: len(bad_logits)]
            make(name, {}).fit(bad_logits, bad_labels, **given)
    takes = ", ".join(sorted(calib.METHODS[name].needs)) or "no further arrays"
    with pytest.raises(CalibrationError, match=takes):
        make(name, {}).fit(logits, labels, votes=labels)
    with pytest.raises(CalibrationError, match="not fitted"):
        answer(make(name, {}), logits)
    with pytest.raises(CalibrationError, match=r"3 columns.* takes 4"):
        answer(fitted(name, VARIANTS[name][0]), logits)
    with pytest.raises(CalibrationError, match="NaN"):
        answer(fitted(name, VARIANTS[name][0], 4), np.full((2, 4), np.nan))
