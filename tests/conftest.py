"""What all tests share: seeded data, and the reference material where it is present."""

from __future__ import annotations

import io
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

# One BLAS thread: on small matrices two threads are slower, and tests run side by side.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Tests leave the workspace of whoever runs them alone; those of the workspace have folders of their own.
os.environ["CALIB_WORKSPACE"] = "off"

import numpy as np
import pytest
from hypothesis import settings

from calib.engine import Engine, Job

# The same examples in every run, and no deadline: a busy machine is no failure.
# HYPOTHESIS_PROFILE=default searches anew.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=50)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "tests" / "reference"
DOCUMENTS = [
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "sample_data/README.md"),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]


Found = TypeVar("Found")


def wait_until(condition: Callable[[], Found], seconds: float = 300.0) -> Found:
    """Wait until a condition gives something true, and return that.

    The limit is there for what never comes: it is far beyond what a busy machine needs, and no test asserts a time.
    """
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"still waiting after {seconds:g} s"
        time.sleep(0.01)
    return found


def alive(process: int) -> bool:
    """Whether a process is there and no zombie, which nobody may be there to collect."""
    import psutil  # the engine's, which environments with the library alone lack

    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def minute_of_cpu() -> Iterator[None]:
    """Interrupt what uses more than a minute of processor time, as what grows with the square of its input does."""

    def interrupt(*_: object) -> None:
        raise AssertionError("this took more than a minute of processor time")

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, 60.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def finished(queue: Engine, keys: Iterable[str]) -> list[Job]:
    """What became of jobs, once none of them waits or runs."""
    keys = list(keys)
    wait_until(lambda: not any(job.active for job in queue.snapshot(keys)))
    return queue.snapshot(keys)


GROUPS = {
    "tensorflow": (
        "benchmarks/test_benchmarks", "calibrators/gpcalib/test_gpflow", "calibrators/test_scaling",
        "calibrators/test_backend",
    ),
    "pages": ("ui",),
}  # fmt: skip
"""Beginnings of the paths of tests that share a process: one imports TensorFlow, one has the queue of the pages."""
EACH_ALONE = ("browser/test_every_page.py",)
"""Files of two long tests, each of which takes the process that is free."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Run the tests of a file, and those of a group of files, in one process.

    The marks of ``--dist loadgroup`` have no effect with pytest 9.2 and pytest-xdist 3.8.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0].removeprefix("tests/")
            if path in EACH_ALONE:
                return nodeid
            return next(
                (name for name, beginnings in GROUPS.items() if path.startswith(beginnings)), path
            )

    return ByGroup(config, log)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def simulate(
    n: int = 400, n_classes: int = 4, scale: float = 2.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Simulated logits that are overconfident by ``scale``: labels come from softmax(logits / scale)."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(n, n_classes)) * 1.5
    gumbel = generator.gumbel(size=(n, n_classes))
    return logits * scale, np.argmax(logits + gumbel, axis=1)


def outputs_of(kind: str, logits: np.ndarray, probs: np.ndarray) -> np.ndarray:
    """Outputs as a model of this kind saves them."""
    with np.errstate(divide="ignore"):
        return {
            "logits": logits, "probabilities": probs, "log_probabilities": np.log(probs),
            "binary_log_odds": logits[:, 1] - logits[:, 0], "binary_probability": probs[:, 1], "pairs": probs[:, 1],
        }[kind]  # fmt: skip


def npz_bytes(**arrays: Any) -> bytes:
    """A packed npz with these arrays."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def two_scores(n: int = 200) -> bytes:
    """A table whose names cannot tell which of two scores is meant."""
    generator = np.random.default_rng(7)
    a, b = generator.beta(1, 4, n), generator.beta(1, 4, n)
    lines = ["customer,age,score_a,score_b,churned"]
    lines += [
        f"C{i:04d},{18 + i % 60},{p:.4f},{q:.4f},{int(happened)}"
        for i, (p, q, happened) in enumerate(zip(a, b, generator.random(n) < a, strict=True))
    ]
    return "\n".join(lines).encode()


def assert_same(one: Any, other: Any, name: str = "") -> None:
    """Equal to the bit, whatever they consist of."""
    assert type(one) is type(other), name
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, name
        np.testing.assert_array_equal(one, other, name)
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), name
        for key in one:
            assert_same(one[key], other[key], key)
    elif hasattr(one, "__dict__"):
        assert_same(vars(one), vars(other), name)
    else:
        assert one == other or (one != one and other != other), name


@pytest.fixture(scope="module")
def few_simulations() -> Iterator[None]:
    """Behind what ICI and its kin would be of a calibrated model stand 20 draws and not 300: for tests of the rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calib.metrics.distances.SIMULATIONS", 20)
        yield


@pytest.fixture(scope="session")
def overconfident() -> tuple[np.ndarray, np.ndarray]:
    return simulate()


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """Folder of real outputs and simulated tables, of which other programs made the numbers beside it."""
    return REFERENCE / "data"


def plain_scores(values, influence, n, n_clusters=None):
    """Scores of a method by key, from their values and what each unit adds to them."""
    from calib.evaluation.score_registry import Scored
    from calib.metrics.estimate import Estimate, degrees_of

    degrees = degrees_of(min(n_clusters or n, len(next(iter(influence.values())))))
    scores = {key: Estimate(value, influence[key], degrees) for key, value in values.items()}
    return Scored(scores, n, n_clusters)


def paired_differences(ours, theirs):
    """Interval of every score minus another evaluation's of the same rows, by key."""
    from calib.evaluation.score_registry import scored_on

    one, other = scored_on(ours), scored_on(theirs)
    both = [key for key in one.scores if key in other.scores and key != "ECE"]
    return {key: (one.scores[key] - other.scores[key]).interval() for key in both}


def compare_evaluations(
    evaluations, baseline="identity", *, titles=None, seconds=None, notes=None, **options
):
    """The table of finished evaluations of the same rows."""
    from calib.evaluation.claims import Claims
    from calib.evaluation.compare import table_of
    from calib.evaluation.score_registry import scored_on

    order = [baseline, *(name for name in evaluations if name != baseline)]
    claims = Claims({name: scored_on(evaluations[name]) for name in order}, **options)
    return table_of(claims, evaluations, titles=titles, seconds=seconds, notes=notes)
