"""Strategies, and the simulation of one on one shuffle of a pool, also as a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.active_learning.classifiers import CLASSIFIERS, Learner, classifier
from calib.base import Progress
from calib.calibrators.gpcalib import GPCalib
from calib.canonical import to_canonical, zero_floor
from calib.data.predictions import Predictions, check_predictions
from calib.diagnostics.latent import probs_by_draw
from calib.errors import CalibrationError
from calib.metrics import ece, nll, overconfidence, underconfidence
from calib.numerics import Floats, Ints, softmax
from calib.outputs import encode_labels
from calib.parameters import check_declared, param
from calib.registry import METHODS, calibrator


def normalised_entropy(probs: Floats) -> Floats:
    """``- sum_k p_k ln p_k / ln K`` of each row, shape (n,) (Wenger et al. 2020, section 5; Settles 2010)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(probs > 0, probs * np.log(probs), 0.0)
    return np.abs(terms.sum(axis=1)) / np.log(probs.shape[1])


def latent_uncertainty(gp: GPCalib, logits: Floats) -> Floats:
    """Standard deviation of each row's largest probability under GPcalib's drawn latent functions, shape (n,).

    Unlike that of the latent function itself, it does not change where a constant is added to the function.
    """
    return np.asarray(probs_by_draw(gp, logits, logits.argmax(axis=1)).std(axis=1))


CALIBRATORS = tuple(
    name for name, method in METHODS.items() if name != "identity" and not method.needs
)
"""Methods that can calibrate along the way: all that are fitted to outputs and labels alone."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Settings that all arms share; the defaults are those of Wenger et al. (2020), section 5, where it has any.

    The paper names the size of calibration batches (250) and that they are regularly spaced, not how far apart.

    Attributes
    ----------
    classifier : str
        What learns.
    calibrator : str
        Calibrator of the arms that calibrate.
    params : dict of str to object
        Parameters of the calibrator.
    threshold : float
        Labels are requested only for rows with a larger normalised entropy.
    pretraining : int
        Rows labelled before the first request, whatever their uncertainty.
    batch : int
        Labels requested at a time.
    budget : int or None
        Largest number of labels after pre-training; None for no limit.
    every : int
        At set points: one of so many batches goes to calibration, the first too.

    Examples
    --------
    >>> Plan(classifier="logistic", batch=100, budget=1000).threshold
    0.25
    """

    classifier: str = param(
        "forest", choices=tuple(CLASSIFIERS), help="The classifier that learns."
    )
    calibrator: str = param(
        "gpcalib", choices=CALIBRATORS, help="The calibrator of the arms that calibrate."
    )
    params: dict[str, Any] = field(default_factory=dict)
    threshold: float = param(
        0.25,
        low=0.0,
        high=1.0,
        help="Labels are requested only for rows with a larger normalised entropy.",
    )
    pretraining: int = param(
        500, low=1, help="Rows labelled before the first request, whatever their uncertainty."
    )
    batch: int = param(250, low=1, help="Labels requested at a time.")
    budget: int | None = param(
        None, optional=True, help="Largest number of labels after pre-training; empty: no limit."
    )
    every: int = param(
        4, low=1, help="At set points: one of so many batches goes to calibration, the first too."
    )

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_declared(self)
        if self.budget is not None and (type(self.budget) is not int or self.budget < 0):
            raise CalibrationError(
                f"budget={self.budget!r} must be a whole number of labels, 0 or more, or None."
            )
        calibrator(self.calibrator, **self.params)


@dataclass(frozen=True)
class Arm:
    """One way to spend labels.

    Attributes
    ----------
    title : str
        How pages call it.
    summary : str
        One sentence on what it does.
    calibrates : bool
        Whether the first batch after pre-training, and each ``plan.every``-th after it, goes to the calibrator (Wenger
        et al. 2020, section 5).
    latent : bool
        Whether these batches hold the unsure rows whose probability GPcalib's latent function leaves most uncertain.
    """

    title: str
    summary: str
    calibrates: bool = False
    latent: bool = False


