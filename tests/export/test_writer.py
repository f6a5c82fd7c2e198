"""Exports predict with NumPy alone as the fitted calibrator does, and a GPcalib export can be fitted further."""

from __future__ import annotations

import io
import os
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt

import calib
from benchmarks.exports import QUICK
from calib.decisions import AnswerAbove, conformal_sets
from calib.errors import CalibrationError
from calib.export import provenance, writer
from calib.export.model_card import model_card
from tests.conftest import ROOT, simulate
from tests.forged_records import opened

BLOCKED = (
    "tensorflow",
    "tf_keras",
    "gpflow",
    "sklearn",
    "scipy",
    "streamlit",
    "pandas",
    "plotly",
    "pyarrow",
    "h5py",
)
BLOCKER = f"import sys\nsys.modules.update(dict.fromkeys({BLOCKED!r}))\n"
"""None of these can be imported after it."""

METHODS = [name for name, method in calib.METHODS.items() if not method.needs]


@pytest.fixture(scope="module")
def everything(overconfident):
    """Each method fitted once, and logits that also lie far outside the calibration data."""
    logits, labels = (each[:120] for each in overconfident)
    test = np.concatenate([logits[:50], [[1e3, -1e3, 0, 0], [0, 0, 0, 0]]])
    return {
        name: calib.calibrator(name, **QUICK.get(name, {})).fit(logits, labels) for name in METHODS
    }, test


