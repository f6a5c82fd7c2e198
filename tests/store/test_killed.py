"""Servers that are killed at any moment, two on one folder."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from calib.engine import FitSpec
from calib.store.contents import Entry, get_data, get_job
from calib.store.index import Store
from tests.conftest import ROOT
from tests.store.writer import temperature_of

WRITER = str(Path(__file__).with_name("writer.py"))


def start(root: Path, seed: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, WRITER, str(root), str(seed)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def killed(process: subprocess.Popen[str], seconds: float) -> list[list[str]]:
    """What a process said was stored until it was killed, so long after its first word; its last line may be cut."""
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(seconds)
    process.kill()
    said = [line.split() for line in (first + process.communicate()[0]).splitlines()]
    return [each for each in said if len(each) == 3 and len(each[2]) == 64]


def check(root: Path, said: list[list[str]]) -> None:
    """Everything that was said to be stored is there, and all that is there is whole."""
    store = Store(root)
    for kind, link, name in said:
        found = store.get_link(link, Entry)
        assert found is not None and found.data == name
        if kind == "data":
            data = get_data(store, name)
            assert data is not None and data.__class__(data.logits, data.labels, data.class_names).identified()
            assert np.isfinite(data.logits).all()
        else:
            job = get_job(store, FitSpec("temperature", {}, data_key=name))
            assert job is not None and job.calibrator.temperature_ == temperature_of(name)


@pytest.mark.parametrize("moments", [2, pytest.param(20, marks=pytest.mark.long)])
def test_nothing_announced_is_lost_when_servers_are_killed(
    tmp_path: Path, moments: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(0)
    for moment in range(0, moments, 2):  # two at once on one folder
        writers = [start(tmp_path, moment), start(tmp_path, moment + 1)]
        said = [each for writer in writers for each in killed(writer, chance.random())]
        assert said
        check(tmp_path, said)
    monkeypatch.setattr("calib.store.index.ABANDONED", 0.0)
    Store(tmp_path).sweep()
    assert {path.suffix for path in (tmp_path / "records").iterdir()} == {""}
