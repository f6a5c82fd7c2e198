"""Features in files of their own, of any format, one for all or one for each; and outputs without labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.data import Choices, inspect, load
from tests.data.conftest import cases, the

M = 40
CLASSES = np.arange(M) % 4
ROLES = ("features", "train_features", "train_labels")


@pytest.fixture
def arrays(rng) -> dict[str, np.ndarray]:
    return {
        "features": rng.normal(size=(300, 5)),
        "train_features": rng.normal(size=(M, 5)),
        "train_labels": CLASSES,
    }


def table(array, prefix="x_"):
    return pd.DataFrame({f"{prefix}{j}": column for j, column in enumerate(array.T)})


def check(data, arrays):
    for role in ROLES:
        np.testing.assert_allclose(getattr(data, role), arrays[role], rtol=1e-12, err_msg=role)


def in_npy(make, arrays):
    return {role: make.npy(arrays[role], f"{role}.npy") for role in ROLES}


def in_csv_with_own_names(make, arrays):
    names = ["age", "height", "weight", "pulse", "income"]
    trained = pd.DataFrame(arrays["train_features"], columns=names).assign(id=np.arange(M), target=CLASSES)
    return {
        "features": make.csv(pd.DataFrame(arrays["features"], columns=names).assign(id=np.arange(300)), "a.csv"),
        "train_features": make.csv(trained, "b.csv"),
    }


def in_parquet_with_labels(make, arrays):
    trained = table(arrays["train_features"], "feature_").assign(label=CLASSES)
    return {
        "features": make.parquet(table(arrays["features"], "feature_"), "a.parquet"),
        "train_features": make.parquet(trained, "b.parquet"),
    }


def in_one_npz(make, arrays):
    return {"features": make.npz("all.npz", **arrays)}


FORMS = [in_npy, in_csv_with_own_names, in_parquet_with_labels, in_one_npz]


@pytest.mark.parametrize("form", FORMS, ids=[form.__name__ for form in FORMS])
def test_every_form_gives_the_same(make, arrays, form):
    main = make.both()
    files = form(make, arrays)
    found = inspect(main, **files)
    check(found.predictions, arrays)
    np.testing.assert_array_equal(found.predictions.labels, make.labels)
    again = inspect(main, choices=found.choices, **files)
    assert again.predictions.sha256 == found.predictions.sha256
    assert {array.file for array in found.arrays} == {main.name, *(path.name for path in files.values())}


def test_outputs_in_two_files_take_features_of_all_rows(make, arrays):
    """Calibration rows, then test rows."""
    first = make.npz("a.npz", logits=make.logits[:100], labels=make.labels[:100])
    second = make.npz("b.npz", logits=make.logits[100:], labels=make.labels[100:])
    data = load(first, test=second, **in_npy(make, arrays))
    check(data, arrays)
    calibration, test = data.split()
    np.testing.assert_array_equal(calibration.features, arrays["features"][:100])
    np.testing.assert_array_equal(test.features, arrays["features"][100:])
    assert test.train_labels is data.train_labels


def test_arrays_are_chosen_by_name(make, arrays):
    file = make.npz("more.npz", a=arrays["features"], b=arrays["features"] + 1, **arrays)
    data = load(make.both(), features=file, choices=Choices(features="b"))
    np.testing.assert_array_equal(data.features, arrays["features"] + 1)
    np.testing.assert_array_equal(data.train_features, arrays["train_features"])
    none = load(make.both(), features=file, choices=Choices(features="a", train_features=""))
    np.testing.assert_array_equal(none.features, arrays["features"])
    assert none.train_features is None


def test_a_name_that_no_file_holds_is_an_error(make, arrays):
    error = inspect(make.both(), **in_npy(make, arrays), choices=Choices(features="nowhere")).findings[0]
    assert (error.level, error.code) == ("error", "no_such_array")
    assert "nowhere" in error.message


BAD = [
    ("pointer", b"version https://git-lfs.github.com/spec/v1\nsize 12\n", "lfs_pointer"),
    ("pickle", b"\x80\x04\x95\x00", "pickle"),
    ("empty", b"", "empty"),
    ("cut off", b"\x93NUMPY\x01", "damaged"),
]


@cases("content, code", BAD)
@pytest.mark.parametrize("role", ROLES)
def test_a_bad_file_of_features_costs_the_features_alone(make, arrays, role, content, code):
    files = {**in_npy(make, arrays), role: make.file("bad.npy", content)}
    data = load(make.both(), **files)
    np.testing.assert_array_equal(data.logits, make.logits)
    assert getattr(data, role) is None
    finding = the(data, code)
    assert finding.level == "warning" and "bad.npy" in finding.message and finding.action


@pytest.mark.parametrize(
    ("role", "build", "fragment"),
    [
        ("features", lambda m: m.npy(np.zeros((299, 5)), "f.npy"), "f.npy has the shape (299, 5) for 300 rows"),
        ("features", lambda m: m.npz("f.npz", names=np.array(["a", "b"])), "none looks like features"),
        ("train_labels", lambda m: m.npy(CLASSES[:-1], "y.npy"), "(40, 5) but train_labels has the shape (39,)"),
        ("train_labels", lambda m: m.npy(np.array(list("abcd"))[CLASSES], "y.npy"), "40 a label that is no class"),
    ],
)
def test_files_that_do_not_fit_are_said_with_numbers(make, arrays, role, build, fragment):
    data = load(make.both(), **{**in_npy(make, arrays), role: build(make)})
    warnings = [finding.message for finding in data.findings if finding.level == "warning"]
    assert any(fragment in message for message in warnings), warnings
    assert len(data) == 300
