"""Whatever the bytes and whatever is chosen, loading answers with findings.

Random damage and random options, the seeds of the fuzzer, a seeded handful of mutants, and one upload for each fault
that the fuzzer or a mutant found, or that left ``inspect`` as an exception.
"""

from __future__ import annotations

import gzip
import random
import unicodedata
import zlib
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np
import pytest

from benchmarks.mutants.readers import wrong, wrong_words
from benchmarks.mutations import Mutant, mutant
from benchmarks.originals import originals
from calib.data import Choices, DataError, inspect, load, read_rows
from calib.errors import CalibrationError
from tests.conftest import minute_of_cpu
from tests.data.conftest import parquet_bytes

POOL = {
    "outputs": ["logits", "labels", "p_0", "nope", "", ("p_0", "p_1"), ("p_0",), ()],
    "labels": ["labels", "label", "logits", "p_1", ""],
    "test_outputs": ["logits", ""],
    "test_labels": ["labels"],
    "split": ["labels", "label", ""],
    "groups": ["labels", "p_0", "logits"],
    "features": ["logits", "labels", "class_names", ("p_0", "p_1"), ""],
    "train_features": ["logits", "nope", "labels", "class_names"],
    "train_labels": ["labels", "class_names", "logits"],
    "kind": [
        "logits",
        "probabilities",
        "log_probabilities",
        "binary_log_odds",
        "binary_probability",
    ],
    "class_names": [("a",), tuple("abcd")],
    "label_values": [(0, 1, 2, 3), ("0", "1", "2", "3"), (5,), (), tuple("abcdef")],
    "drop_bad_rows": [True],
    "scale": ["percent", "counts", "log", "odds", "plain", 7.5, -1, "nope"],
    "floor": [0.1, -1.0, float("nan")],
    "delimiter": [";", "::", "\n", '"', ""],
    "encoding": ["latin-1", "rot13", "zip", "utf-16", "nope", "idna"],
    "decimal": [",", "xx"],
    "header": [True, False],
}


def packed_h5(make):
    with h5py.File(make.folder / "packed.h5", "w") as file:
        file.create_dataset(
            "logits", data=make.logits, chunks=(50, 4), compression="gzip", shuffle=True
        )
        file["labels"], file["class_names"] = make.labels, list("abcd")
    return make.folder / "packed.h5"


FORMATS = {
    "npz": lambda m: m.both(),
    "npy": lambda m: m.npy(m.logits),
    "csv": lambda m: m.csv(),
    "gz": lambda m: m.file("a.csv.gz", gzip.compress("\n".join(m.lines()).encode())),
    "parquet": lambda m: m.parquet(),
    "h5": packed_h5,
}


def check(found):
    """Either a data set that keeps its promises, or one error that says what to do."""
    if found.predictions is None:
        assert found.findings[0].level == "error" and found.findings[0].action
        return
    data = found.predictions
    assert np.isfinite(data.logits).all() and data.logits.shape == (len(data), data.n_classes)
    assert data.labels.min() >= 0 and data.labels.max() < data.n_classes == len(data.class_names)
    check_features(data)
    assert not any(finding.level == "error" for finding in found.findings)


def check_features(data):
    """Features and a training set that fit each other, or none."""
    if data.features is not None:
        assert len(data.features) == len(data) and np.isfinite(data.features).all()
    assert (data.train_features is None) == (data.train_labels is None)
    if data.train_features is not None:
        assert np.isfinite(data.train_features).all() and len(data.train_features) == len(
            data.train_labels
        )
        assert data.train_labels.min() >= 0 and data.train_labels.max() < data.n_classes
        assert data.features is None or data.features.shape[1:] == data.train_features.shape[1:]


def damaged(whole: bytes, generator: np.random.Generator) -> bytes:
    """Up to nine bytes changed, half of them near the ends, where formats keep sizes and offsets; sometimes cut off."""
    content = bytearray(whole)
    ends = np.r_[
        np.arange(min(400, len(content))), np.arange(max(0, len(content) - 400), len(content))
    ]
    for _ in range(generator.integers(1, 10)):
        place = (
            generator.choice(ends) if generator.random() < 0.5 else generator.integers(len(content))
        )
        content[place] = generator.integers(256)
    return bytes(
        content[: generator.integers(len(content))] if generator.random() < 0.2 else content
    )


@pytest.mark.parametrize("form", FORMATS)
def test_damaged_bytes(make, form):
    path = FORMATS[form](make)
    generator = np.random.default_rng(zlib.crc32(form.encode()))
    for _ in range(25):
        check(inspect((path.name, damaged(path.read_bytes(), generator))))


