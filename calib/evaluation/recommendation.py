"""One recommendation from a comparison: what to take, what it gains over the raw model, and what else it changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from calib.base import Calibrator
from calib.evaluation.claims import Claims
from calib.evaluation.evaluation import Evaluation
from calib.evaluation.score_registry import SCORES, average_gap
from calib.evaluation.view import TOP_LABEL
from calib.formatting import (
    NO_BREAK,
    Displayed,
    listed,
    number,
    percent,
    plural,
    points,
    points_between,
)
from calib.metrics.bootstrap import Interval
from calib.metrics.estimate import share_of_rows
from calib.numerics import PROBABILITY_FLOOR
from calib.registry import simplicity

_NAMED = 4
"""So many methods that are as good are named; more are counted."""
BESIDE = ("accuracy", "ECE")
"""Scores that are told beside the one that decides."""
GAP = "signed gap"
"""The score of what is said minus what came true."""


@dataclass(frozen=True)
class Beside:
    """What a method changes besides the score that decides.

    Attributes
    ----------
    changed : share of the test rows whose predicted class changes, with its interval.
    before, after : key -> the raw model's score and the method's with their intervals, of accuracy and ECE.
    worse : keys of those that are significantly worse than the raw model's.
    gap : what is said minus what came true with the method, where that differs significantly from 0; None elsewhere.
    without_gap : the methods as good of which it does not.
    n_impossible : rows to whose outcome the raw model gave a probability below 1e-15, which the NLL puts at 1e-15.
    impossible : what they add to its NLL.
    """

    changed: Interval
    before: dict[str, Interval]
    after: dict[str, Interval]
    worse: tuple[str, ...]
    gap: Interval | None
    without_gap: tuple[str, ...]
    n_impossible: int
    impossible: float


@dataclass(frozen=True)
class Recommendation(Displayed):
    """What to take, by NLL or ECE on one test set.

    Attributes
    ----------
    score : key of the score that decides.
    titles : of the scores that are told, by their keys.
    method : what to take, by its name in the comparison: the raw model, unless others are better, or promise to be and
        it is off. Of these it is the simplest that is not worse than the best.
    best : the method with the best value, among these where there are any.
    gain : of the method over the raw model, where this is kept that of the best one; above 0 it is better. The interval
        of the difference is joint and holds whichever method is chosen by looking. The value itself is optimistic where
        the best of several is chosen.
    n_candidates : number of methods it was chosen from, the raw model not counted.
    rows_needed : about how many test rows would decide whether the method is better; NaN where they do.
    off : mean confidence minus accuracy of the raw model, where it is the reason to take a method; None elsewhere.
    as_good : the other methods that are not worse than the best one, without simpler ones that are not better than the
        raw model.
    worse : methods worse than the best one.
    relevant : smallest relevant difference.
    beside : what else it changes; None where it is the raw model, or where no evaluations were given.
    too_few : why the rows cannot rank methods; "" where they can.
    without : methods that do not have the score.
    baseline : the raw model.
    failed : name -> why, of the methods that could not be fitted or judged.
    """

    score: str
    titles: dict[str, str]
    method: str
    best: str
    gain: Interval
    n_candidates: int
    rows_needed: float
    off: Interval | None
    as_good: tuple[str, ...]
    worse: tuple[str, ...]
    relevant: float
    beside: Beside | None
    too_few: str
    without: tuple[str, ...]
    baseline: str
    failed: Mapping[str, str]

    def sentences(
        self, title: Callable[[str], str] = str, strong: str = "", scores: bool = True
    ) -> list[str]:
        """The answer in words: what to take, what it gains and changes; what has no score, or failed.

        Parameters
        ----------
        title : how a method is called, by its name.
        strong : stands around what is emphasised: ``**`` in Markdown.
        scores : whether accuracy and ECE before and after are said, which pages show in tiles.
        """
        score = self.titles[self.score]

        def emphasised(text: str) -> str:
            return f"{strong}{text}{strong}"

        if self.too_few:
            why = f"{emphasised('These rows cannot rank methods:')} {self.too_few}."
            return [
                f"{why} {title(self.best)} has the lowest {score} so far.",
                *self._failures(title),
            ]
        said = [self._choice(title, emphasised)]
        if self.method != self.baseline and self.n_candidates > 1:
            if self.as_good:
                shown = (
                    "is not shown to be better"
                    if len(self.as_good) == 1
                    else "are not shown to be better"
                )
                said.append(
                    f"{_named(self.as_good, title)} {shown}, and none is simpler than {title(self.method)}."
                )
            elif self.n_candidates - 1 == len(set(self.worse) - {self.baseline}):
                said.append("Every other method is worse.")
        if self.beside is not None:
            if self.score == "NLL" and (n := self.beside.n_impossible):
                makes = f"{'makes' if n == 1 else 'make'} up {number(self.beside.impossible)} of its {score}"
                of_rows = f"{plural(n, 'row')} to whose outcome the raw model gave a probability below 1e-15"
                said.append(f"{of_rows} {makes}.")
            said.append(f"{'; '.join(self._beside(self.beside, scores))}.")
            if self.beside.worse:
                names = listed([self.titles[key] for key in self.beside.worse])
                verb = "gets" if len(self.beside.worse) == 1 else "get"
                said[-1] += " " + emphasised(f"Mind that {names} {verb} significantly worse.")
            if self.beside.gap is not None:
                ends = points_between(self.beside.gap.low, self.beside.gap.high)
                then = f"{self.titles[GAP]} is then {points(self.beside.gap.value)} points ({ends})"
                if self.beside.without_gap:
                    then += f"; with {_named(self.beside.without_gap, title)} it is not significant"
                said.append(f"{then}.")
        if self.without:
            gives, it = ("gives", "it") if len(self.without) == 1 else ("give", "them")
            names = _named(self.without, title)
            said.append(
                f"{names} {gives} a confidence only and so no {score}: compare {it} by ECE."
            )
        return said + self._failures(title)

    def _failures(self, title: Callable[[str], str]) -> list[str]:
        return [f"{title(name)} failed: {why}" for name, why in self.failed.items()]

    def _choice(self, title: Callable[[str], str], emphasised: Callable[[str], str]) -> str:
        """What to take, and what it gains over the raw model."""
        unit = SCORES[self.score].unit
        score = self.titles[self.score]
        between = f"95{NO_BREAK}%: {unit.number(self.gain.low)} to {unit.number(self.gain.high)}"
        needed = (
            ""
            if math.isnan(self.rows_needed)
            else f"; about {self.rows_needed:,.0f} test rows would decide"
        )
        take = emphasised(f"Take {title(self.method)}.")
        if self.off is not None:
            off = f"{points(self.off.value)} points ({points_between(self.off.low, self.off.high)})"
            return (
                f"{take} {self.titles[GAP]} of the raw model is {off}. A lower {score} is not shown yet: gain "
                f"{emphasised(unit.amount(self.gain.value))} ({between}){needed}."
            )
        if self.method != self.baseline:
            of_several = self.method == self.best and self.n_candidates > 1
            luck = f"; optimistic, as the best of {self.n_candidates}" if of_several else ""
            gain = f"{emphasised(unit.amount(self.gain.value))} ({between}{luck})"
            return f"{take} It lowers the {score} of the raw model by {gain}."
        keep = emphasised("Keep the model as it is")
        if not self.n_candidates:
            return (
                f"{keep}." if self.failed else f"{keep}: no fitted calibrator was compared with it."
            )
        if self.best == self.baseline or self.gain.value < self.relevant:
            return f"{keep}: no calibrator makes a difference that matters."
        gain = f"{title(self.best)} by {unit.amount(self.gain.value)}, {between}{needed}"
        return f"{keep}: no calibrator is shown to lower its {score} ({gain})."

    def _beside(self, beside: Beside, scores: bool) -> list[str]:
        """What changes besides the score."""
        parts = ["No predicted class changes"]
        if beside.changed.value:
            share, low, high = (percent(part) for part in beside.changed)
            parts = [f"{share} of the predicted classes change ({low} to {high})"]
        for key in beside.after if scores else ():
            if key != "accuracy" or beside.changed.value:
                before, after = (
                    f"{number(value)} ({number(low)} to {number(high)})"
                    for value, low, high in (beside.before[key], beside.after[key])
                )
                parts.append(f"{self.titles[key]} {before} → {after}")
        return parts

    def __str__(self) -> str:
        return " ".join(self.sentences())


def _named(names: Sequence[str], title: Callable[[str], str]) -> str:
    more = [plural(len(names) - _NAMED, "other")] if len(names) > _NAMED else []
    return listed([*map(title, names[:_NAMED]), *more])


def recommend(
    claims: Claims,
    calibrators: Mapping[str, Calibrator],
    evaluations: Mapping[str, Evaluation] | None = None,
    failed: Mapping[str, str] | None = None,
) -> Recommendation | None:
    """What to take, by NLL; by ECE where no method but the raw model has an NLL.

    The raw model is kept unless a method is better by its verdict. Where none is, but confidence and accuracy of the
    raw model differ significantly, those count that are better by the smallest relevant difference, though undecided.
    Of these methods the simplest that is not worse than the best of them is taken, by the registry's order.

    Parameters
    ----------
    claims : the raw model first.
    calibrators : fitted, by the names in ``claims``.
    evaluations : of the methods: how far the raw model is off, and what the recommended one changes besides the score.
    failed : name -> why, of methods that are not among the claims for it.

    Returns
    -------
    Recommendation or None
        None where no method has the score.
    """
    names = claims.names
    raw = claims.baseline
    score = claims.deciding
    gains = {name: claims.between(name, raw, score) for name in names if name != raw}
    better = [name for name, claim in gains.items() if claim.word == "better"]
    off = average_gap(evaluations[raw]) if evaluations and not better else None
    if off is not None and not off.low <= 0 <= off.high:
        better = [
            name
            for name, claim in gains.items()
            if -claim.value >= claims.relevant[score] and claims.ranks(name, score)
        ]
    best = claims.best(score, better or names)
    if best is None:
        return None
    having = [name for name in names if claims.has(name, score)]
    words = {
        name: "equivalent" if name == best else claims.between(name, best, score).word
        for name in having
    }
    value = {name: claims.scored[name].values[score] for name in having}
    able = [name for name in better if words[name] != "worse"] or [raw]
    method = min(able, key=lambda name: (simplicity(calibrators[name]), value[name]))
    claim = claims.between(best if method == raw else method, raw, score)
    as_good = tuple(
        name
        for name in having
        if words[name] != "worse" and name not in (method, raw)
        if name in able or simplicity(calibrators[name]) >= simplicity(calibrators[method])
    )
    view = evaluations[raw].view if evaluations else TOP_LABEL
    return Recommendation(
        score=score,
        titles={key: SCORES[key].seen(view).title for key in (score, *BESIDE, GAP)},
        method=method,
        best=best,
        gain=Interval(-claim.value, -claim.high, -claim.low),
        n_candidates=len(set(having) - {raw}),
        rows_needed=claim.rows_needed,
        off=off if method != raw else None,
        as_good=as_good,
        worse=tuple(name for name in having if words[name] == "worse"),
        relevant=claims.relevant[score],
        beside=_beside(claims, evaluations, method, as_good, score)
        if evaluations and method != raw
        else None,
        too_few=claims.why_not(best, score),
        without=tuple(name for name in names if not claims.has(name, score)),
        baseline=raw,
        failed=dict(failed or {}),
    )


def _beside(
    claims: Claims,
    evaluations: Mapping[str, Evaluation],
    method: str,
    as_good: Sequence[str],
    score: str,
) -> Beside:
    raw = claims.baseline
    moved = evaluations[raw].predicted != evaluations[method].predicted
    changed = share_of_rows(moved, evaluations[raw].weights, evaluations[raw].clusters)
    intervals = {name: claims.scored[name].intervals() for name in (raw, method, *as_good)}
    before = intervals[raw]
    after = intervals[method]
    keys = [key for key in BESIDE if key != score and key in before and key in after]
    off = {name for name, found in intervals.items() if found[GAP].low > 0 or found[GAP].high < 0}
    return Beside(
        changed=changed.of_share(0),
        before={key: before[key] for key in keys},
        after={key: after[key] for key in keys},
        worse=tuple(key for key in keys if claims.between(method, raw, key).word == "worse"),
        gap=after[GAP] if method in off else None,
        without_gap=tuple(name for name in as_good if name not in off),
        n_impossible=evaluations[raw].n_clipped,
        impossible=-math.log(PROBABILITY_FLOOR)
        * evaluations[raw].n_clipped
        / len(evaluations[raw]),
    )
