"""What is left when things end: no process, no file, no memory."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from calib.jobs.executor import LocalExecutor
from calib.jobs.protocol import Data

ROOT = Path(__file__).resolve().parents[2]


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pids: list[int], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while any(map(alive, pids)):
        assert time.monotonic() < deadline, f"still alive: {[pid for pid in pids if alive(pid)]}"
        time.sleep(0.02)


APP = """
    import sys, time
    import numpy as np
    sys.path.append({here!r})
    import slow_methods
    from calib.jobs import FitQueue, FitSpec
    from calib.jobs.executor import LocalExecutor
    executor = LocalExecutor(n_fast=1, python_path=[{here!r}])
    queue = FitQueue(executor, fit=slow_methods.fit)
    queue.submit(FitSpec("temperature", {{}}, "d"), np.eye(4), np.arange(4))
    key = queue.submit(FitSpec("deaf", {{}}, "d"), np.eye(4), np.arange(4))
    while queue.snapshot([key])[0].step == 0:
        time.sleep(0.01)
    print(*(worker._process.pid for worker in executor._workers if worker._process), flush=True)
    {end}
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("end", ["sys.exit(0)", "raise ValueError", "time.sleep(60)"])
def test_workers_end_with_the_app(end, tmp_path):
    code = textwrap.dedent(APP).format(here=str(Path(__file__).parent), end=end)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    app = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        pids = [int(pid) for pid in app.stdout.readline().split()]
        assert len(pids) == 2
        if "sleep" in end:
            app.send_signal(signal.SIGKILL)
        app.wait(timeout=10)
    finally:
        app.kill()
        app.stdout.close()
        app.wait()
    wait_until_gone(pids)
    assert list(tmp_path.iterdir()) == []


def test_an_idle_worker_ends_and_comes_back():
    import slow_methods

    def pid() -> int:
        task = executor.submit(slow_methods.pid, data=Data("", {}), lane="fast", on_progress=lambda progress: None)
        return task.result(timeout=10)

    executor = LocalExecutor(n_fast=1, idle_seconds=0.2, python_path=[str(Path(__file__).parent)])
    try:
        first = pid()
        wait_until_gone([first])
        assert pid() != first
    finally:
        executor.shutdown()


def test_shutdown_cancels_ends_and_refuses(executor, queue, submit, wait):
    keys = [submit("deaf"), submit("steps")]
    wait(keys[0], lambda job: job.step > 0)
    pids = [worker._process.pid for worker in executor._workers if worker._process]
    start = time.monotonic()
    queue.shutdown()
    assert time.monotonic() - start < 2.0
    wait_until_gone(pids)
    assert [job.state for job in queue.snapshot(keys)] == ["cancelled", "cancelled"]
    with pytest.raises(RuntimeError, match="shut down"):
        submit("steps", n=7)
    queue.shutdown()


def test_nothing_is_written_to_disk(submit, wait, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert wait(submit("steps", n=2)).state == "done"
    assert list(tmp_path.iterdir()) == []


def test_the_app_side_loads_no_tensorflow_and_no_streamlit():
    code = "import sys, calib.jobs; print({'tensorflow', 'streamlit', 'scipy', 'pandas'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("method", ["temperature", "geometric"])
def test_what_a_method_imports_is_there_before_its_time_counts(method):
    code = f"""
        import sys
        import numpy as np
        from calib.jobs.tasks import fit_calibrator
        from calib.registry import METHODS
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(50, 3)), np.arange(50) % 3
        data, more = dict(logits=x, labels=y), dict(features=x, train_features=x, train_labels=y)
        data |= {{name: more[name] for name in METHODS[{method!r}].needs}}
        def callback(step, total, value):
            if step == total == 0:
                callback.before = set(sys.modules)
        fit_calibrator({method!r}, {{}}, data=data, callback=callback)
        print(sorted(set(sys.modules) - callback.before), "scipy" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == "[] True"
