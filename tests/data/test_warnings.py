"""What may invalidate results is a Python warning where people load and fit, and nowhere twice."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.errors import CalibrationError, CalibrationWarning
from tests.conftest import simulate

LOGITS, LABELS = simulate(400, 3)
SHUFFLED = np.random.default_rng(1).permutation(LABELS)


def table():
    """Outputs of three classes and labels in another order, as a table."""
    columns = ["logit_0", "logit_1", "logit_2"]
    return pd.DataFrame(LOGITS, columns=columns).assign(label=SHUFFLED)


def caught(call):
    """Texts of the warnings of calib, and what the call gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    return [str(each.message) for each in found if each.category is CalibrationWarning], result


@pytest.mark.parametrize(
    "call",
    [
        lambda: calib.from_outputs(LOGITS, SHUFFLED),
        lambda: calib.load({"outputs": LOGITS, "labels": SHUFFLED}),
        lambda: calib.load(table()),
    ],
)
def test_loading_warns_of_each_finding_once_in_the_line_of_the_call(call):
    with pytest.warns(CalibrationWarning, match="not significantly better than chance") as found:
        data = call()
    assert len(found) == sum(each.level == "warning" for each in data.findings) == 1
    assert found[0].filename == __file__
    assert "1 warning" in repr(data)


def test_good_data_load_and_fit_without_a_warning():
    texts, data = caught(lambda: calib.from_outputs(LOGITS, LABELS))
    assert not texts
    assert not caught(lambda: calib.calibrator("auto").fit(LOGITS, LABELS))[0]
    assert not caught(lambda: calib.from_outputs(data))[0]


@pytest.mark.parametrize("method", ["temperature", "auto", "isotonic"])
def test_a_fit_warns_of_labels_that_the_outputs_do_not_rank(method):
    texts, _ = caught(lambda: calib.calibrator(method).fit(LOGITS, SHUFFLED))
    assert len(texts) == 1 and "same order" in texts[0]
    texts, _ = caught(lambda: calib.calibrator(method).fit(calib.from_outputs(LOGITS, LABELS)))
    assert not texts


def test_a_fit_warns_of_two_columns_the_other_way_round():
    risk = LOGITS[:, :1] - LOGITS[:, 1:2]
    event = (LABELS == 1).astype(int)
    texts, _ = caught(lambda: calib.calibrator("platt").fit(np.hstack([0 * risk, 3 * risk]), event))
    assert len(texts) == 1 and "order of the columns" in texts[0]


def test_a_fit_warns_of_labels_of_one_class():
    texts, _ = caught(lambda: calib.calibrator("temperature").fit(LOGITS, np.full(400, 2)))
    assert len(texts) == 1 and "All labels are 2" in texts[0]


def test_what_shows_findings_itself_does_not_warn(tmp_path, capsys):
    table().to_csv(tmp_path / "data.csv", index=False)
    assert not caught(lambda: calib.scores(LOGITS, SHUFFLED, ci=False, kind="logits"))[0]
    assert not caught(lambda: calib.audit(LOGITS, SHUFFLED))[0]
    assert not caught(lambda: calib.load_sample("simulated-answers"))[0]
    texts, _ = caught(lambda: main(["audit", str(tmp_path / "data.csv")]))
    assert not texts
    assert capsys.readouterr().err.count("not significantly better than chance") == 1


def test_rows_in_another_order_are_refused():
    outputs = pd.DataFrame(LOGITS)
    with pytest.raises(CalibrationError, match=r"labels\.loc\[outputs\.index\]"):
        calib.from_outputs(outputs, pd.Series(LABELS)[::-1])
