"""A score of calibration as a torchmetrics metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

import calib


class Calibration(Metric):
    """A score of probabilities over all batches, as :mod:`calib.metrics` computes it from all rows at once.

    Unlike ``torchmetrics.classification.CalibrationError`` it keeps the rows, so that scores that are no mean of those
    of batches, and their bins, are those of the whole data set; on several devices the rows of all are gathered.

    Parameters
    ----------
    score : callable, default calib.metrics.ece
        A function of (n, n_classes) probabilities, or the (n,) of an event, and (n,) labels, less of which is better;
        the ECE by default.
    **options
        Options of the score, such as ``n_bins=10``.

    Examples
    --------
    For each batch, and at the end::

        metric = Calibration(calib.metrics.nll)
        metric.update(logits.softmax(dim=1), labels)
        metric.compute()
    """

    higher_is_better: ClassVar[bool] = False
    is_differentiable: ClassVar[bool] = False
    full_state_update: ClassVar[bool] = False

    def __init__(self, score: Callable[..., Any] = calib.metrics.ece, **options: Any) -> None:
        super().__init__()
        self.score, self.options = score, options
        self.add_state("probs", default=[], dist_reduce_fx="cat")
        self.add_state("labels", default=[], dist_reduce_fx="cat")

    def update(self, preds: torch.Tensor, target: torch.Tensor) -> None:
        """Take the probabilities and the labels of a batch.

        Parameters
        ----------
        preds : torch.Tensor of shape (n, n_classes) or (n,)
            Probabilities.
        target : torch.Tensor of shape (n,)
            Labels.
        """
        self.probs.append(preds.detach().double())
        self.labels.append(target.detach())

    def compute(self) -> torch.Tensor:
        """The score of all rows so far.

        Returns
        -------
        torch.Tensor
            One number, float64.
        """
        probs, labels = (dim_zero_cat(rows).cpu().numpy() for rows in (self.probs, self.labels))
        return torch.tensor(float(self.score(probs, labels, **self.options)), dtype=torch.float64)
