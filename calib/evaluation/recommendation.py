"""One recommendation from a comparison: what to take, what it gains over the raw model, and who ties with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calib.base import KEEPS_ACCURACY, Calibrator
from calib.errors import CalibrationError
from calib.evaluation.catalogue import SCORES
from calib.evaluation.claims import Claims, Word
from calib.formatting import brackets, listed, number
from calib.metrics.bootstrap import Interval
from calib.registry import simplicity


@dataclass(frozen=True)
class Recommendation:
    """What to take, by one score on one test set.

    Attributes
    ----------
    score : key of the score that decides.
    method : what to take, by its name in the comparison: the simplest of the methods that tie with the best.
    best : the method with the best value, among those that are better than the raw model where there are any.
    gain : over the raw model, above 0 where the method is better: the difference less ``optimism``, with the joint
        interval of the difference, which holds whichever method is chosen by looking.
    optimism : by how much the difference overstates the gain because the best of several was chosen, on average.
    n_candidates : number of methods it was chosen from, the raw model not counted.
    word : the method against the raw model; "" where it is the raw model.
    rows_needed : about how many test rows would decide, where the word is "undecided"; NaN elsewhere.
    ties : methods that are equivalent to the best one, but for ``method``.
    undecided : methods neither equivalent to the best one nor worse.
    worse : methods worse than the best one.
    relevant : smallest relevant difference.
    keeps_accuracy : whether the method changes no predicted class.
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
    ties: tuple[str, ...]
    undecided: tuple[str, ...]
    worse: tuple[str, ...]
    relevant: float
    keeps_accuracy: bool
    keeper: Recommendation | None
    too_few: str
    without: tuple[str, ...]
    baseline: str

    def sentences(self, titles: Mapping[str, str] | None = None) -> list[str]:
        """The answer in words, of which the first says what to take.

        Parameters
        ----------
        titles : name -> title, where they differ.
        """
        return _Words(self, titles or {}).sentences()


