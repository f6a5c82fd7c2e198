"""Files that are read a few rows at a time."""

import numpy as np
import pandas as pd
import pytest

from calib.numerics import blocks


@pytest.fixture
def small_blocks(monkeypatch):
    """37 rows in each block, so that any file has many and the last one is shorter."""
    monkeypatch.setattr(
        "calib.apply.parts.blocks", lambda n_rows, *rest: blocks(n_rows, entries=37)
    )
    monkeypatch.setattr("calib.apply.parts.block_rows", lambda *rest: 37)


def write(path, outputs, labels=None):
    """Outputs as .npy in either memory order, or as Parquet in row groups that fit no block."""
    if path.suffix == ".npy":
        np.save(path, np.asfortranarray(outputs) if "fortran" in path.name else outputs)
        return path
    names = [f"logit_{k}" for k in range(outputs.shape[1])]
    frame = pd.DataFrame(outputs, columns=names).assign(id=range(len(outputs)))
    if labels is not None:
        frame["label"] = labels
    frame.to_parquet(path, row_group_size=33)
    return path
