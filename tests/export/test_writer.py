"""Exports predict with NumPy alone as the fitted calibrator does, and a GPcalib export can be fitted further."""

from __future__ import annotations

import ast
import copy
import csv
import hashlib
import io
import os
import pickle
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt

import calib
from calib.data import Predictions
from calib.decisions import AnswerAbove, CostMatrix, PredictionSets, conformal_sets
from calib.errors import CalibrationError
from calib.export import provenance, writer
from calib.export.bundle import _imports, _source, needed_modules
from calib.export.model_card import WITHOUT_CALIB, model_card
from calib.numerics import softmax
from tests.conftest import ROOT, simulate

BLOCKED = ("tensorflow", "tf_keras", "gpflow", "sklearn", "scipy", "streamlit", "pandas", "plotly", "pyarrow", "h5py")
BLOCKER = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocker())
"""

METHODS = [name for name, method in calib.METHODS.items() if not method.needs]
PARAMS = {"gpcalib": {"max_iter": 3}, "bayes_iso": {"n_maps": 100}}


@pytest.fixture(scope="module")
def everything(overconfident):
    """Each method fitted once, and logits that also lie far outside the calibration data."""
    logits, labels = overconfident
    test = np.concatenate([logits[:50], [[1e3, -1e3, 0, 0], [0, 0, 0, 0]]])
    return {name: calib.calibrator(name, **PARAMS.get(name, {})).fit(logits, labels) for name in METHODS}, test


def run_python(code: str, cwd: Path, path: str, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("suffix", [".pkl", ".npz", pytest.param(".zip", marks=pytest.mark.long)])
def test_every_method_predicts_the_same_with_numpy_alone(everything, tmp_path, suffix):
    fitted, test = everything
    rule = CostMatrix(costs=np.array([[0.0, 1, 1, 5], [1, 0, 1, 5], [1, 1, 0, 5], [2, 2, 2, 0]]), hand_over=0.7)
    for name, calibrator in fitted.items():
        probs = calibrator.predict_proba(test)
        sets = conformal_sets(probs, probs.argmax(axis=1), 0.3, score="raps", logits=test)
        writer.save(calibrator, tmp_path / f"{name}{suffix}", decision=rule, sets=sets)
        decided = {"actions": rule.decide(probs), "sets": sets.predict(probs, test)}
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
for name in sys.argv[2:]:
    path = Path(name + sys.argv[1])
    made = pickle.loads(path.read_bytes()) if path.suffix == ".pkl" else runtime.load(path)
    assert type(made) is runtime.ExportedCalibrator and made.method == name
    expected = np.load(name + ".expected.npz")
    difference = np.abs(made.predict_proba(test) - expected["probs"]).max()
    assert difference <= 1e-9, (name, difference)
    assert np.array_equal(made.decide(test, kind="logits"), expected["actions"]), name
    assert np.array_equal(made.prediction_sets(test, kind="logits"), expected["sets"]), name
print("reproduced", len(sys.argv[2:]))
"""
    )
    assert run_python(code, tmp_path, str(ROOT), suffix, *fitted) == f"reproduced {len(fitted)}\n"


@pytest.mark.long
def test_every_bundle_works_unpacked_without_the_project(everything, tmp_path):
    fitted, test = everything
    probs = softmax(test)[:50]
    for name, calibrator in fitted.items():
        folder = tmp_path / name
        with zipfile.ZipFile(io.BytesIO(writer.to_bundle(calibrator, {"kind": "probabilities"}))) as bundle:
            bundle.extractall(folder)
            assert not [member for member in bundle.namelist() if "/gp/" in member and name != "gpcalib"]
        np.save(folder / "outputs.npy", probs)
    # A process for each, forked with NumPy loaded. A copy of calib elsewhere would show in its __file__.
    code = (
        BLOCKER
        + """
import numpy, os, runpy, sys
root, *names = sys.argv[1:]
sys.path = [p for p in sys.path if p != root]
for name in names:
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0, name
        continue
    os.chdir(name)
    sys.path.insert(0, os.getcwd())
    import calib
    assert calib.__file__.startswith(os.getcwd()), calib.__file__
    sys.argv = ["predict.py", "outputs.npy", "--out", "calibrated.npy", "--calibrator", "calibrator.pkl"]
    runpy.run_path("predict.py", run_name="__main__")
"""
    )
    run_python(code, tmp_path, "", str(ROOT), *fitted)
    for name, calibrator in fitted.items():
        expected = calibrator.predict_proba(np.log(probs))
        np.testing.assert_allclose(np.load(tmp_path / name / "calibrated.npy"), expected, rtol=0, atol=1e-9)


