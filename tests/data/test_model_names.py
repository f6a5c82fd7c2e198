"""Name and version of a model, kept from the file to the calibrator and compared with those of new rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib
from calib.data.names import names_model
from calib.diagnostics.shift_data import read_new_rows
from calib.export import runtime, save


def table(model: str, seed: int = 0, **columns: str) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, 200).round(3)
    labels = (rng.random(200) < p).astype(int)
    return pd.DataFrame({"id": range(200), "model": model, **columns, "p": p, "label": labels})


@pytest.mark.parametrize(
    ("name", "named"),
    [("model", True), ("eval_model", True), ("model_version", True), ("modelName", True),
     ("model_p", False), ("car_model_price", False), ("version", False)],
)  # fmt: skip
def test_names_of_models(name, named):
    assert names_model(name) is named


def test_a_column_of_one_value_names_the_model():
    data = calib.load(table("m", model_version="1.2-beta"))
    assert data.model == "m 1.2-beta" and data.take(np.arange(10)).model == data.model
    assert data.output_format().metadata["model"] == data.model
    assert calib.load(table("m").drop(columns="model")).model == ""
    same, other = calib.load(table("m")), calib.load(table("n"))
    assert same.identified().sha256 == other.identified().sha256  # of the rows alone


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("now", ["m-1.0", "m-1.1"])
def test_another_model_than_at_the_fit_is_named(tmp_path, labelled, now):
    fitted = calib.calibrator("platt").fit(calib.load(table("m-1.0")))
    exported = runtime.load(save(fitted, tmp_path / "calibrator.npz"))
    assert exported.metadata["model"] == "m-1.0"
    new = table(now, 1)
    if not labelled:
        new = new.drop(columns="label")
    new.to_csv(tmp_path / "new.csv", index=False)
    rows = read_new_rows(exported, tmp_path / "new.csv", labelled=labelled)
    sentence = "The model changed: these rows are of m-1.1, the calibrator was fitted on m-1.0."
    assert (sentence in rows.notes) is (now != "m-1.0")
