"""What the Active learning page says of simulated rounds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calib.active_learning import Round, compare_arms, rounds_table, verdicts
from calib.ui.active_learning.settings import Rows
from calib.ui.active_learning.text import finding, made_with, notes, which

ROWS = Rows(n_pool=500, n_test=100, n_classes=3, trained=True, data_key="data")
SETTINGS = {"classifier": "forest", "calibrator": "gpcalib", "pretraining": 100, "batch": 50, "budget": None,
            "uncertainty": "least_confidence", "threshold": 0.25}  # fmt: skip


def rounds(ends: dict[str, tuple[int, float]], n_shuffles: int = 4, note: str = "") -> pd.DataFrame:
    """Two rounds for each shuffle: after pre-training, and at about so many labels with such an error."""
    generator = np.random.default_rng(0)
    found = {}
    for shuffle in range(n_shuffles):
        for arm, (labels, error) in ends.items():
            end = labels if labels in (100, 500) else labels + int(generator.integers(-3, 4))
            found[arm, shuffle] = [
                Round(100, 0, "pretraining", 9, 0.4, 0.2, 0.5, 0.1, 1.0),
                Round(end, 20, "training", 0, error + 0.001 * shuffle, 0.1, 0.5, 0.1, 1.0, note),
            ]
    return rounds_table(found)


BOTH = {"plain": (400, 0.1), "set_points": (340, 0.12)}


def test_the_finding_is_the_verdict_on_each_arm() -> None:
    two = compare_arms(rounds(BOTH))
    assert finding(two) == verdicts(two)[0]
    three = compare_arms(rounds({**BOTH, "active": (350, 0.1)}))
    assert finding(three).splitlines() == [f"- {sentence}" for sentence in verdicts(three)]


def test_one_arm_or_no_shuffle_has_no_verdict() -> None:
    assert "choose another to compare it with" in finding(compare_arms(rounds({"plain": (400, 0.1)})))
    apart = pd.concat([rounds({"plain": (400, 0.1)}, 1), rounds({"active": (300, 0.1)}, 1).assign(shuffle=1)])
    assert finding(compare_arms(apart)) == "No shuffle has been completed by all arms."


def test_how_it_was_made() -> None:
    assert made_with(SETTINGS) == (
        "Random forest, calibrated with GPcalib, 100 rows to begin with, then batches of 50, least confidence above "
        "0.25."
    )
    only = {"classifier": "forest", "pretraining": 1, "batch": 50, "budget": 20}
    assert "1 row to begin with" in made_with(only) and made_with(only).endswith("a budget of 20 labels.")


def test_a_dry_pool_a_silent_arm_and_a_missing_calibrator_are_said() -> None:
    assert notes(rounds(BOTH), ROWS, SETTINGS) == []
    (dry,) = notes(rounds({"plain": (500, 0.1), "random": (500, 0.1)}), ROWS, SETTINGS)
    assert dry.startswith("Without calibration asked for every label of the pool")
    (silent,) = notes(rounds({"plain": (100, 0.4), "active": (300, 0.1)}), ROWS, SETTINGS)
    assert silent.startswith("Without calibration never asked for a full batch")
    assert notes(rounds({"plain": (100, 0.4)}), ROWS, {**SETTINGS, "budget": 0}) == []
    (missing,) = notes(rounds({"set_points": (300, 0.1)}, note="Too few rows."), ROWS, SETTINGS)
    assert missing == "Calibrated at set points had no calibrator in 4 rounds, mostly because: Too few rows."


def test_pretraining_on_the_whole_pool_is_not_called_unsure() -> None:
    table = rounds_table({("plain", 0): [Round(120, 0, "pretraining", 0, 0.1, 0.1, 0.5, 0.1, 1.0)]})
    (note,) = notes(table, Rows(120, 300, 3, True, "data"), {"pretraining": 120, "batch": 10, "budget": None})
    assert note == "Pretraining takes all 120 rows of the pool, which leaves none to ask about."


def test_many_simulations_are_named_in_a_few_words() -> None:
    assert which({"plain": [2]}) == "Without calibration, shuffle 2"
    assert which({"plain": range(1, 21), "active": [1, 2, 3]}) == (
        "Without calibration, 20 shuffles; Active calibration, shuffles 1, 2 and 3"
    )