def test_the_bundle_holds_what_its_card_promises(everything):
    fitted, _ = everything
    with zipfile.ZipFile(io.BytesIO(writer.to_bundle(fitted["isotonic"]))) as bundle:
        names = bundle.namelist()
        assert {"MODEL_CARD.md", "calibrator.pkl", "calibrator.npz", "calibrator.json", "predict.py"} <= set(names)
        assert bundle.testzip() is None
    assert "calib/calibrators/isotonic.py" in names
    assert "calib/calibrators/one_vs_rest.py" in names
    assert not {
        "calib/export/writer.py",
        "calib/export/provenance.py",
        "calib/calibrators/platt.py",
        "calib/metrics/__init__.py",
    } & set(names)
    assert set(needed_modules("isotonic")) - set(needed_modules("identity")) == {
        "calib.calibrators.isotonic",
        "calib.calibrators.one_vs_rest",
        "calib.calibrators.top_class",
    }


def imported(module: str) -> set[str]:
    """Modules of calib that one imports at its top, by Python's own parser."""
    tree = ast.parse(_source(module).read_text(encoding="utf-8"))
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.split(".")[0] == "calib" and _source(name).is_file()}


def test_imports_are_those_that_pythons_parser_finds():
    modules = {*needed_modules(*calib.METHODS), *needed_modules(entry="calib.export.pyfunc"), "calib.export.pyfunc"}
    assert len(modules) > 60
    for module in modules:
        assert set(_imports(module)) - {"calib"} == imported(module) - {"calib"}, module


def test_equal_content_gives_equal_bytes(everything, overconfident):
    for name in ("temperature", "isotonic", "vector"):
        calibrator = everything[0][name]
        again = calib.calibrator(name).fit(*overconfident)
        for build in (writer.to_pickle, writer.to_npz_json, writer.to_bundle):
            assert build(calibrator, {"n_rows": 400}) == build(again, {"n_rows": 400})


def test_a_temperature_pickle_is_small(everything):
    assert len(writer.to_pickle(everything[0]["temperature"])) < 1500


def test_loading_a_pickle_twice_over_changes_nothing(everything):
    content = writer.to_pickle(everything[0]["isotonic"])
    assert pickle.dumps(pickle.loads(content), protocol=4) == content


def test_saving_to_an_unknown_suffix_says_what_there_is(everything, tmp_path):
    with pytest.raises(CalibrationError, match=r"\.pkl, \.npz, \.zip.*c\.joblib"):
        writer.save(everything[0]["identity"], tmp_path / "c.joblib")
    with pytest.raises(CalibrationError, match="not fitted"):
        writer.save(calib.calibrator("platt"), tmp_path / "c.pkl")


# -- model card ----------------------------------------------------------------------------------------


def test_the_card_says_all_that_is_known(everything):
    sha256 = hashlib.sha256(b"data").hexdigest()
    made = provenance.exported(
        everything[0]["isotonic"],
        {
            "kind": "probabilities",
            "floor": 0.0125,
            "class_names": ["cat", "dog", "a|b", "<script>"],
            "data_sha256": sha256,
            "n_rows": 400,
            "n_calibration": 123,
            "scores": {"NLL": {"before": [0.95, 0.9, 1.0], "after": 0.91}},
            "notes": ["Few rows."],
            "team": "vision",
        },
    )
    card = model_card(made)
    for text in (
        sha256,
        "400",
        "| NLL | 0.9500 [0.9000, 1.0000] | 0.9100 |",
        r"cat, dog, a\|b, \<script>",
        "0.0125",
    ):
        assert text in card
    for text in (
        "Few rows.",
        "vision",
        calib.__version__,
        np.__version__,
        "share_classes | True",
        "calibrate(outputs)",
    ):
        assert text in card


