"""A workspace of the test's own, and something to store in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from calib.workspace import Configuration, Items, Keeper


@pytest.fixture
def items(tmp_path: Path) -> Items:
    return Items(tmp_path)


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    made = Keeper(Configuration(tmp_path))
    yield made
    made.close()
