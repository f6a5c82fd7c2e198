"""Automatic choice: a mean of several methods, weighted by the likelihood of rows that they were not fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.base import (
    EQUIVARIANT,
    KEEPS_ACCURACY,
    KEEPS_RANKING,
    NEEDS_CLASSES,
    POSITIVE,
    ROWS_SUM_TO_ONE,
    Calibrator,
    Progress,
)
from calib.calibrators._folds import deal, row_units, standard_error
from calib.calibrators.backend import cpu_description, device_of, on_cpu
from calib.calibrators.steps import Step
from calib.errors import CalibrationError, reason
from calib.formatting import listed, percent, plural
from calib.numerics import Floats, Ints, softmax
from calib.parameters import param
from calib.registry import METHODS, calibrator

N_FOLDS = 3
"""Folds for the members: all fits cost three of each, three on two thirds of the rows and one on all."""

STACKED_FROM = 1000
"""Rows, or clusters, from which stacking sets the weights, and pseudo-BMA+ below."""

FEWEST_ROWS, FEWEST_UNITS = 20, 5
"""Below so many rows, or clusters, nothing is compared, and the simplest member is taken."""

MATRIX_ROWS = 1 / 20
"""Rows by squared classes from which a matrix is tried; of fewer rows it lowered no NLL."""

SAME_MAP = 1e-3
"""Members count as one where their out-of-fold probabilities of the labels differ by no more in any row."""

SMALLEST_WEIGHT = 0.01
"""Members with less are left out, so that prediction and export cost less."""

STACKING = "stacking"
PSEUDO_BMA = "pseudo-BMA+"
ALONE = "alone"

N_DRAWS = 1000
"""Draws of the Bayesian bootstrap."""

_SMALLEST = np.finfo(np.float64).tiny  # the probability that a loss takes for zero


def candidates(n_classes: int, keep_accuracy: bool = False, weighted: bool = False) -> list[str]:
    """Registry names of the members that are tried, the simplest first.

    For two classes those that learn from the outputs of all classes are left out: each has a relative among the maps
    of one score.

    Parameters
    ----------
    n_classes : number of classes.
    keep_accuracy : whether only methods count that promise to change no predicted class.
    weighted : whether only methods count that take weights of rows.
    """
    methods = sorted(
        (method for method in METHODS.values() if method.member),
        key=lambda method: method.complexity,
    )
    return [
        method.name
        for method in methods
        if (n_classes > 2 or NEEDS_CLASSES not in method.cls.traits)
        and (not keep_accuracy or KEEPS_ACCURACY in method.cls().promises(n_classes))
        and (not weighted or "weights" in method.cls.takes)
    ]


def describe_parts(parts: Mapping[str, float]) -> str:
    """Methods with their weights, such as "Beta 60 % and Vector 40 %"; the name alone where there is but one."""
    if len(parts) == 1:
        return f"{METHODS[next(iter(parts))].title} alone"
    return listed([f"{METHODS[name].title} {percent(weight, 0)}" for name, weight in parts.items()])


@dataclass(eq=False, repr=False, kw_only=True)
class AutoCalibration(Calibrator):
    """A mean of several methods, weighted by the likelihood of rows that they were not fitted on.

    Every member of :func:`candidates` is fitted on two of three folds and predicts the third. From the
    log-likelihoods of these predictions come the weights: by stacking from 1,000 rows, by pseudo-BMA+ below (Yao,
    Vehtari, Simpson and Gelman, Using Stacking to Average Bayesian Predictive Distributions, Bayesian Analysis 2018).
    Members that give the same probabilities count as one, the simplest of them. Members with a weight below 1 % are
    left out, the others are fitted on all rows, and the prediction is the weighted mean of their probabilities. A
    structured matrix is tried from K^2 / 20 rows of K classes.

    Rows are dealt to the folds at random. Those of a cluster stay in one fold, are drawn together, and count as one
    where rows are counted. With weights of rows only members that take them are tried, and a row's likelihood counts as
    often as its weight says.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = AutoCalibration().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    keep_accuracy: bool = param(
        False, help="Take the mean of methods alone that change no predicted class."
    )

    traits = frozenset({ROWS_SUM_TO_ONE, EQUIVARIANT, POSITIVE})

    # -- what was chosen ---------------------------------------------------------------------------------

    def parts(self) -> dict[str, float]:
        """Return the methods that the mean is of, with their weights, the largest first.

        Returns
        -------
        dict of str to float
            Weight of each method, by registry name.
        """
        names = [str(member["method"]) for member in self.members_]
        return dict(
            sorted(zip(names, self.weights_.tolist(), strict=True), key=lambda pair: -pair[1])
        )

    def promises(self, n_classes: int) -> frozenset[str]:
        return self.traits | ({KEEPS_ACCURACY, KEEPS_RANKING} if self.keep_accuracy else set())

    def notes(self) -> list[str]:
        shares = describe_parts(self.parts())
        units = plural(self.n_rows_, "row")
        units += f" in {plural(self.n_clusters_, 'cluster')}" if self.n_clusters_ else ""
        if self.rule_ == ALONE:
            least = f"from {FEWEST_ROWS} rows on, in {FEWEST_UNITS} clusters where there are any"
            return [
                *super().notes(),
                f"{shares}: methods are compared {least}, and there are {units}.",
            ]
        best = min(self.judged_, key=lambda member: float(member["nll"]))
        mean = (
            f"; the mean has {self.nll_:.4f}, a little too low since its weights were chosen there"
        )
        return [
            *super().notes(),
            f"Weights by {self.rule_}, from {N_FOLDS} folds of {units}: {shares}.",
            f"On rows outside its fit, {METHODS[best['method']].title} has the lowest NLL of {len(self.judged_)} "
            f"methods, {best['nll']:.4f} (standard error {best['error']:.4f})"
            f"{mean if len(self.members_) > 1 else ''}.",
            *self.remarks_,
        ]

    # -- the fit -----------------------------------------------------------------------------------------

    def _fit(
        self,
        logits: Floats,
        labels: Ints,
        *,
        progress: Progress,
        weights: Floats | None = None,
        clusters: npt.NDArray[Any] | None = None,
    ) -> None:
        names = candidates(logits.shape[1], self.keep_accuracy, weights is not None)
        counts = np.ones(len(labels)) if weights is None else weights
        self.n_rows_, self.n_clusters_ = (
            len(labels),
            0 if clusters is None else len(np.unique(clusters)),
        )
        self.judged_: list[dict[str, Any]] = []
        self.remarks_: list[str] = []
        unweighted = [
            name for name in candidates(logits.shape[1], self.keep_accuracy) if name not in names
        ]
        if unweighted:
            titles = listed([METHODS[name].title for name in unweighted])
            self.remarks_.append(f"Left out, as their fits cannot weigh rows: {titles}.")
        if "structured_matrix" in names and len(labels) < MATRIX_ROWS * logits.shape[1] ** 2:
            names.remove("structured_matrix")
            self.remarks_.append(
                "Left out, as it has too many numbers for so few rows: Structured matrix."
            )
        extras = {"weights": weights, "clusters": clusters}
        done = 0
        total = len(names) * (N_FOLDS + 1)

        def report(*_: float) -> None:
            progress(done, total, np.nan)

        def fit(name: str, rows: Any = slice(None)) -> Calibrator:
            nonlocal done
            unfitted = calibrator(name, random_state=self.random_state)
            row_extras = {
                key: array[rows]
                for key, array in extras.items()
                if key in unfitted.takes and array is not None
            }
            unfitted.fit(logits[rows], labels[rows], kind="logits", progress=report, **row_extras)
            done += 1
            report()
            return unfitted

        def out_of_fold(name: str, folds: Ints) -> Floats:
            """Log-probability of each row's label by the fit to the other folds, (n,)."""
            probs = np.empty(len(folds))
            for fold in range(N_FOLDS):
                inside = np.flatnonzero(folds == fold)
                predicted = fit(name, folds != fold).probs_from_logits(logits[inside])
                probs[inside] = predicted[np.arange(len(inside)), labels[inside]]
            return np.log(np.maximum(probs, _SMALLEST))

        units = row_units(len(logits), clusters)
        if counts.sum() < FEWEST_ROWS or units.max() + 1 < FEWEST_UNITS:
            self.rule_ = ALONE
            shares = {names[0]: 1.0}
        else:
            folds = deal(units, self.random_state, N_FOLDS)
            outside: dict[str, Floats] = {}
            for name in names:
                try:
                    outside[name] = out_of_fold(name, folds)
                except (CalibrationError, ArithmeticError, np.linalg.LinAlgError) as error:
                    self.remarks_.append(f"{METHODS[name].title} was left out: {reason(error)}")
            if not outside:
                raise CalibrationError(
                    " ".join(["No method could be fitted to these rows.", *self.remarks_])
                )
            shares = self._weigh(outside, counts, units)
        fitted = {name: fit(name) for name in shares}
        self.weights_ = np.array(list(shares.values()))
        self.members_: list[dict[str, Any]] = [
            {"method": name, "params": member.get_params(), "state": member.get_state()}
            for name, member in fitted.items()
        ]
        self.device_ = next(
            (device_of(member) for member in fitted.values() if not on_cpu(member)),
            cpu_description(),
        )

    def _weigh(
        self, outside: Mapping[str, Floats], counts: Floats, units: Ints
    ) -> dict[str, float]:
        """Members with their weights by their out-of-fold log-likelihoods; stores what these say of each.

        Parameters
        ----------
        outside : (n,) log-probabilities of the labels, by member.
        counts : (n,) for how many rows each counts.
        units : (n,) the same for rows that are drawn together.
        """
        groups = _group_equal(outside)
        for titles in (
            [METHODS[name].title for name in group] for group in groups.values() if len(group) > 1
        ):
            self.remarks_.append(
                f"{listed(titles)} give the same probabilities, and count as {titles[0]} alone."
            )
        values = np.column_stack([outside[name] for name in groups])
        if (self.n_clusters_ or counts.sum()) >= STACKED_FROM:
            self.rule_, weights = STACKING, stacking_weights(values, counts)
        else:
            summed = counts[:, None] * values
            summed = np.column_stack([np.bincount(units, column) for column in summed.T])
            self.rule_, weights = (
                PSEUDO_BMA,
                pseudo_bma_weights(summed, random_state=self.random_state),
            )
        weights = np.where(weights < SMALLEST_WEIGHT, 0.0, weights)
        weights /= weights.sum()
        shares = {
            name: share for name, share in zip(groups, weights.tolist(), strict=True) if share
        }

        def mean(losses: Floats) -> tuple[float, float]:
            return float(np.average(losses, weights=counts)), standard_error(losses, counts, units)

        self.nll_, _ = mean(-np.log(np.exp(values) @ weights))
        for name, log_probs in outside.items():
            nll, error = mean(-log_probs)
            self.judged_.append({"method": name, "nll": nll, "error": error})
        return shares

    # -- prediction -----------------------------------------------------------------------------------

    def fitted_members(self) -> list[Calibrator]:
        """Fitted calibrators of the members, built once.

        Returns
        -------
        list of Calibrator
            In the order of their weights.
        """
        source, members = getattr(self, "_cached_members", (None, []))
        if source is not self.members_:
            members = [
                calibrator(state["method"], **state["params"]).set_state(state["state"])
                for state in self.members_
            ]
            self._cached_members = (self.members_, members)
        return members

    def _predict(self, logits: Floats) -> Floats:
        members = zip(self.weights_, self.fitted_members(), strict=True)
        return sum(
            (weight * member.probs_from_logits(logits) for weight, member in members),
            np.zeros(logits.shape),
        )

    def steps(self) -> list[Step]:
        parts = [member.steps() for member in self.fitted_members()]
        return [{"step": "mix", "weights": self.weights_.tolist(), "parts": parts}]


