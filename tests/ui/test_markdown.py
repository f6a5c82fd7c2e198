"""Names from files within Markdown."""

from __future__ import annotations

import pytest

from calib.ui.markdown import JOINER, literal


@pytest.mark.parametrize(
    "name", ["*bold*", "[l](http://e.vil)", "$x^2$", "a_b_c", "1. list", "- item", ":red[x]", "![i](u)"]
)
def test_every_mark_is_escaped_and_nothing_else_is_lost(name):
    made = literal(name)
    for position, char in enumerate(made):
        if char in "*_[]()$:!":
            assert made[position - 1] == "\\"
    assert made.replace("\\", "").replace(JOINER, "") == name


@pytest.mark.parametrize("name", ["http://e.vil", "HTTPS://e.vil", "www.e.vil", "a@e.vil"])
def test_no_address_stays_whole(name):
    """Markdown makes links of addresses, whatever is escaped in them."""
    made = literal(name).replace("\\", "")
    assert JOINER in made
    assert "://" not in made and "www." not in made and "@e" not in made


@pytest.mark.parametrize("name", ["", "  ", "\n"])
def test_a_name_without_words_is_called_empty(name):
    assert literal(name) == "(empty)"


def test_a_long_name_is_cut():
    assert len(literal("x" * 100)) == 40
