"""What lies in memory goes the same road as files: arrays, DataFrames of pandas and polars, lists of dictionaries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import calib
from calib.data import inspect
from calib.data.loading import from_outputs
from tests.conftest import npz_bytes
from tests.data.conftest import cases, the
from tests.data.read.conftest import LABELS, LOGITS, NAMES, PROBS, check_read

FRAME = pd.DataFrame(PROBS, columns=[f"p_{name}" for name in NAMES]).assign(
    label=[NAMES[k] for k in LABELS]
)
ARROW = pa.Table.from_pandas(FRAME)
ROWS = FRAME.to_dict("records")


class OfArrow:
    """A frame of another library, which offers Arrow's interface and nothing else, as polars' does."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def viewed(table, categories=False):
    """The table with its text in views, as polars hands it over; with categories, those of a dictionary."""
    label = table.column("label").to_pylist()
    names, places = np.unique(label, return_inverse=True)
    views = pa.array(names.tolist() if categories else label, pa.string_view())
    return table.set_column(
        3,
        "label",
        pa.DictionaryArray.from_arrays(places.astype(np.uint32), views) if categories else views,
    )


FRAMES = [
    ("pandas, categories", FRAME.astype({"label": "category"})),
    ("pandas, an index", FRAME.set_index(pd.Index(np.arange(240)[::-1], name="id"))),
    ("pandas, mixed types", FRAME.assign(note=[1, "a"] * 120)),
    ("another library, views", OfArrow(viewed(ARROW))),
    ("another library, categories", OfArrow(viewed(ARROW, categories=True))),
    ("dictionaries", ROWS),
    ("arrays", [{"probs": dict(zip(NAMES, PROBS[i], strict=True)), "label": NAMES[k]} for i, k in enumerate(LABELS)]),
]  # fmt: skip


@cases("frame", FRAMES)
def test_frames_are_read_as_files_are(frame):
    check_read(inspect(frame), NAMES)


def test_numbers_written_as_text_are_read_as_those_of_a_csv(tmp_path):
    percent = {
        name: FRAME[name].map(lambda p: f"{100 * p:.4f}%".replace(".", ","))
        for name in FRAME.columns[:3]
    }
    frame = FRAME.assign(**percent, code="007")
    frame.to_parquet(tmp_path / "outputs.parquet", index=False)
    for source in (frame, tmp_path / "outputs.parquet"):
        found = inspect(source)
        np.testing.assert_allclose(np.exp(found.predictions.logits), PROBS, atol=1e-6)
        assert "string" in next(array.dtype for array in found.arrays if array.name == "code")


TWICE = pd.concat([FRAME, FRAME[::-1].reset_index(drop=True)], axis=1)


