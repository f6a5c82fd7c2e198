"""The kinds of studies that are kept give the columns that are promised of them."""

from __future__ import annotations

import pytest

from calib.base import no_callback
from calib.evaluation.kinds import SIZES, SPLITS, STUDIES
from tests.conftest import simulate

ARGUMENTS = {
    SPLITS: ([("T", "temperature", {})], 40, 2, 0),
    SIZES: ([("T", "temperature", {})], 0.5, 0, 2, 0),
}


@pytest.mark.parametrize("kind", STUDIES)
def test_each_kind_gives_its_columns(kind: str) -> None:
    logits, labels = simulate(80, 3)
    data = {"logits": logits, "labels": labels}
    table = STUDIES[kind].function(*ARGUMENTS[kind], data=data, callback=no_callback)
    assert tuple(table.columns) == STUDIES[kind].columns
