"""Patterns and names on hostile text of 100,000 letters: its square would take longer than the minute allowed."""

from __future__ import annotations

import importlib
import pkgutil
import re

import numpy as np
import pytest

import calib.data
from calib.data import inspect
from calib.data.formats import cells
from calib.data.formats.dialect import choose_decimal, is_number
from calib.data.interpret.scale import _told
from tests.conftest import minute_of_cpu

LONG = 100_000
PIECES = (" ", "1", "111 ", "111,", "111.", "a", "a1", "_", "-", "\u00a0")
HOSTILE = [start + piece * (LONG // len(piece)) + "!" for start in ("", "1") for piece in PIECES]


def patterns():
    """Every pattern that a module of calib.data holds, and those of numbers as they are written."""
    found = {name: re.compile(getattr(cells, name)) for name in ("WRITTEN", "EMPTY", "WHOLE", "EITHER")}
    found |= {f"CERTAIN {sign}": re.compile(pattern) for sign, pattern in cells.CERTAIN.items()}
    for module in pkgutil.walk_packages(calib.data.__path__, "calib.data."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                found[f"{module.name.removeprefix('calib.data.')}.{name}"] = value
    return found


def test_the_patterns_are_found():
    assert {"formats.dialect.NUMBER", "interpret.label_values.ENDS_IN_NUMBER", "WRITTEN"} <= set(patterns())


@pytest.mark.parametrize("name", patterns())
def test_a_pattern_goes_through_hostile_text_once(name):
    pattern = patterns()[name]
    with minute_of_cpu():
        for text in HOSTILE:
            pattern.fullmatch(text)


@pytest.mark.parametrize("look", [is_number, _told, lambda text: choose_decimal([text], ";", None)],
                         ids=["is_number", "scale", "decimal"])  # fmt: skip
def test_what_is_done_with_a_cell_or_a_name_goes_through_it_once(look):
    with minute_of_cpu():
        for text in (*HOSTILE, "1" * LONG + "x", " " * LONG, "1" + " " * LONG + "x"):
            look(text)


@pytest.mark.parametrize("letter", [" ", "1", "a_"])
@pytest.mark.parametrize("place", ["cell", "quoted", "name", "above"])
def test_a_table_with_a_long_text_is_read_or_refused(letter, place):
    text = "1" + letter * (120_000 // len(letter)) + "x"
    rows = "".join(f"{j % 2},{p:.3f},{1 - p:.3f}\n" for j, p in enumerate(np.linspace(0.1, 0.9, 90)))
    table = {
        "cell": f"label,p_0,p_1\n{text},.5,.5\n{rows}",
        "quoted": f'label,p_0,p_1\n"{text}",.5,.5\n{rows}',
        "name": f"label,p_0,p_1{text}\n{rows}",
        "above": f"{text}\nlabel,p_0,p_1\n{rows}",
    }[place]
    with minute_of_cpu():
        found = inspect(("a.csv", table.encode()))
    assert found.findings and all(len(finding.message) < 500 for finding in found.findings)