ARMS = {
    "plain": Arm("Without calibration", "Every label trains the classifier."),
    "set_points": Arm(
        "Calibrated at set points",
        "Batches at regular intervals go to the calibrator, all others train.",
        calibrates=True,
    ),
    "latent": Arm(
        "Active calibration",
        "The same, with the rows whose probability GPcalib's latent function leaves most uncertain.",
        calibrates=True,
        latent=True,
    ),
}
"""By the name used in tables; the first is what the others are compared with."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Features and labels of both parts.

    Attributes
    ----------
    features : ndarray of shape (n, d)
        Numbers.
    labels : ndarray of int of shape (n,)
        Integers in [0, n_classes); hidden until asked for.
    test_features : ndarray of shape (m, d)
        The same of the test rows.
    test_labels : ndarray of int of shape (m,)
        Never hidden.
    n_classes : int
        Classes there are, whether or not each occurs.
    """

    features: npt.NDArray[Any]
    labels: Ints
    test_features: npt.NDArray[Any]
    test_labels: Ints
    n_classes: int

    def __post_init__(self) -> None:
        """Refuse parts without rows, and labels that are none of the classes or not one for each row."""
        if not len(self.features) or not len(self.test_features):
            raise CalibrationError(
                f"A simulation needs rows to label and test rows; there are {len(self.features):,} and "
                f"{len(self.test_features):,}."
            )
        encode_labels(self.labels, len(self.features), self.n_classes)
        encode_labels(self.test_labels, len(self.test_features), self.n_classes)

    def __len__(self) -> int:
        return len(self.labels)


def pool_from_predictions(
    data: Predictions, part: float | int | None = None, random_state: int = 0
) -> Pool:
    """Pool and test rows of a data set with features; its model's outputs take no part.

    Where it brings a training set, that is the pool and all rows are test rows. Otherwise the calibration part of a
    split is the pool.

    Parameters
    ----------
    data : Predictions
        Labelled rows with features, images or numbers.
    part : float, int or None, default None
        Size of the pool, as in ``Predictions.split``, where there is no training set.
    random_state : int, default 0
        Seed of that split.

    Returns
    -------
    Pool
        What :func:`simulate` takes.

    Raises
    ------
    CalibrationError
        If there are no features.

    Examples
    --------
    >>> import calib
    >>> pool = pool_from_predictions(calib.load_sample("digits-cnn"))
    >>> pool.features.shape, pool.test_features.shape
    ((250, 64), (1547, 64))
    """
    check_predictions(data, "The data set")
    if data.features is None:
        raise CalibrationError(
            "Active learning trains a classifier, which these data have no features for. Upload features beside the "
            "labels, and train_features with train_labels if there is a training set."
        )
    if data.train_features is not None and data.train_labels is not None:
        return Pool(
            _flat(data.train_features),
            data.train_labels,
            _flat(data.features),
            data.labels,
            data.n_classes,
        )
    pool, test = data.split(part, random_state=random_state)
    return Pool(
        _flat(pool.features), pool.labels, _flat(test.features), test.labels, data.n_classes
    )


def _flat(features: Any) -> npt.NDArray[Any]:
    return np.asarray(features).reshape(len(features), -1)


def shuffled(pool: Pool, seed: int) -> Ints:
    """The order in which the rows of a pool come, the same for every arm."""
    return np.random.default_rng(seed).permutation(len(pool))


