"""Simulate one strategy on one shuffle of a pool, also as a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.active_learning.classifiers import Learner, classifier
from calib.active_learning.strategies import ARMS, Plan, normalised_entropy
from calib.base import Calibrator, Progress, silent
from calib.canonical import to_canonical, zero_floor
from calib.errors import CalibrationError
from calib.metrics import ece, nll, overconfidence, underconfidence
from calib.numerics import Floats, Ints, softmax
from calib.registry import calibrator

if TYPE_CHECKING:
    from calib.data.predictions import Predictions


@dataclass(frozen=True, eq=False)
class Pool:
    """Features and labels of both parts.

    Attributes
    ----------
    features, labels : (n, d) numbers and (n,) integers in [0, n_classes); labels are hidden until asked for.
    test_features, test_labels : (m, d) and (m,).
    n_classes : classes there are, whether or not each occurs.
    """

    features: npt.NDArray[Any]
    labels: Ints
    test_features: npt.NDArray[Any]
    test_labels: Ints
    n_classes: int

    def __post_init__(self) -> None:
        """Refuse parts that do not belong together.

        Raises
        ------
        CalibrationError
            Naming the part.
        """
        d = self.features.shape[-1]
        parts = (("pool", self.features, self.labels), ("test set", self.test_features, self.test_labels))
        for name, features, labels in parts:
            if (
                not len(labels)
                or features.shape != (len(labels), d)
                or not 0 <= labels.min() <= labels.max() < self.n_classes
            ):
                raise CalibrationError(
                    f"The {name} needs features (n, {d}) with n labels in 0..{self.n_classes - 1}; got the shapes "
                    f"{features.shape} and {labels.shape}."
                )

    def __len__(self) -> int:
        return len(self.labels)


def pool_from_predictions(data: Predictions, part: float | int | None = None, seed: int = 0) -> Pool:
    """Pool and test rows of a data set with features; its model's outputs take no part.

    Where it brings a training set, that is the pool and all rows are test rows. Otherwise the calibration part of a
    split is the pool.

    Parameters
    ----------
    data : labelled rows with features, images or numbers.
    part, seed : the split, as in ``Predictions.split``, where there is no training set.

    Raises
    ------
    CalibrationError
        If there are no features.
    """
    features = _features(data)
    if data.train_features is not None and data.train_labels is not None:
        return Pool(_flat(data.train_features), data.train_labels, features, data.labels, data.n_classes)
    pool, test = data.split(part, random_state=seed)
    return Pool(_features(pool), pool.labels, _features(test), test.labels, data.n_classes)


def _features(data: Predictions) -> npt.NDArray[Any]:
    if data.features is None:
        raise CalibrationError(
            "Active learning trains a classifier, which these data have no features for. Upload features beside the "
            "labels, and train_features with train_labels if there is a training set."
        )
    return _flat(data.features)


def _flat(features: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return features.reshape(len(features), -1)


def shuffled(pool: Pool, seed: int) -> Ints:
    """The order in which the rows of a pool come, the same for every arm."""
    return np.random.default_rng(seed).permutation(len(pool))


NO_ROWS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Round:
    """What holds after so many labels.

    Attributes
    ----------
    n_labels : labels asked for so far, pre-training among them.
    n_calibration : how many of them the calibrator has; the others trained the classifier.
    spent : where the last batch went: "pretraining", "training" or "calibration".
    n_unsure : rows of the pool that are still unsure enough to be asked about.
    error, ece, over, under, nll : of the test rows, as the classifier and the calibrator of that moment predict them.
    note : why there is no calibrator although there are rows for one; empty otherwise.
    """

    n_labels: int
    n_calibration: int
    spent: str
    n_unsure: int
    error: float
    ece: float
    over: float
    under: float
    nll: float
    note: str = ""


@dataclass(eq=False)
class _Rows:
    """Where each row of the pool is: waiting in the order of the shuffle, training, or calibrating."""

    waiting: Ints
    training: Ints = field(default_factory=lambda: NO_ROWS)
    calibration: Ints = field(default_factory=lambda: NO_ROWS)

    @property
    def n_labels(self) -> int:
        return len(self.training) + len(self.calibration)

    def move(self, places: Ints, calibrates: bool) -> Ints:
        """Ask for the labels of waiting rows, by their places in line."""
        rows = self.waiting[places]
        self.waiting = np.delete(self.waiting, places)
        if calibrates:
            self.calibration = np.concatenate([self.calibration, rows])
        else:
            self.training = np.concatenate([self.training, rows])
        return rows


def simulate(plan: Plan, arm: str, pool: Pool, *, seed: int = 0, callback: Progress | None = None) -> list[Round]:
    """Run one arm of a comparison on one shuffle (Wenger et al. 2020, section 5 and figure 5).

    The first ``plan.pretraining`` rows of the shuffled pool are labelled and trained on. Then, batch by batch, labels
    are asked of rows that the calibrated classifier is unsure about, until the budget is spent or such rows do not fill
    a batch, which then is the last. The classifier learns after each training batch; the calibrator is then fitted anew
    to the outputs that the classifier *now* has for all calibration rows, as those of earlier classifiers say nothing
    about it.

    Zeros of the classifier become what :func:`~calib.canonical.zero_floor` makes of its smallest positive output for
    waiting and calibration rows.

    Parameters
    ----------
    plan : what all arms share.
    arm : a name in :data:`ARMS`.
    pool : rows to ask about, and test rows.
    seed : of the shuffle, the classifier and the calibrator; with the same seed every arm meets the same rows.
    callback : called as ``callback(labels, most labels, error)`` after each round, and again at each step of a
        calibrator's fit; may raise to cancel.

    Returns
    -------
    list of Round
        The first is that after pre-training.

    Raises
    ------
    CalibrationError
        If there is no such arm.
    """
    if arm not in ARMS:
        raise CalibrationError(f"There is no arm {arm!r}; choose from {', '.join(ARMS)}.")
    tell = callback or silent
    rounds: list[Round] = []
    most = _most_labels(plan, pool)

    def tell_last() -> None:
        if rounds:
            tell(rounds[-1].n_labels, most, rounds[-1].error)

    for latest in _rounds(plan, arm, pool, seed, tell_last):
        rounds.append(latest)
        tell_last()
    return rounds


def _rounds(plan: Plan, arm: str, pool: Pool, seed: int, tell_last: Callable[[], None]) -> Iterator[Round]:
    rows = _Rows(shuffled(pool, seed))
    learner = Learner(classifier(plan.classifier, seed), pool.n_classes)
    most, n_batches, spent = _most_labels(plan, pool), 0, "pretraining"
    new = rows.move(np.arange(min(plan.pretraining, len(pool))), calibrates=False)
    last = False
    while True:
        if spent != "calibration":  # otherwise the classifier, and all it says, is what it was
            learner.learn(pool.features[new], pool.labels[new])
            known, test = _outputs(learner, pool, rows)
        fitted, note = _calibrated(plan, known, pool.labels, rows.calibration, seed, tell_last)
        unsure = _unsure(plan, arm, fitted, known[rows.waiting])
        probs, truth = _probabilities(fitted, test), pool.test_labels
        yield Round(
            rows.n_labels,
            len(rows.calibration),
            spent,
            len(unsure),
            float((probs.argmax(axis=1) != truth).mean()),
            ece(probs, truth),
            overconfidence(probs, truth),
            underconfidence(probs, truth),
            nll(probs, truth),
            note,
        )
        places = unsure[: min(plan.batch, most - rows.n_labels)]
        if last or not len(places):
            return
        calibrates = ARMS[arm].calibrates and n_batches % plan.every == 0
        spent = "calibration" if calibrates else "training"
        new = rows.move(places, calibrates)
        n_batches += 1
        last = len(places) < plan.batch


def _most_labels(plan: Plan, pool: Pool) -> int:
    """Labels there can be in the end."""
    first = min(plan.pretraining, len(pool))
    return len(pool) if plan.budget is None else min(len(pool), first + plan.budget)


def _outputs(learner: Learner, pool: Pool, rows: _Rows) -> tuple[Floats, Floats]:
    """Log-probabilities of the pool, those of training rows unset, and of the test rows."""
    asked = np.concatenate([rows.waiting, rows.calibration])
    probs = learner.probabilities(pool.features[asked])
    positive = probs[probs > 0]
    floor = zero_floor(float(positive.min()) if len(positive) else 1.0, pool.n_classes)
    known = np.full((len(pool), pool.n_classes), np.nan)
    known[asked] = to_canonical(probs, "probabilities", floor)
    return known, to_canonical(learner.probabilities(pool.test_features), "probabilities", floor)


def _calibrated(
    plan: Plan, known: Floats, labels: Ints, rows: Ints, seed: int, tell_last: Callable[[], None]
) -> tuple[Calibrator | None, str]:
    """The calibrator for the classifier as it is now, or None and why."""
    if not len(rows):
        return None, ""

    def within(step: int, total: int, value: float) -> None:
        tell_last()  # a fit can be cancelled; its progress is none of the simulation's

    try:
        fitted = calibrator(plan.calibrator, **{"random_state": seed, **plan.params})
        return fitted.fit(known[rows], labels[rows], progress=within), ""
    except CalibrationError as error:
        return None, str(error)


def _unsure(plan: Plan, arm: str, fitted: Calibrator | None, waiting: Floats) -> Ints:
    """Places in line of the rows to ask about, in the order in which to ask."""
    if ARMS[arm].asks_any or not len(waiting):
        return np.arange(len(waiting))
    return np.flatnonzero(normalised_entropy(_probabilities(fitted, waiting)) > plan.threshold)


def _probabilities(fitted: Calibrator | None, logits: Floats) -> Floats:
    return fitted.predict_proba(logits) if fitted else softmax(logits)


def run_arm(
    settings: Mapping[str, Any], arm: str, seed: int, *, data: Mapping[str, Any], callback: Progress
) -> list[Round]:
    """:func:`simulate` as a job, on the arrays of :func:`pool_arrays`."""
    arrays = {name: array for name, array in data.items() if name != "logits"}
    pool = Pool(**arrays, n_classes=data["logits"].shape[1])
    return simulate(Plan(**settings), arm, pool, seed=seed, callback=callback)


def pool_arrays(pool: Pool) -> dict[str, Any]:
    """A pool as arrays that go to a worker; ``logits`` has no rows, only a column for each class."""
    arrays = {name: array for name, array in vars(pool).items() if name != "n_classes"}
    return {"logits": np.empty((0, pool.n_classes)), **arrays}
