"""Calibration and test rows that come apart, separate label files, and what else a file may hold."""

from __future__ import annotations

import numpy as np
import pytest

from calib.data import Choices, DataError, LoadOptions, inspect, load
from calib.errors import CalibrationError

CUT = 100


def halves(make, pattern_a, pattern_b, **more):
    a, b = slice(0, CUT), slice(CUT, None)
    names = {
        pattern_a.format("logits"): make.logits[a],
        pattern_a.format("labels"): make.labels[a],
        pattern_b.format("logits"): make.logits[b],
        pattern_b.format("labels"): make.labels[b],
    }
    return {**names, **more}


def check(make, data):
    np.testing.assert_array_equal(data.logits, make.logits)
    np.testing.assert_array_equal(data.labels, make.labels)
    np.testing.assert_array_equal(data.given_split, np.arange(300) < CUT)
    calibration, test = data.split()
    assert (len(calibration), len(test)) == (CUT, 300 - CUT)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("cal_{}", "test_{}"),
        ("{}_val", "{}_test"),
        ("valid_{}", "test_{}"),
        ("calib_{}", "eval_{}"),
        ("{}", "test_{}"),
        ("{}_calibration", "{}"),
        ("dev{}", "test{}"),
    ],
)
def test_parts_under_names_of_their_own(make, first, second):
    if first == "dev{}":
        first, second = "dev_{}", "test-{}"
    check(make, load(make.npz(**halves(make, first, second))))


def test_parts_in_hdf5_groups(make):
    check(make, load(make.h5(**halves(make, "val__{}", "test__{}"))))


def test_the_calibration_part_is_not_the_training_part(make):
    arrays = halves(make, "train_{}", "test_{}")
    data = load(make.npz(**arrays))
    assert len(data) == 200 and data.given_split is None


def test_two_files(make):
    first = make.npz("a.npz", logits=make.logits[:CUT], labels=make.labels[:CUT])
    second = make.npz("b.npz", arr_0=make.labels[CUT:], arr_1=make.logits[CUT:])
    found = inspect(first, test=second)
    check(make, found.predictions)
    assert [(a.name, a.file) for a in found.arrays][-1] == ("arr_1", "b.npz")
    assert (found.choices.test_outputs, found.choices.test_labels) == ("arr_1", "arr_0")
    assert inspect(first, test=second, choices=found.choices).predictions.sha256 == found.predictions.sha256


def test_four_files(make):
    parts = [make.npy(a, n) for n, a in (("z.npy", make.logits[:CUT]), ("y.npy", make.labels[:CUT]))]
    parts += [make.npy(a, n) for n, a in (("tz.npy", make.logits[CUT:]), ("ty.npy", make.labels[CUT:]))]
    data = load(parts[0], labels=parts[1], test=parts[2], test_labels=parts[3])
    check(make, data)
    options = LoadOptions(labels=parts[1], test=parts[2])
    assert load(parts[0], options, test_labels=parts[3], kind="logits").sha256 == data.sha256
    with pytest.raises(TypeError, match="knid"):
        load(parts[0], options, knid="logits")


@pytest.mark.parametrize("form", ["npy", "csv", "npz", "plain lines"])
def test_labels_in_a_file_of_their_own(make, form):
    labels = {
        "npy": lambda: make.npy(make.labels, "y.npy"),
        "csv": lambda: make.csv(make.frame()[["label"]], "y.csv"),
        "npz": lambda: make.npz("y.npz", ids=np.arange(300), targets=make.labels),
        "plain lines": lambda: make.file("y.txt", "\n".join(map(str, make.labels))),
    }[form]()
    data = load(make.npy(make.logits), labels=labels)
    np.testing.assert_array_equal(data.labels, make.labels)
    assert data.name == "logits"


def test_labels_of_another_length(make):
    error = inspect(make.npy(make.logits), labels=make.npy(make.labels[:-3], "labels.npy")).findings[0]
    assert error.message == "labels.npy has 297 rows but logits.npy has 300. Did you drop rows from one file?"
    assert error.action == "Upload another labels file."


def test_parts_with_other_columns_are_refused(make):
    second = make.npz("b.npz", logits=make.logits[:, :3], labels=make.labels % 3)
    error = inspect(make.both(), test=second).findings[0]
    assert error.code == "columns_differ"
    assert error.message == "logits of outputs.npz has 4 columns but logits of b.npz has 3."


@pytest.mark.parametrize("words", [("cal", "test"), ("val", "test"), ("train", "test"), (1, 0), (True, False)])
def test_a_column_may_mark_the_split(make, words):
    frame = make.frame(split=[words[0]] * CUT + [words[1]] * 200)
    np.testing.assert_array_equal(load(make.csv(frame)).given_split, np.arange(300) < CUT)


