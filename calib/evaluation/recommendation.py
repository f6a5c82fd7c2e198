"""One recommendation from a comparison: what to take, what it gains over the raw model, and what else it changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from calib.base import KEEPS_HALF, Calibrator
from calib.evaluation.claims import Claims, rows_to_decide
from calib.evaluation.describe import GAP, Changes, Recommendation, Skill
from calib.evaluation.evaluation import Evaluation, class_frequencies
from calib.evaluation.score_registry import SCORES, average_gap, scored_on
from calib.evaluation.view import TOP_LABEL
from calib.metrics.bootstrap import Interval
from calib.metrics.estimate import share_of_rows
from calib.numerics import PROBABILITY_FLOOR
from calib.registry import simplicity

HARDLY = 0.02
"""Share of the NLL of class frequencies by which a method has to beat them to be of use."""
LEVEL_TOLERANCE = 0.01
"""Change of a mean prediction from which the level is named."""
BESIDE = ("accuracy", "ECE")
"""Scores that are told beside the one that decides."""


def recommend(
    claims: Claims,
    calibrators: Mapping[str, Calibrator],
    evaluations: Mapping[str, Evaluation] | None = None,
    failed: Mapping[str, str] | None = None,
) -> Recommendation | None:
    """Recommend a method, by NLL; by ECE where no method but the raw model has an NLL.

    The raw model is kept unless a method is better by its verdict. Where none is, but confidence and accuracy of the
    raw model differ significantly, those count that are better by the smallest relevant difference, though undecided.
    Where methods beat class frequencies, only these are taken, and the raw model is kept only where it is one of them.
    Of these methods the simplest that is not worse than the best of them is taken, by the registry's order; a map by
    group only where it is better than the best that serves all rows, by the 95 % interval of this one difference, since
    new rows then need their group. Where the mean prediction of an event is off, a map with an intercept comes before
    one without, which corrects the level by luck alone.

    Parameters
    ----------
    claims : the raw model first.
    calibrators : fitted, by the names in ``claims``.
    evaluations : of the methods: how far the raw model is off, and what the recommended one changes besides the score.
    failed : name -> why, of methods that are not among the claims for it.
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
    skill = _skill(claims, evaluations, having) if evaluations and score == "NLL" else None
    useful = skill.useful if skill is not None and skill.useful else having
    if raw not in useful and not set(better) & set(useful):
        better = list(useful)
        best = claims.best(score, better) or best
    verdicts = {
        name: "equivalent" if name == best else claims.between(name, best, score).word
        for name in having
    }
    value = {name: claims.scored[name].values[score] for name in having}
    able = [name for name in better if verdicts[name] != "worse" and name in useful] or [raw]
    by_group = [name for name in able if getattr(calibrators[name], "needs_groups", False)]
    shared = [name for name in able if name not in by_group]
    if shared and by_group:
        able = by_group if _beats(claims, by_group, shared, score) else shared
    if evaluations and _level_is_off(claims, evaluations):
        able = [name for name in able if KEEPS_HALF not in calibrators[name].traits] or able
    method = min(able, key=lambda name: (simplicity(calibrators[name]), value[name]))
    if skill is not None and not skill.useful:
        method = skill.method  # that the sentence "Do not use" names as the best
    claim = claims.between(best if method == raw else method, raw, score)
    as_good = tuple(
        name
        for name in (by_group if method in by_group else having)
        if verdicts[name] != "worse" and name not in (method, raw)
        if name in able or simplicity(calibrators[name]) >= simplicity(calibrators[method])
        if method == raw
        or gains[name].word != "equivalent"  # as one that fell back to the raw model
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
        worse=tuple(name for name in having if verdicts[name] == "worse"),
        relevant=claims.relevant[score],
        changes=_changes(claims, evaluations, method, as_good, score)
        if evaluations and method != raw
        else None,
        too_few=claims.why_not(best, score),
        without=tuple(name for name in names if not claims.has(name, score)),
        baseline=raw,
        failed=dict(failed or {}),
        skill=skill,
        by_group=getattr(calibrators[method], "needs_groups", False),
        is_simplest=all(
            simplicity(calibrators[name]) > simplicity(calibrators[method]) for name in as_good
        ),
    )


def _beats(claims: Claims, these: Sequence[str], others: Sequence[str], score: str) -> bool:
    """Test that the best of these is better than the best of others, by the 95 % interval of this one difference."""
    estimates = {name: claims.scored[name].scores[score] for name in (*these, *others)}
    first, second = (
        min(names, key=lambda name: float(estimates[name].value)) for names in (these, others)
    )
    return (estimates[second] - estimates[first]).interval().low > 0


def _level_is_off(claims: Claims, evaluations: Mapping[str, Evaluation]) -> bool:
    """Test that the raw model's mean prediction of an event differs significantly from its rate."""
    raw = claims.baseline
    gap = claims.scored[raw].intervals()[GAP]
    return evaluations[raw].view.is_event and not gap.low <= 0 <= gap.high


def _skill(claims: Claims, evaluations: Mapping[str, Evaluation], names: Sequence[str]) -> Skill:
    """Compare all methods with class frequencies by NLL."""
    raw = evaluations[claims.baseline]
    constant = scored_on(class_frequencies(raw)).scores["NLL"]
    loss = float(constant.value)
    least = max(claims.relevant["NLL"], HARDLY * loss)
    gains = {name: constant - claims.scored[name].scores["NLL"] for name in names}
    intervals = {name: gain.interval() for name, gain in gains.items()}
    method = max(names, key=lambda name: intervals[name].value)
    gain = intervals[method]
    undecided = gain.low <= 0.0 and gain.value >= least
    needed = math.nan
    if undecided:
        best = gains[method]
        n = claims.scored[method].n
        needed = rows_to_decide(n, gain.value, float(best.error), best.critical(), least)
    ends = claims.scored[method].intervals()
    shifts = ends[GAP].low > 0 or ends[GAP].high < 0
    ranks = "AUROC" in ends and ends["AUROC"].low > 0.5
    return Skill(
        loss=loss,
        event_rate=raw.means[1] if raw.view.is_event else None,
        useful=tuple(
            name
            for name, interval in intervals.items()
            if interval.low > 0 and interval.value >= least
        ),
        method=method,
        gain=gain,
        undecided=undecided,
        rows_needed=needed,
        auroc=ends["AUROC"] if shifts and ranks else None,
    )


def _changes(
    claims: Claims,
    evaluations: Mapping[str, Evaluation],
    method: str,
    as_good: Sequence[str],
    score: str,
) -> Changes:
    raw = claims.baseline
    moved = evaluations[raw].predicted != evaluations[method].predicted
    changed = share_of_rows(moved, evaluations[raw].weights, evaluations[raw].clusters)
    intervals = {name: claims.scored[name].intervals() for name in (raw, method, *as_good)}
    before = intervals[raw]
    after = intervals[method]
    keys = [key for key in BESIDE if key != score and key in before and key in after]
    level = None
    if evaluations[raw].view.is_event:
        was, rate = evaluations[raw].means
        level = was, evaluations[method].means[0], rate
        if abs(level[1] - was) < min(LEVEL_TOLERANCE, rate / 10.0):
            level = None
    off = {name for name, ends in intervals.items() if ends[GAP].low > 0 or ends[GAP].high < 0}
    return Changes(
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
        level=level,
    )
