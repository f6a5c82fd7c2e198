"""Many calibrators on one split: a tidy table of scores with intervals and paired differences."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

from calib.base import Calibrator
from calib.errors import CalibrationError
from calib.evaluation.bootstrap import FEW, N_RESAMPLES, ResampledScores
from calib.evaluation.catalogue import EVENT_RATE, SCORES
from calib.evaluation.evaluation import Evaluation, check_same_rows
from calib.evaluation.score_table import CONFIDENCE_ONLY, NEGLIGIBLE
from calib.evaluation.scores import resample_scores
from calib.evaluation.view import view_of
from calib.evaluation.weighted import COLUMN, weighted_scores
from calib.metrics.bootstrap import Interval, wilson_interval
from calib.registry import METHODS, calibrator, extras_for, titles_of

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions

BASELINE = "identity"
FEW_ROWS = 10
"""Below this many test rows, or clusters, the bootstrap knows too little to call any difference significant."""
NOWHERE = Interval(float("nan"), float("nan"), float("nan"))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several methods, by their names, fitted on one part of the data and scored on the other.

    Attributes
    ----------
    table : see :func:`compare_evaluations`.
    evaluations : on the test rows, of the methods that did not fail.
    seconds : (fit, predict) of these.
    notes : why the others failed.
    """

    table: pd.DataFrame
    evaluations: dict[str, Evaluation]
    seconds: dict[str, tuple[float, float]]
    notes: dict[str, str]


def compare(
    calibrators: Mapping[str, Calibrator],
    calibration: Predictions,
    test: Predictions,
    *,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    random_state: int = 0,
    view: str = "event",
) -> pd.DataFrame:
    """Fit what is not fitted yet on one part of the data and score everything on the other.

    Probabilities are made block by block and dropped. The raw model is always there, first, as "identity".
    A method that fails has NaN for its scores and the reason in ``note``; the others go on.

    Parameters
    ----------
    calibrators : name -> calibrator; those not fitted yet are fitted in place.
    calibration, test : the two parts of the data, as from ``Predictions.split``.
    level : coverage of the intervals.
    n_resamples : bootstrap resamples, the same for all methods.
    random_state : seed of the resamples.
    view : with two classes and an event, "event" takes calibration errors, over- and underconfidence of its
        probability, and the Brier score of that probability alone; "top-label" those of the predicted class. Data of
        more classes, or without an event, have the second only; see :func:`calib.evaluation.view.view_of`.

    Returns
    -------
    pandas.DataFrame
        One row for each method and score; the columns are those of :func:`compare_evaluations`.

    Raises
    ------
    CalibrationError
        If the two parts do not have the same classes.
    """
    options: dict[str, Any] = {"level": level, "n_resamples": n_resamples, "random_state": random_state}
    return compare_methods(calibrators, calibration, test, view, **options).table


def compare_methods(
    calibrators: Mapping[str, Calibrator],
    calibration: Predictions,
    test: Predictions,
    view: str = "event",
    **options: Any,
) -> Comparison:
    """:func:`compare` with the evaluations and times that its table is made of."""
    if calibration.n_classes != test.n_classes:
        raise CalibrationError(
            f"The calibration set has {calibration.n_classes} classes and the test set {test.n_classes}; "
            "compare on two parts of the same data."
        )
    view_of(test, view)  # refuses an unknown one before anything is fitted
    evaluations, seconds, notes = {}, {}, {}
    for name, method in {BASELINE: calibrator(BASELINE), **calibrators}.items():
        try:
            fit_seconds = _fit(method, calibration)
            start = time.perf_counter()
            evaluations[name] = Evaluation.from_predictions(method, test, view)
            seconds[name] = fit_seconds, time.perf_counter() - start
        except Exception as error:  # one method's failure, whatever it is, must not take the others with it
            notes[name] = str(error) if isinstance(error, CalibrationError) else f"{type(error).__name__}: {error}"
    titles = titles_of(calibrators, calibration.n_classes)
    table = compare_evaluations(evaluations, titles=titles, seconds=seconds, notes=notes, **options)
    return Comparison(table, evaluations, seconds, notes)


