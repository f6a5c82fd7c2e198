"""Disks that are full, cannot be written or vanish: nothing is announced before it is true, and saving goes on."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from calib.jobs import Job
from calib.workspace import Configuration, Content, Entry, Keeper, KeptSpec, NotDeleted
from calib.workspace.retry import RetryQueue, pause
from tests.conftest import wait_until
from tests.workspace.faults import Disk, disk  # noqa: F401 - the fixture
from tests.workspace.writer import fitted, predictions

MOMENTS = 30
LINKS = 3
OPERATIONS = 90
"""On the disk, while all of it is stored."""


def at_once(failures: int) -> float:
    return 0.002


def link(number: int) -> str:
    return f"{number:064x}"


class Writing:
    """Links with their data and a fit each, as a server stores them."""

    def __init__(self, root: Path, seed: int, rows: int = 200):
        self.keeper = Keeper(Configuration(root), pause=at_once)
        self.links: dict[str, tuple[Entry, Job]] = {}
        for number in range(LINKS):
            data = predictions(1000 * seed + number, rows)
            job = fitted(data)
            entry = Entry("visitor", data.sha256, specs=(KeptSpec.from_spec(job.spec, job),))
            self.links[link(number)] = entry, job
            self.keeper.keep(link(number), entry)
            self.keeper.keep_data(link(number), data)
            self.keeper.keep_fit(job)

    def announced(self) -> set[str]:
        """The links that pages call saved now."""
        return {
            name
            for name, (entry, job) in self.links.items()
            if not self.keeper.standing(name, contents(entry, job)).missing
        }

    def check(self, names: set[str]) -> None:
        """All of these links is there for a server that starts now."""
        keeper = Keeper(self.keeper.configuration)
        for name in names:
            entry, job = self.links[name]
            back = keeper.recall(name)
            assert back is not None
            assert (data := keeper.data(back)) is not None
            assert data.sha256 == entry.data
            assert np.isfinite(data.logits).all()
            fit = keeper.fit(back, job.spec)
            assert fit is not None
            assert fit.calibrator.temperature_ == job.calibrator.temperature_
        keeper.close()


def contents(entry: Entry, job: Job) -> list[Content]:
    return [("data", entry.data), ("fits", job.key)]


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_what_was_announced_is_there_however_full_the_disk_and_the_rest_is_saved_once_there_is_room(
    disk: Disk,  # noqa: F811
    tmp_path: Path,
    moment: int,
) -> None:
    disk.break_after(int(np.random.default_rng(moment).integers(0, OPERATIONS)))
    writing = Writing(tmp_path, moment)
    wait_until(lambda: disk.left is None or disk.left <= 0 or len(writing.announced()) == LINKS)
    writing.check(writing.announced())
    disk.mend()
    wait_until(lambda: len(writing.announced()) == LINKS)
    writing.check(set(writing.links))
    assert not list((tmp_path / "making").iterdir())
    writing.keeper.close()


def test_the_moments_are_spread_over_all_that_is_written(disk: Disk, tmp_path: Path) -> None:  # noqa: F811
    Writing(tmp_path, 0).keeper.close()
    assert 0.8 * OPERATIONS < disk.calls < 1.2 * OPERATIONS


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 50 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("without the right to mount a file system of 50 MB no real disk was filled")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)  # some of its files are still mapped


@pytest.mark.long
def test_a_real_disk_filled_to_the_brim_at_any_moment_loses_nothing_announced(small_disk: Path) -> None:
    generator = np.random.default_rng(0)
    unsaved = 0
    for moment in range(MOMENTS):
        ballast, root = small_disk / "ballast", small_disk / "workspace"
        with open(ballast, "wb") as file:
            free = shutil.disk_usage(small_disk).free  # files that are still mapped take some
            os.posix_fallocate(file.fileno(), 0, free - int(generator.integers(4096, 6 * 10**6)))
        writing = Writing(root, moment, rows=20_000)

        def settled(writing: Writing = writing) -> bool:
            standings = [writing.keeper.standing(name, contents(*each)) for name, each in writing.links.items()]
            return all(standing.reasons or not standing.missing for standing in standings)

        wait_until(settled)
        announced = writing.announced()
        unsaved += len(announced) < LINKS
        writing.check(announced)
        ballast.unlink()
        wait_until(lambda writing=writing: len(writing.announced()) == LINKS)
        writing.check(set(writing.links))
        writing.keeper.close()
        shutil.rmtree(root)
    assert unsaved > MOMENTS / 3  # the disk was full in truth


def test_pauses_grow_up_to_five_minutes() -> None:
    assert [pause(failures) for failures in (1, 2, 3, 6, 7, 1000)] == [5, 10, 20, 160, 300, 300]


def test_what_would_fail_again_is_done_again_when_asked_only() -> None:
    queue, calls = RetryQueue("test", at_once), []

    def refuse() -> None:
        calls.append(1)
        raise ValueError("no room for that")

    queue.put("key", refuse)
    queue.put("other", int).result(timeout=300)
    assert queue.state("key")[0]
    assert str(queue.state("key")[1]) == "no room for that"
    assert len(calls) == 1
    queue.retry()
    wait_until(lambda: len(calls) == 2)
    queue.close()
    assert len(calls) == 2


def test_a_failure_stays_until_newer_work_has_succeeded() -> None:
    queue, broken = RetryQueue("test", lambda failures: 3600.0), [True]

    def work() -> str:
        if broken[0]:
            raise OSError(errno.ENOSPC, "full")
        return "done"

    first = queue.put("key", work)
    wait_until(lambda: queue.state("key")[1])
    second = queue.put("key", work)
    assert first.cancelled()
    assert queue.state("key")[1] is not None  # though it was not tried yet
    broken[0] = False
    queue.retry()
    assert second.result(timeout=300) == "done"
    assert queue.state("key") == (False, None)
    queue.close()


@pytest.fixture
def stored(disk: Disk, tmp_path: Path) -> Iterator[Writing]:  # noqa: F811
    """A writer that has stored everything."""
    writing = Writing(tmp_path, 0)
    wait_until(lambda: len(writing.announced()) == LINKS)
    yield writing
    disk.mend()
    writing.keeper.close()


def test_a_workspace_that_vanishes_while_the_server_runs_is_made_again(stored: Writing, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path)
    keeper, (name, (entry, job)) = stored.keeper, next(iter(stored.links.items()))
    assert keeper.lost(name, contents(entry, job)) == {("links", name), *contents(entry, job)}
    assert not stored.announced()
    data = predictions(0, 200)
    keeper.keep(name, entry).result(timeout=300)
    keeper.keep_data(name, data).result(timeout=300)
    keeper.keep_fit(job)
    assert stored.announced() == {name}
    stored.check({name})


def test_a_disk_that_cannot_be_written_can_be_read(stored: Writing, disk: Disk) -> None:  # noqa: F811
    disk.break_after(0, errno.EROFS)
    stored.check(set(stored.links))
    assert stored.announced() == set(stored.links)


@pytest.mark.parametrize("moment", range(8))
def test_deleting_says_what_is_still_there_and_the_link_leads_to_it(
    stored: Writing,
    disk: Disk,  # noqa: F811
    tmp_path: Path,
    moment: int,
) -> None:
    name, (entry, job) = next(iter(stored.links.items()))
    disk.break_after(moment, errno.EROFS)
    with pytest.raises(NotDeleted) as told:
        stored.keeper.forget(name)
    assert stored.keeper.recall(name) is not None
    left = [content for content in contents(entry, job) if tmp_path.joinpath(*content).exists()]
    assert ("the data" in str(told.value)) == (("data", entry.data) in left)
    assert ("1 fit" in str(told.value)) == (("fits", job.key) in left)
    assert "the link" in str(told.value)
    assert "secret" not in str(told.value)
    disk.mend()
    stored.keeper.forget(name)
    assert not [path for path in tmp_path.rglob("*") if path.stem in (name, entry.data, job.key)]
    stored.check(set(stored.links) - {name})


def test_data_that_cannot_be_stored_are_let_go_with_their_visitor(disk: Disk, tmp_path: Path) -> None:  # noqa: F811
    keeper = Keeper(Configuration(tmp_path), pause=lambda failures: 3600.0)
    disk.break_after(0)
    data = predictions(0, 200)
    mine, theirs = (keeper.keep_data(link(number), data) for number in range(2))
    assert mine is theirs
    wait_until(lambda: keeper.standing(link(0), [("data", data.sha256)]).reasons)
    keeper.leave(link(0))
    assert not mine.cancelled()  # the other has them open
    keeper.leave(link(1))
    keeper.close()


def test_data_of_the_last_who_had_them_open_are_let_go(disk: Disk, tmp_path: Path) -> None:  # noqa: F811
    keeper = Keeper(Configuration(tmp_path), pause=lambda failures: 3600.0)
    disk.break_after(0)
    data = predictions(0, 200)
    waiting = keeper.keep_data(link(0), data)
    wait_until(lambda: keeper.standing(link(0), [("data", data.sha256)]).reasons)
    keeper.leave(link(0))
    assert waiting.cancelled()
    keeper.close()
