"""What a calibrator has seen: probabilities are not taken for logits, nor the reverse; what is unclear is asked."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.cli import main as command
from calib.data import Predictions
from calib.errors import CalibrationError
from calib.export import provenance, runtime, writer
from calib.export.npz import to_npz
from calib.export.predict import main as script
from calib.export.seen import AmbiguousOutputs, Seen
from calib.numerics import sigmoid, softmax
from tests.conftest import simulate
from tests.forged_records import opened, sealed

N = 2_000


def of_kind(kind: str, scale: str | float | None = None) -> tuple[runtime.ExportedCalibrator, np.ndarray, np.ndarray]:
    """A calibrator for outputs of a kind, such outputs, and what somebody may give in their place."""
    logits, labels = simulate(n=N, n_classes=2 if kind.startswith("binary") else 6)
    logits = logits * 3
    log_odds, probs = logits[:, 1] - logits[:, 0], softmax(logits)
    outputs, others, canonical = {
        "logits": (logits, probs, logits),
        "probabilities": (probs, sigmoid(logits), np.log(probs)),
        "log_probabilities": (np.log(probs), logits - logits.max() - 1, np.log(probs)),
        "binary_log_odds": (log_odds, sigmoid(log_odds), np.stack([np.zeros(N), log_odds], axis=1)),
        "binary_probability": (100 * sigmoid(log_odds), sigmoid(log_odds), np.log(probs)),
    }[kind]
    data = Predictions(canonical, labels % canonical.shape[1], tuple(map(str, range(canonical.shape[1]))), kind)  # type: ignore[arg-type]
    data = replace(data, scale=scale)
    fitted = calib.calibrator("temperature").fit(data.logits, data.labels)
    return provenance.exported(fitted, provenance.describe(data)), outputs, others


CASES = [
    ("logits", None),
    ("probabilities", None),
    ("log_probabilities", None),
    ("binary_log_odds", None),
    ("binary_probability", "percent"),
]


@pytest.mark.parametrize(("kind", "scale"), CASES)
def test_outputs_that_look_like_another_kind_are_asked_about_and_its_own_pass(kind, scale):
    exported, outputs, others = of_kind(kind, scale)
    for n in (1, 2, 40, N):
        assert len(exported.calibrate(outputs[:n])) == n
    with pytest.raises(AmbiguousOutputs, match=r"40 rows.*kind="):
        exported.calibrate(others[:40])
    said = exported.calibrate(others[:40], kind=exported.kind)
    assert said.shape == (40, exported.n_classes)
    with pytest.raises(CalibrationError, match="were said to be"):
        exported.calibrate(outputs, kind="pairs")


def test_one_row_is_refused_only_where_chance_does_not_explain_it():
    exported, outputs, others = of_kind("logits")
    with pytest.raises(AmbiguousOutputs):
        exported.calibrate(others[:1])
    exported, outputs, others = of_kind("binary_log_odds")
    uncertain = outputs[(outputs >= 0) & (outputs <= 1)]
    assert exported.seen.in_unit == len(uncertain) > 50
    exported.calibrate(uncertain[:2])
    with pytest.raises(AmbiguousOutputs, match=f"{len(uncertain):,} do"):
        exported.calibrate(uncertain)


def test_probabilities_in_the_place_of_logits_are_asked_about():
    exported, outputs, _ = of_kind("logits")
    with pytest.raises(AmbiguousOutputs, match="before the softmax"):
        exported.calibrate(softmax(outputs))


def test_a_calibrator_that_was_fitted_on_such_rows_takes_them():
    exported, outputs, _ = of_kind("logits")
    probs = softmax(outputs)
    odd = replace(exported, seen=Seen.from_logits(probs, "logits"))
    assert odd.seen.look == "probabilities"
    odd.calibrate(probs)


def test_sums_that_were_rounded_are_no_reason_to_ask():
    exported, outputs, _ = of_kind("probabilities")
    exported.calibrate(outputs.round(2))
    exported.calibrate(np.concatenate([outputs[:60], sigmoid(outputs[:40])]))  # less than half of the rows


def test_what_was_seen_is_counted_and_travels_with_every_file(tmp_path):
    exported, outputs, _ = of_kind("logits")
    assert (exported.seen.rows, exported.seen.low, exported.seen.high) == (N, outputs.min(), outputs.max())
    assert exported.seen.in_unit == ((outputs >= 0) & (outputs <= 1)).all(axis=1).sum()
    for ending in (".pkl", ".npz", ".zip"):
        assert runtime.load(writer.save(exported, tmp_path / f"c{ending}")).seen == exported.seen
    exported, outputs, _ = of_kind("binary_probability", "percent")
    assert exported.seen.high == pytest.approx(outputs.max(), abs=1e-9)
    half = Seen(10, -1.0, 1.0, 3, "")
    assert half.joined(Seen(5, -2.0, 0.5, 1, "probabilities")) == Seen(15, -2.0, 1.0, 4, "")


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 0},
        {"rows": 10**400},
        {"in_unit": N + 1},
        {"low": float("nan")},
        {"high": 10**400},
        {"low": "0"},
        {"look": "?"},
        {"more": 1},
    ],
)
def test_a_record_that_says_nonsense_of_what_was_seen_is_refused(changes):
    exported, _, _ = of_kind("logits")
    record, arrays = opened(to_npz(exported))
    record["seen"] |= changes
    with pytest.raises(CalibrationError, match=r"seen|does not hold what it should"):
        runtime.from_arrays(sealed(record, arrays))


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_the_script_and_the_command_ask_and_take_an_answer(tmp_path, capsys, ending):
    exported, _, others = of_kind("logits")
    calibrator, outputs = tmp_path / "c.npz", tmp_path / "o.npy"
    writer.save(exported, calibrator)
    np.save(outputs, others)
    out = ["--out", str(tmp_path / f"p.{ending}")]

    def of_script(*more):
        try:
            script([str(outputs), "--calibrator", str(calibrator), *out, *more])
        except SystemExit as ended:
            print(ended, file=sys.stderr)
            return 1
        return 0

    for run in (of_script, lambda *more: command(["apply", str(calibrator), str(outputs), *out, *more])):
        assert run() == 1
        assert "--kind logits" in capsys.readouterr().err
        assert run("--kind", "logits") == 0
        assert run("--kind", "probabilities") == 1
        assert "probabilities" in capsys.readouterr().err
