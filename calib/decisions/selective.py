"""Selective prediction with a guarantee: answer where the confidence reaches a threshold, hand over elsewhere.

The selective risk of a threshold is the error rate among the rows that reach it. A threshold that is picked because the
risk looks low on some rows has a higher one elsewhere. Fixed-sequence testing picks one of many and still promises
"risk at most r with confidence 1 - delta" (Angelopoulos, Bates, Candès, Jordan and Lei 2021, Learn then Test).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.decisions.rules import AnswerAbove
from calib.errors import CalibrationError
from calib.formatting import round_percent
from calib.metrics.bootstrap import UNKNOWN, Interval
from calib.metrics.confidence import Bools, top_label
from calib.numerics import Floats, Ints

N_THRESHOLDS = 100
"""Thresholds that are looked at, one for each hundredth of coverage."""


@dataclass(frozen=True, eq=False)
class Guarantee:
    """What fixed-sequence testing found, with every threshold that it looked at.

    Attributes
    ----------
    risk, delta : asked for: error among answers at most ``risk``, with confidence 1 - ``delta``.
    n : rows that were tested on.
    fewest : rows that would have to be answered without an error for any certificate, see :func:`fewest_answers`.
    thresholds : (m,) thresholds that were tested, the strictest first; the last may have failed.
    answered, wrong : (m,) rows that reach each threshold, and how many of them are wrong.
    p_values : (m,) of "the risk of this threshold is above ``risk``".
    clustered : whether the rows are one of each cluster.
    """

    risk: float
    delta: float
    n: int
    fewest: int
    thresholds: Floats
    answered: Ints
    wrong: Ints
    p_values: Floats
    clustered: bool = False

    @property
    def certified(self) -> int | None:
        """Entry of the loosest threshold that passed, with all before it; None where nothing is certified."""
        passed = int(np.argmax(np.append(self.p_values > self.delta, True)))
        return passed - 1 if passed else None

    @property
    def rule(self) -> AnswerAbove | None:
        """The threshold as a rule that can be exported; None where nothing is certified."""
        entry = self.certified
        if entry is None:
            return None
        chosen = f"fixed-sequence test of {len(self.thresholds):,} thresholds on {self.n:,} rows."
        threshold = min(1.0, float(self.thresholds[entry]))  # a sum of probabilities may exceed 1 by rounding
        return AnswerAbove(threshold=threshold, risk=self.risk, delta=self.delta, n_rows=self.n, chosen=chosen)

    @property
    def coverage(self) -> float:
        """Share of the tested rows that are answered; 0 where nothing is certified."""
        return 0.0 if self.certified is None else float(self.answered[self.certified]) / self.n

    @property
    def bound(self) -> float:
        """Clopper-Pearson upper bound of the risk at the certified threshold, of confidence 1 - delta; NaN for none."""
        entry = self.certified
        if entry is None:
            return float("nan")
        return upper_bound(int(self.wrong[entry]), int(self.answered[entry]), self.delta)

    def said(self) -> str:
        """The result in one or two sentences, with what to do where nothing is certified."""
        error, confidence = round_percent(self.risk), round_percent(1 - self.delta)
        promise = f"an error of at most {error} among answers, with {confidence} confidence"
        rows = f"{self.n:,} rows, one of each cluster" if self.clustered else f"{self.n:,} rows"
        if self.certified is not None:
            answered, wrong = int(self.answered[self.certified]), int(self.wrong[self.certified])
            return (
                f"Answers at a confidence of {self.thresholds[self.certified]:.4g} or more have {promise}; of "
                f"{rows}{',' * self.clustered} {answered:,} reach it, {wrong:,} of them wrong."
            )
        if not len(self.thresholds):
            return (
                f"No threshold can be certified for {promise}: this takes {self.fewest:,} answers without an error, "
                f"and there are {rows}. Give more of them, or accept a larger error."
            )
        return (
            f"No threshold is certified for {promise}: of the {self.answered[0]:,} surest of {rows}"
            f"{',' * self.clustered} {self.wrong[0]:,} are wrong. Give more of them, or accept a larger error."
        )


def fewest_answers(risk: float, delta: float) -> int:
    """Answers without an error from which on a risk is certified: ceil(ln delta / ln(1 - risk)).

    Examples
    --------
    >>> fewest_answers(0.02, 0.05), fewest_answers(0.1, 0.05)
    (149, 29)
    """
    _check_shares(risk, delta)
    return math.ceil(math.log(delta) / math.log1p(-risk) - 1e-9)


def upper_bound(wrong: int, answered: int, delta: float) -> float:
    """Upper end of a one-sided interval of confidence 1 - delta of a proportion (Clopper and Pearson 1934).

    Examples
    --------
    >>> round(upper_bound(0, 149, 0.05), 4)
    0.0199
    """
    from scipy.special import betaincinv

    return 1.0 if wrong >= answered else float(betaincinv(wrong + 1, answered - wrong, 1.0 - delta))


def exact_interval(wrong: int, answered: int, level: float = 0.95) -> Interval:
    """Two-sided interval of a proportion of independent rows (Clopper and Pearson 1934); NaN for none.

    Examples
    --------
    >>> [round(end, 3) for end in exact_interval(7, 755)]
    [0.009, 0.004, 0.019]
    """
    if not answered:
        return UNKNOWN
    tail = (1.0 - level) / 2.0
    low = 1.0 - upper_bound(answered - wrong, answered, tail) if wrong else 0.0
    return Interval(wrong / answered, low, upper_bound(wrong, answered, tail))


def threshold_grid(confidence: npt.ArrayLike, n: int = N_THRESHOLDS) -> Floats:
    """Thresholds that 1/n, 2/n, ... of some rows reach, falling; equal ones once.

    The rows need no labels, but must be others than those that a threshold is tested on: the rows of the calibrator
    serve.

    Examples
    --------
    >>> threshold_grid([0.5, 0.6, 0.7, 0.8], 2)
    array([0.7, 0.5])
    """
    falling = -np.sort(-np.asarray(confidence, dtype=np.float64).ravel())
    if not len(falling):
        raise CalibrationError("Thresholds are taken from the confidences of some rows; there are none.")
    last = np.ceil(np.arange(1, n + 1) * len(falling) / n - 1e-9).astype(int) - 1
    return np.unique(falling[np.maximum(last, 0)])[::-1]


def certify(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    others: npt.ArrayLike,
    risk: float = 0.05,
    delta: float = 0.05,
    *,
    start: float | None = None,
) -> Guarantee:
    """The loosest threshold with "error among answers at most ``risk``, with confidence 1 - ``delta``".

    Thresholds are tested from the strictest to the loosest, each at the full ``delta``, until the first fails. Of m
    answers at one threshold the errors are binomial, so that the p-value of "its risk is above ``risk``" is
    ``P(Binomial(m, risk) <= errors)``. At the strictest thresholds few rows answer and no test can pass: the sequence
    starts where about ``start`` times :func:`fewest_answers` of the rows are expected to answer.

    Parameters
    ----------
    confidence, correct : (n,) confidences and whether the prediction is right, of independent rows that neither the
        calibrator nor ``others`` has seen. For pairs, whether the answer is correct.
    others : (m,) confidences of other rows, of which no label is needed; thresholds and start come from them.
    risk, delta : between 0 and 1.
    start : multiple of the fewest answers; None takes 3, or 2 where 3 are more than half of the rows, or 1 where 2 are
        more than three quarters of them.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, or a share is not between 0 and 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.5, 1, 3000)
    >>> found = certify(p[:1000], rng.random(1000) < p[:1000], p[1000:], risk=0.1)
    >>> found.rule.threshold > 0.8, found.bound <= 0.1
    (True, True)
    """
    from scipy.special import bdtr

    confidence, correct = top_label(confidence, correct)
    others = np.asarray(others, dtype=np.float64).ravel()
    n, fewest = len(confidence), fewest_answers(risk, delta)
    if start is None:
        start = 3.0 if 3 * fewest <= n / 2 else 2.0 if 2 * fewest <= 3 * n / 4 else 1.0
    thresholds = threshold_grid(others)
    share = np.searchsorted(np.sort(-others), -thresholds, side="right") / len(others)
    thresholds = thresholds[n * share >= start * fewest]
    answered, wrong = counts_at(confidence, correct, thresholds)
    p_values = np.where(answered > 0, bdtr(wrong, np.maximum(answered, 1), risk), 1.0)
    tested = slice(0, int(np.argmax(np.append(p_values > delta, True))) + 1)
    return Guarantee(*(risk, delta, n, fewest), thresholds[tested], answered[tested], wrong[tested], p_values[tested])


def counts_at(confidence: Floats, correct: Bools, thresholds: Floats) -> tuple[Ints, Ints]:
    """Rows that reach each threshold, and how many of them are wrong; two arrays in the shape of the thresholds."""
    order = np.argsort(-confidence, kind="stable")
    answered = np.searchsorted(-confidence[order], -thresholds, side="right")
    return answered, np.append(0, np.cumsum(~correct[order]))[answered]


def _check_shares(risk: float, delta: float) -> None:
    for name, value in (("accepted error", risk), ("delta", delta)):
        if not 0.0 < value < 1.0:
            raise CalibrationError(f"The {name} is a share between 0 and 1; got {value:g}.")
