"""One upload for each thing that the coverage-guided fuzzer brought up, and the fuzzer's own doors on its seeds."""

from __future__ import annotations

import io
import time
import zipfile

import numpy as np
import pytest

from benchmarks.doors import Broken, open_one, packed, seeds, unpacked
from calib.data import inspect, read_features, read_outputs
from calib.data.interpret.names import Column, canonical, feature_column, output_column

SECONDS = 5.0


@pytest.mark.parametrize("name", seeds())
def test_seeds_break_no_rule(name):
    open_one(seeds()[name], 2**40)


def test_an_input_says_door_name_and_choices():
    door, name, content, choices = unpacked(packed(b"abc", "labels", "upload.csv", (1,)))
    assert (door, name, content) == ("labels", "upload.csv", b"abc")
    assert choices.made() == {"outputs": "logits"}


def test_rules_can_be_broken(monkeypatch):
    monkeypatch.setattr("benchmarks.doors.inspect", lambda **files: 1 / 0)
    with pytest.raises(Broken, match="ZeroDivisionError"):
        open_one(seeds()["npz as source source"], 2**40)


def test_labels_without_columns_are_refused(make):
    (error,) = (f for f in inspect(make.both(labels=np.zeros((300, 0)))).findings if f.level == "error")
    assert error.code == "labels_shape" and "(300, 0)" in error.message


@pytest.mark.skipif(np.finfo(np.longdouble).max <= np.finfo(float).max, reason="long doubles are doubles here")
@pytest.mark.parametrize("role", ["logits", "features"])
def test_numbers_that_overflow_fill_no_log(make, role):
    values = np.ones((300, 4), np.longdouble) * np.arange(300)[:, None]
    values[5, 1] = np.longdouble("1e4000")
    path = make.both(**{role: values})
    assert any("infinite" in finding.message for finding in inspect(path).findings)
    (read_outputs if role == "logits" else read_features)(path)


def many_columns(n):
    return "w.csv", ",".join(f"col{j}" for j in range(n)).encode() + b"\n" + b",".join([b"0.5"] * n) + b"\n"


def many_scores(n):
    header = ",".join(["label", *(f"p_{j}" for j in range(n - 1))])
    return "p.csv", header.encode() + b"\n" + b",".join([b"0", *[b"1"] * (n - 1)]) + b"\n"


def no_names(n):
    return "n.csv", b",".join([b"-inf"] * n) + b"\n"


def same_names(n):
    names = [f"col{j}" for j in range(n - 2)]
    return "s.csv", ",".join([*names, "twice", "twice"]).encode() + b"\n" + b",".join([b"1"] * n) + b"\n"


def long_names(n):
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    cells = pa.array([0.5, 0.1])
    pq.write_table(pa.table({"aB_" * 300 + str(j): cells for j in range(n // 4)}), buffer, use_dictionary=False)
    return "l.parquet", buffer.getvalue()


def many_arrays(n):
    array, buffer = io.BytesIO(), io.BytesIO()
    np.save(array, np.zeros((1, 2)))
    with zipfile.ZipFile(buffer, "w") as archive:
        for j in range(n):
            archive.writestr(f"{'aB' * 30}{j}.npy", array.getvalue())
    return "a.npz", buffer.getvalue()


@pytest.mark.parametrize("build", [many_columns, many_scores, no_names, same_names, long_names, many_arrays])
def test_as_many_columns_as_are_allowed_take_no_long_time(build):
    upload = build(10_000)
    started = time.process_time()
    assert inspect(upload).findings
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("name", ["p" + "_" * 50_000 + "!", "a_" * 50_000, "p_" + "1" * 50_000, "a " * 50_000 + "1"],
                         ids=["separators", "pieces", "digits", "blanks"])  # fmt: skip
def test_a_name_of_any_length_is_looked_at_for_no_time(name):
    started = time.process_time()
    for _ in range(100):
        assert output_column(name) is None and feature_column(name) is None
        canonical(name)
    assert time.process_time() - started < 0.5


def test_names_that_are_usual_are_read_whole():
    long = "the class that is called by whole sentences of words " * 3
    assert output_column(f"prob_{long}") == Column("prob", long.strip())
    assert output_column("p_" + "1" * 30) == Column("p", "1" * 30)
