"""Scores of one model, and of many calibrators on one split, with intervals and paired differences."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import nan
from typing import TYPE_CHECKING, Any

from calib.base import Calibrator, Progress, silent
from calib.data.loading import predictions_from
from calib.data.predictions import Predictions
from calib.errors import CalibrationError, FitCancelled, reason
from calib.evaluation.claims import ABSENT, Claim, Claims
from calib.evaluation.comparison_table import CONFIDENCE_ONLY
from calib.evaluation.describe import FREQUENCIES
from calib.evaluation.evaluation import Evaluation, class_frequencies, raw_model
from calib.evaluation.score_registry import SCORES, score_intervals, scored_on
from calib.evaluation.score_registry import scores as values_of
from calib.metrics.bootstrap import UNKNOWN, Interval
from calib.metrics.confidence import check_scored, scored_pair
from calib.registry import METHODS

if TYPE_CHECKING:
    import pandas as pd


BASELINE = "identity"

SAME_DATA = (
    "These are the data that the calibrator was fitted on, so its scores are better than on rows it has not seen; "
    "give other rows."
)
"""Warning where the test rows, or new rows, are those of the fit."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """A fit and its evaluation on the test rows; ``evaluation`` is None where it failed, and ``note`` says why.

    ``fit_seconds`` is NaN where nothing was to be fitted.
    """

    evaluation: Evaluation | None
    fit_seconds: float = nan
    predict_seconds: float = nan
    note: str = ""


def attempt(
    method: Calibrator,
    calibration: Predictions,
    test: Predictions,
    view: str,
    progress: Progress = silent,
) -> Attempt:
    """Fit unless fitted, and evaluate; whatever goes wrong is a note, and only a cancellation passes."""
    try:
        fit_seconds = nan
        start = time.perf_counter()
        if not method.fitted:
            method.fit(calibration, progress=progress)
            fit_seconds = time.perf_counter() - start
            start = time.perf_counter()
        evaluation = Evaluation.from_predictions(method, test, view)
        return Attempt(evaluation, fit_seconds, time.perf_counter() - start)
    except FitCancelled:
        raise
    except CalibrationError as error:
        return Attempt(None, note=str(error))
    except Exception as error:
        return Attempt(None, note=f"{type(error).__name__}: {reason(error)}")


def table_of(
    claims: Claims,
    evaluations: Mapping[str, Evaluation],
    *,
    titles: Mapping[str, str] | None = None,
    seconds: Mapping[str, tuple[float, float]] | None = None,
    notes: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Tidy table of scored methods, the baseline first and then class frequencies, which are no method.

    Parameters
    ----------
    claims : of the methods.
    evaluations : name -> evaluation.
    titles : name -> title, as from :func:`calib.registry.titles_of`; by default that of the registry, or the name.
    seconds : name -> (fit, predict) seconds, where known.
    notes : name -> why a method has no evaluation; such methods get rows of NaN.

    Returns
    -------
    pandas.DataFrame
        One row for each method and score, with the columns method, title, score, score_title (as pages call it in this
        view), value, low, high; difference, difference_low, difference_high to the baseline, an interval that holds
        for all methods and all scores that claim, together; verdict ("better", "worse", "equivalent", "undecided" than
        the baseline, by that interval; "" where the score claims nothing); rows_needed, about how many test rows would
        decide where it is undecided; better ("lower", "higher", "neither"); relevant, the smallest difference that
        matters; too_few, why the rows cannot rank the method by the score, "" where they can; fit_seconds; note, why
        there is no value.
    """
    import pandas as pd

    baseline = claims.baseline
    view = evaluations[baseline].view
    constant = scored_on(class_frequencies(evaluations[baseline]))
    against = Claims(
        {baseline: claims.scored[baseline], FREQUENCIES: constant}, relevant=claims.relevant
    )
    scored = {baseline: claims.scored[baseline], FREQUENCIES: constant, **claims.scored}
    values = {name: method.intervals() for name, method in scored.items()}
    names = [*scored, *(notes or {})]
    registered = {name: METHODS[name].title if name in METHODS else name for name in names}
    titled = registered | {FREQUENCIES: FREQUENCIES.capitalize()} | dict(titles or {})
    rows: list[dict[str, Any]] = []
    for name, key in product(
        names,
        (key for key in SCORES if any(key in method.scores for method in claims.scored.values())),
    ):
        compared = against if name == FREQUENCIES else claims
        lacks = "" if name == FREQUENCIES else CONFIDENCE_ONLY
        absent = name not in scored or key not in scored[name].scores
        value = UNKNOWN if absent else values[name][key]
        claim = ABSENT if absent else compared.between(name, baseline, key)
        rows.append(
            {
                "method": name,
                "title": titled[name],
                **score_columns(key, SCORES[key].seen(view).title, value, claim),
                "relevant": claims.relevant[key],
                "too_few": compared.why_not(name, key) if name in scored else "",
                "fit_seconds": (seconds or {}).get(name, (nan,))[0],
                "note": (notes or {}).get(name, lacks) if absent else "",
            }
        )
    return pd.DataFrame(rows)


