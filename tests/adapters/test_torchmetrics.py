"""A torchmetrics metric over batches is the score of all rows."""

from __future__ import annotations

import pytest

from calib.metrics import brier, ece
from tests.conftest import simulate

pytestmark = pytest.mark.engines


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("one_column", [False, True])
def test_batches_are_scored_together(one_column):
    import torch
    from torchmetrics import MetricCollection
    from torchmetrics.classification import BinaryCalibrationError, MulticlassCalibrationError

    from calib.adapters.torchmetrics import Calibration

    logits, labels = (
        torch.from_numpy(array) for array in simulate(n=300, n_classes=2 if one_column else 4)
    )
    probs = logits.softmax(dim=1)[:, 1] if one_column else logits.softmax(dim=1)
    metrics = MetricCollection({"ece": Calibration(n_bins=10), "brier": Calibration(brier)})
    for rows in torch.arange(300).split(70):
        metrics.update(probs[rows], labels[rows])
    found = metrics.compute()
    assert float(found["ece"]) == ece(probs.numpy(), labels.numpy(), n_bins=10)
    assert float(found["brier"]) == brier(probs.numpy(), labels.numpy())
    theirs = BinaryCalibrationError(10) if one_column else MulticlassCalibrationError(4, 10)
    assert float(found["ece"]) == pytest.approx(float(theirs(probs, labels)), abs=1e-6)
    metrics.reset()
    metrics.update(probs[:50], labels[:50])
    assert float(metrics.compute()["ece"]) == ece(
        probs[:50].numpy(), labels[:50].numpy(), n_bins=10
    )