def stacking_weights(log_likelihoods: Floats, counts: Floats | None = None) -> Floats:
    """Weights of the mixture of predictive distributions with the greatest out-of-fold log-likelihood.

    Yao, Vehtari, Simpson and Gelman, Using Stacking to Average Bayesian Predictive Distributions, Bayesian Analysis
    2018, equation 8 with the logarithmic score: the maximum over the simplex of
    ``f(w) = mean_i log sum_m w_m p_m(y_i)``, which is concave.

    Parameters
    ----------
    log_likelihoods : (n, m) log-probabilities of the labels by each of m members, of rows they were not fitted on.
    counts : (n,) how much each row counts, from 0 upwards; 1 if None.

    Returns
    -------
    (m,) weights from 0 upwards with the sum 1.

    Examples
    --------
    >>> log_likelihoods = np.log([[0.9, 0.2], [0.9, 0.2], [0.2, 0.9]])
    >>> stacking_weights(log_likelihoods).round(3)
    array([0.762, 0.238])
    """
    from scipy.optimize import minimize

    n, m = log_likelihoods.shape
    share = np.full(n, 1 / n) if counts is None else counts / counts.sum()
    relative = np.maximum(
        np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True)), 1e-100
    )

    def loss(weights: Floats) -> tuple[float, Floats]:
        mixed = relative @ weights
        return -float(share @ np.log(mixed)), -(share / mixed) @ relative

    result = minimize(
        loss,
        np.full(m, 1 / m),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * m,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    weights = np.maximum(result.x, 0.0)
    return weights / weights.sum()


def pseudo_bma_weights(log_likelihoods: Floats, *, random_state: int = 0) -> Floats:
    """Pseudo-BMA+ weights: softmax of the summed out-of-fold log-likelihoods, averaged over a Bayesian bootstrap.

    Yao, Vehtari, Simpson and Gelman 2018, section 3.4: for draws of ``a ~ Dirichlet(1, ..., 1)`` over the n rows the
    weights are proportional to ``exp(n sum_i a_i log p_m(y_i))``, and their mean over draws is taken, so that a
    difference within its sampling error decides nothing. Rows are sorted first, so that their order changes nothing.

    Parameters
    ----------
    log_likelihoods : (n, m) log-probabilities of the labels by each member, or their sums over rows drawn together.
    random_state : seed of the draws.

    Returns
    -------
    (m,) weights from 0 upwards with the sum 1.
    """
    n = len(log_likelihoods)
    values = log_likelihoods[np.lexsort(log_likelihoods.T[::-1])]
    values = values - values.mean(axis=0).max()  # the same for all members, so that it cancels
    generator = np.random.default_rng(random_state)
    draws = (generator.standard_exponential(n) for _ in range(N_DRAWS))
    sums = np.array([n * (shares @ values) / shares.sum() for shares in draws])
    return softmax(sums).mean(axis=0)


def _group_equal(outside: Mapping[str, Floats]) -> dict[str, list[str]]:
    """The first member of each group that gives the same out-of-fold probabilities, with all of its group."""
    groups: dict[str, list[str]] = {}
    for name, values in outside.items():
        gap = {first: np.abs(np.exp(values) - np.exp(outside[first])).max() for first in groups}
        groups.setdefault(
            next((first for first in gap if gap[first] <= SAME_MAP), name), []
        ).append(name)
    return groups
