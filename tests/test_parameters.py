"""Declared hyper-parameters: what lies outside a declaration is refused in a sentence, all else passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from calib.errors import CalibrationError
from calib.parameters import check_declared, param, parameter_names, unknown_parameter


@dataclass
class Declared:
    whole: int = param(5, low=1, high=10, help="A count.")
    small: float = param(0.5, high=1.0, help="A share.")
    free: float = param(0.0, help="A shift.")
    real: float = param(0.5, low=0.0, help="A size.")
    either: bool = param(True, help="A switch.")
    kind: str = param("a", choices=("a", "b"), help="An option.")
    perhaps: int = param(3, low=1, optional=True, help="A count, or none.")


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"whole": 1},
        {"whole": np.int64(10)},
        {"real": 0},
        {"real": np.float32(1e9)},
        {"either": np.bool_(False)},
        {"kind": "b"},
        {"perhaps": None},
    ],
    ids=str,
)
def test_what_is_declared_passes(values):
    check_declared(Declared(**values))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"whole": 0}, "whole=0 must lie between 1 and 10"),
        ({"whole": 11}, "whole=11 must lie between 1 and 10"),
        ({"whole": 2.0}, "whole=2.0 must be a whole number between 1 and 10"),
        ({"whole": True}, "whole=True must be a whole number"),
        ({"whole": None}, "whole=None must be a whole number"),
        ({"real": -0.1}, "real=-0.1 must lie at or above 0.0."),
        ({"real": float("nan")}, "real=nan must be a number at or above 0.0."),
        ({"real": float("inf")}, "real=inf must be a number"),
        ({"real": "1"}, "real='1' must be a number"),
        ({"small": 1.5}, "small=1.5 must lie at or below 1.0."),
        ({"free": "x"}, "free='x' must be a number."),
        ({"either": 1}, "either=1 must be True or False"),
        ({"kind": "c"}, "kind='c' is not one of a, b"),
        ({"perhaps": 0}, "perhaps=0 must lie at or above 1."),
    ],
    ids=str,
)
def test_what_is_not_says_why(values, says):
    with pytest.raises(CalibrationError) as caught:
        check_declared(Declared(**values))
    assert says in str(caught.value)


def test_names_come_in_order():
    assert parameter_names(Declared) == ["whole", "small", "free", "real", "either", "kind", "perhaps"]
    assert unknown_parameter(Declared, "sort").startswith("Declared has no parameter 'sort'; it takes whole, small,")
