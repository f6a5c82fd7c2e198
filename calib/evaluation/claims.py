"""Claims about the differences between methods: joint intervals, and four words for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import NormalDist
from typing import Literal

import numpy as np

from calib.arrays import check_number
from calib.errors import CalibrationError
from calib.evaluation.evaluation import Evaluation
from calib.evaluation.score_registry import EVENT_RATE, PROPORTIONS, SCORES, Scored
from calib.formatting import NO_BREAK, listed, number, plural
from calib.metrics.bootstrap import UNKNOWN, Interval, wilson_interval
from calib.metrics.calibration_error import FEW
from calib.metrics.estimate import Estimate

Word = Literal["better", "worse", "equivalent", "undecided", ""]

NEGLIGIBLE = 1e-9
"""Differences below this are rounding, whatever their interval."""
FEW_ROWS = 10
"""Below this many test rows, or clusters, too little is known to claim any difference."""
FLOOR = 0.1
"""Smallest standard error of a difference, in smallest relevant differences.

Pairs that are closer are equivalent in any case, and a pair that differs in a row or two has a distribution with tails
that would widen the intervals of all others.
"""
SPENT = 2 / 3
"""Part of the error probability that is spent: normal draws do not know how large a few losses can be.

With all of it, 7 % of simulated test sets of overconfident methods that are alike had a false claim.
"""
LEVEL = 0.95
"""Probability with which all intervals hold together, but for what is not spent."""
POWER = 0.8
"""Probability with which the rows said to be needed would decide."""
CLAIMING = tuple(key for key, score in SCORES.items() if score.claims)
"""The scores that claim."""
PRIMARY = "NLL"
"""The score that calibrators are fitted for, and that is compared with the raw model first."""


def untold(judged: Evaluation) -> str:
    """Reason why rows cannot show calibration: they are fewer than ten, or of one class; else ""."""
    units = judged.n_clusters or len(judged)
    if units < FEW_ROWS:
        noun = plural(units, "row" if judged.n_clusters is None else "cluster")
        return f"{noun} cannot tell, give at least {FEW_ROWS}"
    if len(np.unique(judged.labels)) == 1 and judged.view.name != "pairs":
        return "all labels are of one class, give rows of the others too"
    return ""


@dataclass(frozen=True)
class Claim:
    """One method against another by one score.

    Attributes
    ----------
    value : its score minus the other's.
    low, high : interval that holds for everything that :class:`Claims` claims, together.
    word : what the interval says of the first; "" where the score claims nothing.
    rows_needed : where the word is "undecided", about how many test rows would decide; NaN elsewhere.
    """

    value: float
    low: float
    high: float
    word: Word
    rows_needed: float = math.nan

    @property
    def interval(self) -> Interval:
        """Value and joint interval."""
        return Interval(self.value, self.low, self.high)


ABSENT = Claim(*UNKNOWN, "")
"""Of methods that do not have the score, or of a pair that it does not compare."""


def word_of(key: str, difference: Interval, relevant: float) -> Word:
    """Verdict of the interval of a difference on the method whose score comes first.

    "equivalent" where the whole interval lies within the smallest relevant difference (the confidence interval form of
    two one-sided tests, Schuirmann 1987), also where it excludes 0: so small a difference is a tie. Elsewhere "better"
    or "worse" where it excludes 0, whether or not it reaches below the relevant difference, since the word claims a
    direction and the interval says by how much; "undecided" where it holds 0.
    """
    score = SCORES[key]
    if not score.claims or math.isnan(difference.value):
        return ""
    if -relevant <= difference.low and difference.high <= relevant:
        return "equivalent"
    if difference.low <= 0 <= difference.high:
        return "undecided"
    return "better" if (difference.high < 0) == (score.better == "lower") else "worse"


def rows_to_decide(n: int, value: float, error: float, quantile: float, relevant: float) -> float:
    """About how many rows would decide an undecided difference, rounded up to two digits.

    Standard errors shrink as 1 / sqrt(n). A difference as large as the one seen is shown, or one as small is shown to
    be equivalent, with probability 0.8 where the distance of the value from 0, or from the smallest relevant
    difference, is ``quantile + z_0.8`` standard errors (Julious 2004, equations 5 and 19); the easier of both counts.

    Parameters
    ----------
    n : rows there are.
    value, error : the difference and its standard error on these.
    quantile : half the interval's width in standard errors.
    relevant : smallest relevant difference.
    """
    distance = max(abs(value), relevant - abs(value))
    if not distance:
        return math.nan
    needed = n * ((quantile + NormalDist().inv_cdf(POWER)) * error / distance) ** 2
    step = 10.0 ** (math.floor(math.log10(max(needed, 10.0))) - 1)
    return step * math.ceil(needed / step)


def relevant_differences(changed: Mapping[str, float] | None = None) -> dict[str, float]:
    """The smallest relevant difference of every score, with some changed."""
    if not isinstance(changed, Mapping | None):
        raise CalibrationError(
            f"relevant is a {type(changed).__name__}; give numbers by score, as {{'NLL': 0.01}}."
        )
    for key, value in (changed or {}).items():
        if key not in SCORES:
            raise CalibrationError(
                f"There is no score {key!r}; choose from {listed(list(SCORES))}."
            )
        check_number(f"The smallest relevant difference of {key}", value, 0)
    return {key: score.relevant for key, score in SCORES.items()} | dict(changed or {})


def too_few_of(counts: Mapping[str, tuple[int, int]]) -> str:
    """Reason why rows are too few for a method, to stand within a sentence; "" where they do not.

    There may be too few wrong or right rows, or in the event view too few with or without the event. What was not seen
    at all has Wilson's bound.

    Parameters
    ----------
    counts : of accuracy and event rate, rows with the property and without it.
    """
    rows = {
        "accuracy": (("wrong test row", "wrong test rows"), ("right test row", "right test rows")),
        EVENT_RATE: (
            ("test row without the event", "test rows without the event"),
            ("test row with the event", "test rows with the event"),
        ),
    }
    for key in (key for key in rows if key in counts):
        hits, others = counts[key]
        for count, (row, several) in zip((others, hits), rows[key], strict=True):
            if count == 0:
                most = number(100 * float(wilson_interval(0, hits + others)[1]), 2)
                return f"no {row} (at most {most}{NO_BREAK}%, 95{NO_BREAK}%)"
            if count < FEW:
                return f"only {plural(count, row, several)}"
    return ""


class Claims:
    """Differences of methods on the same test rows, with intervals that hold for all of them together.

    Every method is compared with the first by each score, and with the others by the score that decides: the NLL, or
    the ECE where no other method has an NLL. Differences are divided by their standard errors, and half an interval's
    width is a quantile of the largest of a family: the single-step max-t method (Hothorn, Bretz and Westfall 2008), by
    normal draws of what the groups of rows add, with Student's t of one degree of freedom fewer than rows, or clusters,
    which matters where these are few (Cameron and Miller 2015, section VI). The deciding score against the first method
    is a family with half of the error probability. The deciding score of the others, and each other score, are families
    that share the other half equally (Bonferroni), so that none is widened by many differences of another.

    Parameters
    ----------
    scored : name -> scores on the same groups of rows; the first method is what others are compared with.
    relevant : key -> smallest relevant difference, where it is not that of its definition.
    scores : over which intervals hold together; by default those that claim.

    Attributes
    ----------
    names : of the methods.
    baseline : the first of them.
    deciding : key of the score that decides.
    relevant : key -> smallest relevant difference, of all scores.
    """

    def __init__(
        self,
        scored: Mapping[str, Scored],
        *,
        relevant: Mapping[str, float] | None = None,
        scores: Iterable[str] = CLAIMING,
    ):
        self.scored, self.scores = dict(scored), tuple(scores)
        self.names = tuple(scored)
        self.baseline = self.names[0]
        self.relevant = relevant_differences(relevant)
        self._too_few = {name: too_few_of(method.counts) for name, method in scored.items()}
        others = self.names[1:]
        self.deciding = (
            PRIMARY if not others or any(self.has(name, PRIMARY) for name in others) else "ECE"
        )
        self._quantiles: dict[tuple[str, bool], float] = {}

    def between(self, name: str, other: str, key: str) -> Claim:
        """One method against another by one score; NaN where one of them does not have it, no word against itself.

        Two methods other than the first are compared by the deciding score alone.
        """
        ours = self.scored[name]
        theirs = self.scored[other]
        with_first = self.baseline in (name, other)
        if (
            not self.has(name, key)
            or not self.has(other, key)
            or not (with_first or key == self.deciding)
        ):
            return ABSENT
        if name == other:
            return Claim(0.0, 0.0, 0.0, "")
        value = float(ours.scores[key].value - theirs.scores[key].value)
        if not self.ranks(name, key) or not self.ranks(other, key):
            unknown = Interval(value, -math.inf, math.inf)
            return Claim(*unknown, word_of(key, unknown, self.relevant[key]))
        difference = ours.scores[key] - theirs.scores[key]
        if abs(value) < NEGLIGIBLE and not difference.influence.any():  # not one row differs
            return Claim(0.0, 0.0, 0.0, word_of(key, Interval(0.0, 0.0, 0.0), self.relevant[key]))
        error = max(float(difference.error), self._least_error(key))
        quantile = self.quantile(key, with_first)
        _, low, high = difference.interval(critical=quantile, error=error)
        interval = Interval(value, min(value, low), max(value, high))
        word = word_of(key, interval, self.relevant[key])
        if word != "undecided":
            return Claim(*interval, word)
        needed = rows_to_decide(
            ours.n, float(difference.value), error, quantile, self.relevant[key]
        )
        return Claim(*interval, word, needed)

    def best(self, key: str, among: Iterable[str] | None = None) -> str | None:
        """The method with the best value, the first among equals; None where less is not better, or nobody has it."""
        names = self.names if among is None else among
        values = {name: self.scored[name].values[key] for name in names if self.has(name, key)}
        if not values or SCORES[key].better == "neither":
            return None
        return (min if SCORES[key].better == "lower" else max)(values, key=values.__getitem__)

    def has(self, name: str, key: str) -> bool:
        """Test that a method has a value of a score."""
        return not math.isnan(self.scored[name].values.get(key, math.nan))

    def ranks(self, name: str, key: str) -> bool:
        """Test that a method has a score, and that the rows suffice to rank it."""
        return self.has(name, key) and not self.why_not(name, key)

    def why_not(self, name: str, key: str) -> str:
        """Reason why the rows cannot rank a method by a score, as the beginning of a sentence; "" where they can.

        Shares of rows are compared by the rows where methods differ: they are too few only where they are for all.
        """
        first = self.scored[self.baseline]
        if first.n_units < FEW_ROWS:
            units = plural(first.n_units, "test row" if first.n_clusters is None else "cluster")
            return f"there {'is' if first.n_units == 1 else 'are'} only {units}"
        return "" if key in PROPORTIONS and not all(self._too_few.values()) else self._too_few[name]

    def quantile(self, key: str, with_first: bool) -> float:
        """Half the width of a family's intervals in standard errors: of a score, against the first method or others."""
        family = key, with_first
        if family not in self._quantiles:
            differences = self._differences(key, with_first)
            level = self._level(family)
            accuracy = self.scored[self.baseline].scores["accuracy"]
            self._quantiles[family] = (accuracy - accuracy).critical(level)
            if differences:
                influence = np.stack([difference.influence for difference in differences], axis=1)
                together = Estimate(np.zeros(len(differences)), influence, differences[0].degrees)
                errors = np.maximum(together.error, self._least_error(key))
                self._quantiles[family] = together.joint_critical(level, errors=errors)
        return self._quantiles[family]

    def _differences(self, key: str, with_first: bool) -> list[Estimate]:
        """Differences by a score that are not 0 in every row."""
        estimates = {
            name: self.scored[name].scores[key] for name in self.names if self.ranks(name, key)
        }
        pairs = [
            pair for pair in combinations(estimates, 2) if (self.baseline in pair) == with_first
        ]
        differences = [estimates[name] - estimates[other] for name, other in pairs]
        return [difference for difference in differences if difference.influence.any()]

    @cached_property
    def _families(self) -> list[tuple[str, bool]]:
        """Families that claim anything, by score, and whether they are of differences to the first method."""
        families = [(key, True) for key in self.scores] + [(self.deciding, False)] * (
            self.deciding in self.scores
        )
        return [family for family in families if self._differences(*family)]

    def _level(self, family: tuple[str, bool]) -> float:
        """Joint coverage of a family."""
        first = self.deciding, True
        n_others = len([family for family in self._families if family != first])
        error = SPENT * (1.0 - LEVEL)
        if first in self._families and n_others:
            error /= 2.0
        return 1.0 - (error if family == first else error / max(n_others, 1))

    def _least_error(self, key: str) -> float:
        return max(FLOOR * self.relevant[key], NEGLIGIBLE)
