"""Features and the training set: sizes, labels in the order of the outputs, scales, leaks; in one file or several."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.data import Choices, inspect, load
from tests.data.conftest import the

NAMES = np.array(["ant", "bee", "cat", "dog"])
M = 40
CLASSES = np.arange(M) % 4
ROLES = ("features", "train_features", "train_labels")


@pytest.fixture
def features(rng) -> np.ndarray:
    return rng.normal(size=(300, 6))


@pytest.fixture
def trained(rng) -> np.ndarray:
    return rng.normal(size=(M, 6))


@pytest.fixture
def arrays(features, trained) -> dict[str, np.ndarray]:
    return dict(zip(ROLES, (features, trained, CLASSES), strict=True))


@pytest.fixture
def whole(make, arrays):
    """Writes an upload with features and a training set, any of its arrays replaced or added."""
    return lambda **changes: make.both(**{**arrays, **changes})


def test_a_training_set_is_read_and_said(whole, features, trained):
    data = load(whole())
    np.testing.assert_array_equal(data.features, features)
    np.testing.assert_array_equal(data.train_features, trained)
    np.testing.assert_array_equal(data.train_labels, CLASSES)
    assert data.feature_mean is None and data.feature_scale is None
    said = the(data, "features_understood")
    assert said.level == "info"
    assert "each row is 6 numbers" in said.message and "training set of 40 rows" in said.message
    assert not [f for f in data.findings if f.level == "warning"]


def test_what_is_missing_is_named(make, arrays):
    for missing in ROLES:
        data = load(make.both(**{name: arrays[name] for name in ROLES if name != missing}))
        finding = the(data, "features_incomplete")
        assert missing in finding.action and finding.left_out
        assert data.train_features is None and finding.action


@pytest.mark.parametrize(
    ("labels", "train_labels"),
    [
        (lambda y: y, CLASSES.astype(np.uint8)),
        (lambda y: y, np.eye(4, dtype=int)[CLASSES]),
        (lambda y: y + 1, CLASSES + 1),
        (lambda y: NAMES[y], NAMES[CLASSES]),
        (lambda y: np.array([10, 20, 30, 40])[y], np.array([10, 20, 30, 40])[CLASSES]),
    ],
)
def test_training_labels_follow_the_labels(make, whole, labels, train_labels):
    """Numbers from zero or from one, names, one-hot rows: each means the column that the same label means."""
    chosen = {"label_values": (10, 20, 30, 40)} if labels(1) == 20 else {}
    data = load(whole(labels=labels(make.labels), train_labels=train_labels), **chosen)
    np.testing.assert_array_equal(data.labels, make.labels)
    np.testing.assert_array_equal(data.train_labels, CLASSES)
    assert data.train_labels.dtype == np.int64


def test_training_rows_with_nan_or_a_label_of_no_class_are_left_out_and_said(whole, trained):
    labels = CLASSES.copy()
    labels[:3] = 7, 7, -1
    trained[4] = np.nan
    data = load(whole(train_labels=labels))
    said = the(data, "train_rows_dropped").message
    assert "1 holds NaN" in said and "3 a label" in said
    keep = np.delete(np.arange(M), [0, 1, 2, 4])
    np.testing.assert_array_equal(data.train_features, trained[keep])
    np.testing.assert_array_equal(data.train_labels, CLASSES[keep])


def test_classes_without_training_rows_are_named(whole):
    data = load(whole(class_names=NAMES, train_labels=CLASSES % 2 * 2))
    finding = the(data, "train_classes_absent")
    assert "2 classes of 4 never occur among the training labels (bee, dog)" in finding.message
    assert data.train_labels is not None


def test_columns_of_other_scales_are_standardised_in_one_click(whole, features, trained):
    scales = np.array([1, 1, 1e4, 1, 1, 1])
    path = whole(features=features * scales + 5, train_features=trained * scales + 5)
    found = inspect(path)
    finding = the(found, "features_scale")
    assert finding.message.startswith("Your features are not normalised")
    assert finding.fix == {"standardise": True} and finding.level == "warning"
    assert found.predictions.feature_mean is None

    mended = inspect(path, choices=Choices(**finding.fix))
    data = mended.predictions
    assert mended.choices.standardise is True and "features_scale" not in {
        f.code for f in mended.findings
    }
    mean, std = (trained * scales + 5).mean(axis=0), (trained * scales).std(axis=0)
    np.testing.assert_allclose(data.feature_mean, mean)
    np.testing.assert_allclose(data.feature_scale, std)
    np.testing.assert_allclose(data.train_features, (trained * scales + 5 - mean) / std)
    np.testing.assert_allclose(
        data.features, (features * scales + 5 - mean) / std, err_msg="by the TRAINING set"
    )
    assert (
        inspect(path, choices=mended.choices).predictions.sha256
        == data.sha256
        != found.predictions.sha256
    )


def test_pixels_that_hardly_vary_are_no_other_scale_and_few_discrete_columns_repeat_by_chance(
    whole, rng
):
    """As in flat images of digits: the middle runs from 0 to 255, the border from 0 to 1."""
    trained = rng.integers(0, 256, (M, 100)) * 1.0
    trained[0], trained[1] = 0, 255
    trained[:, :40] = rng.integers(0, 2, (M, 40))
    data = load(whole(features=trained[np.arange(300) % M], train_features=trained))
    assert "features_scale" not in {finding.code for finding in data.findings}
    data = load(
        whole(features=rng.integers(0, 3, (300, 2)), train_features=rng.integers(0, 3, (M, 2)))
    )
    assert "training_rows" not in {finding.code for finding in data.findings}


def test_training_rows_among_the_features_are_counted(whole, features, trained):
    trained[:7] = features[100:107]
    data = load(whole())
    finding = the(data, "training_rows")
    assert (
        "7 rows of 300 in features are also among the 40 rows of train_features" in finding.message
    )


@pytest.mark.parametrize("name", ["feature_{}", "x{}", "Feature.{}"])
def test_columns_of_a_table_by_prefix(make, features, name):
    columns = [name.format(j + 1) for j in range(3)]
    frame = make.frame(**dict(zip(columns, features.T[:3], strict=True)))
    data = load(make.csv(frame), roles={"features": columns})
    np.testing.assert_allclose(data.features, features[:, :3], rtol=1e-12)
    assert the(data, "features_incomplete").left_out == "train_features"
    trained = make.npz("trained.npz", train_features=np.ones((M, 3)), train_labels=np.arange(M) % 4)
    inferred = load(make.csv(frame), train_features=trained)
    np.testing.assert_allclose(inferred.features, features[:, :3], rtol=1e-12)


# In files of their own.


def check(data, arrays):
    for role in ROLES:
        np.testing.assert_allclose(getattr(data, role), arrays[role], rtol=1e-12, err_msg=role)


def in_npy(make, arrays):
    return {role: make.npy(arrays[role], f"{role}.npy") for role in ROLES}


def in_tables_with_own_names(make, arrays):
    names = ["age", "height", "weight", "pulse", "income", "rent"]
    trained = pd.DataFrame(arrays["train_features"], columns=names).assign(
        id=np.arange(M), target=CLASSES
    )
    return {
        "features": make.csv(
            pd.DataFrame(arrays["features"], columns=names).assign(id=np.arange(300)), "a.csv"
        ),
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
    assert {array.file for array in found.arrays} == {
        main.name,
        *(path.name for path in files.values()),
    }


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


@pytest.mark.parametrize("role", ROLES)
def test_a_bad_file_of_features_costs_the_features_alone(make, arrays, role):
    for content, code in (
        (b"\x80\x04\x95\x00", "pickle"),
        (b"", "empty"),
        (b"\x93NUMPY\x01", "damaged"),
    ):
        files = {**in_npy(make, arrays), role: make.file("bad.npy", content)}
        data = load(make.both(), **files)
        np.testing.assert_array_equal(data.logits, make.logits)
        assert getattr(data, role) is None
        finding = the(data, code)
        assert finding.level == "warning" and "bad.npy" in finding.message and finding.action


@pytest.mark.parametrize(
    ("role", "build", "fragment"),
    [
        (
            "features",
            lambda m: m.npy(np.zeros((299, 6)), "f.npy"),
            "f.npy has the shape (299, 6) for 300 rows",
        ),
        (
            "features",
            lambda m: m.npz("f.npz", names=np.array(["a", "b"])),
            "none looks like features",
        ),
        (
            "train_labels",
            lambda m: m.npy(CLASSES[:-1], "y.npy"),
            "(40, 6) but train_labels has the shape (39,)",
        ),
        (
            "train_labels",
            lambda m: m.npy(np.array(list("abcd"))[CLASSES], "y.npy"),
            "40 a label that is no class",
        ),
    ],
)
def test_files_that_do_not_fit_are_said_with_numbers(make, arrays, role, build, fragment):
    data = load(make.both(), **{**in_npy(make, arrays), role: build(make)})
    warnings = [finding.message for finding in data.findings if finding.level == "warning"]
    assert any(fragment in message for message in warnings), warnings
    assert len(data) == 300
