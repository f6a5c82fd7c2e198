"""Writers that are killed at random moments, and two writers at once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from calib.data.predictions import fingerprint
from calib.jobs import FitSpec
from calib.workspace import Configuration, Items, Keeper
from calib.workspace.store import read_folder
from tests.conftest import ROOT

WRITER = str(Path(__file__).with_name("writer.py"))
RUNS = 20
AT_ONCE = 5


def start(root: Path, seed: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, WRITER, str(root), str(seed)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> list[tuple[str, str, str]]:
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
            assert job.calibrator.temperature_ == int(name[:8], 16)
    keeper.close()
    items = Items(root)
    for item in items.all():
        record, arrays = read_folder(root / item.kind / item.name)
        assert record
        assert all(np.isfinite(array).all() for array in arrays.values())
    items.clean(older_than=0.0)
    assert not list((root / "making").iterdir())


def test_nothing_finished_is_lost_and_nothing_is_half_written_when_writers_are_killed(tmp_path: Path) -> None:
    delays = random.Random(0)
    said = []
    for first in range(0, RUNS, AT_ONCE):  # on the same folder
        writers = [start(tmp_path, seed) for seed in range(first, first + AT_ONCE)]
        for writer in writers:
            assert writer.stdout is not None
            said.append(tuple(writer.stdout.readline().split()))  # it has begun
        for writer in writers:
            time.sleep(delays.uniform(0.0, 0.1))
            writer.kill()
        for writer in writers:
            said += finished(writer)
    assert len(said) > RUNS
    assert list((tmp_path / "making").iterdir()), "no writer was met in the middle"
    check(tmp_path, said)  # type: ignore[arg-type]


def test_two_writers_of_the_same_content_store_it_once(tmp_path: Path) -> None:
    writers = [start(tmp_path, 1), start(tmp_path, 1)]
    time.sleep(2.5)
    for writer in writers:
        writer.kill()
    said = [each for writer in writers for each in finished(writer)]
    assert len(said) > len(set(said)) > 0
    check(tmp_path, said)