def compare_evaluations(
    evaluations: Mapping[str, Evaluation],
    baseline: str = BASELINE,
    *,
    titles: Mapping[str, str] | None = None,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    random_state: int = 0,
    seconds: Mapping[str, tuple[float, float]] | None = None,
    notes: Mapping[str, str] | None = None,
    resampled: Mapping[str, ResampledScores] | None = None,
) -> pd.DataFrame:
    """Tidy table of finished evaluations of the same test set.

    Parameters
    ----------
    evaluations : name -> evaluation.
    baseline : the method that differences refer to; its rows come first.
    titles : name -> title, as from :func:`calib.registry.titles_of`; by default that of the registry, or the name.
    level, n_resamples, random_state : of the bootstrap.
    seconds : name -> (fit, predict) seconds, where known.
    notes : name -> why a method has no evaluation; such methods get rows of NaN.
    resampled : name -> scores of each evaluation on the same resamples, where they are there already; they are made
        here otherwise, as ``n_resamples`` and ``random_state`` say.

    Returns
    -------
    pandas.DataFrame
        One row for each method and score, with the columns method, title, score, value, low, high; where the rows
        have confirmed weights, weighted (the score with them, NaN for scores that cannot have them);
        difference, difference_low, difference_high to the baseline; to_best, to_best_low, to_best_high, the
        difference to the best method of that score, with intervals that hold for all pairs of
        methods together (Bonferroni); beyond_chance ("better", "worse" or ""), what the difference to the
        baseline shows by such joint intervals; too_few, why the rows cannot rank the method by the score, "" where
        they can; better ("lower", "higher", "neither"); fit_seconds, predict_seconds; note, why there is no value;
        confidence_only, whether that is because the method gives no probabilities of all classes.

    Raises
    ------
    CalibrationError
        If the baseline is missing or the evaluations are not of the same rows.
    """
    import pandas as pd

    if baseline not in evaluations:
        raise CalibrationError(f"There is no evaluation of the baseline {baseline!r} among {', '.join(evaluations)}.")
    for evaluation in evaluations.values():
        check_same_rows(evaluation, evaluations[baseline])
    if resampled is None:
        resamples = evaluations[baseline].resamples(n_resamples, random_state)
        resampled = {name: resample_scores(evaluation, resamples) for name, evaluation in evaluations.items()}
    scored = {name: resampled[name] for name in (baseline, *(name for name in evaluations if name != baseline))}
    unseen = too_few_of_all(evaluations, level)
    intervals = _intervals(scored, unseen, level)

    by_weight = {name: weighted_scores(evaluation) for name, evaluation in evaluations.items()}
    names = [*scored, *(notes or {})]
    titled = {name: METHODS[name].title if name in METHODS else name for name in names} | dict(titles or {})
    rows: list[dict[str, Any]] = []
    for name in names:
        note = (notes or {}).get(name, "")
        fit_seconds, predict_seconds = (seconds or {}).get(name, (float("nan"), float("nan")))
        for key in _keys(scored):
            here = {part: found.get(name, {}).get(key, NOWHERE) for part, found in intervals.items()}
            absent = key not in intervals["value"].get(name, {})
            rows.append(
                {
                    "method": name,
                    "title": titled[name],
                    "score": key,
                    **dict(zip(("value", "low", "high"), here["value"], strict=True)),
                    **({COLUMN: by_weight.get(name, {}).get(key, float("nan"))} if any(by_weight.values()) else {}),
                    **columns("difference", here["difference"]),
                    **columns("to_best", here["to_best"]),
                    "beyond_chance": beyond_chance(key, here["joint"]),
                    "too_few": unseen.get(key, unseen[""]).get(name, ""),
                    "better": SCORES[key].better,
                    "fit_seconds": fit_seconds,
                    "predict_seconds": predict_seconds,
                    "note": (note or CONFIDENCE_ONLY) if absent else "",
                    "confidence_only": absent and not note,
                }
            )
    return pd.DataFrame(rows)


def _keys(scored: Mapping[str, ResampledScores]) -> list[str]:
    """The scores that some method has, in order of display."""
    return [key for key in SCORES if any(key in one.value for one in scored.values())]


def _intervals(
    scored: Mapping[str, ResampledScores], unseen: Mapping[str, Mapping[str, str]], level: float
) -> dict[str, dict[str, dict[str, Interval]]]:
    """Intervals by what they are of, method and score: value, difference, joint (difference) and to_best.

    The best is chosen by looking, so that any pair might have been the one to be claimed: the last two hold for all
    pairs together, and claim nothing where nothing can be claimed.
    """
    joint_level = 1.0 - (1.0 - level) / max(1, comb(len(scored), 2))
    baseline = next(iter(scored))

    def joint(name: str, other: str, key: str) -> Interval:
        difference = scored[name].difference(scored[other], key, joint_level)
        if scored[baseline].n_units < FEW_ROWS or any(unseen.get(key, unseen[""])[one] for one in (name, other)):
            return difference._replace(low=float("-inf"), high=float("inf"))
        return not_rounding(difference)

    found: dict[str, dict[str, dict[str, Interval]]] = {
        "value": {name: one.intervals(level) for name, one in scored.items()},
        "difference": {name: one.differences(scored[baseline], level) for name, one in scored.items()},
        "joint": {
            name: {key: joint(name, baseline, key) for key in one.value if key in scored[baseline].value}
            for name, one in scored.items()
        },
        "to_best": {name: {} for name in scored},
    }
    for key in _keys(scored):
        having = {name: one.value[key] for name, one in scored.items() if key in one.value}
        if best := best_method(having, key):
            for name in having:
                found["to_best"][name][key] = joint(name, best, key)
    return found


