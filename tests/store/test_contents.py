"""Data, fits, studies and entries come back as they were; what was damaged or forged is refused and removed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.base import silent
from calib.data import Predictions
from calib.decisions import AnswerAbove
from calib.decisions.rules import rule_from_state, rule_state
from calib.diagnostics.judgement import judge
from calib.engine import FitSpec, Fitted, Job, TaskSpec
from calib.evaluation.studies import SPLITS, repeat_task
from calib.store.contents import (
    Entry,
    get_data,
    get_job,
    link_name,
    new_link,
    plain_findings,
    put_data,
    put_job,
)
from calib.store.index import Store
from tests.conftest import assert_same
from tests.store.conftest import fit, link_to, name_of


def stored(store: Store, data: Predictions) -> Predictions:
    link_to(store, 1, data.sha256)
    put_data(store, data)
    back = get_data(store, data.sha256)
    assert back is not None
    return back


def test_data_come_back_exactly_without_name_and_findings(
    store: Store, sample: Predictions
) -> None:
    assert_same(stored(store, sample), replace(sample, name="", findings=()))
    large = replace(sample.take(np.arange(2000) % len(sample)), name="", findings=())
    large = replace(large, features=np.ones((2000, 100)))  # 1.6 MB: a file of its own
    back = stored(store, large)
    assert_same(back, large)
    assert type(back.features) is np.ndarray and not back.features.flags.writeable


def test_a_fit_comes_back_with_the_same_predictions_and_notes(
    store: Store, sample: Predictions
) -> None:
    data = sample.take(np.arange(200))
    job = fit("geometric", data)  # which has arrays of its own, and needs features
    link_to(store, 1, job.key)
    put_job(store, job)
    back = get_job(store, job.spec)
    assert back is not None
    assert (back.key, back.state, back.seconds, back.cpu_seconds) == (job.key, "done", 1.5, 1.25)
    now, then = back.calibrator, job.calibrator
    np.testing.assert_array_equal(
        now.predict_confidence(data.logits, data.features),
        then.predict_confidence(data.logits, data.features),
    )
    assert now.notes() == then.notes()
    assert now.get_params() == then.get_params()


def test_a_judgement_comes_back_with_its_fit(store: Store, sample: Predictions) -> None:
    calibration, test = sample.split(0.5)
    job = fit("temperature", calibration)
    link_to(store, 1, job.key)
    before = judge(job.result, test)
    put_job(store, replace(job, result=Fitted(job.result, before)))
    after = get_job(store, job.spec).judgement
    assert after.resampled["top-label"].intervals() == before.resampled["top-label"].intervals()
    np.testing.assert_array_equal(after.evaluation.row_nll, before.evaluation.row_nll)
    np.testing.assert_array_equal(
        after.diagrams["top-label"].curve.bin_of_row, before.diagrams["top-label"].curve.bin_of_row
    )


def test_a_fit_that_cannot_have_been_made_is_neither_stored_nor_given_back(
    store: Store, sample: Predictions, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = fit("temperature", sample.take(np.arange(200)))
    link_to(store, 1, job.key)
    job.calibrator.temperature_ = -1.0
    with pytest.raises(calib.CalibrationError, match="cannot be used"):
        put_job(store, job)
    assert get_job(store, job.spec) is None
    with monkeypatch.context() as another_writer:
        another_writer.setattr("calib.base.Calibrator.check_state", lambda made: None)
        put_job(store, job)
        assert list((store.root / "records").iterdir())
    assert get_job(store, job.spec) is None
    assert not list((store.root / "records").iterdir())


def study(data: Predictions) -> Job:
    """A study that is done; one method fails without features, which gives NaN and notes."""
    methods = [("Temperature", "temperature", {}), ("Geometric", "geometric", {})]
    arguments = (methods, 100, 2, 0)
    table = repeat_task(
        *arguments, data={"logits": data.logits, "labels": data.labels}, callback=silent
    )
    assert table["value"].isna().any()
    spec = TaskSpec(repeat_task, arguments, data.sha256, "A study")
    return Job(
        spec.key, spec, state="done", seconds=1.5, cpu_seconds=1.25, message="Done.", result=table
    )


def test_a_study_comes_back_exactly_and_one_without_its_columns_does_not(
    store: Store, sample: Predictions
) -> None:
    job = study(sample.take(np.arange(200)))
    link_to(store, 1, job.key)
    put_job(store, job)
    back = get_job(store, job.spec)
    assert (back.key, back.state, back.seconds, back.cpu_seconds, back.message) == (
        job.key,
        "done",
        1.5,
        1.25,
        "Done.",
    )
    pd.testing.assert_frame_equal(back.result, job.result, check_exact=True)
    store.delete([name_of(1)])
    link_to(store, 2, job.key)
    put_job(store, replace(job, result=job.result.drop(columns="note")))
    assert get_job(store, job.spec) is None


def test_an_entry_comes_back(store: Store, sample: Predictions) -> None:
    spec = FitSpec("isotonic", {"share_classes": False}, "split", "Isotonic")
    entry = Entry(
        "visitor", "d" * 64, None, "<b>mine</b>", plain_findings(sample.findings), {"kind": "logits"}, 0.3, 7, 1000,
        {spec.key: spec}, {SPLITS: (([["Isotonic", "isotonic", {}]], 100, 10, 0), "d", "Repeat")},
        {spec.key: (rule_state(AnswerAbove(threshold=0.9)), None)},
        {"fit/methods": ["isotonic"]}, (name_of(2),),
    )  # fmt: skip
    store.put_link(name_of(1), entry, entry.keys())
    back = store.get_link(name_of(1), Entry)
    assert back == entry
    assert back.keys() == entry.keys() and len(entry.keys()) == 3
    assert rule_from_state(back.decisions[spec.key][0]).threshold == 0.9


def test_a_token_is_secret_and_its_name_says_nothing(store: Store, tmp_path: Path) -> None:
    token, name = new_link()
    assert len(token) == 43 and link_name(token) == name != token
    store.put_link(name, Entry("v"), ())
    assert not any(
        token.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
    for no_token in ("", "../../kept", "\ud800"):
        assert store.get_link(link_name(no_token), Entry) is None


def small(seed: int = 0, rows: int = 20) -> Predictions:
    generator = np.random.default_rng(seed)
    logits, labels = generator.normal(size=(rows, 10)), np.arange(rows) % 10
    return Predictions(logits, labels, tuple("abcdefghij")).identified()


@pytest.mark.parametrize("spoil", ["empty", "cut", "changed", "pickle"])
def test_a_record_that_was_changed_is_refused_forgotten_and_stored_anew(
    tmp_path: Path, spoil: str
) -> None:
    data = small(rows=20_000)
    stored(Store(tmp_path), data)
    path = tmp_path / "records" / data.sha256
    content = path.read_bytes()
    changed = content[:999_999] + bytes([content[999_999] ^ 1]) + content[1_000_000:]
    path.write_bytes(
        {"empty": b"", "cut": content[:-1], "changed": changed, "pickle": b"\x80\x04N."}[spoil]
    )
    again = Store(tmp_path)
    assert get_data(again, data.sha256) is None
    assert not path.exists()
    assert_same(stored(again, data), replace(data, name=""))


def test_wherever_a_record_is_changed_it_comes_back_as_it_was_or_not_at_all(store: Store) -> None:
    data, chance = small(), np.random.default_rng(0)
    stored(store, data)
    path = store.root / "records" / data.sha256
    whole = path.read_bytes()
    for _ in range(120):
        content = bytearray(whole)
        content[chance.integers(len(content))] ^= 1 << chance.integers(8)
        path.write_bytes(content)
        if (back := get_data(store, data.sha256)) is not None:
            assert_same(back, replace(data, name=""))
