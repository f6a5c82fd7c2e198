"""A queue on real worker processes that can also run the methods of ``slow_methods``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from calib.jobs import FitQueue, FitSpec, Job
from calib.jobs.executor import LocalExecutor
from tests.conftest import wait_until

HERE = str(Path(__file__).parent)
sys.path.append(HERE)
slow_methods = import_module("slow_methods")


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    executor = LocalExecutor(n_fast=1, python_path=[HERE])
    yield executor
    executor.shutdown()


@pytest.fixture
def queue(executor: LocalExecutor) -> FitQueue:
    return FitQueue(executor, fit=slow_methods.fit)


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return generator.normal(size=(200, 3)), generator.integers(0, 3, 200)


@pytest.fixture
def submit(queue: FitQueue, data: tuple[np.ndarray, np.ndarray]) -> Callable[..., str]:
    """Submit a method by name with parameters."""

    def submit(method: str, **params: object) -> str:
        return queue.submit(FitSpec(method, params, "data"), *data)

    return submit


@pytest.fixture
def wait(queue: FitQueue) -> Callable[..., Job]:
    """Wait until a condition on the job holds (by default: it is finished) and return the job."""

    def wait(
        key: str,
        until: Callable[[Job], bool] = lambda job: not job.active,
        of: FitQueue = queue,
    ) -> Job:
        return wait_until(lambda: next((job for job in of.snapshot([key]) if until(job)), None))

    return wait
