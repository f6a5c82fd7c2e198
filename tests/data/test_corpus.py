"""The corpus of tables: what becomes of them, and that their judge tells right from wrong."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.data import corpus
from tests.data.corpus import SEEDS, Which
from tests.data.corpus.judge import judge, matches
from tests.data.corpus.tables import CorpusTable, Recipe, build


@cache
def tables(which: Which) -> tuple[CorpusTable, ...]:
    """The tables of a set, made once."""
    return tuple(corpus.tables(which))


@pytest.mark.parametrize(
    "which", [name if name in ("first", "fifth") else pytest.param(name, marks=pytest.mark.long) for name in SEEDS]
)
def test_none_is_misread_and_most_are_right(which):
    """What is not read is asked, with the right reading among those that are offered, or refused."""
    found = [judge(table) for table in tables(which)]
    assert not [j.table.name for j in found if j.outcome in ("misread", "crashed")]
    readable = [j for j in found if j.table.verdict == "readable"]
    assert sum(j.outcome == "right" for j in readable) >= 0.8 * len(readable)
    assert sum(j.outcome in ("right", "partly", "asked") for j in readable) >= 0.9 * len(readable)
    refused = [j for j in found if j.table.verdict == "refuse"]
    assert all(j.outcome in ("refused", "asked without") for j in refused)


def test_the_judge_tells_right_from_misread():
    """Tables that calib has always opened: right as they are, misread once the truth says something else."""
    table = build(Recipe("plain", "label = y 0/1/2 | p_{} = each d=6", quality="fair"), 1)
    assert judge(table).outcome == "right" and judge(table).passed
    backwards = replace(table.truth, labels=np.roll(table.truth.labels, 1))
    assert judge(replace(table, truth=backwards)).outcome == "misread"
    other = replace(table.truth, probs=table.truth.probs[::-1])
    assert judge(replace(table, truth=other)).outcome == "misread"
    swapped = replace(table.truth, probs=table.truth.probs[:, [1, 0, 2]])
    assert judge(replace(table, truth=swapped)).outcome == "misread"
    assert judge(replace(table, truth=replace(table.truth, kind=None), verdict="refuse")).outcome == "misread"
    clustered = replace(table.truth, clusters=np.arange(len(table.truth.labels)) // 2)
    assert judge(replace(table, truth=clustered)).outcome == "partly"
    refused = build(Recipe("dates", "date = date | word = cat a/b/c", "refuse"), 1)
    assert judge(refused).passed


def test_a_reading_offered_counts_if_it_is_the_right_one():
    truth = build(Recipe("asked", "id = id | p = p of=alive | risk = unit | state = y alive/dead", "ask"), 1).truth
    right = {"outcome": "state", "outputs": "p"}
    assert matches(right, truth) and matches({**right, "label_values": ("dead", "alive")}, truth)
    assert not matches({**right, "label_values": ("alive", "dead")}, truth)
    assert not matches({"outcome": "state", "outputs": "risk"}, truth)
    assert not matches({"outcome": "state", "outputs": ("p", "risk")}, truth)
    pairs = build(Recipe("pairs", "guess = pred | conf = conf | was = y a/b/c"), 1).truth
    assert matches({"outcome": "was", "outputs": ("conf",), "predicted": "guess"}, pairs)
    assert not matches({"outcome": "was", "outputs": ("conf",)}, pairs)