@pytest.mark.parametrize("form", FORMATS)
def test_any_choices(make, form):
    path = FORMATS[form](make)
    generator = random.Random(form)
    for _ in range(30):
        chosen = {
            name: generator.choice(values)
            for name, values in POOL.items()
            if generator.random() < 0.15
        }
        check(inspect(path, choices=Choices(**chosen)))


def test_a_long_name_makes_no_long_sentence(make):
    name = "a" * 100_000
    rows = "".join(f"0.{i % 9 + 1},0.{9 - i % 9},{name if i % 2 else 'b'}\n" for i in range(60))
    found = inspect(
        ("a.csv", f"p_{name},p_b,{name}\n{rows}".encode()), choices=Choices(labels=name)
    )
    assert wrong_words(found.findings) == ""
    one = inspect(
        make.npz(probs=np.full((60, 2), 0.5), labels=np.array([name] * 60), class_names=[name, "b"])
    )
    assert wrong_words(one.findings) == ""


@pytest.mark.skipif(
    np.finfo(np.longdouble).max <= np.finfo(float).max, reason="long doubles are doubles here"
)
@pytest.mark.parametrize("role", ["logits", "features"])
def test_numbers_that_overflow_fill_no_log(make, role):
    values = np.ones((300, 4), np.longdouble) * np.arange(300)[:, None]
    values[5, 1] = np.longdouble("1e4000")
    training = {"train_features": np.eye(4), "train_labels": np.arange(4)}
    path = make.both(**training, **{role: values})
    assert any("infinite" in finding.message for finding in inspect(path).findings)
    read_rows(path, with_features=role == "features")


def met(made: Mutant) -> tuple[str, str]:
    """``read`` or ``refused`` after every door that takes it, and what the readers should not have done."""
    choices = Choices(drop_bad_rows=True) if made.drop else None
    source = made.files["source"]
    aside = {role: file for role, file in made.files.items() if role != "source"}
    found = inspect(source, choices=choices, **aside)
    silent = [
        what
        for what, opened in {
            "load": lambda: load(source, choices=choices, **aside),
            "outputs": lambda: read_rows(source).outputs,
            "features": lambda: read_rows(source, with_features=True).features,
        }.items()
        if not in_words(opened)
    ]
    problem = f"{', '.join(silent)}: an error without words" if silent else wrong(found)
    return "read" if found.predictions else "refused", problem


def in_words(opened: Callable[[], Any]) -> bool:
    """Whether it opens, or the declared error says something; other errors pass on."""
    try:
        opened()
    except (DataError, CalibrationError) as error:
        return bool(str(error).strip())
    return True


def test_mutants_are_read_or_refused_in_words():
    """Of the formats that no library in C parses, in which a mutant would end the process of the tests."""
    forms = tuple(
        form for form in originals() if form not in ("hdf5", "parquet", "arrow", "arrow stream")
    )
    for number in range(30):
        made = mutant(number, seed=7, only=forms)
        with minute_of_cpu():
            outcome, problem = met(made)
        assert outcome in ("read", "refused") and not problem, (made.form, made.damage, problem)


def test_any_name_fits_in_a_line_that_nothing_in_it_turns_or_hides():
    long, hidden = (
        ("x" * 10_000 + ".npz", "y." + "x" * 10_000),
        ("a\n\r\t\x1b[31m.npz", "\u202egnp.npz", "\ud800.npz"),
    )
    for name in (*long, *hidden, "a\0.npz", "", ".."):
        for content in (b"", b"\x93NUMPY", b"PK\x03\x04", b"x,y\n1,2\n", b"{}"):
            for finding in inspect((name, content)).findings:
                assert len(finding.message) < 500
                assert not {"Cc", "Cf", "Cs", "Zl", "Zp"} & {
                    unicodedata.category(c) for c in finding.message
                }


def test_a_parquet_file_of_minus_one_rows_is_read_by_those_it_has_or_refused():
    import pyarrow as pa

    p = np.linspace(0.1, 0.9, 300)
    whole = parquet_bytes(pa.table({"p_1": p, "y": np.arange(300) % 2}))
    rows = b"\xd8\x04"  # 300 as Thrift writes it; \x81\x00 is -1
    places = [j for j in range(len(whole)) if whole[j : j + 2] == rows]
    assert places
    for j in places:
        found = inspect(("f.parquet", whole[:j] + b"\x81\x00" + whole[j + 2 :]))
        check(found)
        assert found.predictions is None or len(found.predictions) == 300
