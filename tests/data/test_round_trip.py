"""The same arrays through any format are the same data set; the hash says so, and says when they are not."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from calib.data import Predictions, load


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_any_format_gives_the_same_predictions(data):
    import h5py
    import pandas as pd

    n_classes = data.draw(st.integers(2, 5))
    n = data.draw(st.integers(2, 12))
    finite = st.floats(-1e30, 1e30, allow_subnormal=False)
    logits = data.draw(npst.arrays(np.float64, (n, n_classes), elements=finite))
    logits[0, 0] = 7.25  # no row of probabilities, whatever the rest is
    labels = data.draw(npst.arrays(np.int64, n, elements=st.integers(0, n_classes - 1)))
    labels[-1] = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "a.npz", logits=logits, labels=labels)
        frame = pd.DataFrame({"label": labels, **{f"logit_{k}": logits[:, k] for k in range(n_classes)}})
        frame.to_csv(folder / "a.csv", index=False)
        frame.to_csv(folder / "a.csv.gz", index=False)
        frame.to_parquet(folder / "a.parquet")
        with h5py.File(folder / "a.h5", "w") as file:
            file["logits"], file["labels"] = logits, labels
        read = [load(folder / f"a.{ending}", kind="logits") for ending in ("npz", "csv", "csv.gz", "parquet", "h5")]
    np.testing.assert_array_equal(read[0].logits, logits)
    np.testing.assert_array_equal(read[0].labels, labels)
    assert len({one.sha256 for one in read}) == 1


def test_the_hash_knows_every_cell(make):
    reference = load(make.both()).sha256
    logits, labels = make.logits.copy(), make.labels.copy()
    logits[299, 3] = np.nextafter(logits[299, 3], 99)
    labels[0] = (labels[0] + 1) % 4
    others = [
        load(make.both(logits)).sha256,
        load(make.both(labels=labels)).sha256,
        load(make.both(), class_names=("a", "b", "c", "d")).sha256,
        load(make.both(split=np.arange(300) < 9)).sha256,
        load(make.both(groups=np.arange(300) % 2)).sha256,
        load(make.both(make.logits.astype(np.float32))).sha256,
    ]
    assert len({reference, *others}) == 7
    assert load(make.both()).sha256 == reference


def test_data_made_by_hand_has_a_hash_once_it_is_split(make):
    parts = [
        Predictions(logits=z, labels=make.labels, class_names=tuple("abcd")).split()[0].sha256
        for z in (make.logits, make.logits + 1)
    ]
    assert parts[0] != parts[1] and all(parts)


def test_the_package_loads_numpy_alone():
    program = (
        "import sys, calib.data; print([m for m in ('pandas','pyarrow','h5py','scipy','sklearn') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert ran.stdout.strip() == "[]"


@pytest.mark.reference
@pytest.mark.parametrize(
    ("name", "n_classes", "accuracy"),
    [
        ("wideresnet-16-4-cifar-100", 100, 0.7543),
        ("wideresnet-16-4-cifar-10", 10, 0.9109),
        ("lenet-5-cifar-10", 10, 0.5308),
    ],
)
def test_real_outputs(shared_data, name, n_classes, accuracy):
    load(shared_data / f"{name}.npz")
    start = time.process_time()
    data = load(shared_data / f"{name}.npz")
    assert time.process_time() - start < 0.5
    assert (data.kind, data.n_classes, len(data), data.floor) == ("probabilities", n_classes, 10_000, None)
    assert (data.logits.argmax(axis=1) == data.labels).mean() == accuracy
    with np.load(shared_data / f"{name}.npz") as raw:
        np.testing.assert_allclose(data.logits, np.log(raw["predictions"].astype(float)), rtol=1e-6, atol=1e-7)
    assert any(f"accuracy {accuracy:.2%}" in finding.message for finding in data.findings)
