"""What the Active learning page says of simulated rounds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.active_learning import ARMS, Round, compare_arms, rounds_table, verdicts
from calib.formatting import percent
from calib.ui.active_learning.state import Rows
from calib.ui.active_learning.text import claim, finding, made_with, notes, so_far, which
from calib.ui.active_learning.view import COLUMNS, styled_arms

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


def test_nothing_is_said_of_arms_that_have_not_run_twice() -> None:
    waiting = "once each has completed two shuffles"
    assert waiting in so_far(compare_arms(rounds(BOTH)), {"plain", "set_points", "active"})
    assert waiting in so_far(compare_arms(rounds(BOTH, 1)), set(BOTH))
    assert so_far(compare_arms(rounds(BOTH, 3)), set(BOTH)).startswith("So far, over 3 shuffles:\n\n**Calibrated at")


@pytest.mark.parametrize(("labels", "word"), [(340, "fewer labels"), (460, "more labels")])
def test_the_papers_claim_stands_beside_what_came_out(labels: int, word: str) -> None:
    summary = compare_arms(rounds({"plain": (400, 0.1), "set_points": (labels, 0.12)}))
    rows = summary[(summary["arm"] == "set_points") & (summary["quantity"] == "n_labels")]
    said = claim(summary, SETTINGS)
    assert "about 10\u00a0% fewer labels" in said
    assert f"Here (Random forest, GPcalib) it was {percent(abs(rows['share'].iloc[0]))} {word}" in said
    assert "an error 2.00 percentage points higher" in said
    assert "Here" not in claim(compare_arms(rounds({"plain": (400, 0.1)})), SETTINGS)


def test_how_it_was_made() -> None:
    assert made_with(SETTINGS, 3) == (
        "Random forest, calibrated with GPcalib, 100 rows to begin with, then batches of 50, least confidence above "
        "0.25, means over 3 shuffles with 95\u00a0% t intervals."
    )
    only = {"classifier": "forest", "pretraining": 100, "batch": 50, "budget": 20}
    assert made_with(only, 1).endswith("a budget of 20 labels, one shuffle, which has no interval.")
    assert "1 row to begin with" in made_with({**only, "pretraining": 1, "batch": 1}, 1)


def test_a_dry_pool_a_silent_arm_and_a_missing_calibrator_are_said() -> None:
    assert notes(rounds(BOTH), ROWS, SETTINGS) == []
    (dry,) = notes(rounds({"plain": (500, 0.1), "random": (500, 0.1)}), ROWS, SETTINGS)
    assert dry.startswith("Without calibration asked for every label of the pool")
    (silent,) = notes(rounds({"plain": (100, 0.4), "active": (300, 0.1)}), ROWS, SETTINGS)
    assert silent.startswith("Without calibration never asked for a full batch")
    assert notes(rounds({"plain": (100, 0.4)}), ROWS, {**SETTINGS, "budget": 0}) == []
    (missing,) = notes(rounds({"set_points": (300, 0.1)}, note="Too few rows."), ROWS, SETTINGS)
    assert missing == "Calibrated at set points had no calibrator in 4 rounds, mostly because: Too few rows."


def shown(summary: pd.DataFrame, differences: bool) -> pd.DataFrame:
    """The text in each cell of the table."""
    styler = styled_arms(summary, differences).styler
    styler._compute()._translate(False, False)
    texts = [
        [styler._display_funcs[row, column](styler.data.iloc[row, column]) for column in range(1, styler.data.shape[1])]
        for row in range(len(styler.data))
    ]
    return pd.DataFrame(texts, columns=list(COLUMNS.values()), index=styler.data["Arm"])


def test_cells_show_values_with_intervals_and_differences_with_marks() -> None:
    summary = compare_arms(rounds(BOTH))
    values, differences = shown(summary, False), shown(summary, True)
    calibrated, plain = ARMS["set_points"].title, ARMS["plain"].title
    row = summary.set_index(["arm", "quantity"]).loc["set_points", "error"]
    assert values.loc[calibrated, "Error"] == (
        f"{100 * row['value']:.1f} % [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
    )
    assert differences.loc[calibrated, "Error"].startswith("+2.00 pp")
    assert differences.loc[calibrated, "Labels asked"].endswith("*")
    assert set(differences.loc[plain]) == {"–"}
    assert values.loc[plain, "For calibration"] == "20"
    frame = styled_arms(summary, False).styler.data
    widths = styled_arms(summary, True).widths
    assert all(widths[column] > 6 * max(len(column), *map(len, differences[column])) for column in COLUMNS.values())
    assert {pd.api.types.infer_dtype(frame[column]) for column in COLUMNS.values()} == {"floating"}  # they sort so


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ([(200, 0.1), (200, 0.1)], "it was as many labels, and the same error."),
        ([(201, 0.1), (99, 0.1)], "25.0\u00a0% fewer labels (no significant difference), and the same error."),
        ([(101, 0.12), (99, 0.12)], "50.0\u00a0% fewer labels, and an error 2.00 percentage points higher."),
    ],
)
def test_the_claim_says_what_chance_explains(ends: list[tuple[int, float]], words: str) -> None:
    def run(end: int, error: float) -> list[Round]:
        return [Round(end, 0, "training", 0, error, 0.1, 0.5, 0.1, 1.0)]

    found = {("plain", shuffle): run(200, 0.1) for shuffle in range(2)}
    found |= {("set_points", shuffle): run(*end) for shuffle, end in enumerate(ends)}
    settings = {"classifier": "forest", "calibrator": "gpcalib"}
    text = claim(compare_arms(rounds_table(found)), settings).replace("\u2009", " ").replace("\u202f", " ")
    assert text.endswith(words)


def test_pretraining_on_the_whole_pool_is_not_called_unsure() -> None:
    table = rounds_table({("plain", 0): [Round(120, 0, "pretraining", 0, 0.1, 0.1, 0.5, 0.1, 1.0)]})
    (note,) = notes(table, Rows(120, 300, 3, True, "data"), {"pretraining": 120, "batch": 10, "budget": None})
    assert note == "Pretraining takes all 120 rows of the pool, which leaves none to ask about."


def test_many_simulations_are_named_in_a_few_words() -> None:
    assert which({"plain": [2]}) == "Without calibration, shuffle 2"
    assert which({"plain": range(1, 21), "active": [1, 2, 3]}) == (
        "Without calibration, 20 shuffles; Active calibration, shuffles 1, 2 and 3"
    )


def test_active_calibration_that_fell_back_to_set_points_is_named() -> None:
    def run(*calibration: int) -> list[Round]:
        return [Round(20 * n, of, "training", 9, 0.1, 0.1, 0.5, 0.1, 1.0) for n, of in enumerate(calibration, 1)]

    settings = {"pretraining": 20, "batch": 20, "budget": None}
    rows = Rows(120, 300, 3, True, "data")
    same = {(arm, shuffle): run(0, 20, 20) for arm in ("set_points", "active") for shuffle in range(2)}
    (note,) = notes(rounds_table(same), rows, settings)
    assert "Active calibration" in note and "Calibrated at set points" in note and "every round" in note
    assert not notes(rounds_table({**same, ("active", 1): run(0, 20, 40)}), rows, settings)
    assert not notes(rounds_table({("set_points", 0): run(0, 20), ("plain", 0): run(0, 0)}), rows, settings)