def test_the_card_says_what_python_says_without_calib_and_the_limits_of_its_tests(everything, overconfident, tmp_path):
    writer.save(everything[0]["isotonic"], tmp_path / "c.pkl")
    for line in ("import pickle; pickle.load(open('c.pkl', 'rb'))", "from calib import runtime"):
        done = subprocess.run([sys.executable, "-I", "-S", "-c", line], cwd=tmp_path, capture_output=True, text=True)
        assert done.stderr.splitlines()[-1] == WITHOUT_CALIB
    logits, labels = overconfident
    data = Predictions(logits, labels, ("a", "b", "c", "d"), "logits")
    card = model_card(provenance.exported(everything[0]["isotonic"], {**provenance.describe(data), "n_test": 77}))
    assert WITHOUT_CALIB in card
    limits = card.split("## Limits")[1].split("##")[0]
    for said in (f"{logits.min():.6g} to {logits.max():.6g}, in {len(logits)} rows", "77", "CPU", "classes | 4"):
        assert said in limits


def test_a_card_of_a_hostile_record_holds_text_alone(everything):
    hostile = ("![a](//e.vil/p)", "[b](//e.vil)", "www.e.vil a@e.vil", "<img src=//e.vil>")
    said = dict.fromkeys(("data_name", "data_sha256", "event", "event_class", "team | x", "[k](//e.vil)"), hostile[0])
    said |= {"class_names": hostile, "notes": list(hostile), "versions": {hostile[1]: hostile[2]}}
    said |= {"scores": {hostile[0]: {"before": 0.5, "after": None}}, "n_rows": hostile[1]}
    card = model_card(provenance.exported(everything[0]["isotonic"], said))
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(card)
    parts = [part for token in tokens for part in (token, *(token.children or ()))]
    assert not {part.type for part in parts} & {"image", "link_open", "html_inline", "html_block"}
    assert not [part.content for part in parts if part.type == "text" and re.search(r"www\.|a@e", part.content)]
    assert "a@" in card


@pytest.mark.parametrize("odd", ["text", 10**400, [1, 2], {"after": {}}, {"after": "0.1"}, {"after": [10**400] * 3}])
@pytest.mark.parametrize("key", ["scores", "notes", "versions"])
def test_a_card_of_a_record_that_holds_something_else_is_made_or_refused(everything, key, odd):
    made = provenance.exported(everything[0]["isotonic"], {key: {"NLL": odd} if key == "scores" else odd})
    try:
        assert "# Calibrator" in model_card(made)
    except CalibrationError as error:
        assert "does not hold what it should" in str(error)


def test_an_export_says_where_rows_need_not_sum_to_one(everything):
    fitted, test = everything
    paper = calib.calibrator("imax", normalize=False).fit(*simulate())
    fitted = {**fitted, "imax": paper}
    assert abs(fitted["imax"].predict_proba(test).sum(axis=1) - 1).max() > 1e-3
    for name, said in (("imax", True), ("platt", False)):
        _, text = writer.to_npz_json(fitted[name])
        unpickled = pickle.loads(writer.to_pickle(fitted[name]))
        texts = [text, " ".join(unpickled.metadata["notes"]), model_card(provenance.exported(fitted[name]))]
        assert ["need not sum to one" in each for each in texts] == [said] * 3
        output = next(line for line in texts[-1].split("\n") if line.startswith("| output"))
        assert ("not normalised" in output) is said


