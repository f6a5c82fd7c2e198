"""The corpus of tables: what it holds, that its truth is in its files, and that its judge tells right from wrong."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from tests.data import corpus
from tests.data.corpus import SEEDS, Which, recipes
from tests.data.corpus.__main__ import decoded
from tests.data.corpus.judge import judge, matches
from tests.data.corpus.tables import CorpusTable, Recipe, build
from tests.data.corpus.writing import LAYOUTS

SETS = ("first", "second", "third")

PLAIN = {name for name, layout in LAYOUTS.items() if layout.suffix in ("csv", "tsv") and not layout.after}
"""Layouts whose files Python's csv reads."""


@cache
def tables(which: Which) -> tuple[CorpusTable, ...]:
    """The tables of a set, made once."""
    return tuple(corpus.tables(which))


@pytest.mark.parametrize("which", SETS)
def test_there_are_enough_tables_of_each_kind(which):
    made = tables(which)
    assert len(made) >= 150
    assert len({table.name for table in made}) == len(made)
    verdicts = Counter(table.verdict for table in made)
    assert verdicts["readable"] >= 100 and verdicts["ask"] >= 15 and verdicts["refuse"] >= 12, verdicts
    kinds = Counter(table.truth.kind for table in made)
    binary = sum(count for kind, count in kinds.items() if kind and kind.startswith("binary"))
    assert binary >= 60 and kinds["pairs"] >= 25 and kinds["logits"] >= 3, kinds
    assert sum(len(table.truth.classes) > 2 for table in made) >= 30
    assert sum(table.truth.clusters is not None for table in made) >= 8
    assert sum(table.truth.weights is not None for table in made) >= 3


def test_the_sets_share_no_table_and_few_names():
    """A header of one set does not come back in another; generic names such as y or label may."""
    headers = {which: {recipe.columns for recipe in recipes(which)} for which in SETS}
    named = {which: {told_by(table) for table in tables(which) if table.truth.kind} for which in SETS}
    for one, other in combinations(SETS, 2):
        assert not headers[one] & headers[other], (one, other)
        assert not named[one] & named[other], (one, other)


def told_by(table: CorpusTable) -> tuple[str, ...]:
    """What a table calls its outcome, prediction and outputs; its layout where it has no header."""
    roles = table.truth.roles
    names = (roles["outcome"], roles.get("predicted", ""), *roles["outputs"])
    return (table.filename,) if roles["outcome"].startswith("column_") else names


@pytest.mark.parametrize(
    "which", [name if name in ("first", "fifth") else pytest.param(name, marks=pytest.mark.long) for name in SEEDS]
)
def test_none_is_misread_and_most_are_right(which):
    """What is not read is asked, with the right reading among those that are offered, or refused."""
    found = [judge(table) for table in tables(which)]
    assert not [j.table.name for j in found if j.outcome in ("misread", "crashed")]
    readable = [j for j in found if j.table.verdict == "readable"]
    assert sum(j.outcome == "right" for j in readable) >= 0.85 * len(readable)
    assert sum(j.outcome in ("right", "partly", "asked") for j in readable) >= 0.97 * len(readable)
    refused = [j for j in found if j.table.verdict == "refuse"]
    assert all(j.outcome in ("refused", "asked without") for j in refused)


def cells_of(table: CorpusTable, recipe: Recipe) -> dict[str, list[str]]:
    """The columns of a text table, read without the corpus and without calib."""
    layout = LAYOUTS[recipe.layout]
    lines = [line for line in decoded(table.content).splitlines() if not line.startswith(("# ", "% ", "sep="))]
    rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=layout.delimiter))
    header = rows.pop(0) if layout.header else [f"column_{j}" for j in range(len(rows[0]))]
    if layout.decimal == ",":
        rows = [[cell.replace(".", "").replace(",", ".") for cell in row] for row in rows]
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize("which", [*SETS, "fifth"])
def test_the_truth_is_in_the_file(which):
    """Every role names a column; labels, clusters and plain probabilities stand there as the truth has them."""
    for recipe, table in zip(recipes(which), tables(which), strict=True):
        if recipe.layout == "parquet" or (which == "fifth" and recipe.layout not in PLAIN):
            continue
        cells, truth = cells_of(table, recipe), table.truth
        named = [name for names in truth.roles.values() for name in ([names] if isinstance(names, str) else names)]
        assert set(named) <= set(cells), table.name
        if truth.kind is None:
            continue
        kept = {name: np.array(column)[truth.rows] for name, column in cells.items()}
        outcome = kept[truth.roles["outcome"]]
        if " = onehot " in recipe.columns:
            continue
        if truth.kind != "pairs":
            assert (outcome == truth.labels).all(), table.name
        elif "predicted" in truth.roles:
            named_apart = set(outcome).isdisjoint(kept[truth.roles["predicted"]])
            assert named_apart or ((outcome == kept[truth.roles["predicted"]]) == truth.correct).all(), table.name
        else:
            assert len(set(zip(outcome, truth.correct, strict=True))) == 2, table.name
        if truth.clusters is not None:
            assert (kept[truth.roles["cluster"]] == truth.clusters).all(), table.name
        assert truth.probs.shape == (len(truth.rows), len(truth.classes))
        assert np.allclose(truth.probs.sum(axis=1), 1) and truth.probs.min() >= 0, table.name
        if truth.scale == "p":
            outputs = np.stack([kept[name].astype(float) for name in truth.roles["outputs"]], axis=1)
            if outputs.shape[1] < truth.probs.shape[1] > 2:
                off = [np.abs(truth.probs - column[:, None]).max(axis=0).min() for column in outputs.T]
                assert max(off) < 1e-3, table.name
            elif outputs.shape[1] == 1:
                assert min(np.abs(outputs - truth.probs).max(axis=0)) < 1e-12, table.name
            else:
                assert np.allclose(outputs / outputs.sum(axis=1, keepdims=True), truth.probs, atol=1e-12), table.name


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
