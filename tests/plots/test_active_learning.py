"""The learning curves of active learning, drawn from simulated rounds."""

from __future__ import annotations

import numpy as np

from calib.plots import alt_text
from calib.plots.active_learning import ArmLine, learning_curves
from calib.plots.style import Style
from tests.plots.conftest import traces, words

STYLES = {"plain": Style("#7A8394", "circle", "solid"), "active": Style("#D55E00", "triangle-up", "dash")}


def arm(name: str = "plain", n_shuffles: int = 3, end: int = 200, calibrated: tuple[float, ...] = ()) -> ArmLine:
    """Rounds of some shuffles around a falling curve, with the band of their mean."""
    labels = np.arange(20.0, end + 1, 20)
    values = [0.5 * np.exp(-labels / 80) + 0.01 * shuffle for shuffle in range(n_shuffles)]
    mean = np.mean(values, axis=0)
    half = np.full(len(labels), 0.02 if n_shuffles > 1 else np.nan)
    shuffles = tuple((labels, value) for value in values)
    return ArmLine(f"{name} arm", name, STYLES[name], labels, mean, mean - half, mean + half, shuffles,
                   np.array(calibrated))  # fmt: skip


def test_lines_dots_and_ends_are_the_curves() -> None:
    plain, active = arm(), arm("active", end=140)
    fig = learning_curves([plain, active], "Error")
    for one in (plain, active):
        (line,) = [trace for trace in traces(fig, one.title) if trace.mode == "lines"]
        np.testing.assert_allclose(line.y, one.mean)
        assert (line.line.color, line.line.dash) == (one.style.color, one.style.dash)
        (dots,) = traces(fig, f"{one.title}, rounds")
        assert len(dots.x) == sum(len(labels) for labels, _ in one.shuffles)
        (end,) = traces(fig, f"{one.title}, end")
        assert (end.x[0], end.y[0], end.marker.symbol) == (one.labels[-1], one.mean[-1], one.style.symbol)
    assert words(fig) == ["plain", "active"]
    assert "active arm from" in alt_text(fig) and "after 140" in alt_text(fig)
    bands = [trace for trace in fig.data if trace.fill == "toself"]
    np.testing.assert_allclose(bands[0].y[: len(plain.low)], plain.low)
