"""``python -m calib apply``: new outputs of any format through a saved calibrator."""

import h5py
import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.export import predict_script, runtime


def run(*arguments) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def saved(tmp_path, overconfident):
    """A calibrator of logits with four classes."""
    fitted = calib.calibrator("temperature").fit(*overconfident)
    return calib.export.save(fitted, tmp_path / "calibrator.pkl")


def test_apply_calibrates_outputs_without_labels(saved, tmp_path, overconfident, capsys):
    outputs, out = tmp_path / "new.npy", tmp_path / "calibrated.npz"
    np.save(outputs, overconfident[0][:7])
    assert run("apply", saved, outputs, "--out", out) == 0
    with np.load(out) as written:
        np.testing.assert_array_equal(written["probabilities"], runtime.load(saved).predict_proba(overconfident[0][:7]))


@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "parquet", "h5"])
def test_apply_reads_what_loading_reads(saved, tmp_path, overconfident, ending):
    outputs, out = tmp_path / f"new.{ending}", tmp_path / "calibrated.npy"
    logits = overconfident[0][:9]
    frame = pd.DataFrame(logits, columns=[f"logit_{k}" for k in range(4)]).assign(id=range(9))
    if ending == "npy":
        np.save(outputs, logits)
    elif ending == "npz":
        np.savez(outputs, ids=np.arange(9), logits=logits)
    elif ending == "h5":
        with h5py.File(outputs, "w") as written:
            written["logits"] = logits
    else:
        frame.to_csv(outputs, index=False) if ending == "csv" else frame.to_parquet(outputs)
    assert run("apply", saved, outputs, "--out", out) == 0
    np.testing.assert_allclose(np.load(out), runtime.load(saved).predict_proba(logits), rtol=1e-12)


def test_apply_takes_an_array_by_name_and_lists_them(saved, tmp_path, capsys):
    outputs, out = tmp_path / "new.npz", tmp_path / "calibrated.npy"
    np.savez(outputs, first=np.zeros((3, 4)), second=2 * np.eye(4))
    assert run("apply", saved, outputs, "--key", "second", "--out", out) == 0
    assert len(np.load(out)) == 4
    capsys.readouterr()
    assert run("apply", saved, outputs, "--key", "nope", "--out", out) == 1
    assert "'nope'; it holds first, second" in capsys.readouterr().err
    with pytest.raises(calib.CalibrationError, match="'nope'; it holds first, second"):
        predict_script.read_outputs(outputs, "nope")


def test_apply_needs_no_pyarrow_for_a_csv(saved, tmp_path, overconfident, monkeypatch):
    outputs, out = tmp_path / "new.csv", tmp_path / "calibrated.npy"
    table = np.c_[np.arange(5), overconfident[0][:5], overconfident[1][:5]]
    np.savetxt(outputs, table, delimiter=",", header="id,a,b,c,d,y_pred", comments="", fmt="%.17g")
    monkeypatch.setattr("calib.cli.apply.find_spec", lambda name: None)
    monkeypatch.setattr("calib.cli.apply.read_outputs", None)
    assert run("apply", saved, outputs, "--out", out) == 0
    np.testing.assert_allclose(np.load(out), runtime.load(saved).predict_proba(overconfident[0][:5]), rtol=1e-12)


def test_apply_of_the_wrong_file_is_one(saved, tmp_path, capsys):
    outputs = tmp_path / "new.npy"
    np.save(outputs, np.zeros((3, 9)))
    capsys.readouterr()
    assert run("apply", saved, outputs, "--out", tmp_path / "x.npz") == 1
    assert "9" in capsys.readouterr().err
    assert run("apply", tmp_path / "absent.pkl", outputs) == 1


def test_apply_never_writes_over_what_it_reads(saved, tmp_path, overconfident, capsys):
    outputs = tmp_path / "new.npy"
    np.save(outputs, overconfident[0][:7])
    before = outputs.read_bytes()
    assert run("apply", saved, outputs, "--out", tmp_path / "." / "new.npy") == 1
    assert "would be overwritten" in capsys.readouterr().err
    assert outputs.read_bytes() == before
