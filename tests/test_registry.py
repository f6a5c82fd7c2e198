"""What the registry says of its methods beyond their names."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

import calib
from calib.base import extras_for
from calib.errors import CalibrationError
from calib.registry import (
    METHODS,
    methods_that_take,
    missing_arrays,
    presets,
    short_of_rows,
)
from tests.conftest import ROOT, simulate


def held(**arrays):
    """A data set that holds these arrays beyond logits and labels."""
    return SimpleNamespace(
        **{**dict.fromkeys(("features", "train_features", "train_labels")), **arrays}
    )


def test_what_is_no_name_of_a_method_is_refused():
    for name in ("isotnic", 1, ["temperature"]):
        with pytest.raises(
            CalibrationError, match=r"There is no calibrator .*; choose from identity, temperature"
        ):
            calib.calibrator(name)


def test_what_a_method_needs_is_taken_from_the_data_or_named_as_missing_and_it_is_offered_accordingly():
    names = ["features", "train_features", "train_labels"]
    made = calib.calibrator("geometric")
    assert missing_arrays("geometric", None) == missing_arrays("geometric", held()) == names
    assert missing_arrays("geometric", held(features=1, train_labels=2)) == ["train_features"]
    with pytest.raises(
        CalibrationError,
        match="Geometric needs train_features, train_labels, which these data do not",
    ):
        extras_for(made, held(features=1))
    whole = held(features=1, train_features=2, train_labels=3, groups=4)
    assert extras_for(made, whole) == {"features": 1, "train_features": 2, "train_labels": 3}
    assert missing_arrays("geometric", whole) == missing_arrays("temperature", None) == []
    assert extras_for(calib.calibrator("temperature"), held()) == {}
    with_inputs, without = presets(whole), presets()
    assert set(with_inputs["All"]) == set(calib.METHODS) - {"identity"}
    assert set(with_inputs["All"]) - set(without["All"]) == {
        n for n, m in calib.METHODS.items() if m.needs
    }


@pytest.mark.parametrize("n_classes", [2, 3])
def test_platt_scaling_is_recommended_for_two_classes_alone(n_classes):
    data = calib.from_outputs(np.full((4, n_classes), 1 / n_classes), [0, 1, 0, 1])
    assert ("platt" in presets(data)["Recommended"]) == (n_classes == 2)


def test_methods_that_few_rows_make_worse_are_those_of_the_documented_table():
    text = (
        (ROOT / "docs" / "benchmarks.md")
        .read_text()
        .split("## 11. ")[1]
        .split("NLL on the test rows")[0]
    )
    documented = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert sorted(documented) == sorted(short_of_rows(METHODS, 300))
    assert short_of_rows(METHODS, 1000) == []


def test_a_type_checker_is_told_the_class_of_each_name():
    stub = (ROOT / "calib" / "typed.pyi").read_text()
    told = dict(re.findall(r'Literal\["(\w+)"\], \*\*params: Any\s*\) -> (\w+)', stub))
    assert told == {name: method.cls.__name__ for name, method in METHODS.items()}
    names = re.search(r"MethodName: TypeAlias = Literal\[(.*?)\]", stub, re.S).group(1)
    assert re.findall(r'"(\w+)"', names) == list(METHODS)
    assert "name: str" not in stub  # a checker would take any text for a name


@pytest.mark.parametrize(
    ("name", "params", "says"),
    [
        ("temprature", {}, "did you mean temperature?"),
        ("sigmoid", {}, "it is platt here"),
        ("imax", {"bins": 9}, "did you mean n_bins?"),
        ("imax", {"scheme": "equalmass"}, "did you mean equal_mass?"),
    ],
)
def test_what_is_nearly_a_name_is_named(name, params, says):
    with pytest.raises(CalibrationError, match=re.escape(says)):
        calib.calibrator(name, **params)


def test_classes_are_there_by_their_names():
    import calib.calibrators as classes

    for method in METHODS.values():
        assert getattr(classes, method.cls.__name__) is method.cls
        assert str(method).startswith(f"{method.title} ({method.name}): ")
    assert sorted(classes.__all__) == sorted(method.cls.__name__ for method in METHODS.values())


def test_methods_that_errors_name_take_weights():
    with pytest.raises(
        CalibrationError, match="takes no weights; choose a method that does"
    ) as raised:
        calib.calibrator("gpcalib").fit(*simulate(n=20), weights=np.arange(20.0))
    named = re.search(r"such as (\w+), (\w+) or (\w+)", str(raised.value))
    assert set(named.groups()) <= set(methods_that_take("weights"))
