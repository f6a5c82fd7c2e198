"""Outputs without labels come back as they were saved, from every format."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from calib.data import DataError, read_outputs

OUTPUTS = np.random.default_rng(0).dirichlet(np.ones(4), 50)
LABELS = OUTPUTS.argmax(axis=1)


def frame() -> pd.DataFrame:
    return pd.DataFrame(OUTPUTS, columns=[f"p_{k}" for k in range(4)])


def hdf5(path: Path, **arrays: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


WRITERS = {
    "bare.npy": lambda path: np.save(path, OUTPUTS),
    "one.npz": lambda path: np.savez(path, OUTPUTS),
    "labelled.npz": lambda path: np.savez(path, predictions=OUTPUTS, ground_truth=LABELS),
    "plain.csv": lambda path: frame().to_csv(path, index=False),
    "labelled.csv": lambda path: frame().assign(label=LABELS).to_csv(path, index=False),
    "packed.csv.gz": lambda path: frame().to_csv(path, index=False),
    "table.parquet": lambda path: frame().to_parquet(path),
    "arrays.h5": lambda path: hdf5(path, logits=OUTPUTS),
    "labelled.h5": lambda path: hdf5(path, logits=OUTPUTS, ytrues=LABELS),
}


@pytest.mark.parametrize("name", WRITERS)
def test_outputs_come_back_as_saved(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    np.testing.assert_allclose(read_outputs(tmp_path / name), OUTPUTS, rtol=1e-15)


def test_one_binary_column_is_a_column(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", OUTPUTS[:, 0])
    np.testing.assert_array_equal(read_outputs(tmp_path / "p.npy"), OUTPUTS[:, :1])


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"version https://git-lfs.github.com/spec/v1\n", b"\x80\x04K\x01."]
)
def test_what_is_no_outputs_is_said_in_a_finding(content: bytes) -> None:
    with pytest.raises(DataError) as raised:
        read_outputs(("outputs.npy", content))
    assert raised.value.findings[0].level == "error"


def test_a_single_number_is_no_outputs(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.float64(0.5))
    with pytest.raises(DataError):
        read_outputs(tmp_path / "p.npy")
