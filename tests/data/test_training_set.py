"""Features and the training set: sizes, labels in the order of the outputs, scales."""

from __future__ import annotations

import numpy as np
import pytest

from calib.data import DataError, load
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


def test_training_rows_with_nan_or_a_label_of_no_class_are_counted(whole, trained):
    labels = CLASSES.copy()
    labels[:3] = 7, 7, -1
    trained[4] = np.nan
    data = load(whole(train_labels=labels))
    said = the(data, "train_rows_bad")
    assert "1 holds NaN" in said.message and "3 a label" in said.message
    assert said.left_out == "train_features" and data.train_features is None


def test_columns_of_other_scales_are_said_with_what_to_save(whole, features, trained):
    scales = np.array([1, 1, 1e4, 1, 1, 1])
    data = load(whole(features=features * scales + 5, train_features=trained * scales + 5))
    finding = the(data, "features_scale")
    assert finding.message.startswith("Your features are not normalised")
    assert finding.level == "warning" and "train.mean(axis=0)" in finding.action
    np.testing.assert_array_equal(data.features, features * scales + 5)
    usual = [(x - trained.mean(axis=0)) / trained.std(axis=0) for x in (features, trained)]
    data = load(whole(features=usual[0], train_features=usual[1]))
    assert "features_scale" not in {f.code for f in data.findings}


def test_pixels_that_hardly_vary_are_no_other_scale(whole, rng):
    """As in flat images of digits: the middle runs from 0 to 255, the border from 0 to 1."""
    trained = rng.integers(0, 256, (M, 100)) * 1.0
    trained[0], trained[1] = 0, 255
    trained[:, :40] = rng.integers(0, 2, (M, 40))
    data = load(whole(features=trained[np.arange(300) % M], train_features=trained))
    assert "features_scale" not in {finding.code for finding in data.findings}


@pytest.mark.parametrize("name", ["feature_{}", "x{}", "Feature.{}"])
def test_columns_of_a_table_by_prefix(make, features, name):
    columns = [name.format(j + 1) for j in range(3)]
    frame = make.frame(**dict(zip(columns, features.T[:3], strict=True)))
    data = load(make.csv(frame), roles={"features": columns})
    np.testing.assert_allclose(data.features, features[:, :3], rtol=1e-12)
    assert the(data, "features_incomplete").left_out == "train_features"
    alone = load(make.csv(frame))
    assert alone.features is None


# With several files.


def test_outputs_in_two_files_take_features_of_both(make, arrays):
    """Calibration rows, then test rows; the training set lies beside the former."""
    training = {role: arrays[role] for role in ROLES[1:]}
    first, second = (
        {
            "logits": make.logits[rows],
            "labels": make.labels[rows],
            "features": arrays["features"][rows],
        }
        for rows in (slice(100), slice(100, None))
    )
    data = load(make.npz("a.npz", **first, **training), test=make.npz("b.npz", **second))
    for role in ROLES:
        np.testing.assert_array_equal(getattr(data, role), arrays[role])
    calibration, test = data.split()
    np.testing.assert_array_equal(calibration.features, arrays["features"][:100])
    np.testing.assert_array_equal(test.features, arrays["features"][100:])
    assert test.train_labels is data.train_labels


def test_labels_in_a_second_file_leave_the_features_beside_the_outputs(make, arrays):
    data = load(
        make.npz("a.npz", logits=make.logits, **arrays), labels=make.npy(make.labels, "y.npy")
    )
    np.testing.assert_array_equal(data.labels, make.labels)
    for role in ROLES:
        np.testing.assert_array_equal(getattr(data, role), arrays[role])


def test_arrays_are_chosen_by_name(whole, arrays):
    data = load(whole(b=arrays["features"] + 1), features="b")
    np.testing.assert_array_equal(data.features, arrays["features"] + 1)
    assert load(whole(), train_features="").train_features is None


@pytest.mark.parametrize("role", ROLES)
def test_a_file_of_its_own_is_refused_with_the_call_that_makes_one_file(make, arrays, role):
    path = make.npy(arrays[role], f"{role}.npy")
    for given in (path, str(path), path.name, arrays[role]):
        with pytest.raises(DataError) as refused:
            load(make.both(), **{role: given})
        assert f"{role} was chosen as " in str(refused.value)
        assert 'np.savez("all.npz", logits=..., labels=..., features=...' in str(refused.value)


@pytest.mark.parametrize(
    ("role", "array", "fragment"),
    [
        ("features", np.zeros((299, 6)), "features has the shape (299, 6) for 300 rows"),
        ("train_labels", CLASSES[:-1], "(40, 6) but train_labels has the shape (39,)"),
        ("train_labels", np.array(list("abcd"))[CLASSES], "40 a label that is no class"),
    ],
)
def test_arrays_that_do_not_fit_are_said_with_numbers(whole, role, array, fragment):
    data = load(whole(**{role: array}))
    warnings = [finding.message for finding in data.findings if finding.level == "warning"]
    assert any(fragment in message for message in warnings), warnings
    assert len(data) == 300