@dataclass(frozen=True)
class Round:
    """State after so many labels.

    Attributes
    ----------
    n_labels : int
        Labels requested so far, pre-training among them.
    n_calibration : int
        How many of them the calibrator has; the others trained the classifier.
    spent : str
        Where the last batch went: "pretraining", "training" or "calibration".
    n_unsure : int
        Rows of the pool that are still unsure enough to be asked about.
    error, ece, over, under, nll : float
        Scores of the test rows, as the classifier and the calibrator of that moment predict them.
    note : str
        Why there is no calibrator although there are rows for one; empty otherwise.
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


def simulate(
    plan: Plan, arm: str, pool: Pool, *, random_state: int = 0, callback: Progress | None = None
) -> list[Round]:
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
    plan : Plan
        What all arms share.
    arm : str
        A name in :data:`ARMS`.
    pool : Pool
        Rows to ask about, and test rows.
    random_state : int, default 0
        Seed of the shuffle, the classifier and the calibrator; with the same seed every arm meets the same rows.
    callback : callable or None, default None
        Called as ``callback(labels, most labels, error)`` after each round, and again at each step of a calibrator's
        fit; may raise to cancel.

    Returns
    -------
    list of Round
        The first is that after pre-training.

    Examples
    --------
    >>> import calib
    >>> pool = pool_from_predictions(calib.load_sample("digits-cnn"))
    >>> plan = Plan(classifier="naive_bayes", calibrator="temperature", threshold=0, pretraining=100, batch=50)
    >>> [rounds.n_labels for rounds in simulate(plan, "set_points", pool)]
    [100, 150, 200, 250]
    """
    first = min(plan.pretraining, len(pool))
    most = len(pool) if plan.budget is None else min(len(pool), first + plan.budget)
    waiting = shuffled(pool, random_state)
    new = waiting[:first]
    waiting = waiting[first:]
    calibration = np.empty(0, np.int64)
    learner = Learner(classifier(plan.classifier, random_state), pool.n_classes)
    rounds: list[Round] = []
    spent = "pretraining"
    n_batches = 0
    last = False

    def tell(*_: float) -> None:
        if (
            callback is not None and rounds
        ):  # a fit can be cancelled; its own progress is none of the simulation's
            callback(rounds[-1].n_labels, most, rounds[-1].error)

    while True:
        if spent != "calibration":  # otherwise the classifier, and all it says, is what it was
            learner.learn(pool.features[new], pool.labels[new])
            outputs, test = _outputs(learner, pool, np.concatenate([waiting, calibration]))
        predicted, note = softmax, ""
        fitted = None
        if len(calibration):
            try:
                fitted = calibrator(
                    plan.calibrator, **{"random_state": random_state, **plan.params}
                )
                rows = outputs[calibration]
                fitted.fit(rows, pool.labels[calibration], kind="logits", progress=tell)
                predicted = fitted.probs_from_logits
            except CalibrationError as error:
                note = str(error)
        unsure = np.empty(0, np.int64)
        if len(waiting):
            unsure = np.flatnonzero(
                normalised_entropy(predicted(outputs[waiting])) > plan.threshold
            )
        probs = predicted(test)
        truth = pool.test_labels
        n_labels = len(pool) - len(waiting)
        rounds.append(
            Round(
                n_labels=n_labels,
                n_calibration=len(calibration),
                spent=spent,
                n_unsure=len(unsure),
                error=float((probs.argmax(axis=1) != truth).mean()),
                ece=ece(probs, truth),
                over=overconfidence(probs, truth),
                under=underconfidence(probs, truth),
                nll=nll(probs, truth),
                note=note,
            )
        )
        tell()
        spent = (
            "calibration" if ARMS[arm].calibrates and n_batches % plan.every == 0 else "training"
        )
        if spent == "calibration" and ARMS[arm].latent and not note and isinstance(fitted, GPCalib):
            doubt = latent_uncertainty(fitted, outputs[waiting[unsure]])
            unsure = unsure[np.argsort(-doubt, kind="stable")]
        places = unsure[: min(plan.batch, most - n_labels)]
        if last or not len(places):
            return rounds
        new = waiting[places]
        waiting = np.delete(waiting, places)
        if spent == "calibration":
            calibration = np.concatenate([calibration, new])
        n_batches = n_batches + 1
        last = len(places) < plan.batch


def _outputs(learner: Learner, pool: Pool, rows: Ints) -> tuple[Floats, Floats]:
    """Log-probabilities of these rows of the pool, those of all others unset, and of the test rows."""
    probs = learner.probabilities(pool.features[rows])
    floor = zero_floor(probs)
    outputs = np.full((len(pool), pool.n_classes), np.nan)
    outputs[rows] = to_canonical(probs, "probabilities", floor)
    return outputs, to_canonical(learner.probabilities(pool.test_features), "probabilities", floor)


def run_arm(
    settings: Mapping[str, Any], arm: str, seed: int, *, data: Mapping[str, Any], callback: Progress
) -> list[Round]:
    """:func:`simulate` as a job, on the arrays of :func:`pool_arrays`."""
    arrays = {name: array for name, array in data.items() if name != "logits"}
    pool = Pool(**arrays, n_classes=data["logits"].shape[1])
    return simulate(Plan(**settings), arm, pool, random_state=seed, callback=callback)


def pool_arrays(pool: Pool) -> dict[str, Any]:
    """A pool as arrays that go to a worker; ``logits`` has no rows, only a column for each class."""
    arrays = {name: array for name, array in vars(pool).items() if name != "n_classes"}
    return {"logits": np.empty((0, pool.n_classes)), **arrays}
