"""One recommendation from a comparison: what to take, what it gains over the raw model, and what else it changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calib.base import KEEPS_ACCURACY, Calibrator
from calib.errors import CalibrationError
from calib.evaluation.claims import Claims, Word
from calib.evaluation.evaluation import Evaluation
from calib.evaluation.score_definitions import SCORES
from calib.formatting import NO_BREAK, Displayed, listed, number, percent, plural
from calib.metrics.bootstrap import Interval
from calib.metrics.estimate import shares_of_rows
from calib.registry import simplicity

_NAMED = 4
"""So many methods that are as good are named; more are counted."""
BESIDE = ("accuracy", "ECE")
"""Scores that are told beside the one that decides."""


@dataclass(frozen=True)
class Beside:
    """What a method changes besides the score that decides.

    Attributes
    ----------
    changed : share of the test rows whose predicted class changes, with its interval.
    before, after : key -> the raw model's score and the method's with their intervals, of accuracy and ECE.
    worse : keys of those that are significantly worse than the raw model's.
    """

    changed: Interval
    before: dict[str, Interval]
    after: dict[str, Interval]
    worse: tuple[str, ...]


@dataclass(frozen=True)
class Recommendation(Displayed):
    """What to take, by one score on one test set.

    Attributes
    ----------
    score : key of the score that decides.
    method : what to take, by its name in the comparison: the simplest of the methods that are not worse than the best.
    best : the method with the best value, among those that are better than the raw model where there are any.
    gain : over the raw model, above 0 where the method is better, with the joint interval of the difference, which
        holds whichever method is chosen by looking.
    optimism : by how much the difference overstates the gain because the best of several was chosen, as far as draws
        show it: 54 to 83 % of it in simulations of methods that are alike.
    n_candidates : number of methods it was chosen from, the raw model not counted.
    word : the method against the raw model; "" where it is the raw model.
    rows_needed : about how many test rows would decide, where the word is "undecided"; NaN elsewhere.
    as_good : the other methods that are not worse than the best one, without simpler ones that are not better than the
        raw model.
    worse : methods worse than the best one.
    relevant : smallest relevant difference.
    keeps_accuracy : whether the method changes no predicted class.
    beside : what else it changes; None where it is the raw model, or where no evaluations were given.
    keeper : the recommendation among methods that change no predicted class; None where this one is such a method, or
        where only the raw model is.
    too_few : why the rows cannot rank methods; "" where they can.
    without : methods that do not have the score.
    baseline : the raw model.
    """

    score: str
    method: str
    best: str
    gain: Interval
    optimism: float
    n_candidates: int
    word: Word
    rows_needed: float
    as_good: tuple[str, ...]
    worse: tuple[str, ...]
    relevant: float
    keeps_accuracy: bool
    beside: Beside | None
    keeper: Recommendation | None
    too_few: str
    without: tuple[str, ...]
    baseline: str

    def sentences(self, title: Callable[[str], str] = str, strong: str = "", scores: bool = True) -> list[str]:
        """The answer in words: what to take, what it gains and changes; what changes no class; what has no score.

        Parameters
        ----------
        title : how a method is called, by its name.
        strong : stands around what is emphasised: ``**`` in Markdown.
        scores : whether accuracy and ECE before and after are said, which pages show in tiles.
        """
        return _Words(self, title, strong, scores).sentences()

    def __str__(self) -> str:
        return " ".join(self.sentences())


def recommend(
    claims: Claims,
    calibrators: Mapping[str, Calibrator],
    score: str | None = None,
    evaluations: Mapping[str, Evaluation] | None = None,
) -> Recommendation | None:
    """What to take, by one score.

    It is the simplest of the methods that are not worse than the best one, by the registry's order, and have a better
    value than the raw model. That is taken only where it is the best or equivalent to it. Where the best is better than
    the raw model by its verdict, so is what is taken; where that is undecided, but others are better than the raw
    model, the best of those stands in its place.

    Parameters
    ----------
    claims : the raw model first.
    calibrators : fitted, by the names in ``claims``.
    score : one that claims; by default NLL, and ECE where no method but the raw model has an NLL.
    evaluations : of the methods, by which it is said what the recommended one changes besides the score.

    Returns
    -------
    Recommendation or None
        None where no method has the score.

    Raises
    ------
    CalibrationError
        If the score claims nothing.
    """
    if score is None:
        others = claims.names[1:]
        score = "NLL" if not others or any(claims.has(name, "NLL") for name in others) else "ECE"
    if not SCORES[score].claims:
        raise CalibrationError(f"{SCORES[score].title} ranks no methods; recommend by NLL.")
    chosen = _among(claims, calibrators, score, claims.names)
    if chosen is None:
        return None
    keeper = None
    if not chosen.keeps_accuracy:
        keepers = [name for name in claims.names if _keeps_accuracy(calibrators[name])]
        keeper = _among(claims, calibrators, score, keepers) if set(keepers) - {claims.baseline} else None
    beside = None
    if evaluations is not None and chosen.method != claims.baseline:
        beside = _beside(claims, evaluations, chosen.method, score)
    return replace(chosen, keeper=keeper, beside=beside)


def _among(
    claims: Claims, calibrators: Mapping[str, Calibrator], score: str, names: Sequence[str]
) -> Recommendation | None:
    """The recommendation among some of the methods."""
    best = claims.best(score, names)
    if best is None:
        return None
    raw = claims.baseline
    shown = [name for name in names if name != raw and claims.between(name, raw, score).word == "better"]
    other = claims.best(score, shown)
    if other and claims.between(best, raw, score).word == "undecided":
        best = best if claims.between(best, other, score).word == "better" else other
    having = [name for name in names if claims.has(name, score)]
    words = {name: "equivalent" if name == best else claims.between(name, best, score).word for name in having}
    better_first = -1.0 if SCORES[score].better == "higher" else 1.0
    value = {name: claims.scored[name].value[score] for name in having}
    if best in shown:
        able = [name for name in shown if words[name] != "worse"]
    else:
        lower = [name for name in having if better_first * (value[name] - value[raw]) < 0.0]
        able = [name for name in lower if words[name] != "worse"] + [raw] * (words[raw] == "equivalent")
    method = min(able, key=lambda name: (simplicity(calibrators[name]), better_first * value[name]))

    candidates = [name for name in having if name != raw]
    claim = claims.between(method, raw, score)
    low, high = sorted((-better_first * claim.low, -better_first * claim.high))
    return Recommendation(
        score=score,
        method=method,
        best=best,
        gain=Interval(-better_first * claim.value, low, high),
        optimism=claims.optimism(score, candidates) if method != raw else 0.0,
        n_candidates=len(candidates),
        word="" if method == raw else claim.word,
        rows_needed=claim.rows_needed,
        as_good=tuple(
            name
            for name in having
            if words[name] != "worse" and name not in (method, raw)
            if name in able or simplicity(calibrators[name]) >= simplicity(calibrators[method])
        ),
        worse=tuple(name for name in having if words[name] == "worse"),
        relevant=claims.relevant[score],
        keeps_accuracy=_keeps_accuracy(calibrators[method]),
        beside=None,
        keeper=None,
        too_few=claims.why_not(best, score),
        without=tuple(name for name in names if not claims.has(name, score)),
        baseline=raw,
    )


def _keeps_accuracy(made: Calibrator) -> bool:
    return KEEPS_ACCURACY in made.promises(made.n_classes_)


def _beside(claims: Claims, evaluations: Mapping[str, Evaluation], method: str, score: str) -> Beside:
    raw, new = evaluations[claims.baseline], evaluations[method]
    changed = shares_of_rows((raw.predicted != new.predicted).astype(int), np.array([[0], [1]]), None, raw.clusters)
    before, after = (claims.scored[name].intervals(claims.level) for name in (claims.baseline, method))
    keys = [key for key in BESIDE if key != score and key in before and key in after]
    worse = tuple(key for key in keys if claims.between(method, claims.baseline, key).word == "worse")
    return Beside(
        changed.of_share(0, claims.level), {key: before[key] for key in keys}, {key: after[key] for key in keys}, worse
    )


class _Words:
    """A recommendation in sentences."""

    def __init__(self, answer: Recommendation, title: Callable[[str], str], strong: str, scores: bool):
        self.answer, self.title, self.strong, self.scores = answer, title, strong, scores
        score = SCORES[answer.score]
        self.score, self.unit = score.title, score.unit
        self.lower = "lower" if score.better == "lower" else "higher"
        self.lowers = "lowers" if score.better == "lower" else "raises"

    def sentences(self) -> list[str]:
        answer = self.answer
        if answer.too_few:
            best = "lowest" if self.lower == "lower" else "highest"
            return [
                f"{self._strong('These rows cannot rank methods:')} {answer.too_few}. "
                f"{self.title(answer.best)} has the {best} {self.score} so far."
            ]
        said = (self._choice(), self._others(), self._beside(), self._keeper(), self._without())
        return [sentence for sentence in said if sentence]

    def _strong(self, text: str) -> str:
        return f"{self.strong}{text}{self.strong}"

    def _choice(self) -> str:
        answer, name = self.answer, self.title(self.answer.method)
        if answer.method == answer.baseline:
            keep = self._strong("Keep the raw model.")
            if not answer.n_candidates:
                return f"{keep} No fitted calibrator was compared with it."
            if answer.best == answer.method:
                return f"{keep} No calibrator {self.lowers} its {self.score}."
            return (
                f"{keep} Its {self.score} is equivalent to the best one, that of {self.title(answer.best)}, within "
                f"{self.unit.amount(answer.relevant)}, and nothing is simpler."
            )
        luck = ""
        if answer.optimism > answer.relevant:
            amount = self.unit.amount(answer.optimism)
            luck = f"; choosing the best of {answer.n_candidates} methods adds about {amount} by luck"
        gain = f"{self._strong(self.unit.amount(answer.gain.value))} ({self._interval(answer.gain)}{luck})"
        if answer.word == "undecided":
            rows = "" if math.isnan(answer.rows_needed) else f"; about {answer.rows_needed:,.0f} test rows would decide"
            return (
                f"{self._strong(f'Take {name} with caution.')} Whether it {self.lowers} the {self.score} of the raw "
                f"model is undecided: gain {gain}{rows}."
            )
        start = self._strong(f"Take {name}.")
        if answer.word == "equivalent":
            start = f"{self._strong(f'Take {name}')}, though the raw model would do."
        return f"{start} It {self.lowers} the {self.score} of the raw model by {gain}."

    def _interval(self, gain: Interval) -> str:
        return f"95{NO_BREAK}%: {self.unit.number(gain.low)} to {self.unit.number(gain.high)}"

    def _others(self) -> str:
        """Who is as good."""
        answer = self.answer
        if answer.method == answer.baseline or answer.n_candidates < 2:
            return ""
        if not answer.as_good:
            others = answer.n_candidates - 1
            return "Every other method is worse." if others == len(set(answer.worse) - {answer.baseline}) else ""
        one = len(answer.as_good) == 1
        shown = "is not shown to be better" if one else "are not shown to be better"
        return f"{self._names(answer.as_good)} {shown}, and {self.title(answer.method)} is the simplest."

    def _beside(self) -> str:
        """What changes besides the score, and a warning where something gets significantly worse."""
        beside = self.answer.beside
        if beside is None:
            return ""
        parts = []
        if self.answer.keeps_accuracy or beside.changed.value == 0.0:
            parts.append("No predicted class changes")
        else:
            share, low, high = (percent(part) for part in beside.changed)
            parts.append(f"{share} of the predicted classes change ({low} to {high})")
        for key in beside.after if self.scores else ():
            if key == "accuracy" and self.answer.keeps_accuracy:
                continue
            ends = [
                f"{number(interval.value)} ({number(interval.low)} to {number(interval.high)})"
                for interval in (beside.before[key], beside.after[key])
            ]
            parts.append(f"{SCORES[key].title} {ends[0]} → {ends[1]}")
        worse = ""
        if beside.worse:
            names = listed([SCORES[key].title for key in beside.worse])
            verb = "gets" if len(beside.worse) == 1 else "get"
            worse = " " + self._strong(f"Mind that {names} {verb} significantly worse.")
        return f"{'; '.join(parts)}.{worse}"

    def _names(self, names: Sequence[str]) -> str:
        more = [plural(len(names) - _NAMED, "other")] if len(names) > _NAMED else []
        return listed([*map(self.title, names[:_NAMED]), *more])

    def _keeper(self) -> str:
        keeper = self.answer.keeper
        if keeper is None:
            return ""
        start = "If no predicted class may change:"
        if keeper.method == keeper.baseline:
            return f"{start} {self._strong('the raw model')}."
        doubt = {"equivalent": "; equivalent to the raw model", "undecided": "; undecided"}.get(keeper.word, "")
        gain = f"{self.unit.amount(keeper.gain.value)} {self.lower}, {self._interval(keeper.gain)}{doubt}"
        return f"{start} {self._strong(self.title(keeper.method))} ({gain})."

    def _without(self) -> str:
        names = self.answer.without
        if not names:
            return ""
        gives, it = ("gives", "it") if len(names) == 1 else ("give", "them")
        return f"{self._names(names)} {gives} a confidence only and so no {self.score}: compare {it} by ECE."
