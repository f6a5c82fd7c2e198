"""Data, fits and studies come back as they were, and anything that was changed on disk is refused in one sentence.

A table comes back exactly as it was taken apart, and what could not is refused before it is written.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calib
from calib.base import no_callback
from calib.data import Predictions
from calib.data.samples import load_sample
from calib.evaluation.studies import SIZES, SPLITS, STUDIES
from calib.jobs import FitSpec, Job, TaskSpec
from calib.registry import METHODS, extras_for
from calib.workspace import Damaged, Items
from calib.workspace.store import (
    ARRAYS,
    PLAIN,
    columns_and_arrays,
    get_data,
    get_fit,
    get_study,
    put_data,
    put_fit,
    put_study,
    read_folder,
    table_from,
    write_folder,
)

WITHOUT_TENSORFLOW = [name for name, method in METHODS.items() if name not in ("identity", "gpcalib")]


@pytest.fixture(scope="module")
def sample() -> Predictions:
    return load_sample("digits-cnn")


def fit(method: str, data: Predictions) -> Job:
    spec = FitSpec(method, {}, data_key=data.sha256)
    made = calib.calibrator(method)
    made.fit(data.logits, data.labels, **extras_for(made, data))
    return Job(spec.key, spec, state="done", seconds=1.5, cpu_seconds=1.25, message="Fitted.", result=made)


def test_data_come_back_exactly_without_name_and_findings(items: Items, sample: Predictions) -> None:
    put_data(items, sample)
    back = get_data(items, sample.sha256)
    assert back is not None
    for name in ARRAYS:
        one, other = getattr(sample, name), getattr(back, name)
        assert (one is None) == (other is None), name
        if one is not None:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    assert (back.class_names, back.kind, back.floor) == (sample.class_names, sample.kind, sample.floor)
    assert (back.name, back.findings) == ("predictions", ())
    assert type(back.logits) is type(back.train_features) is np.ndarray


def test_every_field_of_a_data_set_has_its_place() -> None:
    of_the_session = {"name", "findings"}
    assert {f.name for f in fields(Predictions)} == {*ARRAYS, *PLAIN, "event", "roles", "sha256"} | of_the_session


@pytest.mark.parametrize("method", WITHOUT_TENSORFLOW)
def test_a_fit_comes_back_with_the_same_predictions_and_notes(items: Items, sample: Predictions, method: str) -> None:
    data = sample.take(np.arange(200))
    job = fit(method, data)
    put_fit(items, job)
    back = get_fit(items, job.spec)
    assert back is not None
    assert (back.key, back.state, back.seconds, back.cpu_seconds) == (job.key, "done", 1.5, 1.25)
    now, then = back.calibrator, job.calibrator
    np.testing.assert_array_equal(
        now.predict_confidence(data.logits, data.features), then.predict_confidence(data.logits, data.features)
    )
    assert now.notes() == then.notes()
    assert now.get_params() == then.get_params()


def study(kind: str, data: Predictions) -> Job:
    """A study that is done; one method fails without features, which gives NaN and notes."""
    methods = [("Temperature", "temperature", {}), ("Geometric", "geometric", {})]
    arguments = {SPLITS: (methods, 100, 2, 0), SIZES: (methods, 0.5, 0, 2, 0)}[kind]
    function = STUDIES[kind].function
    table = function(*arguments, data={"logits": data.logits, "labels": data.labels}, callback=no_callback)
    assert table["value"].isna().any()
    spec = TaskSpec(function, arguments, data.sha256, "A study")
    return Job(spec.key, spec, state="done", seconds=1.5, cpu_seconds=1.25, message="Done.", result=table)


@pytest.fixture(scope="module", params=STUDIES)
def studied(request: pytest.FixtureRequest, sample: Predictions) -> tuple[str, Job]:
    return request.param, study(request.param, sample.take(np.arange(200)))


def test_a_study_comes_back_exactly(items: Items, studied: tuple[str, Job]) -> None:
    kind, job = studied
    put_study(items, job)
    back = get_study(items, kind, job.spec)
    assert back is not None
    assert (back.key, back.state, back.seconds, back.cpu_seconds, back.message) == (job.key, "done", 1.5, 1.25, "Done.")
    pd.testing.assert_frame_equal(back.result, job.result, check_exact=True)


def test_a_study_without_its_columns_is_refused_and_removed(items: Items, studied: tuple[str, Job]) -> None:
    kind, job = studied
    put_study(items, replace(job, result=job.result.drop(columns="note")))
    with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
        get_study(items, kind, job.spec)
    assert get_study(items, kind, job.spec) is None


@pytest.mark.parametrize("file", ["record.json", "0.npy"])
def test_a_study_that_was_changed_on_disk_is_refused_and_removed(
    items: Items, studied: tuple[str, Job], file: str
) -> None:
    kind, job = studied
    put_study(items, job)
    path = items.root / "studies" / job.key / file
    path.write_bytes(path.read_bytes()[:-1] + b"\x07")
    with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
        get_study(items, kind, job.spec)
    assert get_study(items, kind, job.spec) is None
    put_study(items, job)
    assert get_study(items, kind, job.spec) is not None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\x07"),
        lambda path: path.write_bytes(pickle.dumps(print)),
    ],
    ids=["gone", "empty", "cut", "changed", "a pickle"],
)
@pytest.mark.parametrize("file", ["record.json", "0.npy"])
def test_what_was_changed_on_disk_is_refused_and_removed(items: Items, spoil, file: str, sample: Predictions) -> None:
    put_data(items, sample)
    folder = items.root / "data" / sample.sha256
    spoil(folder / file)
    with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
        get_data(items, sample.sha256)
    assert get_data(items, sample.sha256) is None
    put_data(items, sample)
    assert get_data(items, sample.sha256) is not None


def test_nothing_is_unpickled_even_with_the_right_checksum(tmp_path: Path) -> None:
    tmp_path.joinpath("fits").mkdir()
    folder = tmp_path / "fits" / "made"
    folder.mkdir()
    write_folder(folder, {}, {"logits": np.zeros(3)})
    np.save(folder / "0.npy", np.array([print], dtype=object), allow_pickle=True)
    record = json.loads((folder / "record.json").read_text())
    record["arrays"]["logits"]["sha256"] = hashlib.sha256((folder / "0.npy").read_bytes()).hexdigest()
    del record["sha256"]
    digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    (folder / "record.json").write_text(json.dumps({**record, "sha256": digest}))
    with pytest.raises(Damaged):
        read_folder(folder)


def test_a_record_cannot_point_outside_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    np.save(tmp_path / "secret.npy", np.arange(3))
    digest = hashlib.sha256((tmp_path / "secret.npy").read_bytes()).hexdigest()
    content = {"format": 1, "record": {}, "arrays": {"logits": {"file": "../secret.npy", "sha256": digest}}}
    whole = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    (folder / "record.json").write_text(json.dumps({**content, "sha256": whole}))
    with pytest.raises(Damaged):
        read_folder(folder)


@settings(max_examples=40)
@given(
    arrays=st.dictionaries(
        st.text(max_size=12),
        st.sampled_from(
            [
                np.zeros((0, 3)),
                np.float32([1.5]),
                np.array(2),
                np.array(["a", "ü<b>"]),
                np.ones((3, 2))[:, ::-1],
                np.eye(3).T,
            ]
        ),
        max_size=4,
    ),
    record=st.dictionaries(st.text(), st.one_of(st.floats(allow_nan=False), st.text(), st.none(), st.integers())),
)
def test_any_names_and_arrays_survive(tmp_path_factory: pytest.TempPathFactory, arrays, record) -> None:
    folder = tmp_path_factory.mktemp("any")
    write_folder(folder, record, arrays)
    back_record, back = read_folder(folder)
    assert back_record == record
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == np.asarray(array).dtype


N = 4
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
COLUMNS = st.one_of(
    st.lists(st.floats(), min_size=N, max_size=N).map(np.array),
    st.lists(st.floats(width=32), min_size=N, max_size=N).map(lambda values: np.array(values, np.float32)),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=N, max_size=N).map(lambda values: np.array(values, np.int64)),
    st.lists(st.booleans(), min_size=N, max_size=N).map(np.array),
    st.lists(TEXT, min_size=N, max_size=N).map(lambda texts: pd.Series(texts, dtype="str")),
    st.lists(TEXT | st.none(), min_size=N, max_size=N).map(lambda texts: pd.Series(texts, dtype="str")),
    st.lists(TEXT | st.none(), min_size=N, max_size=N).map(lambda texts: pd.Series(texts, dtype=object)),
)


def stored(table: pd.DataFrame, folder: Path) -> pd.DataFrame:
    columns, arrays = columns_and_arrays(table)
    write_folder(folder, {"columns": columns}, arrays)
    record, back = read_folder(folder)
    return table_from(record["columns"], back)


@settings(max_examples=60)
@given(columns=st.dictionaries(TEXT, COLUMNS, min_size=1, max_size=5))
def test_any_table_of_numbers_and_text_survives_the_disk(tmp_path_factory: pytest.TempPathFactory, columns) -> None:
    table = pd.DataFrame(columns)
    pd.testing.assert_frame_equal(stored(table, tmp_path_factory.mktemp("table")), table, check_exact=True)


def test_no_rows_keep_their_types(tmp_path: Path) -> None:
    table = pd.DataFrame({"b": [1.5], "a": ["x"], "c": [2]}).iloc[:0]
    pd.testing.assert_frame_equal(stored(table, tmp_path), table)


def test_a_large_column_that_stays_on_disk_is_a_column_like_others(tmp_path: Path) -> None:
    table = pd.DataFrame({"value": np.arange(200_000.0), "note": [""] * 200_000})
    back = stored(table, tmp_path)
    pd.testing.assert_frame_equal(back, table)
    back.loc[0, "value"] = 7.0  # pages may change their copy


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1.0]}, index=["row"]),
        pd.DataFrame({"a": [1.0, 2.0]}).iloc[1:],
        pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
        pd.DataFrame([[1.0, 2.0]]),
        pd.DataFrame({"a": ["x", 1]}),
        pd.DataFrame({"a": [print]}),
        pd.DataFrame({"a": pd.Series(["x", float("nan")], dtype=object)}),
        pd.DataFrame({"a": pd.Categorical(["x"])}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
    ],
    ids=["names", "cut", "twice", "unnamed", "mixed", "objects", "nan among objects", "categories", "dates"],
)
def test_what_would_come_back_as_something_else_is_refused(table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="cannot be stored"):
        columns_and_arrays(table)


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ([{"name": "gone"}], KeyError),
        ([{"name": "a", "type": "str", "text": ["x"]}, {"name": "value"}], ValueError),
        ([{"name": "a", "type": "str", "text": [1, 2]}], TypeError),
        ([{"name": "a", "type": "datetime64[ns]", "text": ["x", "y"]}], KeyError),
        ([{"name": "a", "text": ["x", "y"]}], KeyError),
    ],
    ids=["no array", "lengths", "no text", "type", "no type"],
)
def test_a_record_that_says_what_was_never_written_is_refused(columns, error: type[Exception]) -> None:
    with pytest.raises(error):
        table_from(columns, {"value": np.zeros(2)})
