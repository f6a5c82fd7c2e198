"""Monte-Carlo cross-validation: the same comparison on many random splits of one data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calib.base import CalibrationError, Calibrator, Callback, no_callback
from calib.evaluation import SCORES, scores
from calib.studies.attempt import Attempt, Steps, attempt, title_of, with_baseline
from calib.verdict import CONFIDENCE_ONLY

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions


def repeated_splits(
    calibrators: Mapping[str, Calibrator],
    data: Predictions,
    part: float | int,
    *,
    n_repeats: int = 10,
    random_state: int = 0,
    callback: Callback | None = None,
) -> pd.DataFrame:
    """Fit and score every method on random splits of all rows.

    One split tells how methods compare after one draw of calibration rows; the spread over splits shows what another
    draw would change. A method that fails on a split has NaN there and the reason in ``note``; the others go on.

    Parameters
    ----------
    calibrators : name -> calibrator; fresh copies are fitted. The raw model is always there, first, as "identity".
    data : all rows, labelled.
    part : size of the calibration part of each split, as in ``Predictions.split``: a fraction or a count.
    n_repeats : number of splits.
    random_state : split r is drawn, stratified, with the seed ``random_state + r``.
    callback : called after every fit as ``callback(fits done, fits in all, nan)``; may raise to cancel.

    Returns
    -------
    pandas.DataFrame
        One row for each method, split and score, with the columns method, title, split, score, value, fit_seconds,
        n_calibration, n_test, note. :func:`calib.studies.summarise_splits` makes the comparison of it.

    Raises
    ------
    CalibrationError
        If there are fewer than two splits.
    DataError
        If the part cannot be taken from the data.
    """
    import pandas as pd

    if n_repeats < 2:
        raise CalibrationError(f"{n_repeats} split shows no spread; repeat at least twice.")
    methods = with_baseline(calibrators)
    steps = Steps(n_repeats * len(methods), callback or no_callback)
    rows: list[dict[str, Any]] = []
    for split in range(n_repeats):
        calibration, test = data.split(part, random_state=random_state + split)
        sizes = {"n_calibration": len(calibration), "n_test": len(test)}
        for name, method in methods.items():
            here = {"method": name, "title": title_of(name), "split": split, **sizes}
            rows += [here | values for values in _scored(attempt(method, calibration, test, steps))]
            steps.next()
    table = pd.DataFrame(rows)
    known = set(table.loc[table["value"].notna(), "score"])
    return table[table["score"].isin(known)].reset_index(drop=True)


def _scored(made: Attempt) -> list[dict[str, Any]]:
    values = scores(made.evaluation) if made.evaluation is not None else {}
    absent = made.note or CONFIDENCE_ONLY
    return [
        {
            "score": key,
            "value": values.get(key, float("nan")),
            "fit_seconds": made.fit_seconds,
            "note": "" if key in values else absent,
        }
        for key in SCORES
    ]
