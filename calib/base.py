"""The contract of a calibrator: what it declares, what it promises, and how it is fitted and asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from inspect import Parameter, signature
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from calib.arrays import as_array, check_extras, check_logits, check_of_rows
from calib.canonical import DEFAULT_FLOOR, Kind
from calib.errors import CalibrationError, missing_package
from calib.formatting import Displayed, number, plural
from calib.numerics import (
    PREDICTED_ENTRIES,
    Floats,
    Ints,
    argmax_with_ties,
    blocks,
    less_row_maxima,
)
from calib.outputs import OutputFormat, learn_format, warn_of_labels
from calib.parameters import (
    check_declared,
    check_learned,
    check_names,
    parameter_names,
    unknown_parameter,
)
from calib.parameters import param as param

Progress = Callable[[int, int, float], None]
"""``progress(step, total, value)`` during a long fit; it may raise :class:`FitCancelled`."""

KEEPS_ACCURACY = "keeps accuracy"
KEEPS_RANKING = "keeps ranking"
ROWS_SUM_TO_ONE = "rows sum to one"
EQUIVARIANT = "equivariant to relabelling"
POSITIVE = "no probability is zero"
KEEPS_HALF = "equal outputs of two classes stay equal"
NEEDS_CLASSES = "learns from the outputs of all classes"
MINDS_OFFSETS = "a constant added to a row matters"
LEARNS_NOTHING = "learns nothing"

MANY_TIMES = 10
"""Weights that sum to more than so many times their number are pointed out."""


def silent(step: int, total: int, value: float) -> None:
    """Ignore progress."""


class Predictor:
    """Prediction from outputs as a model writes them, which fitted and exported calibrators share."""

    def predict_proba(
        self: Any, outputs: Any, kind: Kind | None = None, groups: Any = None
    ) -> Floats:
        """Calibrated probabilities, shape (n, n_classes), float64.

        Parameters
        ----------
        outputs : array_like or Predictions
            As in :meth:`fit`: the same kind, and the same columns; those of a DataFrame in any order.
        kind : str or None, default None
            Kind of the outputs, to confirm it where they look like another.
        groups : array_like of shape (n,) or None, default None
            Group of each row, for a map by group; Predictions hold their own.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Columns in the order of the classes.

        Raises
        ------
        CalibrationError
            If it is not fitted, the outputs are of another form, or the method gives a confidence alone.
        """
        groups = self.groups_of_rows(outputs, groups)
        return self.probs_from_logits(self.to_logits(outputs, kind), groups)

    def groups_of_rows(self: Any, outputs: Any, groups: Any) -> Any:
        """Groups as they are passed or as Predictions hold them; None for methods without groups.

        Raises
        ------
        CalibrationError
            If a method needs groups and there are none.
        """
        if not self.needs_groups:
            return None
        if groups is None and hasattr(outputs, "group_values"):
            groups = groups_for(self, outputs)
        if groups is None:
            raise CalibrationError(
                "This calibrator has a map by group: pass groups=, one for each row; an unknown group has the "
                "map that all share."
            )
        return np.asarray(groups)

    def predict(
        self: Any, outputs: Any, kind: Kind | None = None, groups: Any = None
    ) -> npt.NDArray[Any]:
        """Most probable class of each row; ties are broken by the raw outputs, then by the lower class.

        A method that gives a confidence only keeps the class of the largest output.

        Parameters
        ----------
        outputs, kind, groups : array_like or Predictions, str or None, and array_like or None
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n,)
            Labels as they were given to :meth:`fit`.
        """
        logits = self.to_logits(outputs, kind)
        groups = self.groups_of_rows(outputs, groups)
        probs = self.probs_from_logits(logits, groups) if self.gives_probabilities else logits
        return self.classes_[argmax_with_ties(probs, logits)]

    def predict_confidence(
        self: Any,
        outputs: Any,
        features: Any = None,
        kind: Kind | None = None,
        groups: Any = None,
    ) -> Floats:
        """Confidence in the predicted class: the largest probability unless the method says otherwise.

        Parameters
        ----------
        outputs : array_like or Predictions
            As in :meth:`predict_proba`.
        features : array_like of shape (n, ...) or None, default None
            Inputs of the rows, for methods that need them; Predictions hold their own.
        kind, groups : str or None, and array_like of shape (n,) or None
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n,)
            From 0 to 1.
        """
        features = getattr(outputs, "features", None) if features is None else features
        groups = self.groups_of_rows(outputs, groups)
        return self.confidence_from_logits(self.to_logits(outputs, kind), features, groups)

    def probs_from_logits(self, logits: Any, groups: Any = None) -> Floats:
        """Calibrated probabilities of canonical logits, (n, n_classes).

        Parameters
        ----------
        logits : array_like of shape (n, n_classes)
            Finite; log-probabilities of outputs that are probabilities.
        groups : array_like of shape (n,) or None, default None
            Group of each row, for a map by group; without them all rows have the map that groups share.

        Returns
        -------
        ndarray of shape (n, n_classes)
            As from :meth:`predict_proba`.
        """
        raise NotImplementedError

    def confidence_from_logits(
        self, logits: Any, features: Any = None, groups: Any = None
    ) -> Floats:
        """Confidence in the predicted class of canonical logits, (n,).

        Parameters
        ----------
        logits : array_like of shape (n, n_classes)
            As in :meth:`probs_from_logits`.
        features : array_like of shape (n, ...) or None, default None
            Inputs of the rows, on the scale of the fit; methods that do not need them leave them aside.
        groups : array_like of shape (n,) or None, default None
            As in :meth:`probs_from_logits`.

        Returns
        -------
        ndarray of shape (n,)
            From 0 to 1.
        """
        raise NotImplementedError


@dataclass(eq=False, repr=False, kw_only=True)
class Calibrator(Predictor, Displayed):
    """Base of every calibrator.

    A subclass is a keyword-only dataclass whose fields are declared with :func:`param`. It writes two hooks:
    ``_fit(logits, labels, *, progress)`` stores what it learned in attributes whose names end in ``_``, and
    ``_predict(logits)`` gives probabilities with NumPy alone. Further keyword-only arguments of ``_fit``, such as
    ``weights=None``, are arrays of the rows that :meth:`fit` takes; those without a default it must be given.

    Hooks get checked float64 logits, whose largest of each row is 0 unless ``MINDS_OFFSETS`` is among the traits.
    Learned attributes are numbers, strings, arrays, or lists and dicts of these, so that each method is stored and
    exported in the same way. A method that knows only the confidence in the predicted class writes
    ``confidence_from_logits`` instead of ``_predict``.

    Parameters
    ----------
    random_state : int, default 0
        Seed of whatever the fit draws.

    Examples
    --------
    A method of one step: offsets that bring the mean probability of each class to its frequency.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> import calib
    >>> from calib.numerics import softmax
    >>> @dataclass(kw_only=True)
    ... class Offsets(calib.Calibrator):
    ...     def _fit(self, logits, labels, *, progress):
    ...         frequency = np.bincount(labels, minlength=logits.shape[1]) / len(labels)
    ...         self.offsets_ = np.log(frequency / softmax(logits).mean(axis=0))
    ...
    ...     def _predict(self, logits):
    ...         return softmax(logits + self.offsets_)
    >>> data = calib.load_sample("digits-cnn")
    >>> Offsets().fit(data).predict_proba(data).shape
    (1547, 10)
    """

    random_state: int = param(
        0, low=0, high=2**32 - 1, help="Seed of everything random in the fit."
    )

    traits: ClassVar[frozenset[str]] = frozenset({ROWS_SUM_TO_ONE, EQUIVARIANT})
    """Properties of every configuration; where they depend on the parameters, :meth:`promises` has them."""

    min_rows: ClassVar[int] = 2
    needs: ClassVar[frozenset[str]] = frozenset()
    """Arrays beyond logits and labels that ``fit`` must be given; read from the signature of ``_fit``."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """Arrays beyond logits and labels that ``fit`` uses where given; read from the signature of ``_fit``."""

    weights_note_ = ""
    headline: ClassVar[tuple[str, ...]] = ()
    """Learned numbers that are displayed with the calibrator."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        named = [
            p for p in signature(cls._fit).parameters.values() if p.kind is Parameter.KEYWORD_ONLY
        ]
        extras = [p for p in named if p.name != "progress"]
        cls.needs = frozenset(p.name for p in extras if p.default is Parameter.empty)
        cls.takes = frozenset(p.name for p in extras) - cls.needs

    # -- what subclasses write -------------------------------------------------------------------------

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress) -> None:
        raise TypeError(f"{type(self).__name__} has no _fit")

    def _predict(self, logits: Floats) -> Floats:
        raise TypeError(f"{type(self).__name__} has no _predict")

    def steps(self) -> list[dict[str, Any]]:
        """Return the steps that ``_predict`` computes, from which exports to other places are written.

        :mod:`calib.export.predict` says what each step does. A method without steps is exported as a pickle alone.

        Returns
        -------
        list of dict
            Each with its name under ``step``.
        """
        raise CalibrationError(
            f"{type(self).__name__} is not written as steps, from which all files but the pickle are made; save a .pkl."
        )

    def shared_steps(self) -> list[dict[str, Any]]:
        """Return the steps for rows of no known group, which :meth:`departures` follow.

        Returns
        -------
        list of dict
            As from :meth:`steps`.
        """
        return self.steps()

    def departures(self) -> dict[str, Any] | None:
        """Return the maps by group that follow the steps: column, names, slopes and offsets; None where there are none.

        Returns
        -------
        dict or None
            ``names`` of the G groups, ``slopes`` (G,) and ``offsets`` (G, K) of log-probabilities.
        """
        return None

    def notes(self) -> list[str]:
        """Return sentences about the finished fit that a person should read, most important first.

        Here the one about weights, for methods to which their sum matters: they add ``super().notes()`` to their own.

        Returns
        -------
        list of str
            Empty where there is nothing to say.
        """
        return [self.weights_note_] if self.weights_note_ else []

    def promises(self, n_classes: int) -> frozenset[str]:
        """Return the guarantees of this configuration for ``n_classes`` classes; the contract test checks each.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        frozenset of str
            Names of the guarantees.
        """
        return self.traits

    def variant(self, n_classes: int) -> str:
        """Difference of this configuration from others of the method for ``n_classes``; shown behind the title.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        str
            Parameters that are not at their defaults, as ``name=value``; empty where all are.
        """
        return ", ".join(self._changed())

    # -- what users call -------------------------------------------------------------------------------

    def fit(
        self,
        outputs: Any,
        labels: Any = None,
        *,
        kind: Kind | Literal["auto"] = "auto",
        progress: Progress = silent,
        **extras: Any,
    ) -> Self:
        """Learn from a calibration set, and remember the form of its outputs.

        A fit that fails or is cancelled leaves the earlier one as it was.

        Parameters
        ----------
        outputs : array_like of shape (n, n_classes) or (n,), or Predictions
            Logits or probabilities as the model writes them; (n,) are those of the event, the second of two classes.
            :class:`calib.Predictions` hold their labels, weights and clusters too.
        labels : array_like of shape (n,), optional
            True classes: numbers of columns, or as many different values as there are columns, in sorted order or as
            the columns of a DataFrame are called.
        kind : str, default "auto"
            What the outputs are, such as "logits" or "probabilities". "auto" takes them for probabilities where most
            rows lie in [0, 1] and sum to one within their rounding.
        progress : callable, optional
            Called as ``progress(step, total, value)``; may raise :class:`FitCancelled`.
        **extras : array_like
            Arrays of the rows that the method needs or takes. ``weights`` says for how many rows each counts: a weight
            of 2 is the row given twice, to methods that choose by folds twice in one cluster, and one of 0 leaves it
            out. With them ``auto`` tries fewer methods: those that take weights. ``sample_weight`` means the same.

        Returns
        -------
        Self
            The calibrator itself, now fitted.

        Raises
        ------
        CalibrationError
            If a parameter or an array is not usable; the message says what to change.

        Examples
        --------
        >>> import calib
        >>> probs, labels = [[0.9, 0.1], [0.3, 0.7], [0.7, 0.3], [0.2, 0.8]], ["no", "yes", "yes", "yes"]
        >>> fitted = calib.calibrator("platt").fit(probs, labels)
        >>> fitted.predict_proba([[0.8, 0.2], [0.3, 0.7]]).shape, fitted.classes_.tolist()
        ((2, 2), ['no', 'yes'])
        """
        self.check_params()
        if hasattr(outputs, "output_format"):
            if labels is not None:
                raise CalibrationError(
                    "Predictions hold their labels; pass them alone: fit(predictions)."
                )
            form = outputs.output_format()
            extras = extras_for(self, outputs) | extras
            logits, codes = outputs.logits, outputs.labels
        else:
            logits, codes, form = learn_format(outputs, labels, kind)
            if (
                kind == "auto"
            ):  # members of a mean, folds and workers name the kind; their rows were checked
                warn_of_labels(logits, codes, form)
        logits = self._hook_input(logits)
        if "sample_weight" in extras:
            extras["weights"] = extras.pop("sample_weight")
        extras = check_extras(type(self), extras, len(codes))
        weighing = ""
        if "weights" in extras and not extras["weights"].all():
            positive = extras["weights"] > 0
            weighing = " with a weight above 0"
            logits = logits[positive]
            codes = codes[positive]
            extras = {name: array[positive] for name, array in extras.items()}
        if len(codes) < self.min_rows:
            raise CalibrationError(
                f"The calibration set has {plural(len(codes), 'row')}{weighing}; "
                f"{type(self).__name__} needs at least {self.min_rows}."
            )
        fitted = type(self)(**self.get_params())
        fitted._fit_checked(logits, codes, progress, extras)
        fitted.remember(form)
        for name in [
            name for name in vars(self) if name.endswith("_")
        ]:  # others are scikit-learn's
            delattr(self, name)
        vars(self).update(vars(fitted))
        return self

    def remember(self, form: OutputFormat) -> Self:
        """Take outputs of this form from now on; :meth:`fit` does so by itself.

        Parameters
        ----------
        form : OutputFormat
            Of outputs whose canonical logits it was fitted on: ``predictions.output_format()``.

        Returns
        -------
        Self
            The calibrator itself.
        """
        # No fit needed a larger floor where nothing is learned, and so zeros stay zeros.
        zeros = LEARNS_NOTHING in self.traits and form.floor
        self.outputs_ = replace(form, floor=DEFAULT_FLOOR) if zeros else form
        return self

    def _fit_checked(
        self, logits: Floats, labels: Ints, progress: Progress, extras: dict[str, Any]
    ) -> None:
        self.n_samples_fit_, self.n_classes_ = logits.shape
        if "weights" in extras and (note := _weights_note(extras["weights"])):
            self.weights_note_ = note
        try:
            self._fit(logits, labels, progress=progress, **extras)
        except ModuleNotFoundError as error:
            raise CalibrationError(missing_package(error)) from error

    @property
    def gives_probabilities(self) -> bool:
        """True for probabilities of all classes, False for a confidence in the predicted one alone."""
        return type(self)._predict is not Calibrator._predict

    def score(self, outputs: Any, labels: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, as classifiers of scikit-learn do.

        Parameters
        ----------
        outputs : array_like or Predictions
            As in :meth:`predict_proba`.
        labels : array_like of shape (n,)
            True classes, as in :meth:`fit`.
        sample_weight : array_like of shape (n,) or None, default None
            Weight of each row.

        Returns
        -------
        float
            Weighted share of rows whose class is predicted.
        """
        return float(
            np.average(self.predict(outputs) == as_array(labels, "labels"), weights=sample_weight)
        )

    # -- the same of canonical logits, as Predictions hold them ----------------------------------------

    @property
    def needs_groups(self) -> bool:
        """True for a calibrator that predicts from the group of each row too."""
        return "groups" in self.needs

    @property
    def group_column(self) -> str:
        """Column of Predictions that holds the groups; "" for those chosen there."""
        return str(getattr(self, "column", ""))

    def probs_from_logits(self, logits: Any, groups: Any = None) -> Floats:
        """Predict block by block with the method's hook."""
        logits = self._check_fitted_input(logits)
        if not self.gives_probabilities:
            argument = ", features=features" if "features" in self.needs else ""
            raise CalibrationError(
                f"{type(self).__name__} gives a confidence in the predicted class only, not probabilities of all "
                f"classes; call predict_confidence(outputs{argument})."
            )
        arrays = {}
        if self.needs_groups and groups is not None:
            arrays = {"groups": check_of_rows("groups", groups, len(logits))}
        probs = np.empty(logits.shape)
        for rows in blocks(len(logits), logits.shape[1], self._predicted_entries()):
            extras = {name: array[rows] for name, array in arrays.items()}
            probs[rows] = self._predict(self._hook_input(logits[rows]), **extras)
        return probs

    def confidence_from_logits(
        self, logits: Any, features: Any = None, groups: Any = None
    ) -> Floats:
        """Largest probability, unless the method says otherwise."""
        return self.probs_from_logits(logits, groups).max(axis=1)

    # -- state and scikit-learn's conventions ----------------------------------------------------------

    @property
    def fitted(self) -> bool:
        """True after a successful ``fit``."""
        return hasattr(self, "n_classes_")

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """(n_classes,) label of each column, as labels were given to :meth:`fit`."""
        form = vars(self).get("outputs_") or OutputFormat.numbered(self.n_classes_)
        return form.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the outputs."""
        return self.outputs_.n_outputs

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the columns of the DataFrame that it was fitted on; there for such fits alone."""
        if not self.outputs_.columns:
            raise AttributeError(f"This {type(self).__name__} was fitted on columns without names.")
        return np.array(self.outputs_.columns, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return self.fitted

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        target = TargetTags(required=True, one_d_labels=True)
        return Tags(
            estimator_type="classifier",
            target_tags=target,
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(),
        )

    def get_state(self) -> dict[str, Any]:
        """Everything learned: the attributes whose names end in ``_``, but for the form of the outputs.

        Returns
        -------
        dict of str to object
            Numbers, strings, arrays, and lists and dicts of these.
        """
        learned = (item for item in vars(self).items() if item[0] != "outputs_")
        return {k: v for k, v in learned if k.endswith("_") and not k.startswith("_")}

    def set_state(self, state: Mapping[str, Any]) -> Self:
        """Take on what a calibrator with these parameters has learned, as :meth:`get_state` gave it.

        Parameters
        ----------
        state : mapping of str to object
            From :meth:`get_state`.

        Returns
        -------
        Self
            The calibrator itself, now fitted.

        Raises
        ------
        CalibrationError
            If no fit can have learned it, as where a file was changed.
        """
        vars(self).update(check_names(state))
        self.check_state()
        self.outputs_ = OutputFormat.numbered(self.n_classes_)
        return self

    def check_state(self) -> None:
        """Raise :class:`CalibrationError` where what was learned gives no probabilities, as in a changed file."""
        check_learned(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyper-parameters by name (scikit-learn's convention).

        Parameters
        ----------
        deep : bool, default True
            There for scikit-learn; makes no difference here.

        Returns
        -------
        dict of str to object
            Values as they are now.
        """
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change hyper-parameters by name; takes effect at the next fit.

        Parameters
        ----------
        **params
            New values by name.

        Returns
        -------
        Self
            The calibrator itself.
        """
        for name, value in params.items():
            if name not in parameter_names(type(self)):
                raise CalibrationError(unknown_parameter(type(self), name))
            setattr(self, name, value)
        return self

    def check_params(self) -> None:
        """Raise :class:`CalibrationError` for a parameter outside its declared range."""
        check_declared(self)

    def _predicted_entries(self) -> int:
        """Numbers in a block of prediction."""
        return PREDICTED_ENTRIES

    def _hook_input(self, logits: Any) -> Floats:
        """Input of the hooks for these logits."""
        checked = check_logits(logits)
        return (
            checked
            if MINDS_OFFSETS in self.traits or not len(checked)
            else less_row_maxima(checked, logits)
        )

    def _check_fitted(self) -> None:
        if not self.fitted:
            raise CalibrationError(
                f"This {type(self).__name__} is not fitted yet; call fit(outputs, labels) first."
            )

    def _check_fitted_input(self, logits: Any) -> Floats:
        array = as_array(logits, "logits")
        self._check_fitted()
        if array.ndim != 2 or array.shape[1] != self.n_classes_:
            raise CalibrationError(
                f"Expected logits of shape (n, {self.n_classes_}), as in the calibration set; got {array.shape}."
            )
        return array

    def to_logits(self, outputs: Any, kind: Kind | None = None) -> Floats:
        """Canonical logits by the form that the fit remembers.

        Parameters
        ----------
        outputs, kind : array_like or Predictions, and str or None
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Float64.
        """
        self._check_fitted()
        form = vars(self).get("outputs_") or OutputFormat.numbered(self.n_classes_)
        return form.to_logits(outputs, kind)

    def _changed(self) -> list[str]:
        """``name=value`` of the parameters that are not at their defaults, seed and device aside."""
        return [
            f"{f.name}={getattr(self, f.name)}"
            for f in fields(self)
            if f.name not in ("random_state", "device") and getattr(self, f.name) != f.default
        ]

    def __repr__(self) -> str:
        parameters = f"{type(self).__name__}({', '.join(self._changed())})"
        if not hasattr(self, "n_samples_fit_"):
            return parameters
        sizes = [plural(self.n_samples_fit_, "row"), plural(self.n_classes_, "class", "classes")]
        learned = [f"{name}={getattr(self, name):.3g}" for name in self.headline]
        return f"{parameters}: fitted on {', '.join([*sizes, *learned])}"


def _weights_note(weights: Floats) -> str:
    """A sentence where the weights sum to fewer rows than there are, or to far more; else empty."""
    n = len(weights)
    total = float(weights.sum())
    if 0.99 * n <= total <= MANY_TIMES * n:
        return ""
    return (
        f"The weights of {n:,} rows sum to {number(total)} and count as so many rows, where penalties, smoothing and "
        "the least number of rows are concerned; if they are not counts, scale them to a mean of one."
    )


NO_STEPS = "A map by group takes the group of each row, which this file does not: save a .pkl, .npz or .zip."


def extras_for(method: Calibrator, data: Any) -> dict[str, Any]:
    """The arrays beyond logits and labels that fitting ``method`` takes from a data set, by name.

    Weights are among them only where somebody said what they mean. Those of a sample or of exposure are scaled to a
    mean of one, so that penalties, smoothing and priors count the rows there are, whatever the weights sum to.

    Raises
    ------
    CalibrationError
        If the data set does not hold them all; says why where they were given and could not be used. Of pairs, if the
        method needs the outputs of all classes.
    """
    if not counts_weights(type(method), data):
        raise CalibrationError(
            f"{type(method).__name__} takes no weights, and these rows are weighted by {data.weight_kind}: choose a "
            "method that does, such as temperature, Platt or isotonic."
        )
    if not can_learn(type(method), data):
        raise CalibrationError(
            f"{type(method).__name__} learns from the outputs of all classes, but these data hold one confidence for "
            "each answer; choose a method of one score, such as Platt, beta or isotonic."
        )
    arrays = {name: getattr(data, name, None) for name in sorted(method.needs)}
    if method.needs_groups:
        arrays["groups"] = groups_for(method, data)
    if absent := [name for name, array in arrays.items() if array is None]:
        missing = (
            finding for finding in getattr(data, "findings", ()) if finding.left_out in absent
        )
        why = next((f": {finding.reason} {finding.action}".rstrip() for finding in missing), ".")
        raise CalibrationError(
            f"{type(method).__name__} needs {', '.join(absent)}, which these data do not hold{why}"
        )
    weights = getattr(data, "confirmed_weights", None)
    if weights is not None and data.weight_kind != "frequency":
        weights = weights / weights.mean()
    of_rows = {"clusters": getattr(data, "clusters", None), "weights": weights}
    return arrays | {
        name: array for name, array in of_rows.items() if name in method.takes and array is not None
    }


def groups_for(method: Any, data: Any) -> Any:
    """Groups of a data set from which ``method`` predicts; None for methods without groups."""
    needs = getattr(method, "needs_groups", False)
    return data.group_values(method.group_column) if needs else None


def is_pairs(data: Any) -> bool:
    """Test for pairs: a confidence and its correctness for each answer, in place of classes."""
    return getattr(data, "kind", None) == "pairs"


def can_learn(cls: type[Calibrator], data: Any) -> bool:
    """Test that a method can learn from the kind of outputs of a data set, and from its weights."""
    return (NEEDS_CLASSES not in cls.traits or not is_pairs(data)) and counts_weights(cls, data)


def counts_weights(cls: type[Calibrator], data: Any) -> bool:
    """Test that a method takes the weights of a data set, if any; others would be judged by other rows."""
    weights = getattr(data, "confirmed_weights", None)
    return weights is None or "weights" in cls.takes or LEARNS_NOTHING in cls.traits
