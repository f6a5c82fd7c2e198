"""``compare --repeats`` and ``compare --sizes``."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.evaluation.labels_needed import labels_needed
from calib.evaluation.learning_curve import size_curve
from calib.evaluation.repeated_splits import repeated_splits
from calib.evaluation.summary import summarise_splits


@pytest.fixture
def file(tmp_path, overconfident):
    path = tmp_path / "outputs.npz"
    np.savez(path, logits=overconfident[0], labels=overconfident[1])
    return path


def run(*arguments) -> int:
    return main([str(argument) for argument in arguments])


def test_both_studies_print_what_the_library_computes(file, tmp_path, capsys):
    csv = tmp_path / "scores.csv"
    arguments = ["--methods", "temperature,isotonic", "--calibration", 150, "--repeats", 3, "--sizes", "--csv", csv]
    assert run("compare", file, *arguments) == 0
    out = capsys.readouterr().out
    data = calib.load(file)
    methods = {name: calib.calibrator(name) for name in ("temperature", "isotonic")}
    splits = repeated_splits(methods, data, 150, n_repeats=3)
    summary = summarise_splits(splits)
    row = summary[(summary["method"] == "isotonic") & (summary["score"] == "NLL")].iloc[0]
    after = out.partition("Over 3 random splits into 150 and 250 rows:")[2]
    assert f"{row['value']:.4f} [{row['low']:.4f}, {row['high']:.4f}]" in after
    assert "lowest NLL" in after
    curve = size_curve(methods, *data.split(150))
    after = after.partition("ever more of the 150 calibration rows:")[2]
    for name in methods:
        assert labels_needed(curve, name).sentence in after
        nll = curve[(curve["method"] == name) & (curve["score"] == "NLL")]["value"]
        assert "  ".join(f"{value:.4f}" for value in nll) in after
    written = pd.read_csv(tmp_path / "scores-splits.csv", keep_default_na=False, na_values=[""])
    assert written["value"].dropna().to_numpy() == pytest.approx(splits["value"].dropna().to_numpy(), abs=1e-12)
    assert len(pd.read_csv(tmp_path / "scores-sizes.csv")) == len(curve)


def test_without_the_options_nothing_is_studied(file, capsys):
    assert run("compare", file, "--methods", "temperature") == 0
    assert "splits" not in capsys.readouterr().out


@pytest.mark.parametrize("repeats", ["1", "0", "-3", "many"])
def test_a_number_of_splits_that_is_none_is_refused(file, repeats, capsys):
    with pytest.raises(SystemExit):
        run("compare", file, f"--repeats={repeats}")
    assert "is not a number of splits" in capsys.readouterr().err
