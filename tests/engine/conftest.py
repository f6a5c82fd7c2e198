"""An engine on real workers, which can also run the methods of ``slow_methods``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from calib.engine import Data, Engine, FitSpec, Job
from tests.conftest import wait_until

HERE = str(Path(__file__).parent)
sys.path.append(HERE)
slow_methods = import_module("slow_methods")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One for all tests of a file, since each worker that starts imports NumPy anew.

    Dask's own clusters give up a worker that is not back after a time, which a busy machine exceeds; nothing here does.
    """
    engine = Engine(fit=slow_methods.fit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", HERE)
        patch.setenv("DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT", "100 ms")
        engine.compute(sum, [1, 2]).result(timeout=300)
        yield engine
    engine.shutdown()


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return generator.normal(size=(200, 3)), generator.integers(0, 3, 200)


@pytest.fixture
def submit(
    engine: Engine, data: tuple[np.ndarray, np.ndarray], request: pytest.FixtureRequest
) -> Iterator[Callable[..., str]]:
    """Submit a method by name with parameters, as a fit of this test's own; what runs on is cancelled after it."""
    keys = set()

    def submit(method: str, owner: str = "", **params: object) -> str:
        keys.add(
            key := engine.submit(FitSpec(method, params, request.node.name), rows_of(*data), owner)
        )
        return key

    yield submit
    for key in keys:
        engine.cancel(key)
    wait_until(lambda: not engine._going)


@pytest.fixture
def wait(engine: Engine) -> Callable[..., Job]:
    """Wait until a condition on the job holds (by default: it is finished) and return the job."""

    def wait(key: str, until: Callable[[Job], bool] = lambda job: not job.active) -> Job:
        return wait_until(lambda: next((job for job in engine.snapshot([key]) if until(job)), None))

    return wait


def rows_of(logits: np.ndarray, labels: np.ndarray, key: str = "rows") -> Data:
    """The arrays of a fit."""
    return Data.of(key, logits=logits, labels=labels)


def running(job: Job) -> bool:
    return job.state == "running" and job.step > 0
