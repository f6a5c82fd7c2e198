"""A recommendation and its sentences: what to do, what gets worse, what is gained and what that rests on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from calib.evaluation.score_registry import SCORES, Unit
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

FREQUENCIES = "class frequencies"
"""Name of the row of class frequencies in comparisons."""
GAP = "signed gap"
"""The score of what is said minus what came true."""


Verdict = Literal["too few rows", "do not use", "do not use yet", "keep", "take"]


@dataclass(frozen=True)
class Skill:
    """Methods against class frequencies by NLL.

    Attributes
    ----------
    loss : NLL of class frequencies.
    event_rate : share of rows with the event, in its view; None elsewhere.
    useful : the methods that beat it significantly, by the smallest relevant difference and 2 % of the loss.
    method : the method with the lowest NLL.
    gain : its NLL below that of class frequencies.
    undecided : whether that gain is large enough, and not significant.
    rows_needed : about how many test rows would decide; NaN where they do.
    auroc : of the method, where it ranks significantly better than chance but its level is off; None elsewhere.
    """

    loss: float
    event_rate: float | None
    useful: tuple[str, ...]
    method: str
    gain: Interval
    undecided: bool
    rows_needed: float
    auroc: Interval | None


@dataclass(frozen=True)
class Changes:
    """Changes by a method besides the score that decides.

    Attributes
    ----------
    changed : share of the test rows whose predicted class changes, with its interval.
    before, after : key -> the raw model's score and the method's with their intervals, of accuracy and ECE.
    worse : keys of those that are significantly worse than the raw model's.
    gap : what is said minus what came true with the method, where that differs significantly from 0; None elsewhere.
    without_gap : the methods as good of which it does not.
    n_impossible : rows to whose outcome the raw model gave a probability below 1e-15, which the NLL puts at 1e-15.
    impossible : what they add to its NLL.
    level : mean prediction of the event before and after, and its rate, where the level moves by more than a point or a
        tenth of the rate; None elsewhere.
    """

    changed: Interval
    before: dict[str, Interval]
    after: dict[str, Interval]
    worse: tuple[str, ...]
    gap: Interval | None
    without_gap: tuple[str, ...]
    n_impossible: int
    impossible: float
    level: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Recommendation(Displayed):
    """Recommended method, by NLL or ECE on one test set.

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
    changes : what else it changes; None where it is the raw model, or where no evaluations were given.
    too_few : why the rows cannot rank methods; "" where they can.
    without : methods that do not have the score.
    baseline : the raw model.
    failed : name -> why, of the methods that could not be fitted or judged.
    skill : methods against class frequencies; None without evaluations, and without an NLL.
    by_group : whether the method has a map for each group.
    is_simplest : whether it is simpler than each of those as good.
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
    changes: Changes | None
    too_few: str
    without: tuple[str, ...]
    baseline: str
    failed: Mapping[str, str]
    skill: Skill | None = None
    by_group: bool = False
    is_simplest: bool = True

    @property
    def verdict(self) -> Verdict:
        """Action to take; "do not use yet" where more rows may show that a method beats class frequencies."""
        if self.too_few:
            return "too few rows"
        if self.skill is not None and not self.skill.useful:
            return "do not use yet" if self.skill.undecided else "do not use"
        return "keep" if self.method == self.baseline else "take"

    def sentences(
        self, title: Callable[[str], str] = str, strong: str = "", scores: bool = True
    ) -> list[str]:
        """Describe what to do, see :func:`describe_recommendation`."""
        return describe_recommendation(self, title, strong, scores)

    def __str__(self) -> str:
        return " ".join(self.sentences())


Title = Callable[[str], str]
MOST_NAMED = 4
"""Longest list of equivalent methods; of longer ones the rest is counted."""


