"""A queue on real worker processes that can also run the methods of ``slow_methods``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from calib.jobs import FitQueue, FitSpec, Job
from calib.jobs.executor import LocalExecutor

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
        seconds: float = 120.0,
        of: FitQueue = queue,
    ) -> Job:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            (job,) = of.snapshot([key])
            if until(job):
                return job
            time.sleep(0.01)
        raise AssertionError(f"still waiting after {seconds} s: {job}")

    return wait
