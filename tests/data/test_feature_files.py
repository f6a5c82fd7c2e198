"""Features in files of their own, of any format, one for all or one for each; and outputs without labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.data import Choices, inspect, load
from tests.data.conftest import the

M = 40
CLASSES = np.arange(M) % 4
ROLES = ("features", "train_features", "train_labels")


@pytest.fixture
def arrays(rng) -> dict[str, np.ndarray]:
    return dict(zip(ROLES, (rng.normal(size=(300, 5)), rng.normal(size=(M, 5)), CLASSES), strict=True))


def check(data, arrays):
    for role in ROLES:
        np.testing.assert_allclose(getattr(data, role), arrays[role], rtol=1e-12, err_msg=role)


def in_npy(make, arrays):
    return {role: make.npy(arrays[role], f"{role}.npy") for role in ROLES}


def in_tables_with_own_names(make, arrays):
    names = ["age", "height", "weight", "pulse", "income"]
    trained = pd.DataFrame(arrays["train_features"], columns=names).assign(id=np.arange(M), target=CLASSES)
    return {
        "features": make.csv(pd.DataFrame(arrays["features"], columns=names).assign(id=np.arange(300)), "a.csv"),
        "train_features": make.parquet(trained, "b.parquet"),
    }


def in_one_npz(make, arrays):
    return {"features": make.npz("all.npz", **arrays)}


@pytest.mark.parametrize("form", [in_npy, in_tables_with_own_names, in_one_npz])
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
    file = make.npz("more.npz", b=arrays["features"] + 1, **arrays)
    data = load(make.both(), features=file, choices=Choices(features="b", train_features=""))
    np.testing.assert_array_equal(data.features, arrays["features"] + 1)
    assert data.train_features is None
    error = inspect(make.both(), features=file, choices=Choices(features="nowhere")).findings[0]
    assert (error.level, error.code) == ("error", "no_such_array") and "nowhere" in error.message


@pytest.mark.parametrize("role", ROLES)
def test_a_bad_file_of_features_costs_the_features_alone(make, arrays, role):
    for content, code in ((b"\x80\x04\x95\x00", "pickle"), (b"", "empty"), (b"\x93NUMPY\x01", "damaged")):
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
