"""Text tables as people write them: decimal commas, percent signs, thousands, lines above the table, row names."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calib.data import Choices, Inspection, inspect
from calib.data.read.numerals import NUMBER
from tests.data.conftest import cases, the
from tests.data.read.conftest import LABELS, PROBS, check_read

HEADER = ("p_0", "p_1", "p_2", "label")


def comma(value: float) -> str:
    return f"{value:.6f}".replace(".", ",")


def table(delimiter=",", write=lambda value: f"{value:.6f}", header=True, end=""):
    """The lines of a table of three probabilities and a label."""
    rows = [
        delimiter.join([*map(write, row), str(label)]) + end
        for row, label in zip(PROBS, LABELS, strict=True)
    ]
    return "".join(
        f"{line}\n" for line in ([delimiter.join(HEADER) + end] if header else []) + rows
    )


def read(text: str, encoding: str = "utf-8", **chosen) -> Inspection:
    return inspect(("outputs.csv", text.encode(encoding)), choices=Choices(**chosen))


ROWS = table(header=False)
WRITINGS = [
    ("semicolon, decimal comma", table(";", comma)),
    ("percent", table(";", lambda v: f"{comma(100 * v)} %")),
    ("lines above", "Model: resnet\nDate;2024\n\n" + table(";", comma)),
    (
        "two words above",
        "Report 2024\nModel: v3\n"
        + "".join(
            f"{line},{f'row {n}' if n else 'item'}\n" for n, line in enumerate(table().splitlines())
        ),
    ),
    ("Excel's delimiter", "sep=;\n" + table(";", comma)),
    ("empty columns at the end", table(end=",,")),
    ("a delimiter at the end of rows", ",".join(HEADER) + "\n" + ROWS.replace("\n", ",\n")),
    (
        "row names",
        ",".join(HEADER)
        + "\n"
        + "".join(f"r{i},{row}\n" for i, row in enumerate(ROWS.splitlines())),
    ),
    ("empty rows", table() + ",,,\n,,,\n"),
]


@cases("text", WRITINGS)
def test_tables_are_read_however_they_are_written(text):
    found = read(text)
    check_read(found, within=1e-6)
    again = inspect(("outputs.csv", text.encode()), choices=found.choices)
    assert again.predictions.sha256 == found.predictions.sha256


LETTERS = {
    "shift_jis": ("猫", "東京支店", "データ", "不明"),
    "cp1252": ("château", "Größe", "señor", "dégâts"),
    "cp1251": ("Москва", "собака", "кошка", "Екатеринбург"),
    "gb18030": ("北京", "上海分行", "猫", "狗"),
    "utf-8": ("猫", "Größe", "Москва", "señor"),
    "utf-16": (
        "Москва",
        "собака",
        "кошка",
        "Екатеринбург",
    ),  # their second bytes are control characters
}


@pytest.mark.parametrize("encoding", LETTERS)
def test_names_in_other_letters_are_read_as_they_were_written(encoding):
    names = np.array(LETTERS[encoding])
    rows = zip(names[np.arange(240) % 4], PROBS[:, 0], LABELS > 0, strict=True)
    text = "branch,p_event,label\n" + "".join(
        f"{name},{1 - p:.4f},{int(y)}\n" for name, p, y in rows
    )
    found = read(text, encoding, groups="branch")
    assert set(found.predictions.groups) == set(names), found.choices.encoding
    again = inspect(("outputs.csv", text.encode(encoding)), choices=found.choices)
    assert again.predictions.sha256 == found.predictions.sha256


def test_fixed_widths_and_weka_are_named_as_what_they_are():
    words = ("a long name", "short one", "of two words or more")
    text = "".join(
        f"{words[j % 3]:25}{'' if j % 5 else 'x y':6}{j % 2}{0.5:7.3f}\n" for j in range(60)
    )
    assert "aligned by blanks" in the(read(text), "fixed_width").message
    weka = "% made in June\n@RELATION iris\n@ATTRIBUTE p NUMERIC\n@DATA\n" + ROWS
    assert "ARFF" in the(read(weka), "unknown_format").message


def test_a_column_that_a_join_repeats_is_read_once():
    lines = ("id," + table().replace("\n", ",id\n", 1)).splitlines()
    text = "\n".join([lines[0], *(f"{j},{line},{j}" for j, line in enumerate(lines[1:]))])
    check_read(read(text), within=1e-6)
    assert "differ" in the(read(text.replace("\n0,", "\n7,", 1)), "duplicate_columns").message


def scores(cells):
    return "score;label\n" + "".join(f"{cell};{j % 2}\n" for j, cell in enumerate(cells))


def read_scores(text, **chosen):
    found = read(text, kind="binary_log_odds", **chosen)
    assert found.predictions is not None, found.findings
    return found, found.predictions.logits[:, 1]


@cases(
    "cells, expected",
    [
        ("decimal comma", ["1.234,5", "-2,25", "12.000.000,0"], [1234.5, -2.25, 12e6]),
        ("point separates twice", ["1.234.567", "2.345", "-3"], [1234567, 2345, -3]),
        ("minus sign", ["\u22121,5", "0,25", "1,234"], [-1.5, 0.25, 1.234]),
    ],
)
def test_the_whole_column_decides_what_a_sign_means(cells, expected):
    found, read_as = read_scores(scores(cells * 80))
    np.testing.assert_allclose(read_as[:3], expected)
    assert "decimal_unclear" not in [finding.code for finding in found.findings]


def test_two_readings_are_said_and_one_option_switches():
    text = scores([f"{n},234" for n in range(1, 200)])
    found, read_as = read_scores(text)
    assert read_as[0] == pytest.approx(1.234)
    warned = the(found, "decimal_unclear")
    assert "1,234" in warned.message
    changed, other = read_scores(text, **warned.fix)
    assert other[0] == pytest.approx(1234)
    assert "decimal_unclear" not in [finding.code for finding in changed.findings]


def naive(cell: str, decimal: str) -> bool:
    """Whether a cell is a number by a decimal sign, with the other sign before groups of three alone."""
    whole, _, fraction = cell.partition(decimal)
    first, *groups = whole.split("," if decimal == "." else ".")
    if groups and (
        any(len(group) != 3 for group in groups)
        or not 1 <= len(first) <= 3
        or first.startswith("0")
    ):
        return False
    return ("".join([first, *groups]) + fraction).isdigit()


def test_patterns_agree_with_a_naive_reading():
    generator = np.random.default_rng(3)
    for _ in range(4000):
        cell = "".join(generator.choice(list("0123456789.,"), size=generator.integers(1, 10)))
        for sign, pattern in NUMBER.items():
            assert bool(re.match(pattern, cell)) == naive(cell, sign), (cell, sign)
