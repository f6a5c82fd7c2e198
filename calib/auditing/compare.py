"""Many calibrators on one split, with what to take and the groups for which that is off."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

from calib.auditing.checks import describe_groups
from calib.base import LEARNS_NOTHING, Calibrator, Progress, silent
from calib.data.predictions import Predictions, check_predictions, has_sha256
from calib.errors import CalibrationError, CalibrationWarning
from calib.evaluation.claims import Claims, relevant_differences
from calib.evaluation.compare import BASELINE, SAME_DATA, attempt, table_of
from calib.evaluation.describe import Recommendation
from calib.evaluation.evaluation import Evaluation, raw_model
from calib.evaluation.recommendation import recommend
from calib.evaluation.score_registry import scored_on
from calib.evaluation.view import view_of
from calib.formatting import Displayed, listed, plural
from calib.registry import titles_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Displayed):
    """Several methods, by their names, fitted on one part of the data and scored on the other.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each method and score; see :func:`table_of`.
    evaluations : dict of str to Evaluation
        On the test rows, of each method that did not fail.
    seconds : dict of str to tuple of float
        How long fitting and predicting took these.
    notes : dict of str to str
        Why the others failed.
    recommendation : Recommendation or None
        What to take, by NLL; None where no method has one.
    groups : tuple of str
        Sentences on the groups of test rows for which the raw model and the recommended method are off; empty where
        no group is judged.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("breast-cancer-bayes").split(0.5, random_state=0)
    >>> methods = {"platt": calib.calibrator("platt"), "beta": calib.calibrator("beta")}
    >>> comparison = calib.compare(methods, calibration, test)
    >>> list(comparison.evaluations)
    ['identity', 'platt', 'beta']
    >>> comparison.table.query("score == 'NLL'").set_index("method")["value"].round(2).to_dict()
    {'identity': 0.8, 'class frequencies': 0.66, 'platt': 0.19, 'beta': 0.18}
    """

    table: pd.DataFrame
    evaluations: dict[str, Evaluation]
    seconds: dict[str, tuple[float, float]]
    notes: dict[str, str]
    recommendation: Recommendation | None
    groups: tuple[str, ...] = ()

    def __repr__(self) -> str:
        rows = plural(len(self.evaluations[BASELINE]), "test row")
        advice = (
            "" if self.recommendation is None else f"; recommended: {self.recommendation.method}"
        )
        return f"<Comparison of {listed(list(self.evaluations))} on {rows}{advice}>"


def compare(
    calibrators: Mapping[str, Calibrator],
    calibration: Predictions,
    test: Predictions,
    view: str = "event",
    *,
    relevant: Mapping[str, float] | None = None,
    callback: Progress = silent,
) -> Comparison:
    """Fit what is not fitted yet on one part of the data, score everything on the other, and say what to take.

    Probabilities are made block by block and dropped. The raw model is always there, first, as "identity".
    A method that fails has NaN for its scores and the reason in ``note``; the others go on.

    Parameters
    ----------
    calibrators : mapping of str to Calibrator
        Calibrators by the names to show; those not fitted yet are fitted in place.
    calibration, test : Predictions
        The two parts of the data, as from ``Predictions.split``. A warning says where they are the same rows.
    view : {"event", "top-label"}, default "event"
        With two classes and an event, "event" takes calibration errors, over- and underconfidence of its probability,
        and the Brier score of that probability alone; "top-label" those of the predicted class. Data of more classes,
        or without an event, have the second only; see :func:`calib.evaluation.view.view_of`.
    relevant : mapping of str to float or None, default None
        Smallest difference that matters of each score, where it is not that of ``calib.evaluation.SCORES``.
    callback : callable, optional
        Called before the first and after every method as ``callback(methods done, methods in all, nan)``.

    Returns
    -------
    Comparison
        Its ``table`` holds the scores with intervals, its ``recommendation`` what to take, its ``groups`` where that
        is off.

    Raises
    ------
    CalibrationError
        If the methods are no calibrators by name, the two parts are not predictions of the same classes, or the test
        part has no rows.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> found = compare({"temperature": calib.calibrator("temperature")}, calibration, test)
    >>> bool(found.evaluations["temperature"].row_nll.mean() < found.evaluations["identity"].row_nll.mean())
    True
    """
    if not isinstance(calibrators, Mapping):
        raise CalibrationError(
            f"calibrators is a {type(calibrators).__name__}; give them by name, as "
            "{'temperature': calib.calibrator('temperature')}."
        )
    if others := [
        name for name, method in calibrators.items() if not isinstance(method, Calibrator)
    ]:
        raise CalibrationError(
            f"{others[0]!r} of calibrators is a {type(calibrators[others[0]]).__name__}, no calibrator; make one by "
            "its name, as calib.calibrator('temperature')."
        )
    if (raw := calibrators.get(BASELINE)) is not None and LEARNS_NOTHING not in raw.traits:
        raise CalibrationError(
            f'"{BASELINE}" is the raw model; give the {type(raw).__name__} another name.'
        )
    for part, what in ((calibration, "calibration"), (test, "test")):
        check_predictions(part, f"The {what} part")
    if not len(test):
        raise CalibrationError(
            "The test part has 0 rows, so nothing can be judged; leave rows for it when splitting."
        )
    if calibration.n_classes != test.n_classes:
        raise CalibrationError(
            f"The calibration set has {calibration.n_classes} classes and the test set {test.n_classes}; "
            "compare on two parts of the same data."
        )
    if len(calibration) == len(test) and has_sha256(test, calibration.identified().sha256):
        warnings.warn(SAME_DATA, CalibrationWarning, stacklevel=2)
    view_of(test, view)  # refuses an unknown one before anything is fitted
    relevant_differences(relevant)  # as does this
    evaluations = {}
    seconds = {}
    notes = {}
    methods = {BASELINE: raw_model(test), **calibrators}
    callback(0, len(methods), nan)
    for done, (name, method) in enumerate(methods.items(), start=1):
        attempted = attempt(method, calibration, test, view)
        if attempted.evaluation is None:
            notes[name] = attempted.note
        else:
            evaluations[name] = attempted.evaluation
            seconds[name] = (attempted.fit_seconds, attempted.predict_seconds)
        callback(done, len(methods), nan)
    if BASELINE not in evaluations:
        raise CalibrationError(
            f"The raw model cannot be judged, and nothing compared with it: {notes[BASELINE]}"
        )
    titles = titles_of(calibrators, calibration.n_classes)
    claims = Claims(
        {name: scored_on(evaluation) for name, evaluation in evaluations.items()}, relevant=relevant
    )
    table = table_of(claims, evaluations, titles=titles, seconds=seconds, notes=notes)
    recommended = recommend(claims, methods, evaluations=evaluations, failed=notes)
    subjects = {BASELINE: "The raw model"}
    if recommended is not None and recommended.method != BASELINE:
        subjects[recommended.method] = titles[recommended.method]
    groups = [describe_groups(evaluations[name], test, title) for name, title in subjects.items()]
    return Comparison(table, evaluations, seconds, notes, recommended, tuple(filter(None, groups)))