def test_everything_an_upload_may_bring(make, rng):
    features = rng.normal(size=(300, 3, 2))
    train = rng.normal(size=(50, 3, 2))
    groups = np.array(["a", "b", "c"])[make.labels % 3]
    data = load(
        make.both(
            class_names=np.array(["ant", "bee", "cat", "dog"]),
            groups=groups,
            features=features,
            train_features=train,
            train_labels=np.arange(50) % 4,
        )
    )
    assert data.class_names == ("ant", "bee", "cat", "dog")
    np.testing.assert_array_equal(data.groups, groups)
    np.testing.assert_array_equal(data.features, features)
    np.testing.assert_array_equal(data.train_features, train)
    np.testing.assert_array_equal(data.train_labels, np.arange(50) % 4)


def test_rows_left_out_are_left_out_of_everything(make, rng):
    logits = make.logits.copy()
    logits[[3, 8]] = np.nan
    path = make.both(logits, groups=np.arange(300) % 7, features=np.arange(300.0)[:, None], split=np.arange(300) < 50)
    data = load(path, drop_bad_rows=True)
    left = np.delete(np.arange(300), [3, 8])
    np.testing.assert_array_equal(data.features[:, 0], left)
    np.testing.assert_array_equal(data.groups, (left % 7).astype(str))
    np.testing.assert_array_equal(data.given_split, left < 50)


def test_every_guess_can_be_overruled(make):
    path = make.both(other=make.logits[:, ::-1].copy(), truth=3 - make.labels)
    data = load(path, choices=Choices(outputs="other", labels="truth", class_names=("d", "c", "b", "a")))
    np.testing.assert_array_equal(data.logits, make.logits[:, ::-1])
    np.testing.assert_array_equal(data.labels, 3 - make.labels)
    assert data.class_names == ("d", "c", "b", "a")
    table = load(make.csv(), outputs=("p_1", "p_0", "p_2", "p_3"), label_values=(1, 0, 2, 3))
    np.testing.assert_array_equal(np.array([1, 0, 2, 3])[table.labels], make.labels)


@pytest.mark.parametrize(
    ("choices", "code"),
    [
        ({"outputs": "nowhere"}, "no_such_array"),
        ({"labels": "nowhere"}, "no_such_array"),
        ({"labels": "logits"}, "chosen_twice"),
        ({"test_outputs": "nowhere", "test_labels": "labels"}, "no_such_array"),
        ({"transposed": True}, "rows_differ"),
        ({"row_shift": 300}, "row_shift"),
        ({"outputs": ("a", "b")}, "no_such_array"),
        ({"predicted": "nowhere"}, "no_such_array"),
        ({"kind": "binary_log_odds"}, "kind"),
        ({"renormalise": True, "kind": "probabilities"}, "sums"),
    ],
)
def test_choices_that_do_not_fit_are_said_so(make, choices, code):
    error = inspect(make.both(), choices=Choices(**choices)).findings[0]
    assert (error.level, error.code) == ("error", code), error
    assert error.action


@pytest.mark.parametrize(
    ("given", "said"),
    [({"logit": "x"}, "'logit' is no option"), ({"knid": "x"}, "'kind'"), ({"outcome": "y"}, "roles={'outcome'")],
)
def test_an_unknown_choice_is_a_type_error(make, given, said):
    with pytest.raises(TypeError, match=said):
        load(make.both(), **given)


@pytest.mark.parametrize("name", ["kind", "weight_kind"])
@pytest.mark.parametrize("value", [[[1]], {"a": 1}, np.arange(3)])
def test_a_choice_that_is_no_text_is_refused_in_a_sentence(make, name, value):
    with pytest.raises(DataError, match="must be one of"):
        load(make.both(), **{name: value})


@pytest.mark.parametrize("given", [{"choices": 3}, {"roles": 3}, {"roles": np.arange(3)}])
def test_what_are_no_choices_and_no_roles_is_said(make, given):
    with pytest.raises(CalibrationError, match=next(iter(given))):
        load(make.both(), **given)


def test_uploads_are_read_from_memory_too(make):
    path = make.both()
    content = path.read_bytes()
    with path.open("rb") as file:
        expected = load(path)
        for source in (("outputs.npz", content), ("outputs.npz", file), str(path)):
            data = load(source)
            assert data.sha256 == expected.sha256 and data.name == "outputs"


def test_two_files_overrule_the_parts_of_one(make):
    first = make.npz("a.npz", **halves(make, "cal_{}", "test_{}"))
    data = load(first, test=make.npz("b.npz", logits=make.logits[:7], labels=make.labels[:7]))
    assert len(data) == CUT + 7 and data.given_split.sum() == CUT
