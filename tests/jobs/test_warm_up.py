"""TensorFlow stays in the one worker that needs it, and starting it never holds anybody up."""

import time
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(find_spec("gpflow") is None, reason="gpflow is not installed")


def test_fast_fits_and_cancelling_go_on_while_tensorflow_starts(queue, submit, wait):
    queue.warm_up()
    queue.warm_up()
    slow = submit("loaded", name="gpflow")
    (job,) = queue.snapshot([slow])
    assert (job.state, job.message) == ("queued", "Waiting: TensorFlow is starting.")
    queue.cancel(slow)
    assert queue.snapshot([slow])[0].state == "cancelled"
    assert wait(submit("temperature"), seconds=30).state == "done"
    queue.retry(slow)
    assert wait(slow, seconds=90).state == "done"


def test_cancel_while_tensorflow_is_imported_for_a_fit(queue, submit, wait):
    key = submit("starts_tensorflow")
    wait(key, lambda job: job.message == "Starting TensorFlow.")
    start = time.monotonic()
    queue.cancel(key)
    assert wait(key, seconds=5).state == "cancelled"
    assert time.monotonic() - start < 2.0
