"""Writers that are killed at random moments, and two writers at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

from calib.data.predictions import fingerprint
from calib.jobs import FitSpec
from calib.workspace import Configuration, Items, Keeper
from calib.workspace.content import read_content
from calib.workspace.files import CONTENT
from tests.conftest import ROOT, wait_until
from tests.workspace.writer import temperature_of

WRITER = str(Path(__file__).with_name("writer.py"))
RUNS = 10
AT_ONCE = 5


def start(root: Path, seed: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, WRITER, str(root), str(seed)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def said_by(process: subprocess.Popen[str]) -> list[tuple[str, str, str]]:
    """What a process said was stored; its last line may be cut."""
    out, _ = process.communicate()
    said = [tuple(line.split()) for line in out.splitlines()]
    return [(kind, link, name) for kind, link, name in (each for each in said if len(each) == 3) if len(name) == 64]


def check(root: Path, said: list[tuple[str, str, str]]) -> None:
    """Everything that was said to be stored is there, and all that is there is whole."""
    keeper = Keeper(Configuration(root))
    for kind, link, name in said:
        entry = keeper.recall(link)
        assert entry is not None
        if kind == "data":
            data = keeper.data(entry)
            assert data is not None
            fields = {key: getattr(data, key) for key in ("logits", "labels", "class_names", "kind")}
            assert fingerprint(fields) == name
        else:
            job = keeper.fit(entry, FitSpec("temperature", {}, data_key=name))
            assert job is not None
            assert job.calibrator.temperature_ == temperature_of(name)
    keeper.close()
    items = Items(root)
    for item in items.all(*CONTENT):
        record, arrays = read_content(root / item.kind / item.name)
        assert record
        assert all(np.isfinite(array).all() for array in arrays.values())
    items.clean(older_than=0.0)
    assert not list((root / "making").iterdir())


def test_nothing_finished_is_lost_and_nothing_is_half_written_when_writers_are_killed(tmp_path: Path) -> None:
    making = tmp_path / "making"
    said = []
    left: set[Path] = set()

    def one_stopped_in_the_middle(writers: list[subprocess.Popen[str]]) -> bool:
        for writer in writers:
            writer.send_signal(signal.SIGSTOP)
            os.waitpid(writer.pid, os.WUNTRACED)
        if set(making.iterdir()) - left:
            return True
        for writer in writers:
            writer.send_signal(signal.SIGCONT)
        return False

    for first in range(0, RUNS, AT_ONCE):  # on the same folder
        writers = [start(tmp_path, seed) for seed in range(first, first + AT_ONCE)]
        for writer in writers:
            assert writer.stdout is not None
            said.append(tuple(writer.stdout.readline().split()))  # it has begun
        wait_until(partial(one_stopped_in_the_middle, writers))
        for writer in writers:
            writer.kill()
        for writer in writers:
            said += said_by(writer)
        left |= set(making.iterdir())
    assert len(said) > RUNS
    check(tmp_path, said)  # type: ignore[arg-type]


def test_two_writers_of_the_same_content_store_it_once(tmp_path: Path) -> None:
    writers = [start(tmp_path, 1), start(tmp_path, 1)]
    said = [tuple(writer.stdout.readline().split()) for _ in range(10) for writer in writers if writer.stdout]
    for writer in writers:
        writer.kill()
        writer.communicate()
    assert len(said) > len(set(said)) > 0
    check(tmp_path, said)