def run_python(code: str, cwd: Path, path: str, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_method_predicts_the_same_with_numpy_alone(everything, tmp_path):
    fitted, test = everything
    rule = AnswerAbove(threshold=0.7)
    for name, calibrator in fitted.items():
        probs = calibrator.predict_proba(test)
        sets = conformal_sets(probs, probs.argmax(axis=1), 0.3)
        for suffix in (".pkl", ".npz", ".zip"):
            writer.save(calibrator, tmp_path / f"{name}{suffix}", decision=rule, sets=sets)
        actions = np.where(probs.max(axis=1) >= 0.7, calibrator.predict(test), -1)
        decided = {"actions": actions, "sets": sets.predict(probs)}
        np.savez(tmp_path / f"{name}.expected.npz", probs=probs, **decided)
    np.save(tmp_path / "test.npy", test)
    code = (
        BLOCKER
        + """
import pickle, sys
from pathlib import Path
import numpy as np
from calib import runtime
test = np.load("test.npy")
for path in sorted(each for name in sys.argv[1:] for each in Path().glob(name + ".[pnz]??") if each.stem == name):
    name = path.stem
    made = pickle.loads(path.read_bytes()) if path.suffix == ".pkl" else runtime.load(path)
    assert isinstance(made, runtime.ExportedCalibrator) and made.method == name
    expected = np.load(name + ".expected.npz")
    difference = np.abs(made.calibrator.predict_proba(test) - expected["probs"]).max()
    assert difference <= 1e-9, (name, difference)
    assert np.array_equal(made.decide(test, kind="logits"), expected["actions"]), name
    assert np.array_equal(made.prediction_sets(test, kind="logits"), expected["sets"]), name
print("reproduced", len(sys.argv[2:]))
"""
    )
    assert run_python(code, tmp_path, str(ROOT), suffix, *fitted) == f"reproduced {len(fitted)}\n"


def test_a_bundle_is_small_and_holds_three_files(everything):
    content = writer.to_bytes("zip", everything[0]["temperature"])
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        assert set(bundle.namelist()) == {"MODEL_CARD.md", "calibrator.npz", "predict.py"}
        assert bundle.testzip() is None
        assert len(bundle.read("predict.py").splitlines()) <= 536
        assert sum(member.file_size for member in bundle.infolist()) < 40_000
    assert len(content) < 12_000


def test_equal_content_gives_equal_bytes(everything, overconfident):
    for name in ("temperature", "isotonic", "vector"):
        calibrator = everything[0][name]
        again = calib.calibrator(name).fit(*(each[:120] for each in overconfident))
        for ending in ("pkl", "npz", "zip", "py"):
            first, second = (
                writer.to_bytes(ending, each, {"n_rows": 400}) for each in (calibrator, again)
            )
            assert first == second


def test_saving_to_an_unknown_suffix_says_what_there_is(everything, tmp_path):
    with pytest.raises(CalibrationError, match=r"\.pkl, \.npz, \.zip.*c\.joblib"):
        writer.save(everything[0]["identity"], tmp_path / "c.joblib")
    with pytest.raises(CalibrationError, match="not fitted"):
        writer.save(calib.calibrator("platt"), tmp_path / "c.pkl")
    with pytest.raises(CalibrationError, match="There is no folder"):
        writer.save(everything[0]["identity"], tmp_path / "nowhere" / "c.pkl")


# -- model card ----------------------------------------------------------------------------------------


def test_a_card_begins_with_the_audit_and_has_the_class_frequencies(everything):
    scores = {"NLL": {"before": 0.7, "after": [0.6, 0.5, 0.65], "frequencies": 0.69}}
    said = {"audit": "Do not use: *no* better.", "scores": scores}
    card = model_card(provenance.exported(everything[0]["isotonic"], said))
    assert card.split("\n\n")[1] == r"**Audit of the raw model**: Do not use: \*no\* better."
    assert "| score | before | after | class frequencies |" in card
    assert re.search(r"\| NLL \| 0.7\w* \| 0.6.* \| 0.69\w* \|", card)


def test_a_card_of_a_hostile_record_holds_text_alone(everything):
    hostile = ("![a](//e.vil/p)", "[b](//e.vil)", "www.e.vil a@e.vil", "<img src=//e.vil>")
    said = dict.fromkeys(("audit", "data_name", "data_sha256", "event", "event_class"), hostile[0])
    said["metadata"] = dict.fromkeys(("team | x", "[k](//e.vil)"), hostile[0])
    said |= {"class_names": hostile, "notes": list(hostile), "versions": {hostile[1]: hostile[2]}}
    said |= {"scores": {hostile[0]: {"before": 0.5, "after": None}}, "n_rows": hostile[1]}
    card = model_card(provenance.exported(everything[0]["isotonic"], said))
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(card)
    parts = [part for token in tokens for part in (token, *(token.children or ()))]
    assert not {part.type for part in parts} & {"image", "link_open", "html_inline", "html_block"}
    assert not [
        part.content
        for part in parts
        if part.type == "text" and re.search(r"www\.|a@e", part.content)
    ]
    assert "a@" in card


@pytest.mark.parametrize(
    "odd", ["text", 10**400, [1, 2], {"after": {}}, {"after": "0.1"}, {"after": [10**400] * 3}]
)
@pytest.mark.parametrize("key", ["scores", "notes", "versions"])
def test_a_card_of_a_record_that_holds_something_else_is_made_or_refused(everything, key, odd):
    made = provenance.exported(
        everything[0]["isotonic"], {key: {"NLL": odd} if key == "scores" else odd}
    )
    try:
        assert "# Calibrator" in model_card(made)
    except CalibrationError as error:
        assert "does not hold what it should" in str(error)


def test_an_export_says_where_rows_need_not_sum_to_one(everything):
    fitted, test = everything
    paper = calib.calibrator("imax", normalize=False).fit(*simulate())
    fitted = {**fitted, "imax": paper}
    assert abs(fitted["imax"].predict_proba(test).sum(axis=1) - 1).max() > 1e-3
    known = {
        "data_sha256": "ab" * 32,
        "n_rows": 400,
        "scores": {"NLL": {"before": [0.95, 0.9, 1.0], "after": 0.91}},
    }
    card = model_card(
        provenance.exported(
            fitted["isotonic"], {**known, "class_names": ["cat", "dog", "a|b", "<i>"]}
        )
    )
    scores = "| NLL | 0.9500 [0.9000, 1.0000] | 0.9100 |"
    assert all(
        part in card
        for part in (known["data_sha256"], "400", scores, r"cat, dog, a\|b, \<i>", np.__version__)
    )
    for name, said in (("imax", True), ("platt", False)):
        text = " ".join(opened(writer.to_bytes("npz", fitted[name]))[0]["notes"])
        unpickled = pickle.loads(writer.to_bytes("pkl", fitted[name]))
        texts = [
            text,
            " ".join(unpickled.metadata["notes"]),
            model_card(provenance.exported(fitted[name])),
        ]
        assert ["need not sum to one" in each for each in texts] == [said] * 3
        output = next(line for line in texts[-1].split("\n") if line.startswith("| output"))
        assert ("not normalised" in output) is said


def test_the_three_lines_of_the_card_run(everything, tmp_path):
    fitted, test = everything
    with zipfile.ZipFile(io.BytesIO(writer.to_bytes("zip", fitted["temperature"]))) as bundle:
        bundle.extractall(tmp_path)
    card = (tmp_path / "MODEL_CARD.md").read_text(encoding="utf-8")
    lines = card.split("```python\n")[1].split("```")[0]
    np.save(tmp_path / "outputs.npy", test)
    code = (
        BLOCKER
        + "import numpy as np\noutputs = np.load('outputs.npy')\n"
        + lines
        + "np.save('probs.npy', probs)"
    )
    code += "\nassert 'calib' not in sys.modules"
    run_python(code, tmp_path, "")
    expected = fitted["temperature"].predict_proba(test)
    np.testing.assert_allclose(np.load(tmp_path / "probs.npy"), expected, rtol=0, atol=1e-12)


# -- going on ------------------------------------------------------------------------------------------


def test_a_pickled_gpcalib_learns_from_more_rows(tmp_path):
    logits, labels = simulate(300, 3)
    first = calib.calibrator("gpcalib", max_iter=5).fit(logits[:150], labels[:150])
    loaded = calib.runtime.load(writer.save(first, tmp_path / "first.pkl")).calibrator
    for calibrator in (first, loaded):
        calibrator.partial_fit(logits[150:], labels[150:])
    assert np.array_equal(loaded.predict_proba(logits), first.predict_proba(logits))
    assert any("in 2 parts, 300 rows" in note for note in loaded.notes())