def score_columns(key: str, title: str, value: Interval, claim: Claim) -> dict[str, Any]:
    """Columns of tables for one method and score: its value, and its difference from the raw model."""
    return {
        "score": key,
        "score_title": title,
        **value._asdict(),
        **dict(
            zip(("difference", "difference_low", "difference_high"), claim.interval, strict=True)
        ),
        "verdict": claim.word,
        "rows_needed": claim.rows_needed,
        "better": SCORES[key].better,
    }


def scores(
    probs: Any = None,
    labels: Any = None,
    *,
    confidence: Any = None,
    correct: Any = None,
    ci: bool = True,
    **options: Any,
) -> pd.DataFrame:
    """Every score of a model's outputs, each with its 95 % interval.

    Parameters
    ----------
    probs, labels : array_like or None
        Probabilities and labels as :func:`calib.ece` takes them and checks them; with ``options``, or with ``probs``
        alone, what :func:`calib.from_outputs` takes, such as data that were loaded before.
    confidence, correct : array_like of shape (n,) or None, default None
        Confidences in predictions and whether these were right, in place of ``probs`` and ``labels``.
    ci : bool, default True
        Whether to find intervals; without them two columns are NaN, as most of their ends are for a single row. So is
        a score that the rows do not give, such as the AUROC where all are of one class.
    **options
        Options of :func:`calib.from_outputs`, such as ``kind="logits"``.

    Returns
    -------
    pandas.DataFrame
        Columns ``value``, ``low`` and ``high``; the index holds the scores' names, such as ``"ECE"``. Of two classes
        with an event the ECE and its kin are of the event's probability, and the ECE is called ``"ECE of P(event)"``.
        Rows whose weights have a meaning (``weight_kind``) are counted by them.

    Raises
    ------
    CalibrationError
        If the arrays cannot be used.

    Examples
    --------
    >>> import calib
    >>> found = calib.scores([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]], [0, 0, 1, 1], ci=False)
    >>> round(float(found.loc["NLL", "value"]), 3)
    0.4
    """
    import pandas as pd

    if probs is None:
        probs, labels = scored_pair(confidence=confidence, correct=correct)
        options = {**options, "kind": "pairs"}
    elif labels is not None and not options:
        probs, labels = check_scored(probs, labels)
    data = predictions_from(probs, labels, **options)
    judged = Evaluation.from_predictions(raw_model(data), data)
    intervals = (
        score_intervals(judged)
        if ci
        else {key: (value, nan, nan) for key, value in values_of(judged).items()}
    )
    named = {"ECE": SCORES["ECE"].seen(judged.view).title}
    rows = {named.get(key, key): tuple(interval) for key, interval in intervals.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high"])
