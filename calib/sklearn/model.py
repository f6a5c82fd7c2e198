"""A scikit-learn classifier whose probabilities are calibrated by any method of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils._metadata_requests import _routing_enabled
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_is_fitted, column_or_1d

from calib.arrays import check_of_rows
from calib.base import Calibrator
from calib.canonical import DEFAULT_FLOOR, Kind
from calib.errors import CalibrationError
from calib.formatting import plural
from calib.numerics import Floats
from calib.outputs import check_labels_known, class_indices
from calib.parameters import check_by_name, short_repr
from calib.registry import METHODS, calibrator, methods_that_take

RESPONSES: dict[str, Kind] = {
    "predict_log_proba": "log_probabilities",
    "predict_proba": "probabilities",
    "decision_function": "logits",
}
"""Outputs of a classifier to calibrate, the first that it has: where it has no probabilities, its scores are logits."""


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier with calibrated probabilities, as a scikit-learn estimator.

    The calibrator is fitted on out-of-fold outputs: each row's output comes from a clone of the estimator that was
    fitted on the other folds (Platt 1999, section 2.1; scikit-learn's ``CalibratedClassifierCV(ensemble=False)``). The
    estimator is then fitted on all rows. With ``ensemble=True`` each clone keeps a calibrator of its own, fitted on its
    test fold, and probabilities are the mean of theirs. An estimator that is fitted already comes in as
    ``sklearn.frozen.FrozenEstimator``, and all rows calibrate; they must be others than it was trained on.

    What is calibrated are log-probabilities or probabilities where the estimator has them, and otherwise the scores of
    ``decision_function``, taken as logits: one column for two classes, one for each of more
    (``decision_function_shape="ovr"`` of an SVC).

    Parameters
    ----------
    estimator : estimator
        Classifier or pipeline.
    method : str, default "temperature"
        Name in ``calib.METHODS``; all but those that need features (``geometric``).
    cv : int, splitter or iterable, default 5
        Number of folds, which are stratified; or a splitter or an iterable of splits, as in scikit-learn. Rows that are
        in no test fold, as the first of ``TimeSeriesSplit``, do not calibrate; those in several do so several times.
        Not used with a frozen estimator.
    parameters : mapping of str to object or None, default None
        Parameters of the method, by name; None for its defaults. A search takes a list of them.
    random_state : int or None, default None
        Seed of the method's fit; None for the method's own, 0.
    ensemble : bool, default False
        Whether each fold's clone and calibrator are kept and their probabilities averaged.
    n_jobs : int or None, default None
        Folds that are fitted at a time, as scikit-learn has it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    estimator_ : estimator
        The fitted estimator; not there for an ensemble, as the next two.
    calibrator_ : Calibrator
        The fitted :class:`calib.base.Calibrator`; ``calib.export.save(model.calibrator_, path)`` writes one that takes
        the outputs of ``estimator_``.
    calibrated_ : list
        Of an ensemble, one fitted model for each fold, with these three attributes.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(300, n_redundant=5, random_state=0)
    >>> model = CalibratedModel(GaussianNB(), method="beta").fit(X, y)
    >>> model.predict_proba(X).shape
    (300, 2)
    """

    # It need not be in fit's signature: most methods refuse weights, and scikit-learn takes the signature as a promise.
    __metadata_request__fit = {"sample_weight": None}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any,
        method: str = "temperature",
        cv: Any = 5,
        parameters: Mapping[str, Any] | None = None,
        random_state: Any = None,
        ensemble: bool = False,
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.parameters = parameters
        self.random_state = random_state
        self.ensemble = ensemble
        self.n_jobs = n_jobs

    def get_metadata_routing(self) -> MetadataRouter:
        """Route metadata of ``fit`` to the estimator's fit and to the splitter, where routing is enabled.

        Returns
        -------
        MetadataRouter
            As scikit-learn asks for it.
        """
        fitted = MethodMapping().add(caller="fit", callee="fit")
        router = (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=fitted)
        )
        splitter = self.cv if hasattr(self.cv, "split") else None
        return router.add(
            splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split")
        )

    def fit(self, X: Any, y: Any, groups: Any = None, **fit_params: Any) -> Self:
        """Fit the estimator and its calibrator.

        Parameters
        ----------
        X : array_like of shape (n, ...)
            What the estimator takes: arrays, sparse matrices, DataFrames.
        y : array_like of shape (n,)
            Labels of any type that sorts.
        groups : array_like of shape (n,) or None, default None
            Rows of one group stay in one fold, and are one cluster to methods that take clusters; None for independent
            rows.
        **fit_params
            Passed to the estimator's ``fit``. ``sample_weight`` (n,) is for the calibrator too; methods that take no
            weights refuse those that are not all equal, in a sentence that names those that do.

        Returns
        -------
        Self
            The model itself, now fitted.

        Raises
        ------
        CalibrationError
            A ``ValueError``: for a method that does not exist or cannot honour weights, for missing labels, for fewer
            than two classes, and for folds that leave a class without rows to train on.
        """
        unfitted = self._calibrator()
        for name in ("calibrated_", "calibrator_", "estimator_"):  # of an earlier fit
            if hasattr(self, name):
                delattr(self, name)
        y = column_or_1d(y, warn=True)
        check_labels_known(y, "y")
        check_classification_targets(y)
        X, y, groups = indexable(X, y, groups)
        fit_params = {name: value for name, value in fit_params.items() if value is not None}
        extras = self._of_rows(unfitted, groups, fit_params.get("sample_weight"), len(y))
        if _routing_enabled():
            fit_params = dict(process_routing(self, "fit", **fit_params).estimator.fit)
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
            return self._finish(unfitted, self.estimator, _outputs(self.estimator, X), y, extras)
        splits = self._splits(X, y, groups, fit_params.get("sample_weight"))
        folds = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_fold)(self.estimator, X, y, train, test, fit_params)
            for train, test in splits
        )
        if self.ensemble:
            self.calibrated_ = [
                clone(self)._finish(
                    self._calibrator(),
                    estimator,
                    outputs,
                    y[test],
                    {name: of[test] for name, of in extras.items()},
                )
                for (estimator, outputs), (_, test) in zip(folds, splits, strict=True)
            ]
            self.classes_ = self.calibrated_[0].classes_
            return self
        tests = np.concatenate([test for _, test in splits])
        order = np.argsort(tests, kind="stable")
        tests = tests[order]
        kind = folds[0][1][0]
        outputs = np.concatenate([values for _, (_, values) in folds])[order]
        estimator = clone(self.estimator).fit(X, y, **fit_params)
        extras = {name: of[tests] for name, of in extras.items()}
        return self._finish(unfitted, estimator, (kind, outputs), y[tests], extras)

    def _finish(
        self,
        unfitted: Calibrator,
        estimator: Any,
        outputs: tuple[Kind, Floats],
        y: npt.NDArray[Any],
        extras: Mapping[str, Any],
    ) -> Self:
        """Fit the calibrator of a fitted estimator to the kind and the values of outputs, and the labels."""
        kind, values = outputs
        self.classes_ = np.asarray(estimator.classes_)
        self.estimator_ = estimator
        classes = self.classes_
        n_columns = 2 if kind == "binary_log_odds" else values.shape[1]
        if n_columns != len(classes):
            raise CalibrationError(
                f"The estimator gives {n_columns} columns for {len(classes)} classes; it must give one for "
                "each class (decision_function_shape='ovr' of an SVC)."
            )
        if self.method == "identity" and kind in ("probabilities", "log_probabilities"):
            unfitted.set_params(floor=DEFAULT_FLOOR)  # the estimator as it is, exact zeros included
        unfitted.fit(values, class_indices(y, classes), kind=kind, **extras)
        unfitted.outputs_.classes = tuple(classes.tolist())
        unfitted.outputs_.class_names = tuple(map(str, classes))
        self.calibrator_ = unfitted
        return self

    @property
    def _one(self) -> Any:
        """The fitted estimator, of an ensemble the first."""
        return self.calibrated_[0].estimator_ if hasattr(self, "calibrated_") else self.estimator_

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X, where the estimator knows it."""
        return int(self._one.n_features_in_)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the columns of X, where the estimator knows them."""
        return np.asarray(self._one.feature_names_in_)

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities, (n, n_classes), of the classes in the order of ``classes_``.

        Parameters
        ----------
        X : array_like of shape (n, ...)
            What the estimator takes.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In double precision.
        """
        check_is_fitted(self)
        if hasattr(self, "calibrated_"):
            probs: Floats = np.mean(
                [fitted.predict_proba(X) for fitted in self.calibrated_], axis=0
            )
            return probs
        fitted = self.calibrator_
        return fitted.predict_proba(_outputs(self.estimator_, X)[1], fitted.outputs_.kind)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Label with the largest calibrated probability, (n,).

        Of tied classes, which methods with steps give, it is the first: scikit-learn's checks want the ``argmax`` of
        ``predict_proba``. ``calibrator_.predict`` breaks ties by the estimator's outputs.

        Parameters
        ----------
        X : array_like of shape (n, ...)
            What the estimator takes.

        Returns
        -------
        ndarray of shape (n,)
            Labels as they were given to :meth:`fit`.
        """
        most = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):  # a search may put one in the place of None
            inner = get_tags(self.estimator)
            tags.input_tags = inner.input_tags
            if inner.classifier_tags is not None:
                tags.classifier_tags = inner.classifier_tags
        return tags

    def _calibrator(self) -> Calibrator:
        """The calibrator that is to be fitted."""
        check_by_name("parameters", {} if self.parameters is None else self.parameters)
        parameters = dict(self.parameters or {})
        if self.random_state is not None:
            seed = self.random_state
            if not isinstance(seed, (int, np.integer)):
                seed = check_random_state(seed).randint(2**31 - 1)
            parameters.setdefault("random_state", int(seed))
        unfitted = calibrator(self.method, **parameters)
        if unfitted.needs:
            raise CalibrationError(
                f"{METHODS[self.method].title} needs {', '.join(sorted(unfitted.needs))}, which are not a classifier's "
                "outputs; choose a method that learns from outputs alone, such as temperature."
            )
        return unfitted

    def _of_rows(self, unfitted: Calibrator, groups: Any, weights: Any, n: int) -> dict[str, Any]:
        """The arrays of rows that the calibrator takes, by name; refuses weights that it cannot honour."""
        extras = (
            {"clusters": np.asarray(groups)}
            if groups is not None and "clusters" in unfitted.takes
            else {}
        )
        if weights is None:
            return extras
        weights = check_of_rows("weights", weights, n)
        if "weights" in unfitted.takes:
            return {**extras, "weights": weights}
        if self.method != "identity" and np.ptp(weights) > 0:
            raise CalibrationError(
                f"{METHODS[self.method].title} learns from unweighted rows, but sample_weight runs from "
                f"{weights.min():g} to {weights.max():g}; choose one of {', '.join(methods_that_take('weights'))}, or "
                "fit the estimator with the weights, wrap it in FrozenEstimator and calibrate without them."
            )
        return extras

    def _splits(self, X: Any, y: Any, groups: Any, weights: Any) -> list[tuple[Any, Any]]:
        """Train and test rows of each fold; every class with a weight has some in every training part."""
        classes = np.unique(y)
        if len(classes) < 2:
            raise CalibrationError(
                f"Calibration needs rows of at least two classes; {plural(len(y), 'sample')} of one class alone "
                f"{'was' if len(y) == 1 else 'were'} given."
            )
        folds = self.cv
        if isinstance(folds, str):
            raise CalibrationError(
                f"cv={short_repr(folds)} must be a number of folds or a splitter; an estimator that is fitted already "
                "is given as sklearn.frozen.FrozenEstimator(estimator)."
            )
        if groups is not None and isinstance(folds, (int, np.integer)):
            folds = StratifiedGroupKFold(int(folds))
        splits = list(check_cv(folds, y, classifier=True).split(X, y, groups))
        if not splits:
            raise CalibrationError(
                f"cv={short_repr(self.cv)} gives no folds; give a number of them, or a splitter."
            )
        weighted = np.ones(len(y), bool) if weights is None else np.asarray(weights) > 0
        for number, (train, test) in enumerate(splits, 1):
            if (
                self.ensemble and (n_test := int(weighted[test].sum())) < 2
            ):  # scikit-learn wants sample_weight to be named
                raise CalibrationError(
                    f"The test part of fold {number} of {len(splits)} holds {plural(n_test, 'row')} with a "
                    "sample_weight above 0, and its calibrator needs two; use other folds, or ensemble=False."
                )
            if len(absent := np.setdiff1d(y[weighted], y[train][weighted[train]])):
                raise CalibrationError(
                    f"The training part of fold {number} of {len(splits)} holds no row of class "
                    f"{short_repr(absent.tolist()[0])}{'' if weighted.all() else ' with a weight above 0'}; use other "
                    "folds, or calibrate a FrozenEstimator on other rows."
                )
        return splits


def _fit_fold(
    estimator: Any, X: Any, y: Any, train: Any, test: Any, fit_params: dict[str, Any]
) -> tuple[Any, tuple[Kind, Floats]]:
    """A clone that was fitted on the training rows, and its outputs of the test rows.

    ``cross_val_predict`` would number the labels, which an estimator with ``class_weight`` by label refuses.
    """
    of_train = _check_method_params(X, fit_params, indices=train)
    fold = clone(estimator).fit(_safe_indexing(X, train), y[train], **of_train)
    return fold, _outputs(fold, _safe_indexing(X, test))


def _outputs(estimator: Any, X: Any) -> tuple[Kind, Floats]:
    """The kind and the values of what a fitted estimator gives for rows."""
    response = next((name for name in RESPONSES if hasattr(estimator, name)), None)
    if response is None:
        raise CalibrationError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function, so there is no confidence to "
            "calibrate; choose a classifier that has one of them."
        )
    with np.errstate(divide="ignore"):  # scikit-learn's forests take the logarithm of exact zeros
        outputs = np.asarray(getattr(estimator, response)(X))
    one_column = response == "decision_function" and outputs.shape[1:] in ((), (1,))
    return "binary_log_odds" if one_column else RESPONSES[response], outputs
