"""Monte-Carlo cross-validation: the same comparison on many random splits of one data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calib.base import Calibrator, Callback, no_callback
from calib.errors import CalibrationError
from calib.evaluation import SCORES, scores
from calib.evaluation.attempt import Attempt, Steps, attempt, title_of, with_baseline
from calib.evaluation.verdict import CONFIDENCE_ONLY

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
        n_calibration, n_test, note. :func:`calib.evaluation.summary.summarise_splits` makes the comparison of it.

    Raises
    ------
    CalibrationError
        If there are fewer than two splits.
    DataError
        If the part cannot be taken from the data.
    """
    steps = Steps(n_repeats * len(with_baseline(calibrators)), callback or no_callback)
    seeds = split_seeds(n_repeats, random_state)
    return join_splits([one_split(calibrators, data, part, split, seed, steps) for split, seed in enumerate(seeds)])


def split_seeds(n_repeats: int, random_state: int) -> range:
    """The seed of each split; refuses fewer than two."""
    if n_repeats < 2:
        raise CalibrationError(f"{n_repeats} split shows no spread; repeat at least twice.")
    return range(random_state, random_state + n_repeats)


def one_split(
    calibrators: Mapping[str, Calibrator], data: Predictions, part: float | int, split: int, seed: int, steps: Steps
) -> pd.DataFrame:
    """The rows of one split, of all scores there could be; what it takes of the others is nothing."""
    import pandas as pd

    calibration, test = data.split(part, random_state=seed)
    sizes = {"n_calibration": len(calibration), "n_test": len(test)}
    rows: list[dict[str, Any]] = []
    for name, method in with_baseline(calibrators).items():
        here = {"method": name, "title": title_of(name), "split": split, **sizes}
        rows += [here | values for values in _scored(attempt(method, calibration, test, steps))]
        steps.next()
    return pd.DataFrame(rows)


def join_splits(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """One table of all splits, without scores that no method has on any."""
    import pandas as pd

    table = pd.concat(tables, ignore_index=True)
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
