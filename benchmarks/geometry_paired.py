"""Means over shuffles and differences in pairs, with intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import t as students_t

from benchmarks.geometry_methods import BASELINES, EXACT, FAST
from calib.numerics import Floats


def values(found: pd.DataFrame, method: str, key: str) -> Floats:
    """A method's scores, (n_shuffles,), in the order of the shuffles."""
    return found[found["method"] == method].sort_values("seed")[key].to_numpy()


def mean_and_error(found: pd.DataFrame, method: str, key: str) -> str:
    """Mean and its standard error."""
    scores = values(found, method, key)
    return f"{scores.mean():.2f} ± {scores.std(ddof=1) / np.sqrt(len(scores)):.2f}"


def differences(found: pd.DataFrame, method: str, of: str, key: str) -> tuple[float, float, float]:
    """How far a method's score is above that of another on the same shuffles: mean, and 95 % of Student's interval.

    It tells what other shuffles of the same rows would give, which share their rows, and nothing about other data.
    """
    above = values(found, method, key) - values(found, of, key)
    half = students_t.ppf(0.975, len(above) - 1) * above.std(ddof=1) / np.sqrt(len(above))
    return float(above.mean()), float(above.mean() - half), float(above.mean() + half)


def interval(found: pd.DataFrame, method: str, of: str, key: str) -> str:
    """The same as a cell of a table, with a dash for a method beside itself."""
    if method == of:
        return "–"
    mean, low, high = differences(found, method, of, key)
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"


def verdict(found: pd.DataFrame) -> str:
    """Which baselines have a higher ECE than the separations, and whether that is more than chance; one classifier."""
    said = []
    for of in (FAST.title, EXACT.title):
        against = {method.title: differences(found, method.title, of, "ece") for method in BASELINES}
        beyond = [title for title, (_, low, _) in against.items() if low > 0]
        within = [f"{title} ({mean:+.2f})" for title, (mean, low, _) in against.items() if low <= 0 < mean]
        above = [f"{title} ({mean:+.2f})" for title, (mean, _, _) in against.items() if mean <= 0]
        parts = [f"{of}: ECE below {len(beyond)} of {len(against)} baselines beyond the interval"]
        parts += [f"below {', '.join(within)} within it"] if within else []
        parts += [f"not below {', '.join(above)}"] if above else []
        said.append(f"{'; '.join(parts)}.")
    return " ".join(said)