def describe_recommendation(
    advice: Recommendation, title: Title = str, strong: str = "", scores: bool = True
) -> list[str]:
    """Describe what to do, the losses before the gain; then what has no score, and what failed.

    Parameters
    ----------
    advice : of a comparison.
    title : display name of a method, by its name.
    strong : stands around what is emphasised: ``**`` in Markdown.
    scores : whether to give accuracy and ECE before and after, which pages show in tiles.
    """

    def bold(text: str) -> str:
        return f"{strong}{text}{strong}"

    parts = {
        "too few rows": _too_few,
        "do not use": _do_not_use,
        "do not use yet": _do_not_use,
        "keep": _keep,
        "take": _take,
    }
    sentences = [*parts[advice.verdict](advice, title, bold)]
    if advice.verdict == "take" and advice.changes is not None:
        sentences += _describe_changes(advice, advice.changes, scores)
    if advice.without and advice.verdict != "too few rows":
        names = _named(advice.without, title)
        sentences.append(
            f"Methods with a confidence alone have no {_score(advice)}: {names}. Compare these by ECE."
        )
    return [*sentences, *(f"{title(name)} failed: {why}" for name, why in advice.failed.items())]


def _too_few(advice: Recommendation, title: Title, bold: Title) -> Iterator[str]:
    yield f"{bold('These rows cannot rank methods:')} {advice.too_few}."
    yield f"{title(advice.best)} has the lowest {_score(advice)} so far."


def describe_frequencies(event_rate: float | None) -> str:
    """Describe the baseline: one probability for all rows."""
    if event_rate is None:
        return "giving every row the class frequencies"
    return f"giving every row {percent(event_rate)}"


def _do_not_use(advice: Recommendation, title: Title, bold: Title) -> Iterator[str]:
    skill = advice.skill
    assert skill is not None
    unit = SCORES["NLL"].unit
    frequencies = describe_frequencies(skill.event_rate)
    lead = f"Do not use: no method is 2\u00a0% better than {frequencies}"
    if skill.undecided:
        lead = f"Do not use yet: no method is shown to be better than {frequencies}"
    yield f"{bold(lead)} (NLL {number(skill.loss)})."
    if abs(skill.gain.value) < advice.relevant:
        yield f"The best, {title(skill.method)}, is no different."
    else:
        gain = f"{unit.amount(skill.gain.value)} ({_between(skill.gain, unit)})"
        yield f"The best, {title(skill.method)}, gains {gain}{_needed(skill.rows_needed)}."
    if skill.auroc is not None:
        ends = f"{number(skill.auroc.low)} to {number(skill.auroc.high)}"
        yield (
            f"The model ranks better than chance (AUROC {number(skill.auroc.value)}, 95{NO_BREAK}%: {ends}): "
            "a map with an intercept, such as Platt, may make it useful."
        )


def _keep(advice: Recommendation, title: Title, bold: Title) -> Iterator[str]:
    keep = bold("Keep the model as it is")
    if not advice.n_candidates:
        yield f"{keep}." if advice.failed else f"{keep}: no fitted calibrator was compared with it."
    elif advice.best == advice.baseline or advice.gain.value < advice.relevant:
        yield f"{keep}: no calibrator makes a difference that matters."
    else:
        unit = SCORES[advice.score].unit
        gain = f"{title(advice.best)} by {unit.amount(advice.gain.value)}, {_between(advice.gain, unit)}"
        yield (
            f"{keep}: no calibrator is shown to lower its {_score(advice)} "
            f"({gain}{_needed(advice.rows_needed)})."
        )


