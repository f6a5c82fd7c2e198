"""The report in one call is that of the command line, whatever the data are held in."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import calib
from calib.errors import CalibrationError
from calib.numerics import softmax
from tests.conftest import ROOT, simulate
from tests.reporting.conftest import Reading

LOGITS, LABELS = simulate(n=200, n_classes=4)


def tables(path: Path) -> dict[str, list[list[str]]]:
    return Reading(path.read_text(encoding="utf-8")).tables


def test_its_last_section_holds_the_call_that_makes_it_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calib.report(LOGITS, LABELS, methods=["temperature"], part=0.3, random_state=7)
    first = tables(tmp_path / "report.html")
    (call,) = re.findall(
        r"calib\.report\(.*\)", Reading(Path("report.html").read_text(encoding="utf-8")).text
    )
    assert str(tmp_path) not in call
    exec(call, {"calib": calib, "probs": LOGITS, "labels": LABELS})
    assert tables(tmp_path / "report.html")["changes"] == first["changes"]


def test_fitted_calibrators_are_judged_on_all_rows(tmp_path):
    logits, labels = simulate(n=300, n_classes=4, seed=5)
    fitted = calib.calibrator("temperature").fit(logits, labels)
    made = calib.report(LOGITS, LABELS, path=tmp_path / "report.html", methods={"mine": fitted})
    rows = made.table[made.table["score"] == "NLL"].set_index("method")["value"]
    assert made.n_test == len(LABELS)
    assert rows["mine"] == pytest.approx(calib.metrics.nll(fitted.predict_proba(LOGITS), LABELS))
    assert rows["identity"] == pytest.approx(calib.metrics.nll(softmax(LOGITS), LABELS))


@pytest.mark.usefixtures("few_simulations")
@pytest.mark.parametrize("kind", ["event", "pairs", "classes"])
def test_the_raw_model_alone_has_a_report_of_each_kind(kind, tmp_path):
    probs = softmax(LOGITS)
    given = {
        "event": ((probs[:, 0], LABELS == 0), {}),
        "pairs": ((probs.max(axis=1), probs.argmax(axis=1) == LABELS), {"kind": "pairs"}),
        "classes": ((probs, LABELS), {}),
    }
    (outputs, labels), options = given[kind]
    made = calib.report(outputs, labels, path=tmp_path / "report.html", methods=[], **options)
    assert len(made.methods) == 1
    first = {
        "event": "Risk model:",
        "pairs": "Confidence in answers:",
        "classes": "Calibration of",
    }[kind]
    assert f"<h1>{first}" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"path": "report.pdf"}, "report.pdf"),
        ({"path": None}, "got None"),
        ({"path": "nowhere/report.html"}, "no folder"),
        ({"methods": ["temprature"]}, "temprature"),
        ({"methods": {"mine": softmax}}, "'mine' of methods names no calibrator"),
        ({"methods": {3: calib.calibrator("temperature")}}, "3 of methods names no calibrator"),
        ({"methods": 3}, "got 3"),
        ({"view": "events"}, "events"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_fitted(given, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CalibrationError, match=said):
        calib.report(LOGITS, LABELS, **given)
    assert not list(tmp_path.iterdir())


def test_without_plotly_it_says_what_to_install():
    code = "import sys; sys.modules['plotly'] = None; import calib; calib.report([[0.5, 0.5]], [0])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "calib-studio[report]" in done.stderr.splitlines()[-1]
