"""Whatever the bytes and whatever is chosen, the door answers with findings."""

from __future__ import annotations

import gzip
import random
import zlib

import h5py
import numpy as np
import pytest

from calib.data import Choices, inspect

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
    "kind": ["logits", "probabilities", "log_probabilities", "binary_log_odds", "binary_probability"],
    "class_names": [("a",), tuple("abcd")],
    "label_values": [(0, 1, 2, 3), ("0", "1", "2", "3"), (5,), (), tuple("abcdef")],
    "transposed": [True, False],
    "one_based": [True, False],
    "label_shift": [0, 1, -1, 10**20],
    "row_shift": [1, -3, 500],
    "drop_bad_rows": [True],
    "percent": [True],
    "renormalise": [True],
    "standardise": [True],
    "floor": [0.1, -1.0, float("nan")],
    "delimiter": [";", "::", "\n", '"', ""],
    "encoding": ["latin-1", "rot13", "zip", "utf-16", "nope", "idna"],
    "decimal": [",", "xx"],
    "header": [True, False],
}


def packed_h5(make):
    with h5py.File(make.folder / "packed.h5", "w") as file:
        file.create_dataset("logits", data=make.logits, chunks=(50, 4), compression="gzip", shuffle=True)
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
        assert np.isfinite(data.train_features).all() and len(data.train_features) == len(data.train_labels)
        assert data.train_labels.min() >= 0 and data.train_labels.max() < data.n_classes
        assert data.features is None or data.features.shape[1:] == data.train_features.shape[1:]


@pytest.mark.parametrize("form", FORMATS)
def test_damaged_bytes(make, form):
    path = FORMATS[form](make)
    generator = np.random.default_rng(zlib.crc32(form.encode()))
    for _ in range(60):
        content = bytearray(path.read_bytes())
        # Half of the damage goes to the ends, where formats keep what is dangerous to believe.
        ends = np.r_[np.arange(min(400, len(content))), np.arange(max(0, len(content) - 400), len(content))]
        for _ in range(generator.integers(1, 10)):
            place = generator.choice(ends) if generator.random() < 0.5 else generator.integers(len(content))
            content[place] = generator.integers(256)
        if generator.random() < 0.2:
            content = content[: generator.integers(len(content))]
        check(inspect((path.name, bytes(content))))


FEATURE_FORMATS = {
    "npz": lambda m, **arrays: m.npz("more.npz", **arrays),
    "npy": lambda m, **arrays: m.npy(arrays["features"], "more.npy"),
    "csv": lambda m, **arrays: m.file("more.csv", "\n".join(",".join(map(str, row)) for row in arrays["features"])),
    "h5": lambda m, **arrays: m.h5("more.h5", **arrays),
}


@pytest.mark.parametrize("form", FEATURE_FORMATS)
def test_damaged_features_never_cost_the_outputs(make, form):
    generator = np.random.default_rng(zlib.crc32(form.encode()))
    features = generator.normal(size=(300, 3))
    path = FEATURE_FORMATS[form](
        make, features=features, train_features=features[:9] + 1, train_labels=np.arange(9) % 4
    )
    whole, main = path.read_bytes(), make.both()
    for _ in range(60):
        content = bytearray(whole)
        ends = np.r_[np.arange(min(400, len(content))), np.arange(max(0, len(content) - 400), len(content))]
        for _ in range(generator.integers(1, 10)):
            place = generator.choice(ends) if generator.random() < 0.5 else generator.integers(len(content))
            content[place] = generator.integers(256)
        if generator.random() < 0.2:
            content = content[: generator.integers(len(content))]
        role = str(generator.choice(["features", "train_features", "train_labels"]))
        found = inspect(main, **{role: (path.name, bytes(content))})
        np.testing.assert_array_equal(found.predictions.logits, make.logits)
        check(found)


@pytest.mark.parametrize("form", FORMATS)
def test_any_choices(make, form):
    path = FORMATS[form](make)
    generator = random.Random(form)
    for _ in range(80):
        chosen = {name: generator.choice(values) for name, values in POOL.items() if generator.random() < 0.15}
        check(inspect(path, choices=Choices(**chosen)))
