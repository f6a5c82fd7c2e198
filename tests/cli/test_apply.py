"""``python -m calib apply``: new outputs of any format through a saved calibrator.

A method that needs features on the command line: fitted, compared and applied.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import h5py
import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.data.samples import load_sample
from calib.decisions import AnswerAbove, conformal_sets
from calib.diagnostics.shift_data import read_new_rows
from calib.export import runtime
from calib.numerics import softmax
from tests.cli.conftest import run


@pytest.fixture
def saved(tmp_path, overconfident):
    """A calibrator of logits with four classes."""
    fitted = calib.calibrator("temperature").fit(*overconfident)
    return calib.export.save(fitted, tmp_path / "calibrator.pkl")


def test_apply_reads_hdf5_and_takes_an_array_by_name_or_lists_them(
    saved, tmp_path, overconfident, capsys
):
    logits, out = overconfident[0][:9], tmp_path / "calibrated.npy"
    with h5py.File(tmp_path / "new.h5", "w") as written:
        written["logits"] = logits
    assert run("apply", saved, tmp_path / "new.h5", "--out", out) == 0
    expected = runtime.load(saved).calibrator.predict_proba(logits)
    np.testing.assert_allclose(np.load(out), expected, rtol=1e-12)
    np.savez(tmp_path / "new.npz", first=np.zeros((3, 4)), second=logits)
    assert run("apply", saved, tmp_path / "new.npz", "--read", "outputs=second", "--out", out) == 0
    np.testing.assert_allclose(np.load(out), expected, rtol=1e-12)
    assert run("apply", saved, tmp_path / "new.npz", "--read", "outputs=nope", "--out", out) == 1
    assert "'nope'; it holds first, second" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ending", "out", "name"), [("csv", "npz", "{}"), ("parquet", "npy", "P({})")]
)
def test_columns_are_taken_by_the_names_of_the_classes(tmp_path, overconfident, ending, out, name):
    logits, labels = overconfident
    fitted, probs = calib.calibrator("vector").fit(logits, labels), softmax(logits)
    classes = ("cat", "dog", "cow", "hen")
    calib.export.save(fitted, tmp_path / "c.npz", kind="probabilities", class_names=classes)
    table = pd.DataFrame(probs[:9], columns=[name.format(each) for each in classes])[::-1]
    table = table.iloc[:, [2, 0, 3, 1]]
    file = tmp_path / f"new.{ending}"
    table.to_parquet(file, index=False) if ending == "parquet" else table.to_csv(file, index=False)
    assert run("apply", tmp_path / "c.npz", file, "--out", tmp_path / f"o.{out}") == 0
    written = np.load(tmp_path / f"o.{out}")
    written = written["probabilities"] if out == "npz" else written
    np.testing.assert_allclose(written, fitted.predict_proba(np.log(probs[:9][::-1])), rtol=1e-9)


@pytest.mark.parametrize("names", [["cow", "cat", "hen", "dog"], ["cow", "cat"]], ids=len)
def test_an_array_that_names_the_classes_says_their_order(tmp_path, overconfident, names):
    logits, labels = overconfident
    fitted = calib.calibrator("vector").fit(logits, labels)
    saved = calib.export.save(fitted, tmp_path / "c.npz", class_names=("cat", "dog", "cow", "hen"))
    np.savez(
        tmp_path / "new.npz", logits=logits[:9, [2, 0, 3, 1]], class_names=np.array(names, "U3")
    )
    columns = [0, 1, 2, 3] if len(names) == 4 else [2, 0, 3, 1]
    expected = fitted.predict_proba(logits[:9, columns])
    assert run("apply", saved, tmp_path / "new.npz", "--out", tmp_path / "p.npy") == 0
    np.testing.assert_allclose(np.load(tmp_path / "p.npy"), expected)
    made = runtime.load(saved)
    rows = read_new_rows(made, tmp_path / "new.npz", labelled=False).data
    np.testing.assert_allclose(fitted.predict_proba(rows.logits), expected)


@pytest.mark.parametrize("width", [1, 2])
def test_apply_of_a_table_of_other_classes_says_how_many_there_are(width, tmp_path, capsys):
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], 300)
    two = np.c_[1 - probs[:, 0], probs[:, 0]][:, -width:]
    data = calib.load({"outputs": two, "labels": (probs[:, 0] > 0.4).astype(int)})
    fitted = calib.calibrator("temperature").fit(data)
    saved = calib.export.save(fitted, tmp_path / "two.zip")
    pd.DataFrame(probs, columns=["p_a", "p_b", "p_c"]).to_csv(tmp_path / "three.csv", index=False)
    assert (
        main(["apply", str(saved), str(tmp_path / "three.csv"), "--out", str(tmp_path / "o.csv")])
        == 1
    )
    assert f"have 3 columns, but the calibrator takes {width}" in capsys.readouterr().err


@pytest.fixture(scope="module")
def data():
    """A few hundred digits with their images and training set."""
    return load_sample("digits-cnn").take(np.arange(400))


@pytest.fixture(scope="module")
def file(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("digits") / "outputs.npz"
    names = ("logits", "labels", "features", "train_features", "train_labels", "class_names")
    np.savez(path, **{name: getattr(data, name) for name in names})
    return path


@pytest.fixture(scope="module")
def geometric(file):
    """A calibrator that needs the inputs of the rows, and what the command said of it."""
    out = file.parent / "calibrator.pkl"
    with redirect_stdout(io.StringIO()) as said:
        assert run("fit", file, "--method", "geometric", "--out", out) == 0
    return out, said.getvalue()


def test_fit_reports_its_scores_and_notes(geometric):
    _, said = geometric
    assert "Geometric fitted on 200 rows." in said
    assert "note: Of 200 calibration rows" in said
    assert "250 training rows of 64 numbers" in said
    (nll,) = (line for line in said.splitlines() if line.strip().startswith("NLL"))
    assert nll.endswith("->  -")
    (ece,) = (line for line in said.splitlines() if line.strip().startswith("ECE "))
    assert not ece.endswith("-")


def test_apply_writes_the_predicted_class_and_its_confidence(
    geometric, file, data, tmp_path, capsys
):
    saved, _ = geometric
    expected, predicted = (
        runtime.load(saved).predict_confidence(data.logits, data.features),
        data.logits.argmax(axis=1),
    )
    assert run("apply", saved, file, "--out", tmp_path / "o.npz") == 0
    assert f"Wrote 400 rows to {tmp_path / 'o.npz'}." in capsys.readouterr().out
    with np.load(tmp_path / "o.npz") as arrays:
        assert set(arrays.files) == {"predicted", "confidence"}
        np.testing.assert_array_equal(arrays["predicted"], predicted)
        np.testing.assert_array_equal(arrays["confidence"], expected)
    assert run("apply", saved, file, "--out", tmp_path / "o.csv") == 0
    table = pd.read_csv(tmp_path / "o.csv", dtype={"predicted": str})
    assert list(table) == ["row", "predicted", "calibrated_confidence"]
    assert list(table["predicted"]) == [data.class_names[k] for k in predicted]
    np.testing.assert_allclose(table["calibrated_confidence"], expected, rtol=1e-12)


def test_apply_takes_features_from_the_file_of_the_outputs_or_says_what_is_missing(
    geometric, data, tmp_path, capsys
):
    saved, _ = geometric
    bare, table, out = (tmp_path / name for name in ("bare.npz", "rows.parquet", "calibrated.npy"))
    np.savez(bare, logits=data.logits, labels=data.labels, class_names=data.class_names)
    flat = data.features.reshape(len(data), -1)
    inputs = {f"x{i}": column for i, column in enumerate(flat.T)}
    outputs = {f"logit_{name}": data.logits[:, k] for k, name in enumerate(data.class_names)}
    pd.DataFrame(outputs | inputs).to_parquet(table)
    named = f"features={','.join(inputs)}"
    assert run("apply", saved, table, "--read", named, "--out", out) == 0
    np.testing.assert_array_equal(
        np.load(out), runtime.load(saved).predict_confidence(data.logits, data.features)
    )
    assert run("apply", saved, bare, "--out", out) == 1
    said = capsys.readouterr().err
    assert "none looks like the inputs of the rows" in said and 'np.savez("all.npz"' in said
    np.savez(tmp_path / "few.npz", logits=data.logits, features=np.zeros((3, 64)))
    assert run("apply", saved, tmp_path / "few.npz", "--out", out) == 1
    assert "features has the shape (3, 64) for 400 rows of logits" in capsys.readouterr().err


def test_a_table_keeps_what_names_its_rows_gets_the_names_of_the_classes_and_holds_no_formula(
    overconfident, tmp_path
):
    logits, labels = overconfident
    made = calib.calibrator("temperature").fit(logits, labels)
    calib.export.save(made, tmp_path / "c.npz", class_names=["cat", "dog", "cow", "=hen"])
    lines = [
        "=id,p_0,p_1,p_2,p_3",
        *(f"@case {k},{','.join(map(repr, row))}" for k, row in enumerate(logits[:9].tolist())),
    ]
    (tmp_path / "new.csv").write_text("\n".join(lines))
    assert (
        run("apply", tmp_path / "c.npz", tmp_path / "new.csv", "--out", tmp_path / "out.csv") == 0
    )
    head, *rows = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert head == "'=id,calibrated_cat,calibrated_dog,calibrated_cow,calibrated_=hen,predicted"
    assert [row.split(",")[0] for row in rows] == [f"'@case {k}" for k in range(9)]
    written = np.array([row.split(",")[1:5] for row in rows], dtype=float)
    np.testing.assert_allclose(written, made.predict_proba(logits[:9]), rtol=1e-12)
    assert [row.split(",")[5] for row in rows] == [
        ("cat", "dog", "cow", "'=hen")[k] for k in made.predict(logits[:9])
    ]


@pytest.mark.parametrize(
    ("whole", "status", "ending"),
    [(0.97, (0, 0), "npy"), (100.0, (1, 1), "npy"), ("loose", (1, 1), "csv")],
)
def test_apply_and_check_read_new_probabilities_alike(whole, status, ending, tmp_path, capsys):
    """Percent was divided by 100 by check alone, and check alone refused loose sums."""
    generator = np.random.default_rng(0)
    probs, labels = generator.dirichlet(np.ones(3), 300), generator.integers(0, 3, 300)
    np.savez(tmp_path / "old.npz", probs=probs, labels=labels)
    assert (
        run("fit", tmp_path / "old.npz", "--method", "temperature", "--out", tmp_path / "c.npz")
        == 0
    )
    written = probs * (generator.uniform(0.8, 1, (300, 1)) if whole == "loose" else whole)
    np.savez(tmp_path / "labelled.npz", probs=written, labels=labels)
    np.save(tmp_path / "new.npy", written)
    options = ["--out", tmp_path / f"out.{ending}"]
    found = [run("apply", tmp_path / "c.npz", tmp_path / "new.npy", *options)]
    found.append(run("check", tmp_path / "c.npz", tmp_path / "labelled.npz"))
    assert (
        tuple(found) == status == (found[0], run("check", tmp_path / "c.npz", tmp_path / "new.npy"))
    )
    if whole == 100.0:
        how = ["--read", "scale=percent"]
        for command, file, more in (
            ("apply", "new.npy", options),
            ("check", "new.npy", []),
            ("check", "labelled.npz", []),
        ):
            assert run(command, tmp_path / "c.npz", tmp_path / file, *more, *how) == 0
        expected = runtime.load(tmp_path / "c.npz").predict_proba(probs)
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-9)


@pytest.mark.parametrize(("name", "n_classes"), [("y", 3), ("labels", 1), ("features", 3)])
def test_a_lone_array_is_the_outputs_whatever_it_is_called(name, n_classes, tmp_path):
    generator = np.random.default_rng(0)
    probs = generator.random(200) if n_classes == 1 else generator.dirichlet(np.ones(3), 200)
    labels = generator.integers(0, max(n_classes, 2), 200)
    np.savez(tmp_path / "old.npz", probs=probs, labels=labels)
    assert (
        run("fit", tmp_path / "old.npz", "--method", "temperature", "--out", tmp_path / "c.npz")
        == 0
    )
    expected = runtime.load(tmp_path / "c.npz").predict_proba(probs)
    np.save(tmp_path / f"{name}.npy", probs)
    np.savez(tmp_path / f"{name}.npz", **{name: probs})
    for file in (f"{name}.npy", f"{name}.npz"):
        assert run("apply", tmp_path / "c.npz", tmp_path / file, "--out", tmp_path / "out.npz") == 0
        np.testing.assert_allclose(
            np.load(tmp_path / "out.npz")["probabilities"], expected, atol=1e-9
        )
        assert run("check", tmp_path / "c.npz", tmp_path / file) == 0


def test_apply_writes_actions_and_sets_of_rows_that_could_be_streamed(
    tmp_path, overconfident, capsys
):
    logits, labels = overconfident
    fitted = calib.calibrator("temperature").fit(logits, labels)
    decided = {
        "decision": AnswerAbove(threshold=0.6),
        "sets": conformal_sets(fitted.predict_proba(logits), labels),
    }
    saved = calib.export.save(fitted, tmp_path / "c.npz", **decided)
    np.save(tmp_path / "new.npy", logits)
    exported = runtime.load(saved)
    for option, expected in (
        ("--decide", exported.decide(logits)),
        ("--sets", exported.prediction_sets(logits)),
    ):
        assert run("apply", saved, tmp_path / "new.npy", "--out", tmp_path / "p.npy", option) == 0
        np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), expected)
    assert run("apply", saved, tmp_path / "new.npy", "--out", tmp_path / "p.parquet", "--sets") == 1
    assert "take --out .npz" in capsys.readouterr().err


@pytest.fixture
def by_region(tmp_path, rng):
    """A table of risks by region, with a calibrator by group of it that the command line fitted."""
    p = rng.uniform(0.2, 0.8, 3000)
    region = rng.choice(["1", "2", "3"], 3000)
    bad = rng.random(3000) < p * np.where(region == "2", 0.5, 1.0)
    table = pd.DataFrame({"pd": p, "default": bad.astype(int), "region": region})
    table.to_csv(tmp_path / "loans.csv", index=False)
    saved = tmp_path / "c.npz"
    read = ["--read", "groups=region"]
    assert run("fit", tmp_path / "loans.csv", "--method", "by_group", "--out", saved, *read) == 0
    return saved, table


def test_apply_takes_the_groups_of_the_rows_by_the_column_of_the_fit(by_region, tmp_path, capsys):
    saved, _ = by_region
    made = runtime.load(saved)
    assert made.group_column == "region"
    new = pd.DataFrame({"pd": [0.5] * 6, "region": ["1", "2", "3", "4", "4", None]})
    new.to_csv(tmp_path / "new.csv", index=False)  # read as 1.0, 2.0 ..., as one cell is empty
    capsys.readouterr()
    assert run("apply", saved, tmp_path / "new.csv", "--out", tmp_path / "o.csv") == 0
    said = capsys.readouterr().out
    assert "3 rows of 6 in groups that the fit did not have ((missing), 4) got the map" in said
    one, two, three, unseen, again, missing = pd.read_csv(tmp_path / "o.csv")["calibrated_1"]
    expected = made.predict_proba([0.5] * 3, groups=["1", "2", "3"])[:, 1]
    np.testing.assert_allclose([one, two, three], expected, rtol=1e-12)
    shared = calib.calibrator("platt").fit(calib.load(tmp_path / "loans.csv").split(0.5)[0])
    np.testing.assert_allclose([unseen, again, missing], shared.predict_proba([0.5] * 3)[:, 1])
    assert two < min(one, three) - 0.05
    of_script = tmp_path / "script.csv"
    calib.runtime.predict.main(
        [str(tmp_path / "new.csv"), "--out", str(of_script), "--calibrator", str(saved)]
    )
    calibrated = pd.read_csv(of_script)["calibrated_1"]
    np.testing.assert_allclose(calibrated, pd.read_csv(tmp_path / "o.csv")["calibrated_1"])


def test_groups_have_another_column_or_an_array_or_are_missed_by_name(by_region, tmp_path, capsys):
    saved, table = by_region
    file, out = tmp_path / "new.csv", tmp_path / "o.npz"
    table.rename(columns={"region": "area"}).drop(columns="default").to_csv(file, index=False)
    assert run("apply", saved, file, "--out", out) == 1
    assert "has no array or column 'region'; it holds pd, area" in capsys.readouterr().err
    made = runtime.load(saved)
    expected = made.predict_proba(table["pd"], groups=table["region"])
    np.savez(tmp_path / "new.npz", probs=table["pd"], area=table["region"].to_numpy(str))
    for new in (file, tmp_path / "new.npz"):
        for isolate in ("--isolate", "--no-isolate"):
            assert run("apply", saved, new, "--groups", "area", "--out", out, isolate) == 0
            np.testing.assert_allclose(np.load(out)["probabilities"], expected, rtol=1e-12)
    table.to_parquet(tmp_path / "new.parquet")
    assert run("apply", saved, tmp_path / "new.parquet", "--out", out) == 0
    np.testing.assert_allclose(np.load(out)["probabilities"], expected, rtol=1e-12)
    assert run("apply", saved, tmp_path / "new.parquet", "--out", tmp_path / "o.parquet") == 1
    assert "without features, groups" in capsys.readouterr().err
    fitted = calib.calibrator("by_group").fit(
        table["pd"], table["default"], groups=table["region"].to_numpy(str)
    )
    unnamed = calib.export.save(fitted, tmp_path / "unnamed.npz")
    assert run("apply", unnamed, file, "--out", out) == 2
    assert "name its column with --groups" in capsys.readouterr().err
    platt = calib.calibrator("platt").fit(table["pd"], table["default"])
    plain = calib.export.save(platt, tmp_path / "p.npz")
    assert run("apply", plain, file, "--groups", "area", "--out", out) == 2
    assert "platt takes no groups; leave --groups out" in capsys.readouterr().err


def test_check_takes_the_groups_of_rows_without_labels(by_region, tmp_path, capsys):
    saved, table = by_region
    table[:500].drop(columns="default").to_csv(tmp_path / "new.csv", index=False)
    assert run("check", saved, tmp_path / "new.csv", "--json") == 0
    capsys.readouterr()
    rows = read_new_rows(runtime.load(saved), tmp_path / "new.csv", labelled=False).data
    found = runtime.load(saved).predict_proba(rows)
    expected = runtime.load(saved).predict_proba(table["pd"][:500], groups=table["region"][:500])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