def test_the_three_lines_of_the_card_run(everything, tmp_path):
    fitted, test = everything
    with zipfile.ZipFile(io.BytesIO(writer.to_bundle(fitted["temperature"]))) as bundle:
        bundle.extractall(tmp_path)
    card = (tmp_path / "MODEL_CARD.md").read_text(encoding="utf-8")
    lines = card.split("```python\n")[1].split("```")[0]
    np.save(tmp_path / "outputs.npy", test)
    code = BLOCKER + "import numpy as np\noutputs = np.load('outputs.npy')\n" + lines + "np.save('probs.npy', probs)"
    run_python(code, tmp_path, "")
    np.testing.assert_array_equal(np.load(tmp_path / "probs.npy"), fitted["temperature"].predict_proba(test))


# -- predict.py ----------------------------------------------------------------------------------------


@pytest.fixture
def predict(everything, tmp_path):
    from calib.export.predict_script import main

    writer.save(everything[0]["temperature"], tmp_path / "c.npz", class_names=["a", "b", "c", "d"])
    return lambda name, *more: main([str(tmp_path / name), "--calibrator", str(tmp_path / "c.npz"), *more])


def test_predict_reads_and_writes_each_format(everything, predict, tmp_path):
    fitted, test = everything
    expected = fitted["temperature"].predict_proba(test)
    np.save(tmp_path / "o.npy", test)
    np.savez(tmp_path / "o.npz", predictions=test, ground_truth=np.zeros(len(test), int))
    np.savetxt(tmp_path / "o.csv", test, delimiter=",", fmt="%.17g")
    with (tmp_path / "header.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["label", "a", "b", "c", "d"])
        lines.writerows([["cat", *map(repr, map(float, row))] for row in test])
    for name in ("o.npy", "o.npz", "o.csv", "header.csv"):
        assert predict(name, "--out", str(tmp_path / "p.npz")) == 0
        with np.load(tmp_path / "p.npz") as out:
            np.testing.assert_array_equal(out["probabilities"], expected)
            np.testing.assert_array_equal(out["predicted"], fitted["temperature"].predict(test))
            np.testing.assert_array_equal(out["confidence"], expected.max(axis=1))
    assert predict("o.npy", "--out", str(tmp_path / "p.csv")) == 0
    header, *rows = csv.reader((tmp_path / "p.csv").read_text().splitlines())
    assert header == ["a", "b", "c", "d", "predicted"]
    np.testing.assert_array_equal(np.array([row[:4] for row in rows], dtype=float), expected)
    assert [row[4] for row in rows] == ["abcd"[k] for k in fitted["temperature"].predict(test)]


def test_what_the_command_line_refuses_does_not_drive_the_terminal(predict, capsys):
    for arguments in (("--kind", "\x1b[2J"), ("--nothing\x1b]0;t\x07",)):
        with pytest.raises(SystemExit) as stopped:
            predict("o.npy", *arguments)
        said = capsys.readouterr().err
        assert stopped.value.code == 2 and said.startswith("error: ") and said.count("\n") == 1
        assert "\x1b" not in said and "\x07" not in said


def test_predict_says_what_is_wrong_in_one_sentence(predict, tmp_path, capsys):
    np.savez(tmp_path / "two.npz", a=np.zeros((2, 4)), b=np.zeros((2, 4)))
    np.save(tmp_path / "objects.npy", np.array([None, {}]), allow_pickle=True)
    (tmp_path / "bad.csv").write_text("a,b,c,d\n1,2,x,4\n")
    (tmp_path / "empty.csv").write_text("")
    np.save(tmp_path / "narrow.npy", np.zeros((3, 2)))
    for name, says in [
        ("two.npz", "--key"),
        ("objects.npy", "could not be read"),
        ("bad.csv", "not a number"),
        ("empty.csv", "empty"),
        ("narrow.npy", "2 columns"),
        ("missing.npy", "missing.npy"),
        ("odd.txt", "not a .npy"),
    ]:
        assert predict(name, "--out", str(tmp_path / "p.npz")) == 1
        said = capsys.readouterr().err
        assert says in said
        assert "Traceback" not in said


def test_predict_lets_no_name_drive_the_terminal(everything, predict, tmp_path, capsys):
    _, test = everything
    np.savez(tmp_path / "two\x1b.npz", **{"p\x1b[2J": test, "q\x9b": test})
    (tmp_path / "c\x07.csv").write_text("a,b\n1,\x1bx\n")
    out = str(tmp_path / "o\u202e.npz")
    answers = [predict("two\x1b.npz", "--out", out, *key) for key in ((), ("--key", "n"), ("--key", "p\x1b[2J"))]
    assert [*answers, predict("c\x07.csv", "--out", out)] == [1, 1, 0, 1]
    said = "".join(capsys.readouterr())
    assert "p\ufffd[2J, q\ufffd" in said and "o\ufffd.npz" in said and "c\ufffd.csv" in said
    assert not set(said) & set("\x1b\x9b\x07\u202e")


@pytest.fixture(scope="module")
def parts():
    logits, labels = simulate(300, 3)
    probs = softmax(logits)
    probs[0] = [1.0, 0.0, 0.0]
    data = Predictions(np.log(np.maximum(probs, 1e-6)), labels, ("a", "b", "c"), "probabilities", 1e-6, name="outputs")
    return data.take(np.arange(150)), data.take(np.arange(150, 300))


@pytest.fixture(scope="module")
def first(parts):
    calibrator = calib.calibrator("gpcalib", max_iter=5).fit(parts[0].logits, parts[0].labels)
    return provenance.exported(calibrator, {**provenance.describe(parts[0]), "n_rows": 150, "scores": {"NLL": {}}})


def test_resuming_learns_from_both_parts_and_says_so(parts, first, tmp_path):
    loaded = calib.runtime.load(writer.save(first, tmp_path / "first.npz"))
    made = provenance.resume(loaded, parts[1])
    expected = copy.deepcopy(first.calibrator).partial_fit(parts[1].logits, parts[1].labels)
    assert np.array_equal(made.predict_proba(parts[1].logits), expected.predict_proba(parts[1].logits))
    assert (made.kind, made.floor, made.class_names) == ("probabilities", 1e-6, ("a", "b", "c"))
    assert made.metadata["n_rows"] == 300
    assert made.metadata["data_name"] == "outputs + outputs"
    assert made.metadata["data_sha256"] == f"{parts[0].sha256} {parts[1].sha256}"
    assert made.metadata["notes"] == made.calibrator.notes()
    assert any("in 2 parts, 300 rows" in note for note in made.metadata["notes"])
    assert "scores" not in made.metadata
    assert loaded.calibrator.n_rows_ == 150
    together = np.concatenate([part.labels for part in parts])
    np.testing.assert_allclose(made.base_rate, np.bincount(together, minlength=3) / len(together), rtol=1e-12)
    assert "in 2 parts, 300 rows" in model_card(made)


def test_resuming_leaves_out_what_was_decided_with_the_earlier_probabilities(parts, first):
    decided = replace(first, decision=AnswerAbove(threshold=0.5), sets=PredictionSets(alpha=0.1, quantiles=np.ones(3)))
    made = provenance.resume(decided, parts[1])
    assert made.decision is None and made.sets is None


def test_resuming_with_other_outputs_is_refused(parts, first):
    more = parts[1]
    for changed, says in [
        (replace(more, kind="logits"), "takes probabilities, but these data hold logits"),
        (replace(more, floor=1e-4), "floor=1e-06"),
        (replace(more, scale="percent"), "percent.* as they are"),
        (replace(more, class_names=("b", "a", "c")), "another order"),
        (replace(more, logits=more.logits[:, :2], class_names=("a", "b"), labels=more.labels % 2), r"\(n, 3\)"),
    ]:
        with pytest.raises(CalibrationError, match=says):
            provenance.resume(first, changed)
    temperature = calib.calibrator("temperature").fit(more.logits, more.labels)
    with pytest.raises(CalibrationError, match="Temperature cannot go on"):
        provenance.resume(provenance.exported(temperature, provenance.describe(more)), more)
