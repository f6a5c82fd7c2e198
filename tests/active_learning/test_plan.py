from __future__ import annotations

from dataclasses import fields

import pytest

from calib.active_learning import Plan
from calib.active_learning.plan import CALIBRATORS
from calib.errors import CalibrationError
from calib.registry import METHODS


def test_the_defaults_are_the_papers():
    plan = Plan()
    assert (plan.uncertainty, plan.threshold, plan.pretraining, plan.batch) == ("entropy", 0.25, 500, 250)
    assert plan.calibrator == "gpcalib"


def test_every_setting_says_what_it_is():
    assert all(field.metadata.get("help") for field in fields(Plan) if field.name != "params")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classifier", "oracle"),
        ("calibrator", "identity"),
        ("calibrator", "geometric"),
        ("uncertainty", "doubt"),
        ("threshold", 1.5),
        ("pretraining", 0),
        ("batch", 0),
        ("batch", 2.5),
        ("budget", -1),
        ("budget", 2.5),
        ("every", 0),
        ("tolerance", -0.1),
        ("first", "last"),
        ("calibrate_on", "none"),
    ],
)
def test_what_is_out_of_range_is_named(name, value):
    with pytest.raises(CalibrationError, match=name):
        Plan(**{name: value})


def test_parameters_of_the_calibrator_are_checked_too():
    with pytest.raises(CalibrationError, match="n_inducing"):
        Plan(params={"n_inducing": 1})
    with pytest.raises(CalibrationError, match="no parameter"):
        Plan(params={"colour": 1})


def test_what_can_calibrate_along_the_way():
    assert "gpcalib" in CALIBRATORS and "identity" not in CALIBRATORS
    assert not any(METHODS[name].needs for name in CALIBRATORS)
