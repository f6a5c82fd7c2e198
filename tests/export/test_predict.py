"""``predict.py`` in a folder with nothing but NumPy: tables, arrays, decisions, and what it refuses."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

import calib
from calib.decisions import AnswerAbove
from calib.errors import CalibrationError
from calib.export import predict, provenance, writer
from calib.export.predict import Refused, inert, load, main
from calib.numerics import softmax
from tests.conftest import ROOT
from tests.forged_records import forged

NAMES = ("cat", "=dog", "a;b", "$x^$")
RECORD = {"columns": [*"abcd"], "class_names": [*"abcd"], "n_outputs": 4}
ANSWER = AnswerAbove(threshold=0.6)


@pytest.fixture(scope="module")
def fitted(overconfident):
    return calib.calibrator("temperature").fit(*overconfident)


def command(folder, table, out):
    main([str(folder / table), "--out", str(folder / out), "--calibrator", str(folder / "c.npz")])


def loaded(made, **metadata):
    return load(io.BytesIO(writer.to_bytes("npz", made, metadata)))


@pytest.mark.parametrize("name", ["clinic-tumours", "simulated-loans", "simulated-answers"])
def test_the_table_that_was_uploaded_goes_through(name, tmp_path):
    path = ROOT / "sample_data" / f"{name}.csv"
    data = calib.load_sample(name)
    made = calib.calibrator("isotonic").fit(data)
    writer.save(made, tmp_path / "calibrator.npz")
    out = tmp_path / "out.csv"
    main([str(path), "--out", str(out), "--calibrator", str(tmp_path / "calibrator.npz")])
    given, said = pd.read_csv(path, dtype=str), pd.read_csv(out, dtype=str)
    pd.testing.assert_frame_equal(said[given.columns], given)
    column = "calibrated_confidence" if data.kind == "pairs" else "calibrated_1"
    np.testing.assert_allclose(
        said[column].astype(float), made.predict_proba(data)[:, 1], rtol=0, atol=1e-9
    )


@pytest.mark.parametrize(
    ("encoding", "delimiter"),
    [("utf-8", ","), ("utf-8-sig", ";"), ("latin-1", "\t"), ("utf-8", "|")],
)
def test_any_table_with_ids_dates_and_text(fitted, overconfident, tmp_path, encoding, delimiter):
    """The text comes back in the encoding in which it came."""
    logits = overconfident[0][:9]
    writer.save(
        fitted, tmp_path / "c.npz", class_names=list("abcd"), columns=[f"z_{k}" for k in "abcd"]
    )
    rows = [
        [f"é{k}", "2026-03-02", "x" * (200_000 if k == 0 else 9), *map(repr, map(float, row[::-1]))]
        for k, row in enumerate(logits)
    ]
    with (tmp_path / "t.csv").open("w", newline="", encoding=encoding) as file:
        lines = csv.writer(file, delimiter=delimiter)
        lines.writerows([["id", "day", "text", "z_d", "z_c", "z_b", "z_a"], *rows])
    main(
        [
            str(tmp_path / "t.csv"),
            "--out",
            str(tmp_path / "o.csv"),
            "--calibrator",
            str(tmp_path / "c.npz"),
        ]
    )
    said = pd.read_csv(tmp_path / "o.csv", encoding=encoding)
    assert said["id"].tolist() == [row[0] for row in rows]
    np.testing.assert_allclose(
        said[[f"calibrated_{k}" for k in "abcd"]], fitted.predict_proba(logits), rtol=0, atol=1e-12
    )


def test_probabilities_are_not_taken_for_logits_unless_it_is_said(fitted, overconfident):
    probs, made = softmax(overconfident[0][:20]), loaded(fitted)
    with pytest.raises(
        Refused, match="100% of rows look like probabilities; if they are logits, say so"
    ):
        made.predict_proba(probs)
    np.testing.assert_allclose(
        made.predict_proba(probs, kind="logits"),
        fitted.probs_from_logits(probs),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize(
    "text",
    [
        " a,b , c,d\n1,2,3,4\n",
        "\n\r\na;b;c;d\n1;2;3;4\n",
        'a,b,c,d,note\n1,2,3,4,"1,234"\n',
        'd,c,b,a\n4,3,"2,0",1\n',
        "logit_a\tlogit_b\tlogit_c\tlogit_d\n1\t2\t3\t4\n",
        "p_a,p_b,p_c,p_d,p_all\n1,2,3,4,5\n",
        "a;b;c;d\n1,0;2,0;3;4\n",
        "a;b;c;d\n100%;200,0%;300%;400%\n",
    ],
)
def test_tables_as_people_write_them_are_read(fitted, tmp_path, text):
    (tmp_path / "t.tsv").write_text(text)
    outputs, *_ = predict.read_outputs(RECORD, tmp_path / "t.tsv")
    np.testing.assert_array_equal(outputs, [[1, 2, 3, 4]])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('a,b,c,d\n"1,234",2,3,4\n', "'1,234'"),
        ("a;b;c;d\n1.234;2,5;3;4\n", "'2,5'"),
        ("a;b;c;d\n1,234.5;2;3;4\n", "'1,234.5'"),
        ("a,b,c,d\n20.0%,2,3,4\n", "20.0%"),
        ("a,b,c\n1,2,3\n", "no single column 'd'"),
        ("a,b,c,d,d\n1,2,3,4,5\n", "no single column 'd'"),
        (
            "p_a,p_b,p_c,p_d,score_a,score_b,score_c,score_d\n1,2,3,4,5,6,7,8\n",
            "no single column 'a'",
        ),
    ],
)
def test_cells_that_can_be_read_in_two_ways_are_refused(tmp_path, text, says):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=says):
        predict.read_outputs(RECORD, tmp_path / "t.csv")


ROWS = [{"id": f"é{k}", "a": k + 0.5, "b": -1.0, "c": 0.25, "d": 2.0} for k in range(3)]


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "utf16.csv", "t.npz", "n.jsonl"])
def test_every_format_gives_the_outputs(tmp_path, name):
    path = tmp_path / name
    table = pd.DataFrame(ROWS)
    values = table[[*"abcd"]].to_numpy()
    if name == "t.jsonl":
        path.write_text("\n".join(map(json.dumps, ROWS)))
    elif name == "t.json":
        path.write_text(json.dumps(ROWS))
    elif name == "utf16.csv":
        table.to_csv(path, index=False, encoding="utf-16")
    elif name == "t.npz":
        np.savez(path, logits=values, labels=[0, 1, 2])
    else:
        records = [{"id": each["id"], "logits": [each[k] for k in "abcd"]} for each in ROWS]
        path.write_text("\n".join(map(json.dumps, records)))
    outputs, names, rows = predict.read_outputs(RECORD, path)
    np.testing.assert_array_equal(outputs, values)
    assert len(rows) == 3 and (name == "t.npz" or rows[1][names.index("id")] == "é1")


@pytest.mark.parametrize("encoding", ["cp1252", "cp1251", "cp932", "gb18030", "big5", "cp949"])
def test_names_of_columns_are_read_in_code_pages(tmp_path, encoding):
    letters = {
        "cp1252": "é",
        "cp1251": "ж",
        "cp932": "ネコ",
        "gb18030": "模型",
        "big5": "貓",
        "cp949": "고",
    }
    name = letters[encoding]
    (tmp_path / "t.csv").write_bytes(f"{name},b,note\n1,2,{name}\n".encode(encoding))
    record = {"columns": [name, "b"], "class_names": [name, "b"], "n_outputs": 2}
    outputs, _, rows = predict.read_outputs(record, tmp_path / "t.csv")
    np.testing.assert_array_equal(outputs, [[1, 2]])
    assert rows[0][2] == name


def test_json_lines_hold_what_the_csv_holds(fitted, overconfident, tmp_path):
    writer.save(fitted, tmp_path / "c.npz", class_names=list("abcd"), decision=ANSWER)
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    for out in ("o.jsonl", "o.csv"):
        command(tmp_path, "t.jsonl", out)
    lines = pd.read_json(tmp_path / "o.jsonl", lines=True)
    pd.testing.assert_frame_equal(lines, pd.read_csv(tmp_path / "o.csv"), check_dtype=False)
    np.testing.assert_allclose(
        lines[[f"calibrated_{k}" for k in "abcd"]],
        fitted.predict_proba(pd.DataFrame(ROWS)[[*"abcd"]].to_numpy()),
        atol=1e-12,
    )


def test_a_table_that_cannot_be_written_leaves_the_file_as_it_was(fitted, tmp_path):
    """Half a surrogate pair is JSON and no UTF-8; the results are to replace the table that was read."""
    writer.save(fitted, tmp_path / "c.npz", class_names=list("abcd"))
    lines = [json.dumps(ROWS[0]), json.dumps(ROWS[1] | {"id": "\ud800"})]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    with pytest.raises(SystemExit, match="UnicodeEncodeError"):
        command(tmp_path, "t.jsonl", "t.jsonl")
    assert (tmp_path / "t.jsonl").read_text() == "\n".join(lines)


def test_other_endings_and_spreadsheets_are_named(fitted, overconfident, tmp_path, capsys):
    writer.save(fitted, tmp_path / "c.npz", class_names=list("abcd"))
    table = pd.DataFrame(ROWS)
    table.to_excel(tmp_path / "t.xlsx")
    with pytest.raises(SystemExit) as ended:
        command(tmp_path, "t.xlsx", "o.csv")
    assert "save it as CSV" in str(ended.value)
    with pytest.raises(SystemExit):
        command(tmp_path, "t.csv", "o.xlsx")
    assert "--out ends in one of .csv, .jsonl, .npz; got 'o.xlsx'" in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["p_{}", "logit_{}", "{}"])
def test_own_results_are_read_as_raw_or_as_calibrated_and_never_crossed(tmp_path, rng, columns):
    names = np.array(["no", "yes", "maybe"])
    labels = rng.integers(0, 3, 300)
    logits = rng.normal(size=(300, 3)) + 2 * np.eye(3)[labels]
    values = softmax(logits) if columns == "p_{}" else logits
    table = pd.DataFrame(values, columns=[columns.format(name) for name in names])
    table["outcome"] = names[labels]
    table.to_csv(tmp_path / "t.csv", index=False)
    fitted = calib.calibrator("temperature").fit(table[table.columns[:3]], table["outcome"])
    writer.save(fitted, tmp_path / "c.npz")
    command(tmp_path, "t.csv", "o.csv")
    try:
        read = [
            [role.column for role in calib.load(tmp_path / "o.csv").roles if role.role == "outputs"]
        ]
    except calib.AmbiguousTable as error:
        read = [reading.roles["outputs"] for reading in error.readings]
    families = [{f"calibrated_{name}" for name in names}, {*table.columns[:3]}]
    assert read and all(set(each) in families for each in read)


def test_the_command_says_what_is_wrong_in_one_line(fitted, overconfident, tmp_path):
    writer.save(fitted, tmp_path / "c.npz", class_names=list("abcd"))
    np.save(tmp_path / "o.npy", overconfident[0])
    np.savez(tmp_path / "two.npz", a=np.zeros((2, 4)))
    np.save(tmp_path / "objects.npy", np.array([None, {}]), allow_pickle=True)
    (tmp_path / "bad.csv").write_text("a,b,c,d\n1,2,\x1bx,4\n")
    (tmp_path / "gap.csv").write_text("a,b,c,d\n1,2,3,4\n1,2, ,4\n")
    (tmp_path / "short.csv").write_text("a,b,c,d\n1,2\n")
    (tmp_path / "other.csv").write_text("e,f\n1,2\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "c.npz").read_bytes()[:-99])
    for name, calibrator, says in (
        ("objects.npy", "c.npz", "pickle"),
        ("bad.csv", "c.npz", "could not convert"),
        ("gap.csv", "c.npz", "1 of 2 rows (first: 2) hold NaN"),
        ("short.csv", "c.npz", "no table"),
        ("other.csv", "c.npz", "no single column 'a'"),
        ("empty.csv", "c.npz", "no table"),
        ("missing.npy", "c.npz", "missing.npy"),
        ("o.npy", "empty.npz", "no calibrator"),
        ("o.npy", "cut.npz", "no calibrator"),
        ("o.npy", "two.npz", "no calibrator"),
        ("o.npy", "nothing.npz", "nothing.npz"),
    ):
        given = [
            str(tmp_path / name),
            "--calibrator",
            str(tmp_path / calibrator),
            "--out",
            str(tmp_path / "p.csv"),
        ]
        with pytest.raises(SystemExit) as ended:
            main(given)
        said = str(ended.value)
        assert says in said and "\n" not in said and "\x1b" not in said


def test_risks_in_percent_are_refused_with_the_range_they_leave(tmp_path):
    risk = np.random.default_rng(0).uniform(0.05, 0.6, 200)
    data = calib.from_outputs(risk, (risk > 0.3).astype(int))
    calib.export.save(calib.calibrator("temperature").fit(data), tmp_path / "c.npz")
    with pytest.raises(predict.Refused, match="NaN or numbers outside 0 to 1; the calibrator"):
        predict.load(tmp_path / "c.npz").predict_proba(100 * risk)


@pytest.mark.parametrize(
    "cell",
    ["=1+1", " =1", "\ufeff=cmd|' /C calc'!A0", "x;=1+1", "x; @SUM(A1)", "\t=1", '"=1', "-x"],
)
def test_no_cell_is_a_formula(cell):
    said = inert(cell)
    assert said.replace("'", "") == cell.replace("'", "")
    assert not any(
        part.strip('\ufeff \t"').startswith(("=", "+", "-", "@")) for part in said.split(";")
    )
    for other in ("-1.5", "+2", "1e-7", "plain; text", "a - b", "-1,5", 3.0):
        assert inert(other) == other


def test_hostile_names_of_classes_and_columns_are_inert(fitted, overconfident, tmp_path):
    made = loaded(fitted, class_names=NAMES, decision=ANSWER)
    assert made.record["class_names"] == [*NAMES]
    writer.save(fitted, tmp_path / "c.npz", class_names=NAMES, decision=ANSWER)
    np.save(tmp_path / "o.npy", overconfident[0])
    main(
        [
            str(tmp_path / "o.npy"),
            "--calibrator",
            str(tmp_path / "c.npz"),
            "--out",
            str(tmp_path / "p.csv"),
        ]
    )
    with (tmp_path / "p.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert not any(value.startswith("=") for row in rows for value in row.values())
    assert [row["row"] for row in rows[:2]] == ["1", "2"]


def test_what_was_changed_is_refused(fitted):
    npz = bytearray(writer.to_bytes("npz", fitted))
    refused = 0
    rng = np.random.default_rng(0)
    for _ in range(300):
        content = npz.copy()
        content[rng.integers(len(content))] = rng.integers(256)
        try:
            load(io.BytesIO(bytes(content)))
        except Refused:
            refused += 1
    assert refused > 200


def test_forged_files_are_refused_or_give_probabilities(fitted, overconfident, rng):
    """1,000 damaged and 1,000 forged ones were tried; here are some."""
    exported, refused = provenance.exported(fitted, {"decision": ANSWER}), 0
    for part in 20 * ["steps", "to_logits", "decision", "metadata"]:
        file = io.BytesIO()
        np.savez(file, **forged(exported, rng, part))
        file.seek(0)
        try:
            probs = load(file).predict_proba(overconfident[0], kind="logits")
        except Refused:
            refused += 1
            continue
        assert ((probs >= 0) & (probs <= 1 + 1e-9)).all()
    assert 20 < refused < 80


@pytest.mark.parametrize("method", ["platt", "vector"])
def test_maps_by_group_are_exported_with_their_groups(method, tmp_path, rng):
    logits = rng.normal(0.0, 2.0, (1500, 3))
    groups = rng.choice(["a", "b", "=c"], 1500)
    shift = np.array([0.0, 1.5, -1.0])[np.unique(groups, return_inverse=True)[1]]
    labels = (logits + rng.gumbel(size=(1500, 3)) + shift[:, None] * [0, 0, 1]).argmax(axis=1)
    made = calib.calibrator("by_group", method=method).fit(
        logits, labels, kind="logits", groups=groups
    )
    assert made.spread_
    new, of_row = rng.normal(0.0, 4.0, (50, 3)), np.r_[["unknown"], rng.choice(["a", "=c"], 49)]
    new[1] = [800.0, -800.0, 0.0]
    expected = made.predict_proba(new, groups=of_row)
    for ending in ("npz", "zip", "pkl"):
        loaded = calib.runtime.load(writer.save(made, tmp_path / f"calibrator.{ending}"))
        found = loaded.predict_proba(new, groups=of_row)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        with pytest.raises(CalibrationError, match="pass groups="):
            loaded.predict_proba(new)
    again = calib.runtime.load(writer.save(loaded, tmp_path / "again.npz"))
    np.testing.assert_allclose(again.predict_proba(new, groups=of_row), expected, atol=1e-12)
    for export in (made, again):
        for ending in ("onnx", "py"):
            with pytest.raises(CalibrationError, match=r"save a \.pkl, \.npz or \.zip"):
                writer.to_bytes(ending, export)
    table = [f"{x},{y},{z},{g}" for (x, y, z), g in zip(new.tolist(), of_row, strict=True)]
    (tmp_path / "new.csv").write_text("\n".join(["x,y,z,place", *table]))
    about = ["--calibrator", str(tmp_path / "calibrator.npz"), "--columns", "x,y,z"]
    paths = [str(tmp_path / "new.csv"), "--out", str(tmp_path / "out.npz")]
    predict.main([*paths, *about, "--groups", "place", "--kind", "logits"])
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npz")["probabilities"], expected, rtol=0, atol=1e-12
    )
    with pytest.raises(SystemExit, match="--groups"):
        predict.main([*paths, *about, "--kind", "logits"])
