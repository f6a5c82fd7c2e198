"""Populations of methods whose differences are known: alike, of other sharpness, or better by so many nats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from calib.evaluation import SCORES, Evaluation
from calib.evaluation.evaluation import TOP_K
from calib.evaluation.view import EVENT
from calib.metrics.confidence import Bools
from calib.metrics.scoring_rules import row_scores
from calib.numerics import Floats, Ints, softmax

POOL = 10_000
"""Inputs of a design; a test set draws from them with replacement, and their labels anew."""
NOISE = 0.1
"""Standard deviation of the noise that a method adds to every logit."""
SPREAD = 2.0
"""Standard deviation of the true logits."""
COIN = 0.5
"""Standard deviation of what a method may or may not know of every logit."""
N_METHODS = 4
CALIBRATION = ("ECE", "gap")
"""The scores of which a calibrated model has none."""


@dataclass(frozen=True, eq=False)
class Pool:
    """A population: inputs with their true probabilities, and what methods say of each.

    Attributes
    ----------
    truth_of_rows : (n, K) true probabilities.
    said : (m, n, K) probabilities of m methods; the first is the raw model.
    alike : methods that trade places at random in every row, so that none is better than another.
    is_calibrated : whether all methods are, so that none has a calibration error.
    """

    truth_of_rows: Floats
    said: Floats
    alike: Sequence[int] = ()
    is_calibrated: bool = False

    def draw(self, n: int, generator: np.random.Generator) -> list[Evaluation]:
        """The methods on n rows, with labels drawn at the true probabilities."""
        rows = generator.integers(len(self.said[0]), size=n)
        levels = self.truth_of_rows[rows].cumsum(axis=1)
        labels = (generator.random((n, 1)) * levels[:, -1:] > levels).sum(axis=1)
        place = np.tile(np.arange(len(self.said))[:, None], n)
        if len(self.alike):
            place[list(self.alike)] = generator.permuted(place[list(self.alike)], axis=0)
        return [judged(self.said[which, rows], labels) for which in place]

    def truth(self, keys: Iterable[str]) -> dict[str, Floats]:
        """True scores minus those of the raw model, (m,) by key, of those keys whose differences are known."""

        def mean(values: Floats | Bools) -> Floats:
            each = np.array(
                [float((self.truth_of_rows * one).sum(axis=1).mean()) for one in values]
            )
            if len(self.alike):  # they trade places
                each[list(self.alike)] = each[list(self.alike)].mean()
            return each - each[0]

        place = self.said.argsort(axis=2)[:, :, ::-1].argsort(axis=2)
        squares = np.sum(self.said**2, axis=2, keepdims=True)
        known = {
            "NLL": mean(-np.log(np.maximum(self.said, 1e-15))),
            "Brier": mean(
                (1.0 - 2.0 * self.said + squares) / (2.0 if self.said.shape[2] == 2 else 1.0)
            ),
            "accuracy": mean(place == 0),
            "top-5 accuracy": mean(place < TOP_K),
        }
        if len(self.alike) == len(self.said):
            known |= {key: np.zeros(len(self.said)) for key in keys}
        if self.is_calibrated:
            known |= {key: np.zeros(len(self.said)) for key in CALIBRATION}
        return {key: known[key] for key in keys if key in known and SCORES[key].better != "neither"}


def judged(probs: Floats, labels: Ints) -> Evaluation:
    """Probabilities reduced to what scores need, without class-wise sums; of two classes those of the event."""
    n, n_classes = probs.shape
    brier, of_label = row_scores(probs, labels)
    predicted = probs.argmax(axis=1)
    confidence = probs[np.arange(n), predicted]
    top5 = None
    if n_classes > TOP_K:
        top5 = (probs > probs[np.arange(n), labels][:, None]).sum(axis=1) < TOP_K
    rest = 1.0 - confidence if n_classes == 2 else None
    nll = -np.log(of_label)
    made = Evaluation(
        confidence, predicted == labels, predicted, labels, n_classes, nll, brier, top5, rest=rest
    )
    return made.seen(EVENT) if n_classes == 2 else made


def alike(n_classes: int, generator: np.random.Generator, n_methods: int = N_METHODS) -> Pool:
    """Methods that know the truth but for noise of their own."""
    logits = SPREAD * generator.normal(size=(POOL, n_classes))
    said = [softmax(logits + NOISE * generator.normal(size=logits.shape)) for _ in range(n_methods)]
    return Pool(softmax(logits), np.stack(said), range(n_methods))


def overconfident(n_classes: int, generator: np.random.Generator) -> Pool:
    """Methods that are alike and miscalibrated: their logits, noise and all, are 1.5 times too large."""
    pool = alike(n_classes, generator)
    return Pool(
        pool.truth_of_rows, np.stack([softmax(1.5 * np.log(one)) for one in pool.said]), pool.alike
    )


def sharper(n_classes: int, generator: np.random.Generator) -> Pool:
    """Four calibrated methods: two coins shift the true logits, of which they know none, one, the other, or both."""
    n = POOL // 4
    logits = SPREAD * generator.normal(size=(n, n_classes))
    first, second = COIN * generator.normal(size=(2, n, n_classes))
    true = np.stack([[softmax(logits + a * first + b * second) for b in (-1, 1)] for a in (-1, 1)])
    known = [true.mean(axis=axes, keepdims=True) for axes in ((0, 1), 1, 0, ())]
    said = [np.broadcast_to(one, true.shape).reshape(-1, n_classes) for one in known]
    return Pool(true.reshape(-1, n_classes), np.stack(said), is_calibrated=True)


def better(gain: float) -> Callable[[int, np.random.Generator], Pool]:
    """Three methods that are alike, and a raw model that is sharper than the truth and worse by ``gain`` nats."""

    def make(n_classes: int, generator: np.random.Generator) -> Pool:
        pool = alike(n_classes, generator)
        logits = np.log(pool.truth_of_rows)
        others = pool.said[1:]
        lost = float(np.mean(np.sum(pool.truth_of_rows * (logits - np.log(others)), axis=2)))
        low, high = 1.0, 10.0
        for _ in range(50):
            middle = (low + high) / 2
            raw = softmax(middle * logits)
            loses = float(
                np.mean(
                    np.sum(pool.truth_of_rows * (logits - np.log(np.maximum(raw, 1e-300))), axis=1)
                )
            )
            low, high = (middle, high) if loses < lost + gain else (low, middle)
        return Pool(pool.truth_of_rows, np.stack([raw, *others]), range(1, N_METHODS))

    return make


DESIGNS: dict[str, Callable[[int, np.random.Generator], Pool]] = {
    "alike": alike,
    "sharper": sharper,
    "overconfident": overconfident,
    "14 alike": partial(alike, n_methods=14),
    "0.003 nats": better(0.003),
    "0.01 nats": better(0.01),
    "0.03 nats": better(0.03),
}


@cache
def population(design: str, n_classes: int) -> Pool:
    """The pool of a design."""
    return DESIGNS[design](n_classes, np.random.default_rng(0))


@cache
def truth_of(design: str, n_classes: int, keys: tuple[str, ...]) -> dict[str, Floats]:
    """The true differences of its methods by these scores."""
    return population(design, n_classes).truth(keys)
