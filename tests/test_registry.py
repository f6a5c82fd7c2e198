"""What the registry says of its methods beyond their names."""

from __future__ import annotations

from dataclasses import fields

import pytest

import calib
from calib.hardware import DEVICES
from tests.conftest import simulate

ON_A_DEVICE = [name for name, method in calib.METHODS.items() if method.uses_device]


def test_the_registry_says_which_methods_use_a_device():
    assert {"temperature", "vector", "gpcalib"} <= set(ON_A_DEVICE)
    assert not {"identity", "isotonic", "histogram"} & set(ON_A_DEVICE)


@pytest.mark.parametrize("name", ON_A_DEVICE)
def test_such_a_method_takes_every_device_and_reports_the_one_it_used(name):
    (declared,) = [f for f in fields(calib.METHODS[name].cls) if f.name == "device"]
    assert (declared.default, declared.metadata["choices"]) == ("auto", DEVICES)
    fitted = calib.calibrator(name, device="cpu").fit(*simulate(60, 3))
    assert fitted.device_.startswith("CPU (")
    assert fitted.device_ not in " ".join(fitted.notes())
