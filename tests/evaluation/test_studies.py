"""Studies through the queue: in a worker, followed, cancelled, paid once.

The kinds of studies that are kept give the columns that are promised of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import calib
from calib.base import silent
from calib.data.predictions import Predictions
from calib.engine import Data, Engine, FitSpec, Job, TaskSpec
from calib.evaluation.learning_curve import size_curve
from calib.evaluation.repeated_splits import repeated_splits
from calib.evaluation.studies import (
    SIZES,
    SPLITS,
    STUDIES,
    pool_arrays,
    repeat_task,
    size_task,
)
from tests.conftest import simulate, wait_until

METHODS = (("Temperature", "temperature", {}), ("wrong", "gpcalib", {"n_inducing": -1}))


@pytest.fixture(scope="module")
def queue():
    made = Engine()
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def data() -> Predictions:
    logits, labels = simulate(300)
    given = np.arange(300) < 120
    return Predictions(logits, labels, tuple("abcd"), sha256="for the queue", given_split=given)


def submit(queue: Engine, data: Predictions, function, *arguments) -> str:
    spec = TaskSpec(function, arguments, data.sha256, "A study")
    return queue.submit(spec, Data.of(data.sha256, logits=data.logits, labels=data.labels, **pool_arrays(data)))


def wait(queue: Engine, key: str, until=lambda job: not job.active) -> Job:
    return wait_until(lambda: next((job for job in queue.snapshot([key]) if until(job)), None))


def test_a_worker_gives_what_the_library_gives(queue, data):
    methods = METHODS[:1]
    repeats = wait(queue, submit(queue, data, repeat_task, methods, 120, 3, 5))
    sizes = wait(queue, submit(queue, data, size_task, methods, None, 0, 2, 5))
    assert (repeats.state, sizes.state) == ("done", "done")
    made = {"Temperature": calib.calibrator("temperature")}
    expected = repeated_splits(made, data, 120, n_repeats=3, random_state=5)
    untimed = [table.drop(columns="fit_seconds") for table in (repeats.result, expected)]
    pd.testing.assert_frame_equal(*untimed)
    expected = size_curve(made, *data.split(None), n_draws=2, random_state=5)
    pd.testing.assert_frame_equal(sizes.result, expected)
    assert repeats.calibrator is None
    assert repeats.message.startswith("Done in ")


def test_splits_of_a_worker_keep_clusters_whole(queue, data):
    clusters = np.array([f"patient {i // 7}" for i in range(300)])
    clustered = replace(data, clusters=clusters, given_split=None, sha256="clustered")
    repeats = wait(queue, submit(queue, clustered, repeat_task, METHODS[:1], 120, 3, 5))
    assert repeats.state == "done"
    assert (repeats.result["n_calibration"] % 7).isin({0, 300 % 7}).all()
    assert (repeats.result["n_calibration"] != 120).any()


def test_a_method_that_cannot_be_fitted_is_a_note(queue, data):
    # Parameters that no method has end a task at once; ones out of range do so too, as a sentence.
    job = wait(queue, submit(queue, data, repeat_task, METHODS, 120, 3, 5))
    assert job.state == "failed"
    assert "n_inducing=-1" in job.message


def test_cancel_and_progress_and_fits_do_not_wait_for_it(queue, data):
    key = submit(queue, data, repeat_task, METHODS[:1], 120, 5000, 5)
    job = wait(queue, key, lambda job: job.step > 0)
    assert (job.state, job.total) == ("running", 10_000)
    fit = queue.submit(FitSpec("temperature", {}, "a fit"), Data.of("a fit", logits=data.logits, labels=data.labels))
    assert wait(queue, fit).state == "done"
    assert queue.snapshot([key])[0].state == "running"
    queue.cancel(key)
    assert wait(queue, key).state == "cancelled"


ARGUMENTS = {
    SPLITS: ([("T", "temperature", {})], 40, 2, 0),
    SIZES: ([("T", "temperature", {})], 0.5, 0, 2, 0),
}


@pytest.mark.parametrize("kind", STUDIES)
def test_each_kind_gives_its_columns(kind: str) -> None:
    logits, labels = simulate(80, 3)
    data = {"logits": logits, "labels": labels}
    table = STUDIES[kind].function(*ARGUMENTS[kind], data=data, callback=silent)
    assert tuple(table.columns) == STUDIES[kind].columns
