"""What a calibrator has seen: probabilities are not taken for logits; what is unclear is asked."""

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
from calib.export.predict import main as script
from calib.numerics import sigmoid, softmax
from calib.outputs import AmbiguousOutputs, Seen
from tests.conftest import simulate
from tests.forged_records import opened, sealed

N = 2_000


def of_kind(
    kind: str, scale: str | None = None
) -> tuple[runtime.ExportedCalibrator, np.ndarray, np.ndarray]:
    """A calibrator for outputs of a kind, such outputs, and probabilities that somebody may give in their place."""
    logits, labels = simulate(n=N, n_classes=2 if kind.startswith("binary") else 6)
    logits = logits * 3
    log_odds = logits[:, 1] - logits[:, 0]
    outputs, others, canonical = {
        "logits": (logits, softmax(logits), logits),
        "binary_log_odds": (log_odds, sigmoid(log_odds), np.stack([np.zeros(N), log_odds], axis=1)),
        "binary_probability": (100 * sigmoid(log_odds), sigmoid(log_odds), np.log(softmax(logits))),
    }[kind]
    data = Predictions(
        canonical, labels % canonical.shape[1], tuple(map(str, range(canonical.shape[1]))), kind
    )  # type: ignore[arg-type]
    data = replace(data, scale=scale)
    fitted = calib.calibrator("temperature").fit(data)
    return provenance.exported(fitted), outputs, others


@pytest.mark.parametrize(
    ("kind", "scale"),
    [("logits", None), ("binary_log_odds", None), ("binary_probability", "percent")],
)
def test_probabilities_are_asked_about_and_outputs_as_before_pass(kind, scale):
    exported, outputs, others = of_kind(kind, scale)
    for n in (1, 2, 40, N):
        assert len(exported.predict_proba(outputs[:n])) == n
    with pytest.raises(AmbiguousOutputs, match=r"40 rows lie in \[0, 1\].*kind="):
        exported.predict_proba(others[:40])
    assert exported.predict_proba(others[:40], kind=exported.kind).shape == (40, exported.n_classes)
    with pytest.raises(CalibrationError, match="were said to be"):
        exported.predict_proba(outputs, kind="pairs")
    used = replace(exported, seen=Seen(N, 0.0, 1.0, 1.0))
    used.predict_proba(others)  # a calibrator that was fitted on such rows takes them


def test_what_was_seen_is_counted_and_travels_with_every_file(tmp_path):
    exported, outputs, _ = of_kind("logits")
    share = ((outputs >= 0) & (outputs <= 1)).all(axis=1).mean()
    assert exported.seen == Seen(N, outputs.min(), outputs.max(), share)
    for ending in (".pkl", ".npz", ".zip"):
        assert runtime.load(writer.save(exported, tmp_path / f"c{ending}")).seen == exported.seen
    exported, outputs, _ = of_kind("binary_probability", "percent")
    assert exported.seen.high == pytest.approx(outputs.max(), abs=1e-9)
    assert Seen.from_logits(np.zeros((120_000, 2)), "logits").rows == 40_000


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 0},
        {"in_unit": 1.1},
        {"low": float("nan")},
        {"high": 10**400},
        {"low": "0"},
        {"more": 1},
    ],
)
def test_a_record_that_says_nonsense_of_what_was_seen_is_refused(changes):
    record, arrays = opened(writer.to_bytes("npz", of_kind("logits")[0]))
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

    for run in (
        of_script,
        lambda *more: command(["apply", str(calibrator), str(outputs), *out, *more]),
    ):
        assert run() == 1
        assert "kind" in capsys.readouterr().err
        assert run("--kind", "logits") == 0
        assert run("--kind", "probabilities") == 1
        assert "probabilities" in capsys.readouterr().err