@cases(
    "source, code",
    [
        ("an array", np.zeros(3), "source"),
        ("a tuple", (PROBS, LABELS), "source"),
        ("a single column", pd.Series([0.1, 0.9]), "source"),
        ("two columns of one name", TWICE, "duplicate_columns"),
        ("an empty list", [], "no_rows"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(source, code):
    found = inspect(source)
    assert found.predictions is None
    assert the(found, code).level == "error" and found.findings[0].action


# Arrays.


def test_arrays_are_read_as_from_a_file_and_not_written_to():
    zeros = np.where(PROBS.argmin(axis=1)[:, None] == np.arange(3), 0.0, PROBS)
    for outputs in (
        LOGITS,
        zeros / zeros.sum(axis=1, keepdims=True),
        LOGITS.astype(np.float32),
        PROBS[:, 0],
    ):
        labels = LABELS if outputs.ndim == 2 else LABELS == 0
        before = outputs.copy()
        filed = calib.load(("outputs.npz", npz_bytes(outputs=outputs, labels=labels)))
        loaded = calib.load({"outputs": outputs, "labels": labels})
        assert loaded.sha256 == filed.sha256
        assert (loaded.kind, loaded.class_names, loaded.floor) == (
            filed.kind,
            filed.class_names,
            filed.floor,
        )
        np.testing.assert_array_equal(outputs, before)


def test_a_pair_a_frame_and_a_file_are_taken_alone(tmp_path):
    frame = pd.DataFrame({"outcome": LABELS == 0, "risk": PROBS[:, 0]})
    path = tmp_path / "risks.csv"
    frame.to_csv(path, index=False)
    pair, table, file = from_outputs((LOGITS, LABELS)), from_outputs(frame), from_outputs(path)
    assert pair.sha256 == from_outputs(LOGITS, LABELS).sha256
    assert table.kind == file.kind == "binary_probability"
    assert (table.name, file.name, from_outputs(path, name="mine").name) == (
        "predictions",
        "risks",
        "mine",
    )
    assert from_outputs(file) == file or from_outputs(file).sha256 == file.sha256


def test_what_is_no_array_is_refused_in_a_sentence():
    for outputs, labels, said in (
        ([[1.0], [2.0, 3.0]], [0, 1], "outputs is of the type list"),
        (LOGITS, LABELS[:7], "7"),
        (LOGITS, np.array(3), "labels is a single value"),
        (LOGITS, [object()] * 240, "labels is of the type list"),
        (LOGITS.astype(complex), LABELS, "complex"),
        (LOGITS, LABELS == 1, "True and False, but there are 3 classes"),
    ):
        with pytest.raises(calib.DataError, match=said):
            from_outputs(outputs, labels)
    # Arrays where options belong ended in NumPy's own error.
    with pytest.raises(calib.DataError, match=r"calib\.from_outputs\(outputs, labels\)"):
        calib.load(LOGITS, LABELS)


def test_masked_outputs_are_missing_whatever_stands_below():
    for outputs in (PROBS, LOGITS.round().astype(int)):
        masked = np.ma.masked_array(outputs, np.arange(240)[:, None] + np.zeros(3, int) < 5)
        finding = inspect({"outputs": masked, "labels": LABELS}).findings[0]
        assert (finding.level, finding.code) == (
            "error",
            "not_finite",
        ) and "5 rows of 240" in finding.reason


def test_columns_named_by_numbers_are_the_classes_of_labels_beside_them():
    """Sorted as text, 10 stands before 2; the labels were taken for places of columns."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(12, 0.2), size=400)
    labels = np.array([rng.choice(12, p=row) for row in probs])
    table = pd.DataFrame(probs, columns=[f"p_{k}" for k in range(12)])
    table = table[sorted(table.columns)]
    data = calib.from_outputs(table, labels)
    assert data.accuracy == pytest.approx((probs.argmax(axis=1) == labels).mean())
    assert data.class_names[:3] == ("0", "1", "10")
    assert (
        calib.from_outputs(table.to_numpy(), labels).accuracy < 0.3
    )  # without names labels are places


@pytest.mark.parametrize("names", [("low", "high"), ("p_low", "p_high")])
def test_class_names_that_are_the_columns_say_their_order(names):
    """They were given to the columns by place, so that the class low had the probability of high."""
    p = np.random.default_rng(0).uniform(size=60)
    labels = np.arange(60) % 2
    frame = pd.DataFrame({"p_high": p, "p_low": 1 - p})
    wanted = np.column_stack([1 - p, p])
    alone = calib.load(frame.assign(label=labels), class_names=names)
    texts = calib.from_outputs(frame, np.array(names)[labels], class_names=names)
    for data in (calib.from_outputs(frame, labels, class_names=names), alone, texts):
        assert data.class_names == names
        np.testing.assert_array_equal(data.labels, labels)
        np.testing.assert_allclose(np.exp(data.logits), wanted)
    others = calib.from_outputs(frame, labels, class_names=["b", "a"])
    np.testing.assert_allclose(np.exp(others.logits), wanted[:, ::-1])


@pytest.mark.parametrize("names", [("low", "high"), ("p_low", "p_high")])
def test_labels_are_the_columns_names_with_or_without_what_these_have_in_common(rng, names):
    """Labels low and high were said to belong to no column of p_low and p_high."""
    p, labels = rng.uniform(size=60), np.arange(60) % 2
    data = from_outputs(pd.DataFrame({"p_low": 1 - p, "p_high": p}), np.array(names)[labels])
    assert data.class_names == names
    np.testing.assert_array_equal(data.labels, labels)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("numbers", [(3, 1, 2), (0, 1, 2)])
def test_columns_named_by_numbers_are_the_classes_of_labels_in_whichever_order_they_are_named(
    rng, numbers, order
):
    """Class names in another order, or in the columns' own, had labels counted as places."""
    probs, labels = rng.dirichlet(np.full(3, 0.2), 90), rng.choice(numbers, 90)
    frame = pd.DataFrame(probs, columns=[f"p_{number}" for number in numbers])
    names = [str(numbers[place]) for place in order]
    expected = (np.array(numbers)[probs.argmax(axis=1)] == labels).mean()
    for data in (
        from_outputs(frame, labels, class_names=names),
        calib.load(frame.assign(y=labels), class_names=names),
    ):
        assert data.class_names == tuple(names) and data.accuracy == expected


def test_class_names_stay_where_label_values_are_given():
    """They were left out without a word."""
    data = from_outputs(PROBS, 10 * (1 + LABELS), class_names=NAMES, label_values=(10, 20, 30))
    assert data.class_names == tuple(NAMES)
    np.testing.assert_array_equal(data.labels, LABELS)


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        (["p_True", "p_False"], [True, False]),
        (["p_1", "p_0"], [True, False]),
        ([1, 0], [1, 0]),
        ([3, 1, 2], [3, 1, 2]),
        (["p_3", "p_1", "p_2"], [3.0, 1.0, 2.0]),
    ],
)
def test_columns_are_named_by_truth_values_and_by_numbers_of_any_type(rng, columns, values):
    """The first column got the lowest label, whatever both were called."""
    k = len(columns)
    probs, codes = rng.dirichlet(np.full(k, 0.2), 90), np.arange(90) % k
    frame, labels = pd.DataFrame(probs, columns=columns), np.array(values)[codes]
    named = [str(column).removeprefix("p_") for column in columns]
    expected = (probs.argmax(axis=1) == codes).mean()
    for names in (None, named[::-1]):
        data = from_outputs(frame, labels, class_names=names)
        assert data.class_names == tuple(names or named) and data.accuracy == expected
    plain = from_outputs(pd.DataFrame(probs), codes + 1)
    assert plain.accuracy == expected, "columns without names are places"


def test_labels_of_a_frame_are_read_by_name_whatever_else_is_given(rng):
    """One missing label spoilt the others, and one column of labels and ``label_values`` beside names were misread."""
    p, codes = rng.uniform(size=60), np.arange(60) % 2
    frame = pd.DataFrame({"p_b": 1 - p, "p_a": p})
    full, short, wanted = (
        np.array(["p_b", "p_a"])[codes],
        np.array(["b", "a"])[codes],
        np.where(codes, p, 1 - p),
    )

    def said(data):
        return np.exp(data.logits)[np.arange(len(data.labels)), data.labels]

    missing = from_outputs(frame, ["", *full[1:]], drop_bad_rows=True)
    np.testing.assert_allclose(said(missing), wanted[1:])
    for data in (
        from_outputs(frame, short, class_names=["a", "b"]),
        from_outputs(frame, short, label_values=["b", "a"]),
        from_outputs(frame, short, class_names=["a", "b"], label_values=["b", "a"]),
        from_outputs(frame, short[:, None]),
        from_outputs(frame, pd.DataFrame({"y": full})),
        from_outputs(frame.set_axis(["p_2", "p_1"], axis=1), 2 - codes, label_values=None),
        from_outputs(frame.set_axis(["p_2", "p_1"], axis=1), (2 - codes)[:, None]),
    ):
        np.testing.assert_allclose(said(data), wanted)
