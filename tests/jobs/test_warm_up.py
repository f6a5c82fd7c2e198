"""TensorFlow stays in the one worker that needs it, and starting it never holds anybody up."""

import os
import subprocess
import sys
import textwrap
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
import slow_methods

from calib.errors import CalibrationError
from calib.jobs.protocol import Data

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(find_spec("gpflow") is None, reason="gpflow is not installed")


def test_fast_fits_and_cancelling_go_on_while_tensorflow_starts(queue, submit, wait, executor):
    queue.warm_up()
    queue.warm_up()
    slow = submit("loaded", name="gpflow")
    (job,) = queue.snapshot([slow])
    assert (job.state, job.message) == ("queued", "Waiting: TensorFlow is starting.")
    queue.cancel(slow)
    assert queue.snapshot([slow])[0].state == "cancelled"
    assert wait(submit("temperature"), seconds=240).state == "done"
    queue.retry(slow)
    assert wait(slow, seconds=240).state == "done"
    fast = executor.submit(
        partial(slow_methods.loaded, name="tensorflow"),
        data=Data("", {}),
        lane="fast",
        on_progress=lambda progress: None,
    )
    with pytest.raises(CalibrationError, match="tensorflow is not loaded"):
        fast.result(timeout=240)


def test_cancel_while_tensorflow_is_imported_for_a_fit(queue, submit, wait):
    key = submit("starts_tensorflow")
    wait(key, lambda job: job.message == "Starting TensorFlow.")
    start = time.monotonic()
    queue.cancel(key)
    assert wait(key, seconds=5).state == "cancelled"
    assert time.monotonic() - start < 2.0


APP = """
    import sys, time
    import numpy as np
    from calib.jobs import FitQueue, FitSpec
    queue = FitQueue()
    generator = np.random.default_rng(0)
    logits, labels = generator.normal(size=(80, 3)), generator.integers(0, 3, 80)
    key = queue.submit(FitSpec("gpcalib", {"max_iter": 5}, "data"), logits, labels)
    while queue.snapshot([key])[0].active:
        time.sleep(0.02)
    (job,) = queue.snapshot([key])
    print(job.state, job.calibrator.predict_proba(logits).shape)
    print(sorted({"tensorflow", "gpflow", "scipy", "sklearn"} & set(sys.modules)))
"""


def test_a_fitted_gp_comes_back_without_tensorflow():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(APP)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=400,
    )
    assert done.stdout.splitlines() == ["done (80, 3)", "[]"]
