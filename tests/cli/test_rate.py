"""``rate``: a judge's pass rate, corrected by people's labels of some rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib.tasks import find_judge_groups
from tests.cli.conftest import run


def write(path: Path, n: int = 1500, every: int = 6, **more: list[object]) -> np.ndarray:
    """A judge that passes too much, with labels of every sixth row; returns what people would say of all."""
    draws = np.random.default_rng(5)
    truth = draws.random(n) < 0.7
    judge = np.where(truth, draws.random(n) < 0.95, draws.random(n) < 0.5).astype(int)
    human = ["" if i % every else int(label) for i, label in enumerate(truth)]
    columns = {"id": list(range(n)), "judge_passed": judge, "human_passed": human, **more}
    rows = [",".join(columns)] + [
        ",".join(map(str, row)) for row in zip(*columns.values(), strict=True)
    ]
    path.write_text("\n".join(rows))
    return truth


@pytest.mark.parametrize("isolate", ["--isolate", "--no-isolate"])
def test_the_corrected_rate_holds_the_truth_and_the_judges_own_does_not(tmp_path, capsys, isolate):
    truth = write(tmp_path / "judged.csv")
    assert run("rate", tmp_path / "judged.csv", isolate, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    low, high = found["rate"]["interval"]
    assert low < truth.mean() < high < found["by_judge"]["interval"][0]
    assert found["by_people"]["value"] == pytest.approx(truth[::6].mean())
    assert (found["labelled"], found["unlabelled"]) == (250, 1250)
    people = np.diff(found["by_people"]["interval"])[0]
    assert high - low < people
    assert found["labels_for_half_width"] > 250


def test_the_sentence_names_both_columns_and_the_labels_that_are_missing(tmp_path, capsys):
    write(tmp_path / "judged.csv")
    assert run("rate", tmp_path / "judged.csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "judge_passed is the judge, human_passed the labels of people."
    assert lines[1].startswith("The judge passes ") and "Corrected by 250 human labels" in lines[1]
    assert lines[2].endswith("more labels would halve the interval's width.")


@pytest.mark.parametrize("isolate", ["--isolate", "--no-isolate"])
def test_columns_with_other_names_are_chosen(tmp_path, capsys, isolate):
    path = tmp_path / "judged.csv"
    write(path)
    path.write_text(path.read_text().replace("judge_passed", "verdict"))
    assert run("rate", path, isolate) == 1
    assert "--read outputs=JUDGE --read outcome=HUMAN" in capsys.readouterr().err
    assert run("rate", path, "--read", "outputs=verdict", "--read", "outcome=human_passed") == 0
    assert run("rate", path, "--read", "outputs=nothing") == 1
    assert "no column nothing" in capsys.readouterr().err


def test_clusters_that_are_chosen_widen_the_interval(tmp_path, capsys):
    path = tmp_path / "judged.csv"
    truth = write(path)
    order = np.argsort(np.argsort(truth, kind="stable"), kind="stable") // 10
    write(path, topic=order.tolist())
    widths = []
    for chosen in ([], ["--read", "cluster=topic"]):
        assert run("rate", path, "--json", *chosen) == 0
        widths.append(np.diff(json.loads(capsys.readouterr().out)["rate"]["interval"])[0])
    assert widths[1] > 1.5 * widths[0]


@pytest.mark.parametrize("isolate", ["--isolate", "--no-isolate"])
def test_the_columns_that_the_judge_leans_on_are_named(tmp_path, capsys, isolate):
    draws = np.random.default_rng(1)
    truth = draws.random(3000) < 0.6
    tokens = draws.integers(20, 999, 3000)
    topic = draws.choice(["law", "art"], 3000)
    judge = np.where(tokens > 800, 1, truth).astype(int)
    human = np.where(np.arange(3000) % 3 == 0, truth.astype(int).astype(str), "")
    columns = {"judge_passed": judge, "human_passed": human, "tokens": tokens, "topic": topic}
    path = tmp_path / "judged.csv"
    pd.DataFrame({"id": range(3000), **columns}).to_csv(path, index=False)
    assert run("rate", path, isolate, "--json") == 0
    (group,) = json.loads(capsys.readouterr().out)["leaning"]
    limit = int(group["name"].removeprefix("tokens > "))
    inside = (tokens > limit) & (np.arange(3000) % 3 == 0)
    assert 790 < limit < 820 and group["rows"] == inside.sum()
    assert group["gap"]["value"] == pytest.approx((judge - truth)[inside].mean())
    assert run("rate", path, isolate) == 0
    assert f"Where tokens > {limit}, the judge passes 100.0 % and people" in capsys.readouterr().out


def test_a_judge_that_errs_alike_everywhere_leans_on_nothing():
    draws = np.random.default_rng(2)
    found = 0
    for _ in range(40):
        truth = draws.random(600) < 0.6
        judge = np.where(draws.random(600) < 0.2, 1, truth).astype(int)
        columns = {"tokens": draws.normal(size=600), "topic": draws.choice(list("abcd"), 600)}
        found += bool(find_judge_groups(judge, truth, columns).groups)
    assert found <= 5


def test_labels_of_all_rows_may_not_be_enough(tmp_path, capsys):
    write(tmp_path / "judged.csv", every=2)
    assert run("rate", tmp_path / "judged.csv") == 0
    assert "Labels of all rows would not halve" in capsys.readouterr().out


def test_few_labels_and_a_second_file_are_refused_in_a_sentence(tmp_path, capsys):
    path = tmp_path / "judged.csv"
    write(path, every=100)
    assert run("rate", path) == 1
    assert "15 rows of 1,500 have a label" in capsys.readouterr().err
    assert run("rate", path, "--labels", path) == 2
    assert "one table" in capsys.readouterr().err
