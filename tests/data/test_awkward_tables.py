"""Text tables, Parquet and HDF5 the way people really write them.

A column with the predicted class, or its confidence, beside the scores of the classes is no class.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.data import inspect, load, read_outputs
from tests.data.conftest import cases, check_refused, check_repeatable

NAMES = np.array(["ant", "bee", "cat", "dög"])


def spoilt(make, row, column, text):
    frame = make.frame().astype({column: object})
    frame.loc[row, column] = text
    return make.csv(frame)


def ragged(make):
    lines = make.lines()
    lines[5] += ",1"
    lines[9] = lines[9].rpartition(",")[0]
    return make.file("ragged.csv", "\n".join(lines))


def nested(make):
    frame = pd.DataFrame({"label": make.labels, "id": "a", "probs": list(make.probs)})
    return make.parquet(frame)


def named(make):
    columns = {f"prob_{name}": make.probs[:, k] for k, name in enumerate(NAMES)}
    return pd.DataFrame({**columns, "species": NAMES[make.labels]})


REFUSED = [
    # name, builder, code of the error, fragment of its sentence
    ("text in cells", lambda m: spoilt(m, 7, "p_1", "oops"), "text_in_cells", "1 of 300 cells"),
    ("infinite cell", lambda m: spoilt(m, 7, "p_1", "inf"), "not_finite", "1 row of 300"),
    ("ragged", ragged, "ragged", "2 lines of ragged.csv have another number of cells than the 5 columns"),
    ("no header, no labels", lambda m: m.csv(pd.DataFrame(m.logits), header=False), "no_outputs", "column_0"),
]  # fmt: skip


@cases("build, code, fragment", REFUSED)
def test_is_refused_with_its_sentence(make, build, code, fragment):
    check_refused(build(make), code, fragment)


@pytest.mark.parametrize("name", ["text in cells", "infinite cell", "ragged"])
def test_leaving_bad_rows_out_mends_it(make, name):
    path = next(row[1] for row in REFUSED if row[0] == name)(make)
    found = inspect(path)
    assert found.findings[0].fix == {"drop_bad_rows": True}
    data = load(path, **found.findings[0].fix)
    bad = [4, 8] if name == "ragged" else [7]
    np.testing.assert_array_equal(data.labels, np.delete(make.labels, bad))
    np.testing.assert_allclose(data.logits, np.log(np.delete(make.probs, bad, axis=0)), rtol=1e-12)


READ = [
    ("Windows line ends", lambda m: m.csv(lineterminator="\r\n")),
    ("pandas index", lambda m: m.csv(index=True)),
    ("no header", lambda m: m.csv(header=False)),
    ("columns out of order", lambda m: m.csv(m.frame()[["p_3", "p_1", "label", "p_0", "p_2"]])),
    ("beside other columns", lambda m: m.csv(m.frame(id=np.arange(300), filename="x.png", predicted=m.labels))),
    ("csv of names", lambda m: m.csv(named(m))),
    ("capital names", lambda m: m.csv(named(m).rename(columns=str.title))),
    ("counted from one", lambda m: m.csv(m.frame(label=m.labels + 1).set_axis([*"y1234"], axis=1))),
    ("parquet of lists", nested),
    ("parquet of categories", lambda m: m.parquet(named(m).astype({"species": "category"}))),
    ("hdf5", lambda m: m.h5(predictions=m.probs, ytrues=m.labels)),
    ("hdf5 groups", lambda m: m.h5(run1__outputs__probs=m.probs, run1__labels=m.labels)),
]  # fmt: skip


@cases("build", READ)
def test_is_read_as_meant(make, build):
    path = build(make)
    data = load(path)
    np.testing.assert_array_equal(data.labels, make.labels)
    single = data.logits.dtype == np.float32
    np.testing.assert_allclose(data.logits, np.log(make.probs), rtol=1e-4 if single else 1e-12)
    assert data.kind == "probabilities"
    check_repeatable(path)


def test_the_predicted_class_is_no_output(make):
    scores = pd.DataFrame(make.probs, columns=list("abcd")).assign(y_true=make.labels, id=np.arange(300))
    for name in ("y_pred", "prediction", "yhat", "Predicted Class"):
        path = make.csv(scores.assign(**{name: make.probs.argmax(axis=1)}))
        data = load(path)
        np.testing.assert_allclose(data.logits, np.log(make.probs), rtol=1e-12)
        assert {role.role for role in data.roles if role.column == name} <= {"predicted", "ignore"}
        np.testing.assert_allclose(read_outputs(path), make.probs, rtol=1e-15)


def test_no_reading_without_rows_is_offered(make):
    p, churn, half = make.probs[:, 2:].sum(axis=1), make.binary.astype(float), np.arange(len(make.binary)) < 150
    data = load(make.csv(pd.DataFrame({"churn": churn, "score_a": np.full(len(p), np.nan), "score_b": p})))
    assert [role.role for role in data.roles] == ["outcome", "ignore", "outputs"]
    torn = pd.DataFrame({"age": np.arange(len(p)) % 60, "score_a": p**2, "score_b": p, "churned": make.binary})
    torn["churned"] = torn["churned"].astype("Int64").where(half)
    torn.loc[half, ["score_a", "score_b"]] = np.nan
    check_refused(make.csv(torn), "no_rows", "both an outcome and finite outputs")


def test_a_line_of_totals_is_named_as_the_cause(make):
    """The total is a third value of the outcome."""
    frame = pd.DataFrame({"branch": NAMES[np.arange(300) % 3], "default": make.binary, "pd": make.probs[:, 0]})
    frame.loc[300] = ["Total", make.binary.sum(), make.probs[:, 0].mean()]
    check_refused(make.csv(frame), "no_outputs", f"default may be the outcome (0, 1, {make.binary.sum()})")