def _take(advice: Recommendation, title: Title, bold: Title) -> Iterator[str]:
    if advice.by_group:
        yield bold(f"Correct by group: take {title(advice.method)}.")
        shown = advice.off is None
        yield f"{'No map for all rows is as good; new' if shown else 'New'} rows need their group."
    else:
        yield bold(f"Take {title(advice.method)}.")
    if advice.changes is not None:
        yield from _losses(advice, advice.changes, title, bold)
    yield _gain(advice, bold)
    if advice.changes is not None and advice.changes.level is not None:
        before, after, rate = (percent(part) for part in advice.changes.level)
        yield (
            f"Part of the gain is the level: the mean prediction goes from {before} to {after}, with an event rate of "
            f"{rate} in these rows."
        )
    if advice.n_candidates > 1 and advice.as_good:
        names = _named(advice.as_good, title)
        if advice.is_simplest:
            yield f"As good: {names}. {title(advice.method)} is the simplest."
        else:
            yield f"As good, and no simpler: {names}."
    elif advice.n_candidates - 1 == len(set(advice.worse) - {advice.baseline}) > 0:
        yield "Every other method is worse."


def _losses(advice: Recommendation, changes: Changes, title: Title, bold: Title) -> Iterator[str]:
    """Describe what gets worse with the method."""
    if changes.worse:
        worsened = "; ".join(_before_and_after(advice, changes, key) for key in changes.worse)
        yield f"{bold('Significantly worse with it')}: {worsened}."
    if changes.gap is not None:
        ends = points_between(changes.gap.low, changes.gap.high)
        then = f"{advice.titles[GAP]} is then {points(changes.gap.value)} points ({ends})"
        if changes.without_gap:
            then += f"; with {_named(changes.without_gap, title)} it is not significant"
        yield f"{then}."
    if changes.changed.value:
        share, low, high = (percent(part) for part in changes.changed)
        yield f"{share} of the predicted classes change ({low} to {high})."


def _gain(advice: Recommendation, bold: Title) -> str:
    unit = SCORES[advice.score].unit
    score = _score(advice)
    amount = bold(unit.amount(advice.gain.value))
    between = _between(advice.gain, unit)
    if advice.off is not None:
        off = (
            f"{points(advice.off.value)} points ({points_between(advice.off.low, advice.off.high)})"
        )
        return (
            f"{advice.titles[GAP]} of the raw model is {off}. A lower {score} is not shown yet: gain "
            f"{amount} ({between}){_needed(advice.rows_needed)}."
        )
    of_several = advice.method == advice.best and advice.n_candidates > 1
    luck = f"; optimistic, as the best of {advice.n_candidates}" if of_several else ""
    return f"It lowers the {score} of the raw model by {amount} ({between}{luck})."


def _describe_changes(advice: Recommendation, changes: Changes, scores: bool) -> Iterator[str]:
    """Describe what else changes, and what the NLL of the raw model is made of."""
    parts = [] if changes.changed.value else ["No predicted class changes"]
    keys = [key for key in changes.after if key not in changes.worse] if scores else []
    parts += [
        _before_and_after(advice, changes, key)
        for key in keys
        if key != "accuracy" or changes.changed.value
    ]
    if parts:
        yield f"{'; '.join(parts)}."
    if advice.score == "NLL" and (n := changes.n_impossible):
        yield (
            f"Of the raw model's NLL, {number(changes.impossible)} comes from {plural(n, 'row')} to whose outcome it "
            "gave a probability below 1e-15."
        )


def _before_and_after(advice: Recommendation, changes: Changes, key: str) -> str:
    before, after = (
        f"{number(value)} ({number(low)} to {number(high)})"
        for value, low, high in (changes.before[key], changes.after[key])
    )
    return f"{advice.titles[key]} {before} → {after}"


def _score(advice: Recommendation) -> str:
    return advice.titles[advice.score]


def _between(interval: Interval, unit: Unit) -> str:
    return f"95{NO_BREAK}%: {unit.number(interval.low)} to {unit.number(interval.high)}"


def _needed(rows: float) -> str:
    return "" if math.isnan(rows) else f"; about {rows:,.0f} test rows would decide"


def _named(names: Sequence[str], title: Title) -> str:
    more = [plural(len(names) - MOST_NAMED, "other")] if len(names) > MOST_NAMED else []
    return listed([*map(title, names[:MOST_NAMED]), *more])
