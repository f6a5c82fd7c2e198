"""One recommendation from a comparison: what to take, what it gains over the raw model, and who ties with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from calib.base import KEEPS_ACCURACY, Calibrator
from calib.errors import CalibrationError
from calib.evaluation.claims import Claims, Word
from calib.evaluation.score_definitions import SCORES
from calib.formatting import NO_BREAK, Displayed, listed, plural
from calib.metrics.bootstrap import Interval
from calib.registry import simplicity

_NAMED = 4
"""So many methods that tie are named; more are counted."""


@dataclass(frozen=True)
class Recommendation(Displayed):
    """What to take, by one score on one test set.

    Attributes
    ----------
    score : key of the score that decides.
    method : what to take, by its name in the comparison: the simplest of the methods that tie with the best.
    best : the method with the best value, among those that are better than the raw model where there are any.
    gain : over the raw model, above 0 where the method is better: the difference less ``optimism``, with the joint
        interval of the difference, which holds whichever method is chosen by looking.
    optimism : by how much the difference overstates the gain because the best of several was chosen, as far as the
        bootstrap shows it: 54 to 83 % of it in simulations of methods that are alike.
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

    def sentences(self, title: Callable[[str], str] = str, strong: str = "") -> list[str]:
        """The answer in words: what to take, what it gains and who ties; what changes no class; what has no score.

        Parameters
        ----------
        title : how a method is called, by its name.
        strong : stands around what is emphasised: ``**`` in Markdown.
        """
        return _Words(self, title, strong).sentences()

    def __str__(self) -> str:
        return " ".join(self.sentences())


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

    def __init__(self, answer: Recommendation, title: Callable[[str], str], strong: str):
        self.answer, self.title, self.strong = answer, title, strong
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
        return [sentence for sentence in (self._choice(), self._keeper(), self._without()) if sentence]

    def _strong(self, text: str) -> str:
        return f"{self.strong}{text}{self.strong}"

    def _choice(self) -> str:
        answer, name = self.answer, self.title(self.answer.method)
        if answer.method == answer.baseline:
            keep = self._strong("Keep the raw model.")
            if answer.best == answer.method:
                return f"{keep} No calibrator {self.lowers} its {self.score}{self._doubt()}."
            return (
                f"{keep} Its {self.score} is equivalent to the best one, that of {self.title(answer.best)}, within "
                f"{self.unit.amount(answer.relevant)}, and nothing is simpler."
            )
        several = ""
        if answer.n_candidates > 1:
            several = f"; the interval allows for choosing among {answer.n_candidates} methods, the gain for most of it"
        gain = f"{self._strong(self.unit.amount(answer.gain.value))} ({self._interval(answer.gain)}{several})"
        if answer.word == "undecided":
            rows = "" if math.isnan(answer.rows_needed) else f"; about {answer.rows_needed:,.0f} test rows would decide"
            return (
                f"{self._strong(f'Take {name} with caution.')} Whether it {self.lowers} the {self.score} of the raw "
                f"model is undecided: gain {gain}{rows}."
            )
        start = self._strong(f"Take {name}.")
        if answer.word == "equivalent":
            start = f"{self._strong(f'Take {name}')}, though the raw model would do."
        return f"{start} It {self.lowers} the {self.score} of the raw model by {gain}{self._others()}{self._doubt()}."

    def _interval(self, gain: Interval) -> str:
        return f"95{NO_BREAK}%: {self.unit.number(gain.low)} to {self.unit.number(gain.high)}"

    def _others(self) -> str:
        answer = self.answer
        if answer.ties:
            return f" and ties with {self._names(answer.ties)}, of which none is simpler"
        return "" if answer.undecided or answer.n_candidates < 2 else " and is better than every other method here"

    def _doubt(self) -> str:
        """Whom it is not shown to be better than; the raw model is spoken of before."""
        names = [name for name in self.answer.undecided if name != self.answer.baseline]
        return f"; against {self._names(names)} it is undecided" if names else ""

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
        doubt = {"equivalent": "; a tie with the raw model", "undecided": "; undecided"}.get(keeper.word, "")
        gain = f"{self.unit.amount(keeper.gain.value)} {self.lower}, {self._interval(keeper.gain)}{doubt}"
        return f"{start} {self._strong(self.title(keeper.method))} ({gain})."

    def _without(self) -> str:
        names = self.answer.without
        if not names:
            return ""
        gives, it = ("gives", "it") if len(names) == 1 else ("give", "them")
        return f"{self._names(names)} {gives} a confidence only and so no {self.score}: compare {it} by ECE."
