"""Data, fits and studies come back as they were, and anything that was changed on disk is refused in one sentence.

A table comes back exactly as it was taken apart, and what could not is refused before it is written.
"""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calib
from calib.base import silent
from calib.data import Predictions
from calib.data.samples import load_sample
from calib.diagnostics.judgement import judge
from calib.evaluation.studies import SIZES, SPLITS, STUDIES
from calib.jobs import FitSpec, Job, TaskSpec
from calib.jobs.tasks import Fitted
from calib.registry import METHODS, extras_for
from calib.workspace import Damaged, Items
from calib.workspace.content import HEADER, MARK, read_content, sealed, unsealed, write_content
from calib.workspace.store import (
    ARRAYS,
    DataRecord,
    columns_and_arrays,
    get_data,
    get_fit,
    get_study,
    put_data,
    put_fit,
    put_study,
    table_from,
)


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
    assert {f.name for f in fields(Predictions)} == {
        *ARRAYS,
        *(f.name for f in fields(DataRecord)),
        "sha256",
    } | of_the_session


def test_a_judgement_comes_back_with_its_fit(items: Items, sample: Predictions) -> None:
    calibration, test = sample.split(0.5)
    job = fit("temperature", calibration)
    put_fit(items, replace(job, result=Fitted(job.result, judge(job.result, test))))
    back = get_fit(items, job.spec)
    assert back is not None
    before, after = judge(job.result, test), back.judgement
    assert after.resampled["top-label"].intervals() == before.resampled["top-label"].intervals()
    np.testing.assert_array_equal(after.evaluation.row_nll, before.evaluation.row_nll)
    np.testing.assert_array_equal(after.curves["top-label"].bin_of_row, before.curves["top-label"].bin_of_row)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "identity"])
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