def recommend(claims: Claims, calibrators: Mapping[str, Calibrator], score: str | None = None) -> Recommendation | None:
    """What to take, by one score.

    Of the methods that are equivalent to the best one the simplest is taken, by the registry's order. The raw model is
    taken only where it is the best or equivalent to it. Where the best is better than the raw model, so is what is
    taken; where that is undecided, but others are better than the raw model, the best of those stands in its place.

    Parameters
    ----------
    claims : the raw model first.
    calibrators : fitted, by the names in ``claims``.
    score : one that claims; by default NLL, and ECE where no method but the raw model has an NLL.

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
    if chosen is None or chosen.keeps_accuracy:
        return chosen
    keepers = [name for name in claims.names if _keeps_accuracy(calibrators[name])]
    keeper = _among(claims, calibrators, score, keepers) if set(keepers) - {claims.baseline} else None
    return Recommendation(**{**vars(chosen), "keeper": keeper})


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
    ties = [name for name in having if words[name] == "equivalent"]
    able = [name for name in ties if name in shown] if best in shown else ties
    value = {name: claims.scored[name].value[score] for name in having}
    better_first = -1.0 if SCORES[score].better == "higher" else 1.0
    method = min(able, key=lambda name: (simplicity(calibrators[name]), better_first * value[name]))

    candidates = [name for name in having if name != raw]
    optimism = claims.optimism(score, candidates) if method != raw else 0.0
    claim = claims.between(method, raw, score)
    low, high = sorted((-better_first * claim.low, -better_first * claim.high))
    return Recommendation(
        score=score,
        method=method,
        best=best,
        gain=Interval(-better_first * claim.value - optimism, low, high),
        optimism=optimism,
        n_candidates=len(candidates),
        word="" if method == raw else claim.word,
        rows_needed=claim.rows_needed,
        ties=tuple(name for name in ties if name != method),
        undecided=tuple(name for name in having if words[name] == "undecided"),
        worse=tuple(name for name in having if words[name] == "worse"),
        relevant=claims.relevant[score],
        keeps_accuracy=_keeps_accuracy(calibrators[method]),
        keeper=None,
        too_few=claims.why_not(best, score),
        without=tuple(name for name in names if not claims.has(name, score)),
        baseline=raw,
    )


def _keeps_accuracy(made: Calibrator) -> bool:
    return KEEPS_ACCURACY in made.promises(made.n_classes_)


class _Words:
    """A recommendation in sentences."""

    def __init__(self, answer: Recommendation, titles: Mapping[str, str]):
        self.answer, self.titles = answer, titles
        self.score = SCORES[answer.score].title
        self.lower = "lower" if SCORES[answer.score].better == "lower" else "higher"

    def sentences(self) -> list[str]:
        answer = self.answer
        if answer.too_few:
            return [f"These rows cannot rank methods: {answer.too_few}. {self._lead()} so far."]
        found = [self._choice(), self._ties(), self._others(), self._keeper(), self._without()]
        return [sentence for sentence in found if sentence]

    def title(self, name: str) -> str:
        return self.titles.get(name, name)

    def _lead(self) -> str:
        return f"{self.title(self.answer.best)} has the {self.lower.replace('er', 'est')} {self.score}"

    def _margin(self) -> str:
        return f"{self.answer.relevant:g}"

    def _choice(self) -> str:
        answer, name, raw = self.answer, self.title(self.answer.method), self.title(self.answer.baseline)
        if answer.method == answer.baseline:
            if answer.best == answer.method:
                return f"Keep {raw}: no calibrator has a {self.lower} {self.score}."
            return (
                f"Keep {raw}: its {self.score} is equivalent within {self._margin()} to the best one, that of "
                f"{self.title(answer.best)}, and nothing is simpler."
            )
        several = f", corrected for choosing among {answer.n_candidates} methods" if answer.n_candidates > 1 else ""
        gain = (
            f"{number(answer.gain.value)} (interval {number(answer.gain.low)} to {number(answer.gain.high)}{several})"
        )
        than = f"{self.lower} than that of {raw}"
        if answer.word == "better":
            return f"Take {name}: its {self.score} is {than} by {gain}."
        if answer.word == "equivalent":
            return f"Take {name}, though {raw} would do: its {self.score} is {than} by {gain}."
        rows = self._rows(answer.rows_needed)
        return f"Take {name} with caution: whether its {self.score} is {than} is undecided; the gain is {gain}{rows}."

    def _rows(self, needed: float) -> str:
        return "" if math.isnan(needed) else f", and about {needed:,.0f} test rows would decide"

    def _ties(self) -> str:
        answer = self.answer
        if not answer.ties or (answer.method == answer.baseline and answer.ties == (answer.best,)):
            return ""
        names = listed([self.title(name) for name in answer.ties])
        return f"Equivalent within {self._margin()}: {names}; {self.title(answer.method)} is the simplest."

    def _others(self) -> str:
        answer = self.answer
        parts = []
        said = answer.baseline if answer.word == "undecided" else None
        if undecided := [self.title(name) for name in answer.undecided if name != said]:
            parts.append(f"Undecided against {self.title(answer.best)}: {listed(undecided)}.")
        if answer.worse:
            parts.append(f"Worse: {listed([self.title(name) for name in answer.worse])}.")
        return " ".join(parts)

    def _keeper(self) -> str:
        keeper = self.answer.keeper
        if keeper is None:
            return ""
        gain = f", which gains {number(keeper.gain.value)} {brackets(keeper.gain.low, keeper.gain.high)}"
        return f"If no predicted class may change, take {self.title(keeper.method)}{gain if keeper.word else ''}."

    def _without(self) -> str:
        names = [self.title(name) for name in self.answer.without]
        if not names:
            return ""
        give, have = ("gives", "has") if len(names) == 1 else ("give", "have")
        return f"{listed(names)} {give} a confidence only and so {have} no {self.score}."
