"""Files whose rows are read a few at a time."""

import numpy as np
import pandas as pd
import pytest

from calib.out_of_core.rows import Rows


@pytest.fixture
def block_rows():
    return 37


@pytest.fixture
def few_rows(monkeypatch, block_rows):
    """Make every block so small that any file has many, and that the last one is shorter."""
    made = Rows.__init__

    def init(self, *arguments):
        made(self, *arguments)
        self.block_rows = block_rows

    monkeypatch.setattr(Rows, "__init__", init)


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
