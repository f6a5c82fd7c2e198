"""Where a package is missing, one sentence says which and how to install it; never a traceback."""

import errno
import os
import pickle
import sys
from importlib.abc import MetaPathFinder
from unittest.mock import Mock

import numpy as np
import pytest

import calib
from calib.cli import main
from calib.data import Predictions, TableReading
from calib.errors import AmbiguousTable, CalibrationError, DataError, Finding, reason


@pytest.fixture
def without(monkeypatch):
    """Make packages as absent as if they had never been installed."""

    def hide(*packages):
        class Absent(MetaPathFinder):
            def find_spec(self, fullname, path=None, target=None):
                if fullname.partition(".")[0] in packages:
                    raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)

        for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])

    return hide


@pytest.mark.parametrize(("module", "name"), [("pyarrow", "a.csv"), ("h5py", "a.h5")])
def test_a_table(without, tmp_path, module, name):
    without(module)
    content = b"\x89HDF\r\n\x1a\n" if module == "h5py" else b"p_0,p_1,label\n.1,.9,1\n.2,.8,1\n"
    with pytest.raises(
        calib.DataError, match=rf'{module}.*pip install "calib-studio\[fit\]"'
    ) as raised:
        calib.load((name, content), isolate=False)
    assert raised.value.findings[0].code == "missing_package"


def test_a_comparison_in_a_shell(without, tmp_path, overconfident, capsys):
    logits, labels = overconfident
    np.savez(tmp_path / "a.npz", logits=logits, labels=labels)
    without("pandas")
    assert main(["compare", str(tmp_path / "a.npz"), "--methods", "temperature"]) == 1
    assert (
        capsys.readouterr().err
        == 'error: This needs pandas, which is not installed: pip install "calib-studio[fit]".\n'
    )


PLACE = "/srv/calib/data/ab12/0.npy"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), PLACE), "No space left on device"),
        (
            OSError("the data take 2.0 GB and 1.0 GB are kept"),
            "the data take 2.0 GB and 1.0 GB are kept",
        ),
        (
            ImportError(f"cannot import name 'x' from 'y' ({PLACE})"),
            "cannot import name 'x' from 'y' (a file)",
        ),
        (ValueError(f"in {PLACE}: line 3\nand more"), "in a file: line 3"),
        (ValueError("C:\\Users\\me\\a.npy is locked"), "a file is locked"),
        (ValueError("half of 3/4, and/or 1 / 2"), "half of 3/4, and/or 1 / 2"),
        (KeyError(), ""),
    ],
)
def test_the_reason_of_an_error_names_no_path_of_the_machine(error, said):
    assert reason(error) == said


def test_no_path_reaches_the_notes_of_a_comparison(overconfident, monkeypatch):
    data = Predictions(*overconfident, tuple("abcd"))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), PLACE)
    monkeypatch.setattr("calib.calibrators.platt.fit_logistic", Mock(side_effect=full))
    table = calib.compare({"platt": calib.calibrator("platt")}, *data.split(0.5)).table
    (note,) = set(table.loc[table["method"] == "platt", "note"])
    assert "No space left" in note and "srv" not in note


@pytest.mark.parametrize("error", [DataError, AmbiguousTable])
def test_an_error_about_data_survives_the_way_to_another_process(error):
    """Unpickling took the letters of the message for findings."""
    findings = [
        Finding("warning", "old", "It is old."),
        Finding("error", "empty", "It has 0 rows.", "Add rows."),
    ]
    readings = [TableReading({"outcome": "y", "outputs": ("a", "b")}, "two classes", 9)]
    raised = error(findings, *([readings] if error is AmbiguousTable else []))
    copy = pickle.loads(pickle.dumps(raised))
    assert type(copy) is error
    assert str(copy) == str(raised)
    assert str(raised).startswith("It has 0 rows. Add rows.")
    assert ("roles={'outcome': 'y', 'outputs': ['a', 'b']}  # two classes" in str(raised)) == (
        error is AmbiguousTable
    )
    assert copy.findings == findings
    assert getattr(copy, "readings", None) == getattr(raised, "readings", None)


@pytest.mark.parametrize(
    "call",
    [
        lambda: calib.metrics.ece([[0.5, 0.5]], [0], n_bins=min),
        lambda: calib.calibrator("temperature", device=lambda: "cpu").fit(
            [[0.0, 1.0], [1.0, 0.0]], [0, 1]
        ),
        lambda: calib.calibrator(object()),
        lambda: calib.reliability_curve([0.2, 0.4], [0, 1], binning=object()),
    ],
)
def test_no_message_says_where_an_object_lies_in_memory(call):
    with pytest.raises(CalibrationError) as raised:
        call()
    assert "0x" not in str(raised.value) and str(raised.value)