@pytest.mark.parametrize("changes", [{"temperature_": -1.0}, {"temperature_": "1"}, {"n_classes_": 1}])
def test_a_fit_that_cannot_have_been_made_is_neither_stored_nor_given_back(
    items: Items, sample: Predictions, changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = fit("temperature", sample.take(np.arange(200)))
    vars(job.calibrator).update(changes)
    with pytest.raises(calib.CalibrationError, match="cannot be used"):
        put_fit(items, job)
    assert get_fit(items, job.spec) is None
    with monkeypatch.context() as another_writer:
        another_writer.setattr("calib.base.Calibrator.check_state", lambda made: None)
        put_fit(items, job)
    with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
        get_fit(items, job.spec)
    assert get_fit(items, job.spec) is None


def study(kind: str, data: Predictions) -> Job:
    """A study that is done; one method fails without features, which gives NaN and notes."""
    methods = [("Temperature", "temperature", {}), ("Geometric", "geometric", {})]
    arguments = {SPLITS: (methods, 100, 2, 0), SIZES: (methods, 0.5, 0, 2, 0)}[kind]
    function = STUDIES[kind].function
    table = function(*arguments, data={"logits": data.logits, "labels": data.labels}, callback=silent)
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


SPOILED = {
    "empty": lambda content: b"",
    "cut": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "changed at its end": lambda content: content[:-1] + bytes([content[-1] ^ 7]),
    "changed in its record": lambda content: content[:200] + bytes([content[200] ^ 1]) + content[201:],
    "a pickle": lambda content: pickle.dumps(print),
    "an archive": lambda content: b"PK\x03\x04" + content,
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_what_was_changed_on_disk_is_refused_and_removed(
    items: Items, spoil, sample: Predictions, studied: tuple[str, Job]
) -> None:
    kind, job = studied
    for put, get, path in (
        (lambda: put_data(items, sample), lambda: get_data(items, sample.sha256), ("data", sample.sha256)),
        (lambda: put_study(items, job), lambda: get_study(items, kind, job.spec), ("studies", job.key)),
    ):
        put()
        file = items.root.joinpath(*path)
        file.write_bytes(spoil(file.read_bytes()))
        with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
            get()
        assert get() is None
        put()
        assert get() is not None


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
    back_record, back = written(tmp_path_factory.mktemp("any") / "file", record, arrays)
    assert back_record == record
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == np.asarray(array).dtype


def written(path: Path, record: dict, arrays: dict[str, np.ndarray]) -> tuple[dict, dict[str, np.ndarray]]:
    with open(path, "wb") as file:
        write_content(file, record, arrays)
    return read_content(path)


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
    record, back = written(folder / "file", {"columns": columns}, arrays)
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


def forged(path: Path, change) -> None:
    """The file with another record, sealed anew as whoever changes one would."""
    content = path.read_bytes()
    _, length = HEADER.unpack_from(content)
    record = unsealed(content[HEADER.size : HEADER.size + length])
    record.pop("sha256", None)
    change(record)
    text, arrays = sealed(record), content[HEADER.size + length :].lstrip(b"\0")
    start = HEADER.size + len(text)
    path.write_bytes(HEADER.pack(MARK, len(text)) + text + bytes(-start % 64) + arrays)


def in_record(name: str, value: object):
    return lambda record: record["record"].update({name: value})


def in_layout(name: str, code: object, shape: object):
    return lambda record: record["arrays"].update({name: [code, shape]})


@pytest.mark.parametrize(
    "change",
    [
        in_record("class_names", "0123456789"),
        in_record("class_names", [1] * 10),
        in_record("class_names", ["a"] * 9),
        in_record("kind", "pickle"),
        in_record("scale", []),
        in_record("floor", "0"),
        in_record("weight_kind", True),
        in_record("event", {"column": "0", "name": "a", "reason": "b"}),
        in_record("event", {"column": 0, "name": "a", "reason": "b", "more": 1}),
        in_record("roles", [{"column": 1, "role": "outcome", "reason": "b"}]),
        in_record("more", 1),
        in_layout("logits", "|O", [20, 10]),
        in_layout("logits", "<f8,<f8", [10, 10]),
        in_layout("logits", "<M8[ns]", [20, 10]),
        in_layout("logits", "<f8", [20, -10]),
        in_layout("logits", "<f8", [2**62, 10]),
        in_layout("logits", "<f8", [20.0, 10]),
        in_layout("logits", "<f8", [10, 20]),
        in_layout("logits", "<f4", [40, 10]),
        in_layout("logits", "<i8", [20, 10]),
        in_layout("logits", "<U2", [20, 10]),
        in_layout("labels", "<i8", [20, 1]),
        in_layout("labels", "<f8", [20]),
        in_layout("labels", "|b1", [160]),
        in_layout("print", "<f8", [0]),
        in_layout("labels", "<i8", [1] * 30 + [20]),
        lambda record: record["arrays"].pop("labels"),
        lambda record: record.update(arrays=7),
        lambda record: record.update(record=[]),
        lambda record: record.update(arrays_sha256=7),
    ],
)
def test_a_record_that_was_forged_is_refused_in_one_sentence(items: Items, change) -> None:
    generator = np.random.default_rng(0)
    names = tuple("abcdefghij")
    data = Predictions(generator.normal(size=(20, 10)), np.arange(20) % 10, names, sha256="a" * 64)
    put_data(items, data)
    path = items.root / "data" / data.sha256
    forged(path, lambda record: None)
    assert get_data(items, data.sha256) is not None  # resealed alone, it is as good as before
    forged(path, change)
    with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
        get_data(items, data.sha256)


def test_labels_of_classes_that_are_not_there_are_refused(items: Items) -> None:
    data = Predictions(np.zeros((2, 2)), np.array([0, 2]), ("a", "b"), sha256="a" * 64)
    put_data(items, data)
    with pytest.raises(Damaged):
        get_data(items, data.sha256)


def test_reading_parses_no_header_of_an_array(items: Items, sample: Predictions, monkeypatch) -> None:
    put_data(items, sample)

    def parse(*args: object, **options: object) -> None:
        raise AssertionError("a library parses what was stored")

    for name in ("load", "fromfile"):
        monkeypatch.setattr(np, name, parse)
    for name in ("read_array", "read_magic", "open_memmap"):
        monkeypatch.setattr(np.lib.format, name, parse)
    assert get_data(items, sample.sha256) is not None
