"""HDF5 files: texts of any form, and types that are neither numbers nor text."""

from __future__ import annotations

import io

import h5py
import numpy as np
import pytest

from calib.data import inspect


def hdf5(fill):
    """A file with 300 rows of two classes, and what ``fill`` adds."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        fill(file)
        file["logits"] = np.random.default_rng(0).normal(size=(300, 2))
    return "a.h5", buffer.getvalue()


@pytest.mark.parametrize("dtype", ["S9", h5py.string_dtype()], ids=["fixed", "any"])
def test_texts_of_any_form_are_read(dtype):
    names = np.array(["né".encode(), b"cat", b"dog"] * 100)
    texts = names if dtype == "S9" else np.char.decode(names, "utf-8").astype(object)
    found = inspect(
        hdf5(lambda file: file.create_dataset("labels", data=texts, dtype=dtype, chunks=(7,)))
    )
    assert "3 different labels (cat, dog, né)" in found.findings[0].message


def test_a_name_that_is_no_text_is_shown_without_its_bytes():
    def fill(file):
        file[b"\xff"] = np.zeros(3)

    assert "\ufffd" in [array.name for array in inspect(hdf5(fill)).arrays]
