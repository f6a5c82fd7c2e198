"""Tables on the command line: the columns that a saved calibrator knows, and weights whose meaning is known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import calib
from calib.cli import main
from calib.metrics import ece, nll
from calib.numerics import sigmoid

READ = ["--read", "outcome=default", "--read", "outputs=risk_a"]
WEIGHTED = ["--read", "weights=weight", "--read", "weight_kind=sampling"]


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Iterator[pd.DataFrame]:
    """Two columns that look like risks, an outcome and weights, in the folder of the tests; and a fit to the first."""
    generator = np.random.default_rng(0)
    log_odds = 2 * generator.normal(size=400)
    table = pd.DataFrame(
        {
            "risk_a": sigmoid(log_odds),
            "risk_b": generator.random(400),
            "default": (generator.random(400) < sigmoid(log_odds / 2)).astype(int),
            "weight": np.where(log_odds > 0, 3.0, 1.0),
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("tables"))
        table.to_csv("loans.csv", index=False)
        assert main(["fit", "loans.csv", "--method", "platt", "--out", "c.npz", *READ]) == 0
        yield table


@pytest.mark.parametrize(
    ("ending", "out"), [("csv", "out.csv"), ("parquet", "out.npy"), ("npy", "out.npy")]
)
def test_apply_takes_the_column_that_the_calibrator_was_fitted_on(table, ending, out) -> None:
    new = table[["risk_b", "risk_a"]]  # which of them is meant only the calibrator knows
    if ending == "npy":
        np.save("new.npy", table["risk_a"])
    else:
        new.to_csv("new.csv", index=False) if ending == "csv" else new.to_parquet("new.parquet")
    assert main(["apply", "c.npz", f"new.{ending}", "--out", out]) == 0
    expected = calib.runtime.load("c.npz").predict_proba(table["risk_a"])
    found = pd.read_csv(out)["calibrated_1"] if out.endswith("csv") else np.load(out)[:, 1]
    np.testing.assert_allclose(found, expected[:, 1], atol=1e-9)


def test_a_named_column_goes_before_the_one_of_the_fit_or_is_said_not_to_be_there(
    table, capsys
) -> None:
    """Of one that a Parquet table in blocks does not hold it was a traceback: KeyError."""
    assert (
        main(["apply", "c.npz", "loans.csv", "--out", "out.npy", "--read", "outputs=risk_b"]) == 0
    )
    np.testing.assert_allclose(
        np.load("out.npy"), calib.runtime.load("c.npz").predict_proba(table["risk_b"]), atol=1e-9
    )
    table.to_parquet("new.parquet")
    assert (
        main(["apply", "c.npz", "new.parquet", "--out", "out.npy", "--read", "outputs=risk_c"]) == 1
    )
    assert "no array or column 'risk_c'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "gate"])
def test_other_commands_take_the_column_of_the_fit_too(command, table, capsys) -> None:
    """They asked which of the two columns was meant, where apply knew."""
    of = (
        ["c.npz", "loans.csv"]
        if command == "check"
        else ["loans.csv", "--calibrator", "c.npz", "--max-nll", "9"]
    )
    assert main([command, *of, "--read", "outcome=default", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (said,) = [each for each in found["scores"] if each["score"] == "NLL"]
    probs = calib.runtime.load("c.npz").predict_proba(table["risk_a"])
    assert (said["now"] if command == "check" else said)["value"] == pytest.approx(
        nll(probs, table["default"])
    )


def test_gate_counts_rows_by_their_weights(table, capsys) -> None:
    weighted = ece(
        table["risk_a"].to_numpy(), table["default"].to_numpy(), weights=table["weight"].to_numpy()
    )
    assert main(["gate", "loans.csv", "--max-ece", "1", *READ, *WEIGHTED]) == 0
    assert f"ECE of P(event) {weighted:.4f} (" in capsys.readouterr().out
    assert main(["gate", "loans.csv", "--max-ece", "1", *READ, "--read", "weights=weight"]) == 0
    assert "weights, which are not applied" in capsys.readouterr().out


def test_scores_of_a_table_count_rows_by_their_weights(table) -> None:
    roles = {"outcome": "default", "outputs": "risk_a", "weights": "weight"}
    found = calib.scores(Path("loans.csv"), roles=roles, weight_kind="sampling")
    said, came, weights = (table[name].to_numpy() for name in ("risk_a", "default", "weight"))
    assert found.loc["ECE of P(event)", "value"] == pytest.approx(
        ece(said, came, weights=weights), abs=1e-12
    )
    assert found.loc["Brier", "value"] == pytest.approx(
        np.average((said - came) ** 2, weights=weights), abs=1e-9
    )
    ranked = roc_auc_score(came, said, sample_weight=weights)
    assert found.loc["AUROC", "value"] == pytest.approx(ranked, abs=1e-12)
    unsaid = calib.scores(Path("loans.csv"), roles=roles)
    assert unsaid.loc["Brier", "value"] == pytest.approx(np.mean((said - came) ** 2), abs=1e-9)