def best_method(values: Mapping[str, float], key: str) -> str | None:
    """Name of the best value of one score; the first among equals, None where nothing is best."""
    known = {name: value for name, value in values.items() if value == value}
    if not known or SCORES[key].better == "neither":
        return None
    return (min if SCORES[key].better == "lower" else max)(known, key=known.__getitem__)


def not_rounding(difference: Interval) -> Interval:
    """The difference with an interval that holds 0 where all of it is rounding."""
    if abs(difference.value) < NEGLIGIBLE:
        return difference._replace(low=min(difference.low, 0.0), high=max(difference.high, 0.0))
    return difference


def beyond_chance(key: str, difference: Interval) -> str:
    """Whether the interval of a difference shows that the score is "better" or "worse"; "" where it shows neither."""
    if SCORES[key].better == "neither" or not (difference.low > 0 or difference.high < 0):
        return ""
    return "better" if (difference.high < 0) == (SCORES[key].better == "lower") else "worse"


def _fit(method: Calibrator, calibration: Predictions) -> float:
    """Fit unless fitted; seconds it took, NaN where there was nothing to do."""
    if method.fitted:
        return float("nan")
    extras = extras_for(method, calibration)
    start = time.perf_counter()
    method.fit(calibration.logits, calibration.labels, **extras)
    return time.perf_counter() - start


def columns(name: str, interval: Interval) -> dict[str, float]:
    """An interval as three columns of a table."""
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


_SAID = {
    "accuracy": (("is wrong", "are wrong"), ("is right", "are right")),
    "top-5 accuracy": (
        ("has its label outside the top five", "have their labels outside the top five"),
        ("has its label in the top five", "have their labels in the top five"),
    ),
    EVENT_RATE: (("is without the event", "are without the event"), ("has the event", "have the event")),
}


def too_few(evaluation: Evaluation, level: float = 0.95, score: str = "accuracy") -> str:
    """Why the rows say too little of one method, as the beginning of a sentence; "" where they say enough.

    Parameters
    ----------
    evaluation : of the method.
    level : of the bound on the share of what was not seen (Wilson's).
    score : "accuracy" or "top-5 accuracy", by which rows are right or wrong, or "event rate".
    """
    right = {"accuracy": evaluation.correct, "top-5 accuracy": evaluation.top5, EVENT_RATE: evaluation.outcome}[score]
    if right is None:
        return ""
    return too_few_of(int(right.sum()), len(evaluation), level, score)


def too_few_of(n_right: int, n: int, level: float = 0.95, score: str = "accuracy") -> str:
    """:func:`too_few` from how many of n rows are right."""
    for count, (singular, plural) in zip((n - n_right, n_right), _SAID[score], strict=True):
        if count == 0:
            most = 100 * float(wilson_interval(0, n, level)[1])
            return f"no test row {singular} (at most {most:.2g} % {plural.split()[0]}, {100 * level:g} %)"
        if count < FEW:
            return f"only one test row {singular}" if count == 1 else f"only {count} test rows {plural}"
    return ""


def too_few_of_all(evaluations: Mapping[str, Evaluation], level: float = 0.95) -> dict[str, dict[str, str]]:
    """Score -> method -> :func:`too_few`; the scores are the shares of rows, and "" for all others.

    Shares are compared by the rows where methods differ: they are too few only where they are for every method. In the
    event view there may be too few events although enough rows are right and wrong.
    """
    by_score = {key: {name: too_few(one, level, key) for name, one in evaluations.items()} for key in _SAID}
    shares = {key: found if all(found.values()) else dict.fromkeys(found, "") for key, found in by_score.items()}
    others = {
        name: found or (by_score[EVENT_RATE][name] if evaluations[name].view.is_event else "")
        for name, found in by_score["accuracy"].items()
    }
    return shares | {"": others}
