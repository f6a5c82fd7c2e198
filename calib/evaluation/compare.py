"""Many calibrators on one split: a tidy table of scores with intervals and paired differences."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING

from calib.base import Calibrator
from calib.errors import CalibrationError
from calib.evaluation import SCORES, Evaluation
from calib.evaluation.bootstrap import N_RESAMPLES, ResampledScores, check_same_rows, resample_scores, too_few_of_all
from calib.evaluation.verdict import CONFIDENCE_ONLY, NOTHING, best_methods, verdict
from calib.metrics.bootstrap import Interval, Resamples
from calib.registry import METHODS, calibrator, extras_for

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions

__all__ = ["best_method", "best_methods", "compare", "compare_evaluations", "fit_and_evaluate", "verdict"]

BASELINE = "identity"
FEW_ROWS = 10
"""Below this many test rows the bootstrap knows too little to call any difference more than chance."""
NOWHERE = Interval(float("nan"), float("nan"), float("nan"))


@dataclass(frozen=True, eq=False)
class MethodEvaluations:
    """What came of fitting several methods, by their names.

    Attributes
    ----------
    evaluations : on the test rows, of the methods that did not fail.
    seconds : (fit, predict) of these.
    notes : why the others failed.
    """

    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


def compare(
    calibrators: Mapping[str, Calibrator],
    calibration: Predictions,
    test: Predictions,
    *,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    random_state: int = 0,
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

    Returns
    -------
    pandas.DataFrame
        One row for each method and score; the columns are those of :func:`compare_evaluations`.

    Raises
    ------
    CalibrationError
        If the two parts do not have the same classes.
    """
    found = fit_and_evaluate(calibrators, calibration, test)
    return compare_evaluations(
        found.evaluations,
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
        seconds=found.seconds,
        notes=found.notes,
    )


def fit_and_evaluate(
    calibrators: Mapping[str, Calibrator], calibration: Predictions, test: Predictions
) -> MethodEvaluations:
    """Fit what is not fitted yet, in place, and evaluate everything; the raw model comes first, as "identity".

    Raises
    ------
    CalibrationError
        If the two parts do not have the same classes.
    """
    if calibration.n_classes != test.n_classes:
        raise CalibrationError(
            f"The calibration set has {calibration.n_classes} classes and the test set {test.n_classes}; "
            "compare on two parts of the same data."
        )
    found = MethodEvaluations()
    for name, method in {BASELINE: calibrator(BASELINE), **calibrators}.items():
        try:
            fit_seconds = _fit(method, calibration)
            start = time.perf_counter()
            features = test.features if "features" in method.needs else None
            found.evaluations[name] = Evaluation.from_calibrator(method, test.logits, test.labels, features)
            found.seconds[name] = fit_seconds, time.perf_counter() - start
        except Exception as error:  # one method's failure, whatever it is, must not take the others with it
            found.notes[name] = (
                str(error) if isinstance(error, CalibrationError) else f"{type(error).__name__}: {error}"
            )
    return found


def compare_evaluations(
    evaluations: Mapping[str, Evaluation],
    baseline: str = BASELINE,
    *,
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
    level, n_resamples, random_state : of the bootstrap.
    seconds : name -> (fit, predict) seconds, where known.
    notes : name -> why a method has no evaluation; such methods get rows of NaN.
    resampled : name -> scores of each evaluation on the same resamples, where they are there already; they are made
        here otherwise, as ``n_resamples`` and ``random_state`` say.

    Returns
    -------
    pandas.DataFrame
        One row for each method and score, with the columns method, title, score, value, low, high;
        difference, difference_low, difference_high to the baseline; to_best, to_best_low, to_best_high, the
        difference to the best method of that score, with intervals that hold for all pairs of
        methods together (Bonferroni); beyond_chance ("better", "worse" or ""), what the difference to the
        baseline shows by such joint intervals; too_few, why the rows cannot rank the method by the score, "" where
        they can; better ("lower", "higher", "neither"); fit_seconds, predict_seconds; note.

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
        resamples = Resamples(len(evaluations[baseline]), n_resamples, random_state)
        resampled = {name: resample_scores(evaluation, resamples) for name, evaluation in evaluations.items()}
    order = [baseline, *(name for name in evaluations if name != baseline)]
    scored = {name: resampled[name] for name in order}

    keys = [key for key in SCORES if any(key in one.value for one in scored.values())]
    # The best is chosen by looking, so that any pair might have been the one to be claimed.
    joint_level = 1.0 - (1.0 - level) / max(1, comb(len(scored), 2))
    unseen = too_few_of_all(evaluations, level)

    def cautious(difference: Interval, key: str, *names: str) -> Interval:
        """The difference with an interval that claims nothing where nothing can be claimed."""
        if scored[baseline].n < FEW_ROWS or any(unseen.get(key, unseen[""])[name] for name in names):
            return difference._replace(low=float("-inf"), high=float("inf"))
        return not_rounding(difference)

    columns: dict[str, dict[str, dict[str, Interval]]] = {name: {} for name in order}
    for name, one in scored.items():
        to_raw = one.differences(scored[baseline], level)
        columns[name] = {"": one.intervals(level), "difference": to_raw, "to_best": {}}
        joint = one.differences(scored[baseline], joint_level)
        columns[name]["joint"] = {key: cautious(interval, key, name, baseline) for key, interval in joint.items()}
    for key in keys:
        best = best_method({name: one.value[key] for name, one in scored.items() if key in one.value}, key)
        if best is not None:
            for name, one in ((name, one) for name, one in scored.items() if key in one.value):
                to_best = one.difference(scored[best], key, joint_level)
                columns[name]["to_best"][key] = cautious(to_best, key, name, best)

    rows = []
    for name in [*order, *(notes or {})]:
        intervals = columns.get(name, {})
        note = (notes or {}).get(name, "")
        fit_seconds, predict_seconds = (seconds or {}).get(name, (float("nan"), float("nan")))
        for key in keys:
            here = {part: intervals.get(part, {}).get(key, NOWHERE) for part in ("", "difference", "to_best")}
            missing = "" if key in intervals.get("", {}) else note or CONFIDENCE_ONLY
            rows.append(
                {
                    "method": name,
                    "title": METHODS[name].title if name in METHODS else name,
                    "score": key,
                    **dict(zip(("value", "low", "high"), here[""], strict=True)),
                    **_columns("difference", here["difference"]),
                    **_columns("to_best", here["to_best"]),
                    "beyond_chance": beyond_chance(key, intervals.get("joint", {}).get(key, NOWHERE)),
                    "too_few": unseen.get(key, unseen[""]).get(name, ""),
                    "better": SCORES[key].better,
                    "fit_seconds": fit_seconds,
                    "predict_seconds": predict_seconds,
                    "note": missing,
                }
            )
    return pd.DataFrame(rows)


def best_method(values: Mapping[str, float], key: str) -> str | None:
    """Name of the best value of one score; the first among equals, None where nothing is best."""
    known = {name: value for name, value in values.items() if value == value}
    if not known or SCORES[key].better == "neither":
        return None
    return (min if SCORES[key].better == "lower" else max)(known, key=known.__getitem__)


def not_rounding(difference: Interval) -> Interval:
    """The difference with an interval that holds 0 where all of it is rounding."""
    if abs(difference.value) < NOTHING:
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


def _columns(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
