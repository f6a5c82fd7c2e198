"""Rows of an audit: outputs, labels and per-row metadata, with the quantities that several checks share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.calibrators._folds import deal
from calib.calibrators.by_group import depart, fit_affine, fit_departures
from calib.data.predictions import Predictions
from calib.errors import CalibrationError
from calib.evaluation.evaluation import Evaluation, frequency_scores
from calib.evaluation.view import View, view_of
from calib.metrics.estimate import Estimate, Rows
from calib.metrics.recalibration import fit_logistic, fit_spline, spline_basis
from calib.numerics import (
    PROBABILITY_FLOOR,
    Floats,
    Ints,
    log_odds_of,
    log_softmax,
    sigmoid,
    softmax,
    softplus,
)

GROUP_SPREAD = 0.35
"""Standard deviation of the departures of groups from the map that they share."""


def slope_estimate(logits: Floats, labels: Ints, sample: Rows) -> Estimate:
    """Slope on the logits, 1 / T of temperature scaling, with its sandwich influence."""
    slope = fit_affine(logits, labels, sample.weights, with_offsets=False).slope
    probs = np.exp(log_softmax(slope * logits))
    mean = np.einsum("ij,ij->i", probs, logits)
    spread = np.einsum("ij,ij->i", probs, logits**2) - mean**2
    score = logits[np.arange(len(labels)), labels] - mean
    return sample.estimate(slope, score / max(float(sample.weights @ spread), 1e-300))


def affine_losses(
    logits: Floats, labels: Ints, weights: Floats, folds: Ints, with_offsets: bool
) -> Floats:
    """Cross-fitted loss of each row under an affine map of the logits."""
    losses = np.zeros(len(labels))
    for fold in range(folds.max() + 1):
        inside = folds == fold
        fitted = fit_affine(logits[~inside], labels[~inside], weights[~inside], with_offsets)
        scores = log_softmax(fitted.slope * logits[inside] + fitted.offsets)
        losses[inside] = -scores[np.arange(len(scores)), labels[inside]]
    return losses


def binary_maps(
    log_odds: Floats, outcome: Floats, sample: Rows, folds: Ints
) -> tuple[Floats, Floats, Floats]:
    """Cross-fitted log-odds of each row: under a line, and under a natural spline of the log-odds; losses of the line.

    Where a fit does not exist, as of separated outcomes, the rows of its fold keep the log-odds they have.
    """
    line, spline = log_odds.copy(), log_odds.copy()
    for fold in range(folds.max() + 1):
        inside = np.flatnonzero(folds == fold)
        outside = np.flatnonzero(folds != fold)
        if len(outside) < 2 or np.ptp(log_odds[outside]) == 0.0:
            continue
        rest = sample.take(outside, outcome[outside] > 0)
        design = np.column_stack([np.ones(len(outside)), log_odds[outside]])
        coef = fit_logistic(design, outcome[outside], rest).coef
        if np.isfinite(coef).all():
            line[inside] = coef[0] + coef[1] * log_odds[inside]
            spline[inside] = line[inside]
        curve = fit_spline(log_odds[outside], outcome[outside], rest)
        if np.isfinite(curve.fit.coef).all():
            spline[inside] = spline_basis(log_odds[inside], curve.knots) @ curve.fit.coef
    return line, spline, log_loss(line, outcome)


def log_loss(log_odds: Floats, outcome: Floats) -> Floats:
    """Loss of each row."""
    return softplus(log_odds) - outcome * log_odds


def departed_losses(
    log_odds: Floats, outcome: Floats, weights: Floats, folds: Ints, code: Ints
) -> Floats:
    """Cross-fitted loss of each row with a departure of its group from the map that groups share.

    Parameters
    ----------
    log_odds : (n,) of the shared map, itself cross-fitted.
    code : (n,) number of each row's group.
    """
    labels = outcome.astype(np.int64)
    logits = np.column_stack([np.zeros(len(log_odds)), log_odds])
    losses = np.zeros(len(labels))
    for fold in range(folds.max() + 1):
        inside = np.flatnonzero(folds == fold)
        rest = np.flatnonzero(folds != fold)
        maps = fit_departures(logits[rest], labels[rest], weights[rest], code[rest], GROUP_SPREAD)
        scores = depart(logits[inside], code[inside], maps)
        losses[inside] = -scores[np.arange(len(inside)), labels[inside]]
    return losses


MOST_FITTED = 20_000
"""Rows to which maps are cross-fitted; of more, some are drawn."""
MOST_ENTRIES = 1_000_000
"""Outputs to which maps are cross-fitted."""
ROWS_OF_CLASS = 20
"""Rows a class, on average, from which classes have offsets."""


@dataclass(frozen=True, eq=False)
class AuditRows:
    """Rows that an audit judges.

    Attributes
    ----------
    logits : (n, K) finite.
    probs : (n, K) probabilities with their exact zeros.
    labels : (n,) in [0, K).
    class_names : of the K columns.
    view : whether the event of two classes is judged, the predicted class, or the correctness of answers.
    sample : weights and clusters of the rows.
    groups : (n,) columns of group names or numbers, by name.
    times : (n,) dates or numbers, or None.
    other_weights : (n,) weights that are not applied, or None.
    codes : of the findings of the reading.
    """

    logits: Floats
    probs: Floats
    labels: Ints
    class_names: tuple[str, ...]
    view: View
    sample: Rows
    groups: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    times: npt.NDArray[Any] | None = None
    other_weights: Floats | None = None
    codes: frozenset[str] = frozenset()

    @classmethod
    def from_predictions(
        cls,
        data: Predictions,
        view: str = "event",
        groups: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> AuditRows:
        """Rows of a data set; those with a weight of 0 are left out."""
        seen, applied = view_of(data, view), data.confirmed_weights
        predicted = data.logits.argmax(axis=1)
        outcome = data.labels == (predicted if seen.column is None else seen.column)
        positive, sample = Rows.checked(
            outcome, applied, data.weight_kind if applied is not None else None, data.clusters
        )
        if not positive.any():
            raise CalibrationError(
                "No row has a weight above 0, so that nothing can be judged; check the weights."
            )
        columns = data.group_columns() if groups is None else groups
        return cls(
            data.logits[positive],
            data.probs[positive],
            data.labels[positive],
            data.class_names,
            seen,
            sample,
            {name: values[positive] for name, values in columns.items()},
            None if data.times is None else data.times[positive],
            None if applied is not None or data.weights is None else data.weights[positive],
            frozenset(finding.code for finding in data.findings),
        )

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, part: Predictions) -> AuditRows:
        """Rows on which a calibrator was evaluated, with the groups and times of these rows."""
        predicted, observed = evaluation.pair
        probs = np.stack([1.0 - predicted, predicted], axis=1)
        return cls(
            np.log(np.maximum(probs, PROBABILITY_FLOOR)),
            probs,
            observed.astype(np.int64),
            ("no", "yes"),
            replace(evaluation.view, column=1),
            evaluation.rows,
            part.group_columns(),
            part.times,
        )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of columns."""
        return self.logits.shape[1]

    @property
    def is_binary(self) -> bool:
        """True where one probability a row is judged: of the event, or of a correct answer."""
        return self.view.column is not None

    @cached_property
    def predicted_class(self) -> Ints:
        """(n,) column of the largest output."""
        return self.logits.argmax(axis=1)

    @cached_property
    def predicted(self) -> Floats:
        """(n,) probability of the event, or confidence in the predicted class."""
        if self.view.column is not None:
            return self.probs[:, self.view.column].astype(float)
        return self.probs[np.arange(len(self)), self.predicted_class].astype(float)

    @cached_property
    def observed(self) -> npt.NDArray[np.bool_]:
        """(n,) whether it came true."""
        return self.labels == (self.view.column if self.is_binary else self.predicted_class)

    @cached_property
    def log_odds(self) -> Floats:
        """(n,) log-odds of :attr:`predicted`, finite."""
        if self.n_classes == 2:
            event = self.view.column
            column = self.predicted_class if event is None else np.full(len(self), event)
            at = np.arange(len(self))
            return (self.logits[at, column] - self.logits[at, 1 - column]).astype(float)
        return log_odds_of(softmax(self.logits)[np.arange(len(self)), self.predicted_class], 1e-15)

    @cached_property
    def residual(self) -> Floats:
        """(n,) predicted - observed: positive where predictions are too high."""
        return self.predicted - self.observed

    @cached_property
    def level(self) -> Estimate:
        """Mean of :attr:`residual`."""
        return self.sample.mean_of(self.residual)

    @cached_property
    def level_shifted(self) -> Floats:
        """(n,) probabilities with the shift of log-odds that gives them the observed rate."""
        ones = np.ones((len(self), 1))
        shift = fit_logistic(ones, self.observed, self.sample, self.log_odds).coef[0]
        return sigmoid(self.log_odds + shift) if np.isfinite(shift) else self.predicted

    def take(self, part: Ints) -> AuditRows:
        """Some of the rows, for maps; without groups and times."""
        return replace(
            self,
            logits=self.logits[part],
            probs=self.probs[part],
            labels=self.labels[part],
            sample=self.sample.take(part, self.observed[part]),
            groups={},
            times=None,
            other_weights=None,
        )

    @cached_property
    def fitted_numbers(self) -> Ints:
        """Numbers of the rows to which maps are cross-fitted, all where there are few."""
        most = min(MOST_FITTED, MOST_ENTRIES // self.n_classes)
        if len(self) <= most:
            return np.arange(len(self))
        return np.sort(np.random.default_rng(0).choice(len(self), most, replace=False))

    @cached_property
    def fitted(self) -> AuditRows:
        """Rows to which maps are cross-fitted."""
        return self if len(self.fitted_numbers) == len(self) else self.take(self.fitted_numbers)

    @cached_property
    def folds(self) -> Ints:
        """(n,) fold of each row; rows of a cluster share one."""
        return deal(self.sample.unit, 0)

    @cached_property
    def label_probs(self) -> Floats:
        """(n,) probability of the label."""
        return self.probs[np.arange(len(self)), self.labels]

    @cached_property
    def model_loss(self) -> Floats:
        """(n,) negative log-likelihood, as :func:`calib.metrics.nll` counts it."""
        return -np.log(np.maximum(self.label_probs, PROBABILITY_FLOOR))

    @cached_property
    def _frequencies(self) -> tuple[Floats, Floats, Floats]:
        """Counts, NLL and Brier score of class frequencies."""
        return frequency_scores(self.labels, self.n_classes, self.sample)

    @cached_property
    def frequency_loss(self) -> Floats:
        """(n,) the same of class frequencies, each row left out of its own."""
        return self._frequencies[1]

    @cached_property
    def brier_difference(self) -> Floats:
        """(n,) Brier score of the model less that of class frequencies; of two classes that of one of them."""
        model = np.einsum("ij,ij->i", self.probs, self.probs) - 2.0 * self.label_probs + 1.0
        return (model / 2.0 if self.n_classes == 2 else model) - self._frequencies[2]

    @cached_property
    def maps(self) -> tuple[Floats, Floats, Floats]:
        """Of :attr:`fitted`: cross-fitted log-odds under a line and under a spline, and losses of the line."""
        rows = self.fitted
        return binary_maps(rows.log_odds, rows.observed.astype(float), rows.sample, rows.folds)

    @cached_property
    def spline_loss(self) -> Floats:
        """Of :attr:`fitted`: cross-fitted loss of a spline of the log-odds."""
        return log_loss(self.maps[1], self.fitted.observed.astype(float))

    @property
    def has_offsets(self) -> bool:
        """True where the rows suffice for an offset of each class."""
        return len(self.fitted) >= ROWS_OF_CLASS * self.n_classes

    @cached_property
    def slope_loss(self) -> Floats:
        """Of :attr:`fitted`: cross-fitted loss of one slope on the logits."""
        rows = self.fitted
        return affine_losses(rows.logits, rows.labels, rows.sample.weights, rows.folds, False)

    @cached_property
    def affine_loss(self) -> Floats:
        """Of :attr:`fitted`: cross-fitted loss of one slope and, of enough rows, an offset for each class."""
        rows = self.fitted
        if self.n_classes == 2:
            if self.is_binary:
                return self.maps[2]
            log_odds = rows.logits[:, 1] - rows.logits[:, 0]
            outcome = (rows.labels == 1).astype(float)
            return binary_maps(log_odds, outcome, rows.sample, rows.folds)[2]
        if not self.has_offsets:
            return self.slope_loss
        return affine_losses(rows.logits, rows.labels, rows.sample.weights, rows.folds, True)

    def gain(self, before: Floats, after: Floats) -> Estimate:
        """Mean decrease of a loss over :attr:`fitted` rows."""
        return self.fitted.sample.mean_of(before - after)
