"""Models whose names hold a number, and their scores against sums over rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib
from calib.metrics.bootstrap import share_interval
from calib.plots.numbered import numbered_scores_chart
from calib.tasks import scores_by_number, tasks_of
from calib.tasks.numbered import numbers_of
from tests.conftest import simulate


def epochs() -> pd.DataFrame:
    """A long table: logits that are sharper and sharper, as of epochs 20, 3 and 100."""
    logits, labels = simulate(300, 4)
    parts = []
    for epoch, scale in ((20, 1.0), (3, 0.5), (100, 3.0)):
        weights = np.exp(scale * logits)
        probs = pd.DataFrame(weights / weights.sum(axis=1, keepdims=True)).add_prefix("p_")
        parts.append(probs.assign(model=f"epoch {epoch}", label=labels, id=np.arange(300)))
    return pd.concat(parts)


@pytest.mark.parametrize(
    ("names", "unit", "numbers"),
    [
        (["epoch_2", "epoch_10"], "epoch", [2, 10]),
        (["70B", "7B", "0.5B"], "B", [70, 7, 0.5]),
        (["3", "1"], "model", [3, 1]),
        (["1970-01-03", "1971-01-01"], "date", [2, 365]),
    ],
)
def test_names_that_differ_in_a_number_have_it(names, unit, numbers):
    found = numbers_of(names)
    assert found is not None and found[0] == unit
    assert [found[1][name][0] for name in names] == numbers


@pytest.mark.parametrize(
    "names",
    [["forest", "network"], ["a 1", "b 2"], ["v1.2.3", "v1.2.4"], ["01", "1"], ["1", "1970-01-03"]],
)
def test_other_names_have_none(names):
    assert numbers_of(names) is None


def test_scores_are_those_of_the_rows_in_the_order_of_the_numbers():
    table = epochs()
    found = scores_by_number(tasks_of(table))
    assert found is not None and found.unit == "epoch" and found.labels == ("3", "20", "100")
    for place, name in enumerate(found.models):
        rows = table[table.model == name]
        probs = rows[[f"p_{k}" for k in range(4)]].to_numpy()
        labels = rows.label.to_numpy()
        wrong = probs.argmax(axis=1) != labels
        values = {score: found.scores[score][place] for score in found.scores}
        expected = share_interval(int(wrong.sum()), len(wrong))
        np.testing.assert_allclose(values["error"], expected, atol=1e-12)
        loss = -np.log(probs[np.arange(300), labels])
        assert values["NLL"].value == pytest.approx(loss.mean())
        half = 1.97 * loss.std(ddof=1) / np.sqrt(300)
        assert values["NLL"].high - values["NLL"].value == pytest.approx(half, rel=0.02)
        assert values["ECE"].value == pytest.approx(calib.ece(probs, labels))
    chart = numbered_scores_chart(found)
    assert [line.name for line in chart.data if line.name] == ["error", "NLL", "ECE"]
    np.testing.assert_allclose(chart.data[-1].x, [3, 20, 100])
    assert chart.layout.xaxis.type == "log"


def test_two_models_and_questions_have_no_line():
    table = epochs()
    assert scores_by_number(tasks_of(table[table.model != "epoch 20"])) is None
    questions = table.rename(columns={"model": "question"})
    assert scores_by_number(tasks_of(questions)) is None
