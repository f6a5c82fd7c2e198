"""Calibrators as SQL expressions, evaluated by SQLite, DuckDB and, where there is a server, PostgreSQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

import numpy as np
import pytest

import calib
from benchmarks.exports import (
    fits,
    in_duckdb,
    in_postgresql,
    in_sqlite,
    near_steps,
    postgresql_programs,
    simulated,
)
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.step_maps import StepMap
from calib.errors import CalibrationError
from calib.export.runtime import ExportedCalibrator
from calib.export.writer import save, to_sql
from calib.registry import METHODS

ENGINES = {"sqlite": in_sqlite, "duckdb": in_duckdb, "postgresql": in_postgresql}
ADVERSARIAL = np.array(
    [0.0, -0.0, 1e-17, 36.0, -36.0, 37.0, 709.0, -745.0, 1e5, -1e5, 1e100, -1e100]
)


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.long] * (name != "sqlite")) for name in ENGINES]
)
def run(request):
    if request.param == "duckdb":
        pytest.importorskip("duckdb", reason="duckdb is not installed")
    if request.param == "postgresql" and not postgresql_programs():
        pytest.skip("no PostgreSQL server program was found")
    try:
        with closing(sqlite3.connect(":memory:")) as engine:
            engine.execute("SELECT EXP(LN(2))")
    except sqlite3.OperationalError:
        pytest.skip("this Python's SQLite was built without its mathematical functions")
    return ENGINES[request.param]


def evaluated(run, expression, scores):
    rows = run(f"SELECT {expression} FROM scores ORDER BY row_number", scores)
    return np.array([np.nan if row[0] is None else row[0] for row in rows])


def as_probability(given):
    return ExportedCalibrator(given.calibrator, kind="binary_probability", floor=1e-9)


@cache
def fitted_once(method):
    """The fits of a method to two classes, which all engines are given."""
    return tuple(fits(2, [method], n=100))


SLOW = ("bayes_iso", "gpcalib")


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=[pytest.mark.long] * (name in SLOW))
        for name, method in METHODS.items()
        if not method.needs
    ],
)
def test_engines_give_what_the_methods_give(run, method):
    written = 0
    for _, params, given, rows in fitted_once(method):
        scores = np.append(rows[::50], ADVERSARIAL)
        probs = np.append(
            1 / (1 + np.exp(-np.clip(scores, -700, 40))), [0.0, 1.0, 1e-320, 1 - 2.0**-53, 0.5]
        )
        if params.get("prediction", "draws") != "mean" and method == "gpcalib":
            with pytest.raises(CalibrationError, match="PyTorch"):
                to_sql(given)
            continue
        for of, column in ((given, scores), (as_probability(given), probs)):
            known = ~near_steps(of, of.to_logits(column, of.kind))
            expected = of.predict_proba(column, of.kind)[:, 1]
            np.testing.assert_allclose(
                evaluated(run, to_sql(of), column)[known], expected[known], rtol=0, atol=1e-9
            )
            written += 1
    assert written


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if not method.needs])
def test_fits_to_rows_of_one_class_are_written_too(run, method, label):
    logits, _ = simulated(60, 2)
    logits[:, 0] = 0
    params = {"prediction": "mean"} if method == "gpcalib" else {}
    fitted = calib.calibrator(method, **params).fit(logits, np.full(60, label))
    scores = np.append(np.linspace(-30, 30, 25), ADVERSARIAL)
    given = ExportedCalibrator(fitted, kind="binary_log_odds")
    known = ~near_steps(given, given.to_logits(scores, given.kind))
    expected = fitted.predict_proba(np.stack([0 * scores, scores], axis=1))[:, 1]
    np.testing.assert_allclose(
        evaluated(run, to_sql(given), scores)[known], expected[known], rtol=0, atol=1e-9
    )


def test_what_is_no_score_becomes_null(run):
    fitted = calib.calibrator("isotonic").fit(*simulated(100, 2))
    odds = evaluated(
        run, to_sql(fitted, kind="binary_log_odds"), np.array([np.nan, np.inf, -np.inf, 0.0])
    )
    assert np.isnan(odds).tolist() == [True, True, True, False]
    probs = evaluated(
        run, to_sql(fitted, kind="binary_probability"), np.array([np.nan, 87.0, -0.1, 0.5, 1.0])
    )
    assert np.isnan(probs).tolist() == [True, True, True, False, False]
    rows = run(
        f"SELECT {to_sql(fitted, 'unknown')} FROM (SELECT CAST(NULL AS DOUBLE PRECISION) AS unknown) AS one",
        np.zeros(1),
    )
    assert rows[0][0] is None


def test_a_thousand_steps_are_a_shallow_tree(run):
    rng = np.random.default_rng(0)
    fitted = HistogramBinning().fit(*simulated(100, 2))
    edges = np.sort(rng.normal(size=1000))
    fitted.maps_ = [StepMap(edges, rng.random(1001))]
    scores = np.concatenate([edges, edges - 1e-9, rng.normal(size=2000) * 3])
    expression = to_sql(fitted)
    expected = fitted.predict_proba(np.stack([0 * scores, scores], axis=1))[:, 1]
    apart = np.abs(evaluated(run, expression, scores) - expected) > 1e-9
    assert not apart[len(edges) :].any()
    assert apart.sum() <= 2, "SQLite reads one number in two thousand with a rounding error"
    deepest, depth = 0, 0
    for word in expression.split():
        depth += word.lstrip("(").startswith("CASE") - word.startswith("END")
        deepest = max(deepest, depth)
    assert deepest <= 7


@pytest.mark.parametrize(
    "column", ["risk", "one.risk", '"select"', 'one."a ""b""; DROP TABLE scores; --"']
)
def test_a_column_is_written_as_sql_writes_it(run, column):
    fitted = calib.calibrator("platt").fit(*simulated(100, 2))
    name = column.removeprefix("one.")
    rows = run(f"SELECT {to_sql(fitted, column)} FROM (SELECT 0.5 AS {name}) AS one", np.zeros(1))
    assert rows[0][0] == pytest.approx(fitted.predict_proba([[0.0, 0.5]])[0, 1], abs=1e-12)


@pytest.mark.parametrize(
    "column",
    [
        None,
        3,
        b"score",
        "",
        "a b",
        "a;b",
        "a--",
        "1)",
        'a"b',
        '"a"b"',
        '"a\0b"',
        '"\ud800"',
        "a.",
        "score ",
    ],
)
def test_what_is_no_name_is_refused(column):
    fitted = calib.calibrator("platt").fit(*simulated(100, 2))
    with pytest.raises(CalibrationError, match="no name of a column in SQL"):
        to_sql(fitted, column)


def test_what_is_no_map_of_one_score_is_refused(tmp_path):
    logits, labels = simulated(100, 3)
    three = calib.calibrator("temperature").fit(logits, labels)
    with pytest.raises(CalibrationError, match="3 classes"):
        to_sql(three)
    _, _, draws, _ = next(fits(2, ["gpcalib"], n=60))
    with pytest.raises(CalibrationError, match="PyTorch"):
        to_sql(draws)
    two = calib.calibrator("temperature").fit(*simulated(100, 2))
    with pytest.raises(CalibrationError, match="percent"):
        to_sql(two, kind="binary_probability", scale="percent")
    written = save(two, tmp_path / "map.sql", class_names=["a", "b\n; DROP TABLE x"]).read_text()
    head = [line for line in written.splitlines() if line.startswith("--")]
    assert "Temperature" in head[0] and head[-1] == "-- result: probability of b ; DROP TABLE x"
    assert written.split("\n", len(head))[-1].split() == to_sql(two).split()
