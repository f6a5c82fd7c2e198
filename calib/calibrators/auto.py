"""Automatic choice: a mean of several methods, weighted by the likelihood of rows that they were not fitted on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from calib.base import KEEPS_ACCURACY, ROWS_SUM_TO_ONE, Calibrator, Callback
from calib.calibrators._folds import fold_of_rows, standard_error
from calib.calibrators._model_weights import pseudo_bma_weights, stacking_weights
from calib.errors import CalibrationError, reason
from calib.formatting import listed, percent, plural
from calib.hardware import DEVICES, cpu_description
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks
from calib.parameters import Array, Condition, Count, Entries, Items, Number, State, Text, param, unusable
from calib.registry import METHODS, calibrator

N_FOLDS = 3
"""So that all fits together cost three of each member: three on two thirds of the rows, one on all."""

STACKED_FROM = 1000
"""Rows, or clusters, from which stacking sets the weights, and pseudo-BMA+ below."""

FEWEST_ROWS, FEWEST_UNITS = 20, 5
"""Below so many rows or clusters nothing is compared, and the simplest member is taken."""

SMALLEST_WEIGHT = 0.01
"""Members with less are left out, so that prediction and export cost less."""

STACKING, PSEUDO_BMA, ALONE = "stacking", "pseudo-BMA+", "alone"

_SMALLEST = np.finfo(np.float64).tiny  # the probability that a loss takes for zero


def candidates(n_classes: int, keep_accuracy: bool = False) -> list[str]:
    """Registry names of the members that are tried, the simplest first.

    For two classes those that learn from the outputs of all classes are left out: each has a relative among the maps
    of one score.

    Parameters
    ----------
    n_classes : number of classes.
    keep_accuracy : whether only methods count that promise to change no predicted class.
    """
    methods = sorted((method for method in METHODS.values() if method.member), key=lambda method: method.complexity)
    return [
        method.name
        for method in methods
        if (n_classes > 2 or not method.cls.needs_classes)
        and (not keep_accuracy or KEEPS_ACCURACY in method.cls().promises(n_classes))
    ]


def in_words(parts: Mapping[str, float]) -> str:
    """Methods with their weights, such as "Beta 60 % and Vector 40 %"; the name alone where there is but one."""
    if len(parts) == 1:
        return f"{METHODS[next(iter(parts))].title} alone"
    return listed([f"{METHODS[name].title} {percent(weight, 0)}" for name, weight in parts.items()])


class _Member(Condition):
    """A fitted member as its method, its parameters and what it learned."""

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        Entries(method=Text(*METHODS), params=_Named(), state=_Named()).check(value, name, sizes)
        fitted = _restored(value)
        if fitted.n_classes_ != sizes["n_classes"]:
            raise unusable(f"{name} is of {fitted.n_classes_} classes, not {sizes['n_classes']}")


class _Named(Condition):
    """A dictionary, whose values somebody else checks."""

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise unusable(f"{name} must be a dictionary")


def _restored(member: Mapping[str, Any]) -> Calibrator:
    """The fitted calibrator of a member."""
    return calibrator(member["method"], **member["params"]).set_state(member["state"])


@dataclass(frozen=True)
class Judged:
    """What the folds say of a member.

    Attributes
    ----------
    method : registry name.
    weight : in the mean; 0 where it was left out.
    nll, error : mean NLL of the rows that it was not fitted on, in nats, and its standard error.
    behind, behind_error : how much larger that is than the best member's, and the standard error of the difference.
    """

    method: str
    weight: float
    nll: float
    error: float
    behind: float
    behind_error: float

    @property
    def title(self) -> str:
        """How pages call the method."""
        return METHODS[self.method].title


@dataclass(eq=False, repr=False, kw_only=True)
class AutoCalibration(Calibrator):
    """A mean of several methods, weighted by the likelihood of rows that they were not fitted on.

    Every member of :func:`candidates` is fitted on two of three folds and predicts the third. From the
    log-likelihoods of these predictions come the weights: by stacking from 1,000 rows, by pseudo-BMA+ below (Yao,
    Vehtari, Simpson and Gelman, Using Stacking to Average Bayesian Predictive Distributions, Bayesian Analysis 2018).
    Members with a weight below 1 % are left out, the others are fitted on all rows, and the prediction is the weighted
    mean of their probabilities.

    Rows of a cluster stay in one fold, and count as one unit where rows are counted and drawn. Weights of rows count in
    the likelihoods, and in the fits of those members that take them.
    """

    keep_accuracy: bool = param(False, help="Take the mean of methods alone that change no predicted class.")
    device: str = param("auto", choices=DEVICES, help="Where to fit those methods that can use a GPU.")

    more_rows: ClassVar[str] = "Fit it again on all rows, old and new: methods and weights are chosen anew."
    takes: ClassVar[frozenset[str]] = frozenset({"clusters", "weights"})
    positive: ClassVar[bool] = True
    state: ClassVar[State] = {
        "members_": Items(_Member()),
        "weights_": Array("members", low=0, high=1, total=1),
        "rule_": Text(STACKING, PSEUDO_BMA, ALONE),
        "judged_": Items(
            Entries(
                method=Text(),
                weight=Number(0, 1),
                nll=Number(0),
                error=Number(0),
                behind=Number(0),
                behind_error=Number(0),
            )
        ),
        "nll_": Number(0).or_absent(),
        "error_": Number(0).or_absent(),
        "n_rows_": Count(1),
        "n_clusters_": Count(),
        "left_out_": Items(Text()),
    }

    # -- what was chosen ---------------------------------------------------------------------------------

    @property
    def judged(self) -> list[Judged]:
        """Every member that was tried, the largest weight first; empty where nothing was compared."""
        found = [Judged(**each) for each in self.judged_]
        return sorted(found, key=lambda each: (-each.weight, each.nll))

    def parts(self) -> dict[str, float]:
        names = [str(member["method"]) for member in self.members_]
        pairs = zip(names, self.weights_.tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))

    def promises(self, n_classes: int) -> frozenset[str]:
        own = [METHODS[name].cls().promises(n_classes) for name in candidates(n_classes, self.keep_accuracy)]
        return frozenset.intersection(*own) | ({KEEPS_ACCURACY} if self.keep_accuracy else set())

    def variant(self, n_classes: int) -> str:
        return "keeps accuracy" if self.keep_accuracy else ""

    def notes(self) -> list[str]:
        shares = in_words(self.parts())
        if self.rule_ == ALONE:
            return [f"{shares}: {self._too_few()}.", *self.left_out_]
        units = f"{self.n_rows_:,} rows"
        units += f" in {self.n_clusters_:,} clusters" if self.n_clusters_ else ""
        best = min(self.judged, key=lambda each: each.nll)
        several = len(self.members_) > 1
        mean = (
            f"; the mean has {self.nll_:.4f}, a little too low since its weights were chosen there" if several else ""
        )
        return [
            f"Weights by {self.rule_}, from {N_FOLDS} folds of {units}: {shares}.",
            f"On rows outside its fit, {best.title} has the lowest NLL of {len(self.judged_)} methods, {best.nll:.4f} "
            f"(standard error {best.error:.4f}){mean}.",
            *self.left_out_,
        ]

    def _too_few(self) -> str:
        if self.n_clusters_:
            have = f"{plural(self.n_rows_, 'row')} in {plural(self.n_clusters_, 'cluster')}"
        else:
            have = plural(self.n_rows_, "row")
        return f"methods are compared from {FEWEST_ROWS} rows and {FEWEST_UNITS} clusters on, and there are {have}"

    # -- the fit -----------------------------------------------------------------------------------------

    def _fit(
        self,
        logits: Floats,
        labels: Ints,
        callback: Callback,
        *,
        clusters: npt.NDArray[Any] | None = None,
        weights: Floats | None = None,
        **extras: Any,
    ) -> None:
        names = candidates(logits.shape[1], self.keep_accuracy)
        self.n_rows_, self.n_clusters_ = len(labels), 0 if clusters is None else len(np.unique(clusters))
        self.left_out_: list[str] = []
        fits = _Fits(self, logits, labels, {"clusters": clusters, "weights": weights}, callback, len(names))
        likelihoods: dict[str, Floats] = {}
        if self.n_rows_ >= FEWEST_ROWS and (clusters is None or self.n_clusters_ >= FEWEST_UNITS):
            folds = fold_of_rows(len(labels), random_state=self.random_state, clusters=clusters, n_folds=N_FOLDS)
            for name in names:
                with self._leaving_out(name):
                    likelihoods[name] = fits.out_of_fold(name, folds)
        self.rule_, shares = ALONE, {names[0]: 1.0}
        self.judged_: list[dict[str, Any]] = []
        if likelihoods:
            shares = self._weigh(likelihoods, clusters, weights)
        fitted: dict[str, Calibrator] = {}
        for name in [name for name, share in shares.items() if share >= SMALLEST_WEIGHT]:
            with self._leaving_out(name):
                fitted[name] = fits.of_rows(name, slice(None))
        if not fitted:
            raise CalibrationError(" ".join(["No method could be fitted to these rows.", *self.left_out_]))
        devices = [made.device_ for made in fitted.values() if hasattr(made, "device_")]
        self.device_ = next((device for device in devices if not device.startswith("CPU")), cpu_description())
        total = sum(shares[name] for name in fitted)
        self.weights_ = np.array([shares[name] / total for name in fitted])
        self.members_ = [
            {"method": name, "params": made.get_params(), "state": made.get_state()} for name, made in fitted.items()
        ]
        for each in self.judged_:
            each["weight"] = shares[each["method"]] / total if each["method"] in fitted else 0.0

    def _weigh(
        self, likelihoods: Mapping[str, Floats], clusters: npt.NDArray[Any] | None, weights: Floats | None
    ) -> dict[str, float]:
        """The weight of each member by its out-of-fold log-likelihoods, which are reported too."""
        values = np.column_stack(list(likelihoods.values()))
        importance = np.ones(len(values)) if weights is None else weights / weights.mean()
        if self._size(clusters, importance) >= STACKED_FROM:
            self.rule_, shares = STACKING, stacking_weights(values, importance)
        else:
            summed = importance[:, None] * values
            if clusters is not None:
                unit = np.unique(clusters, return_inverse=True)[1].ravel()
                summed = np.column_stack([np.bincount(unit, column) for column in summed.T])
            self.rule_, shares = PSEUDO_BMA, pseudo_bma_weights(summed, random_state=self.random_state)

        def mean(losses: Floats) -> tuple[float, float]:
            value = float(np.average(losses, weights=importance))
            return value, standard_error(importance * (losses - value), clusters)

        best = -values[:, np.argmax(importance @ values)]
        for name, column in zip(likelihoods, values.T, strict=True):
            (nll, error), (behind, behind_error) = mean(-column), mean(-column - best)
            numbers = {"nll": nll, "error": error, "behind": max(behind, 0.0), "behind_error": behind_error}
            self.judged_.append({"method": name, "weight": 0.0, **numbers})
        self.nll_, self.error_ = mean(-np.log(np.exp(values) @ shares))
        return dict(zip(likelihoods, shares.tolist(), strict=True))

    def _size(self, clusters: npt.NDArray[Any] | None, importance: Floats) -> float:
        """Equal rows that tell as much as these (Kish), and no more than there are clusters."""
        equal = float(importance.sum() ** 2 / (importance @ importance))
        return equal if clusters is None else min(equal, self.n_clusters_)

    @contextmanager
    def _leaving_out(self, name: str) -> Iterator[None]:
        """A member that cannot be fitted is left out, and this is said."""
        try:
            yield
        except (CalibrationError, ArithmeticError, np.linalg.LinAlgError) as error:
            self.left_out_.append(f"{METHODS[name].title} was left out: {reason(error)}")

    # -- prediction and what was learned -----------------------------------------------------------------

    def check_state(self) -> None:
        super().check_state()
        if not len(self.members_) == len(self.weights_) > 0:
            raise unusable(f"it has {len(self.members_)} members and {len(self.weights_)} weights")
        for made in self._fitted_members():
            promised = made.promises(self.n_classes_)
            if not (made.positive and ROWS_SUM_TO_ONE in promised):
                raise unusable(f"{type(made).__name__} cannot be a member")
            if self.keep_accuracy and KEEPS_ACCURACY not in promised:
                raise unusable(f"{type(made).__name__} need not keep the accuracy")

    def _predict_proba(self, logits: Floats) -> Floats:
        probs = np.zeros(logits.shape)
        for weight, made in zip(self.weights_, self._fitted_members(), strict=True):
            probs += weight * made.predict_proba(logits)
        return probs

    def _fitted_members(self) -> list[Calibrator]:
        """The calibrators of the members, made once."""
        source, made = getattr(self, "_made", (None, []))
        if source is not self.members_:
            made = [_restored(member) for member in self.members_]
            self._made = (self.members_, made)
        return made


class _Fits:
    """Fits members to some of the rows, and counts the fits.

    Parameters
    ----------
    auto : whose seed and device the members take.
    logits, labels : of all rows.
    given : clusters and weights of all rows by name, None where there are none.
    callback : of the whole fit; a member's own progress is none of it.
    n_members : members that are tried.
    """

    def __init__(
        self,
        auto: AutoCalibration,
        logits: Floats,
        labels: Ints,
        given: Mapping[str, Any],
        callback: Callback,
        n_members: int,
    ):
        self._auto, self._logits, self._labels, self._callback = auto, logits, labels, callback
        self._given = {name: array for name, array in given.items() if array is not None}
        self._done, self._total = 0, n_members * (N_FOLDS + 1)

    def of_rows(self, name: str, rows: Any) -> Calibrator:
        """A method at its defaults, fitted to these rows."""
        unfitted = calibrator(name, random_state=self._auto.random_state)
        if METHODS[name].uses_device:
            unfitted.set_params(device=self._auto.device)
        given = {key: array[rows] for key, array in self._given.items() if key in unfitted.takes}
        self._report()
        fitted = unfitted.fit(self._logits[rows], self._labels[rows], callback=lambda *_: self._report(), **given)
        self._done += 1
        self._report()
        return fitted

    def out_of_fold(self, name: str, folds: Ints) -> Floats:
        """Log-probability of each row's label by the fit to the other folds, (n,)."""
        log_likelihoods = np.empty(len(folds))
        for fold in range(N_FOLDS):
            outside = self.of_rows(name, folds != fold)
            inside = np.flatnonzero(folds == fold)
            for part in blocks(len(inside), self._logits.shape[1], MEMORY_ENTRIES):
                rows = inside[part]
                probs = outside.predict_proba(self._logits[rows])[np.arange(len(rows)), self._labels[rows]]
                log_likelihoods[rows] = np.log(np.maximum(probs, _SMALLEST))
        return log_likelihoods

    def _report(self) -> None:
        self._callback(self._done, self._total, np.nan)
