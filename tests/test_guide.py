"""CONTRIBUTING.md shows the rooms as they are, and its examples work where they are pasted."""

from __future__ import annotations

import re

from benchmarks import rooms
from tests.conftest import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return re.split(r"^## ", GUIDE.partition(f"## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def test_the_picture_of_the_rooms_is_what_the_code_gives():
    drawn = GUIDE.partition(rooms.BEGIN)[2].partition(rooms.END)[0].strip()
    assert drawn == rooms.picture().strip(), "run python -m benchmarks.rooms"


def test_no_arrow_of_the_picture_follows_from_others():
    assert set(rooms.arrows()) >= {("evaluation", "metrics"), ("pages", "ui"), ("data", rooms.BASE)}
    assert ("ui", "metrics") not in rooms.arrows() and "metrics" in rooms.below("ui")
    assert all(rooms.purpose(room).endswith(".") for room in rooms.rows())


def test_each_of_the_ten_steps_names_a_function():
    steps = re.findall(r"^(\d+)\. (.*)$", section("A file's way from upload to exported calibrator"), re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, 11))
    # That these names exist is tested with all names of the documents.
    assert all(re.search(r"`calib(\.\w+)+`", step) for _, step in steps)
