"""Selective prediction with a guarantee: answer where the confidence reaches a threshold, abstain elsewhere.

The selective risk of a threshold is the error rate among the rows that reach it. A threshold that is picked because the
risk looks low on some rows has a higher one elsewhere. Fixed-sequence testing picks one of many and still promises
"risk at most r with confidence 1 - delta" (Angelopoulos, Bates, Candès, Jordan and Lei 2021, Learn then Test).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.arrays import check_number
from calib.decisions.rules import AnswerAbove
from calib.formatting import plural, round_percent
from calib.metrics.bootstrap import UNKNOWN, Interval
from calib.metrics.confidence import Bools, top_label
from calib.numerics import Floats, Ints

N_THRESHOLDS = 100
"""Thresholds that are looked at, one for each hundredth of coverage."""


@dataclass(frozen=True, eq=False)
class Guarantee:
    """Result of fixed-sequence testing.

    Attributes
    ----------
    risk, delta : float
        What was asked for: error among answers at most ``risk``, with confidence 1 - ``delta``.
    n : int
        Rows that were tested on.
    fewest : int
        Rows that would have to be answered without an error for any certificate, see :func:`fewest_answers`.
    tested : int
        Thresholds that were tested, the strictest first, until one failed.
    threshold : float or None
        The loosest that passed, with all before it; None where nothing is certified.
    answered, wrong : int
        Rows that reach it, and how many of them are wrong; of the strictest one where nothing passed.
    clustered : bool
        Whether the rows are one of each cluster.
    """

    risk: float
    delta: float
    n: int
    fewest: int
    tested: int
    threshold: float | None
    answered: int
    wrong: int
    clustered: bool = False

    @property
    def rule(self) -> AnswerAbove | None:
        """The threshold as a rule that can be exported; None where nothing is certified."""
        if self.threshold is None:
            return None
        chosen = f"fixed-sequence test of {plural(self.tested, 'threshold')} on {self.n:,} rows."
        at = min(1.0, self.threshold)  # a sum of probabilities may exceed 1 by rounding
        return AnswerAbove(
            threshold=at, risk=self.risk, delta=self.delta, n_rows=self.n, chosen=chosen
        )

    def said(self) -> str:
        """The result in one or two sentences, with what to do where nothing is certified.

        Returns
        -------
        str
            Plain text.
        """
        error = round_percent(self.risk)
        confidence = round_percent(1 - self.delta)
        promise = f"an error of at most {error} among answers, with {confidence} confidence"
        rows = f"{self.n:,} rows, one of each cluster" if self.clustered else f"{self.n:,} rows"
        if self.threshold is not None:
            return (
                f"Answers at a confidence of {self.threshold:.4g} or more have {promise}; of "
                f"{rows}{',' * self.clustered} {self.answered:,} reach it, {self.wrong:,} of them wrong."
            )
        if not self.tested:
            return (
                f"No threshold can be certified for {promise}: this takes {self.fewest:,} answers without an error, "
                f"and there are {rows}. Give more of them, or accept a larger error."
            )
        return (
            f"No threshold is certified for {promise}: of the {self.answered:,} surest of {rows}"
            f"{',' * self.clustered} {self.wrong:,} are wrong. Give more of them, or accept a larger error."
        )


def fewest_answers(risk: float, delta: float) -> int:
    """Answers without an error from which on a risk is certified: ceil(ln delta / ln(1 - risk)).

    Examples
    --------
    >>> fewest_answers(0.02, 0.05), fewest_answers(0.1, 0.05)
    (149, 29)
    """
    check_number("risk", risk, 0, 1, ends=False)
    check_number("delta", delta, 0, 1, ends=False)
    return math.ceil(math.log(delta) / math.log1p(-risk) - 1e-9)


def exact_interval(wrong: int, answered: int, level: float = 0.95) -> Interval:
    """Two-sided interval of a proportion of independent rows (Clopper and Pearson 1934); NaN for none.

    Examples
    --------
    >>> [round(end, 3) for end in exact_interval(7, 755)]
    [0.009, 0.004, 0.019]
    """
    from scipy.stats import binomtest

    if not answered:
        return UNKNOWN
    ends = binomtest(wrong, answered).proportion_ci(level, method="exact")
    return Interval(wrong / answered, float(ends.low), float(ends.high))


def certified_threshold(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    others: npt.ArrayLike,
    risk: float = 0.05,
    delta: float = 0.05,
) -> Guarantee:
    """Return the loosest threshold with "error among answers at most ``risk``, with confidence 1 - ``delta``".

    Thresholds are tested from the strictest to the loosest, each at the full ``delta``, until the first fails. Of m
    answers at one threshold the errors are binomial, so that the p-value of "its risk is above ``risk``" is
    ``P(Binomial(m, risk) <= errors)``. At the strictest thresholds few rows answer and no test can pass: the sequence
    starts where about three times :func:`fewest_answers` of the rows are expected to answer; twice where that is more
    than half of the rows, or once where twice is more than three quarters of them.

    Parameters
    ----------
    confidence, correct : (n,) confidences and whether the prediction is right, of independent rows that neither the
        calibrator nor ``others`` has seen.
    others : (m,) confidences of other rows; thresholds and start come from them.
    risk, delta : accepted error among answers, and how often the guarantee may be wrong; both between 0 and 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.5, 1, 3000)
    >>> found = certified_threshold(p[:1000], rng.random(1000) < p[:1000], p[1000:], risk=0.1)
    >>> found.threshold > 0.8, found.wrong / found.answered < 0.1
    (True, True)
    """
    from scipy.special import bdtr

    confidence, correct = top_label(confidence, correct)
    falling = -np.sort(-np.asarray(others, dtype=np.float64).ravel())
    n = len(confidence)
    fewest = fewest_answers(risk, delta)
    start = 3 if 3 * fewest <= n / 2 else 2 if 2 * fewest <= 3 * n / 4 else 1
    last = (
        np.ceil(np.arange(1, N_THRESHOLDS + 1) * len(falling) / N_THRESHOLDS - 1e-9).astype(int) - 1
    )
    thresholds = np.unique(falling[np.maximum(last, 0)])[::-1]
    share = np.searchsorted(-falling, -thresholds, side="right") / len(falling)
    thresholds = thresholds[n * share >= start * fewest]
    answered, wrong = counts_at(confidence, correct, thresholds)
    p_values = np.where(answered > 0, bdtr(wrong, np.maximum(answered, 1), risk), 1.0)
    passed = int(np.argmax(np.append(p_values > delta, True)))
    tested = min(passed + 1, len(thresholds))
    if not tested:
        return Guarantee(risk, delta, n, fewest, 0, None, 0, 0)
    place = max(passed - 1, 0)
    threshold = float(thresholds[place]) if passed else None
    return Guarantee(
        risk, delta, n, fewest, tested, threshold, int(answered[place]), int(wrong[place])
    )


def counts_at(confidence: Floats, correct: Bools, thresholds: Floats) -> tuple[Ints, Ints]:
    """Rows that reach each threshold, and how many of them are wrong; two arrays in the shape of the thresholds."""
    order = np.argsort(-confidence, kind="stable")
    answered = np.searchsorted(-confidence[order], -thresholds, side="right")
    return answered, np.append(0, np.cumsum(~correct[order]))[answered]
