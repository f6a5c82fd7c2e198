"""Servers that are killed at any moment, two on one folder."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calib.store.contents import put_data, put_job
from calib.store.index import Store
from tests.conftest import ROOT
from tests.store.conftest import name_of
from tests.store.test_saving import made, missing


def store_for_ever(root: str, seed: str) -> None:
    """Store one data set with its fit and its link after the other, saying which are stored, until it is killed."""
    store = Store(Path(root))
    for number in itertools.count(1000 * int(seed)):
        data, job, entry = made(number)  # so large that a kill often meets a file half-written
        store.put_link(name_of(number), entry, entry.keys())
        put_job(store, job)
        print("fit", number, "!", flush=True)
        put_data(store, data)
        print("data", number, "!", flush=True)


def start(root: Path, seed: int) -> subprocess.Popen[str]:
    code = "import sys; from tests.store.test_killed import store_for_ever; store_for_ever(*sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", code, str(root), str(seed)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def killed(process: subprocess.Popen[str], seconds: float) -> list[tuple[str, int]]:
    """What a process said was stored until it was killed, so long after its first word; its last line may be cut."""
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(seconds)
    process.kill()
    said = [line.split() for line in (first + process.communicate()[0]).splitlines()]
    return [(each[0], int(each[1])) for each in said if len(each) == 3]


@pytest.mark.parametrize("moments", [2, pytest.param(8, marks=pytest.mark.long)])
def test_nothing_announced_is_lost_when_servers_are_killed(
    tmp_path: Path, moments: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(0)
    for moment in range(0, moments, 2):  # two at once on one folder
        writers = [start(tmp_path, moment), start(tmp_path, moment + 1)]
        said = [each for writer in writers for each in killed(writer, chance.random())]
        assert said
        for kind, number in said:
            assert kind not in missing(tmp_path, name_of(number), *made(number))
    monkeypatch.setattr("calib.store.index.ABANDONED", 0.0)
    Store(tmp_path).sweep()
    assert {path.suffix for path in (tmp_path / "records").iterdir()} == {""}
