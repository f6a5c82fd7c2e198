"""``--json``: standard output is one document whose numbers are those of the library, and of the text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calib
from calib.cli.text import before_and_after, judged_raw, plain
from calib.decisions.sample_size import WIDTHS, rows_needed
from calib.diagnostics import shift, shift_data
from calib.diagnostics.new_rows import without_labels
from calib.diagnostics.sequential_tests import batches_of, sequential_tests
from calib.evaluation import score_intervals
from calib.evaluation.studies import repeated_splits, summarise_splits
from calib.export import runtime
from calib.metrics.bootstrap import Interval
from tests.cli.conftest import run
from tests.conftest import simulate

Answer = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs of two models, a calibrator of the first, and rows without labels."""
    folder = tmp_path_factory.mktemp("outputs")
    logits, labels = simulate(n=240, n_classes=3)
    np.savez(folder / "three.npz", logits=logits, labels=labels)
    np.save(folder / "new.npy", logits[:50])
    logits, labels = simulate(n=240, n_classes=2, seed=1)
    np.savez(folder / "two.npz", logits=logits, labels=labels)
    assert (
        run("fit", folder / "three.npz", "--method", "temperature", "--out", folder / "c.npz") == 0
    )
    return folder


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Answer:
    def answer(*arguments: object, status: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        assert run(*arguments, "--json") == status
        found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        assert isinstance(found, dict) and isinstance(found["notes"], list)
        return found

    return answer


def same(found: Any, expected: Any) -> None:
    """A value with its interval, in JSON and in the library."""
    assert [found["value"], *found["interval"]] == pytest.approx(list(expected))


def by_score(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {record["score"]: record for record in records}


def test_compare(folder: Path, answer: Answer) -> None:
    found = answer("compare", folder / "three.npz", "--methods", "temperature,isotonic")
    calibration, test = calib.load(folder / "three.npz").split()
    methods = {name: calib.calibrator(name, random_state=0) for name in ("temperature", "isotonic")}
    table = calib.compare(methods, calibration, test).table
    assert found["rows"] == {"calibration": len(calibration), "test": len(test)}
    assert len(found["scores"]) == len(table)
    for record, row in zip(found["scores"], table.to_dict("records"), strict=True):
        assert (record["method"], record["score"]) == (row["method"], row["score"])
        pairs = [
            (record["value"], row["value"]),
            (record["difference"]["value"], row["difference"]),
            *zip(record["interval"], (row["low"], row["high"]), strict=True),
            *zip(
                record["difference"]["interval"],
                (row["difference_low"], row["difference_high"]),
                strict=True,
            ),
        ]
        for given, expected in pairs:
            assert given == (
                pytest.approx(expected, abs=1e-12) if math.isfinite(expected) else None
            )
        assert record["verdict"] == row["verdict"]
    assert found["recommendation"]["method"] in {"identity", *methods}
    assert found["model"]["gap"] == pytest.approx(np.subtract(*judged_raw(test).pair).mean())


def test_compare_over_splits(folder: Path, answer: Answer, tmp_path: Path) -> None:
    files = ["--csv", tmp_path / "s.csv"]
    found = answer("compare", folder / "two.npz", "--method", "temperature", "--repeats", 2, *files)
    data = calib.load(folder / "two.npz")
    n = found["rows"]["calibration"]
    table = summarise_splits(
        repeated_splits(
            {"temperature": calib.calibrator("temperature", random_state=0)}, data, n, n_repeats=2
        )
    )
    assert [each["value"] for each in found["splits"]] == pytest.approx(
        list(table["value"]), nan_ok=True
    )
    assert (tmp_path / "s-splits.csv").is_file()


def test_fit(folder: Path, answer: Answer, tmp_path: Path) -> None:
    options = ["--calibration", 0.25, "--seed", 3, "--out", tmp_path / "c.npz"]
    found = answer("fit", folder / "three.npz", "--method", "temperature", *options)
    calibration, test = calib.load(folder / "three.npz").split(0.25, random_state=3)
    saved = runtime.load(tmp_path / "c.npz")
    expected = calib.calibrator("temperature", random_state=3).fit(
        calibration.logits, calibration.labels
    )
    probs = expected.predict_proba(test.logits)
    np.testing.assert_allclose(saved.calibrator.predict_proba(test.logits), probs, atol=1e-12)
    assert saved.metadata["scores"]["NLL"]["after"][0] == pytest.approx(
        calib.metrics.nll(probs, test.labels)
    )
    assert (found["method"], found["rows"], found["test_rows"]) == (
        "temperature",
        len(calibration),
        len(test),
    )
    assert found["file"] == str(tmp_path / "c.npz")
    scores = before_and_after(saved.calibrator, test)
    assert set(by_score(found["scores"])) == set(scores)
    for key, record in by_score(found["scores"]).items():
        same(record["before"], scores[key]["before"])
        same(record["after"], scores[key]["after"])


def test_inspect(folder: Path, answer: Answer, tmp_path: Path) -> None:
    found = answer("inspect", folder / "three.npz")
    data = calib.load(folder / "three.npz")
    assert {(each["name"], *each["shape"]) for each in found["arrays"]} == {
        ("logits", 240, 3),
        ("labels", 240),
    }
    assert (found["rows"], found["classes"], found["read"]["kind"]) == (
        240,
        ["0", "1", "2"],
        "logits",
    )
    said, outcome = judged_raw(data).pair
    model = found["model"]
    assert [model["predicted"], model["observed"]] == pytest.approx([said.mean(), outcome.mean()])
    logits, labels = simulate(n=240, n_classes=3)
    np.savez(tmp_path / "broken.npz", logits=logits, labels=labels[:-3])
    broken = answer("inspect", tmp_path / "broken.npz", status=1)
    assert "error" in {finding["level"] for finding in broken["findings"]} and "rows" not in broken


def test_check_of_labelled_rows(folder: Path, answer: Answer) -> None:
    found = answer("check", folder / "c.npz", folder / "three.npz", "--batch", 100)
    exported = runtime.load(folder / "c.npz")
    new = shift_data.read_new_rows(exported, folder / "three.npz")
    assert new.data is not None
    before, now = shift_data.judge(exported, new.data)
    recorded, n_before = shift.recorded_scores(exported.metadata)
    expected = shift.calibration_shift(now, before, recorded, n_before=n_before)
    assert (
        found["labelled"] and found["rows"] == 240 and found["miscalibrated"] is shift.off(expected)
    )
    for key, record in by_score(found["scores"]).items():
        change = expected.scores[key]
        same(record["now"], change.now)
        if change.before is not None and change.change is not None:
            same(record["before"], change.before)
            same(record["change"], change.change)
        else:
            assert record["before"] is record["change"] is None
    assert expected.gain is not None
    same(found["gain"], expected.gain)
    tests = sequential_tests(*now.pair, *batches_of(240, None, 100))
    batches = found["sequential"]["batches"]
    assert [batch["log_e"] for batch in batches] == pytest.approx(list(tests.log_e))
    assert [batch["o_e"]["interval"][1] for batch in batches] == pytest.approx(list(tests.high))
    assert any("fitted on" in note for note in found["notes"])


def test_check_of_rows_without_labels(folder: Path, answer: Answer) -> None:
    found = answer("check", folder / "c.npz", folder / "new.npy")
    exported = runtime.load(folder / "c.npz")
    new = shift_data.read_new_rows(exported, folder / "new.npy")
    assert new.data is not None
    expected = without_labels(shift_data.judge(exported, new.data)[1])
    assert (found["labelled"], found["rows"], found["expected"]["rate"]) == (False, 50, None)
    same(found["expected"]["accuracy"], expected.accuracy)


def test_plan(folder: Path, answer: Answer) -> None:
    found = answer("plan", folder / "two.npz", "--threshold", 0.3)
    data = calib.load(folder / "two.npz")
    said, came = judged_raw(data).pair
    threshold = 0.3 if found["model"]["view"] == "event" else None
    expected = rows_needed(said, came, threshold, WIDTHS)
    assert [(each["target"], each["rows"]) for each in found["needed"]] == [
        (e.target, e.rows) for e in expected
    ]


def test_gate(folder: Path, answer: Answer) -> None:
    found = answer("gate", folder / "three.npz", "--max-ece", 0.01, "--min-accuracy", 0.1, status=3)
    expected = score_intervals(judged_raw(calib.load(folder / "three.npz")))
    assert found["passed"] is False and found["rows"] == 240
    for key, record in by_score(found["scores"]).items():
        same(record, expected[key])
        assert record["verdict"] == ("passes" if key == "accuracy" else "fails")


def test_nothing_but_numbers_text_and_null_is_written() -> None:
    table = calib.METHODS  # any mapping
    assert plain({1: table.keys() & {"nothing"}, "a": np.float32(0.5), "b": np.array([1, 2])}) == {
        "1": [], "a": 0.5, "b": [1, 2],
    }  # fmt: skip
    assert plain([float("nan"), -math.inf, np.nan, True, None, Path("a")]) == [
        None,
        None,
        None,
        True,
        None,
        "a",
    ]
    assert plain(Interval(1.0, -math.inf, 2.0)) == {"value": 1.0, "interval": [None, 2.0]}


def test_a_class_of_any_name_stays_within_its_string(tmp_path: Path, answer: Answer) -> None:
    logits, labels = simulate(n=100, n_classes=2)
    names = np.array(['a\x1b[2J"', "b\u202e\n"])
    np.savez(tmp_path / "n.npz", logits=logits, labels=names[labels], class_names=names)
    assert answer("inspect", tmp_path / "n.npz")["classes"] == list(names)
