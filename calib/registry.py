"""Registry of all calibrators. A new one is a file in ``calibrators`` and one entry here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from calib.base import (
    KEEPS_HALF,
    NEEDS_CLASSES,
    Calibrator,
    can_learn,
    counts_weights,
    is_pairs,
)
from calib.errors import CalibrationError
from calib.formatting import listed
from calib.parameters import did_you_mean, parameter_names, short_repr

GPCALIB = "Wenger et al., Non-Parametric Calibration for Classification, AISTATS 2020"
CHOURAQUI = "Chouraqui et al., Uncertainty Estimation based on Geometric Separation, 2023"
GUO = "Guo et al., On Calibration of Modern Neural Networks, ICML 2017"


@dataclass(frozen=True)
class Method:
    """One registered calibrator.

    Attributes
    ----------
    name : the registry name, used in code, on the command line and in exports.
    title : how pages and tables call it.
    where : ``module:class`` below ``calib.calibrators``, imported when first used.
    summary : one sentence on what it does.
    paper : its source.
    complexity : rank of what it learns, by which the simplest of several equivalent methods is taken: 0 nothing, 1, 2
        and 3 so many numbers, 4 a few for each class, 5 one free map or its bins, 6 an average of many such maps,
        7 a distribution of functions, 8 several methods, or more than the outputs.
    fast : whether it fits in about a second at 1000 x 1000; such methods make the *Fast* preset.
    member : whether `auto` tries it for its mean; such a method must be `positive`.
    enough_rows : calibration rows below which its default form was measured to leave some models worse than they were
        (docs/benchmarks.md); 0 for a method that was not.
    formula : what it computes, in LaTeX: of the logits z of a row with K classes, or of the log-odds s of one class.
    avoid : when another method is the better choice.
    """

    name: str
    title: str
    where: str
    summary: str
    paper: str
    complexity: int = field(kw_only=True)
    fast: bool = True
    member: bool = False
    enough_rows: int = 0
    formula: str = ""
    avoid: str = ""

    @property
    def cls(self) -> type[Calibrator]:
        """The class itself, imported now."""
        module, _, name = self.where.partition(":")
        return getattr(import_module(f"calib.calibrators.{module}"), name)

    def __str__(self) -> str:
        return f"{self.title} ({self.name}): {self.summary}"

    @property
    def needs(self) -> frozenset[str]:
        """Arrays beyond logits and labels that it must be given."""
        return self.cls.needs

    @property
    def uses_device(self) -> bool:
        """True for a method that has a ``device`` and so can fit on a GPU."""
        return "device" in parameter_names(self.cls)


# The order is the order of display, and gives each method its colour and marker.
_METHODS = (
    Method(
        "identity",
        "Uncalibrated",
        "identity:Identity",
        "The model as it is.",
        "",
        complexity=0,
        formula=r"p = \mathrm{softmax}(z)",
        avoid="It corrects nothing: it is what the others are compared with.",
    ),
    Method(
        "temperature",
        "Temperature",
        "temperature:TemperatureScaling",
        "One number divides all logits.",
        GUO,
        complexity=1,
        member=True,
        formula=r"p = \mathrm{softmax}(z / T)",
        avoid="Where errors differ between classes or along the confidence: one number moves all alike. With "
        "two classes 0.5 stays 0.5, and so does a wrong event rate.",
    ),
    Method(
        "isotonic",
        "Isotonic",
        "isotonic:IsotonicCalibration",
        "A free monotone map from each class's log-odds to its frequency.",
        "Zadrozny and Elkan, Transforming Classifier Scores into Accurate Multiclass Probability Estimates, KDD 2002",
        complexity=5,
        enough_rows=1000,
        formula=r"p' = f(s), \quad f = \mathrm{argmin}_{f \text{ rising}} \sum_i (y_i - f(s_i))^2",
        avoid="With few rows, or where rows must be ranked finely: all rows on one step get the same "
        "probability.",
    ),
    Method(
        "gpcalib",
        "GPcalib",
        "gpcalib:GPCalib",
        "One latent Gaussian process maps every logit, with uncertainty.",
        GPCALIB,
        complexity=7,
        formula=r"p = \mathrm{softmax}(g(z_1), \dots, g(z_K)), \quad g \sim GP(\mu, k)",
        avoid="Where the predicted class must stay, unless `monotone=True` is set; and where logits have an "
        "arbitrary unit, since the prior takes them as they are.",
    ),
    Method(
        "beta",
        "Beta",
        "beta:BetaCalibration",
        "A three-parameter map made for scores between 0 and 1.",
        "Kull et al., Beta Calibration, AISTATS 2017",
        complexity=3,
        member=True,
        formula=r"\mathrm{logit}\, p' = a \ln p - b \ln(1 - p) + c, \quad a, b \geq 0",
        avoid="With many rows whose map is no beta curve: a spline or Bayes-Iso comes closer to it.",
    ),
    Method(
        "platt",
        "Platt",
        "platt:PlattScaling",
        "A logistic curve on each class's log-odds.",
        "Platt, Probabilistic Outputs for Support Vector Machines, 1999",
        complexity=2,
        member=True,
        formula=r"p' = \sigma(a s + b), \quad a \geq 0",
        avoid="With many rows whose log-odds are off by more than a scale and a shift: a spline or Bayes-Iso "
        "comes closer to the map.",
    ),
    Method(
        "histogram",
        "Histogram",
        "histogram:HistogramBinning",
        "The frequency of each class in bins of its score, smoothed towards the model.",
        "Zadrozny and Elkan, Obtaining Calibrated Probability Estimates from Decision Trees, ICML 2001",
        complexity=5,
        enough_rows=1000,
        formula=r"p' = \frac{n^{+}_{b} + S m_b}{n_b + S} \quad \text{for } s \text{ in bin } b",
        avoid="With few rows, or where the predicted class or the ranking must stay: frequencies need not rise "
        "from bin to bin.",
    ),
    Method(
        "vector",
        "Vector",
        "vector:VectorScaling",
        "A scale and a bias for every class, shrunk towards temperature scaling.",
        GUO,
        complexity=4,
        member=True,
        formula=r"p = \mathrm{softmax}(a \circ x + b), \quad x = \ln \mathrm{softmax}(z / T)",
        avoid="Where the predicted class must stay, or single rows of a class are all there is: it learns two "
        "numbers for each class.",
    ),
    Method(
        "bbq",
        "BBQ",
        "bbq:BayesianBinning",
        "An average of histograms with few to many bins, weighted by their likelihood.",
        "Naeini et al., Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI 2015",
        complexity=6,
        formula=r"p' = \sum_m w_m f_m(s), \quad w_m \propto P(y \mid \text{histogram } m)",
        avoid="Where the predicted class or the ranking must stay: frequencies need not rise from bin to bin.",
    ),
    Method(
        "imax",
        "I-Max",
        "imax:IMaxBinning",
        "Bins that keep the most information about the label, and a probability for each.",
        "Patel et al., Multi-Class Uncertainty Calibration via Mutual Information Maximization-based Binning, 2020",
        complexity=5,
        enough_rows=1000,
        formula=r"p' = r_b \quad \text{for } s \text{ in bin } b, \quad \text{edges} = \mathrm{argmax}\; I(y; b(s))",
        avoid="With few rows; and where the calibration error must be verifiable, set `normalize=False`: rows then need "
        "not sum to one.",
    ),
    Method(
        "bayes_iso",
        "Bayes-Iso",
        "bayes_iso:BayesIso",
        "The average of all monotone maps, weighted by how likely each makes the labels.",
        "Allikivi and Kull, Non-parametric Bayesian Isotonic Calibration, ECML PKDD 2019",
        complexity=6,
        formula=r"p' = \sum_m w_m f_m(s), \quad w_m \propto \prod_i f_m(s_i)^{y_i} (1 - f_m(s_i))^{1 - y_i}",
        avoid="Where classes are many and each has a map of its own: a map takes .2 CPU s.",
    ),
    Method(
        "enir",
        "ENIR",
        "enir:NearIsotonicEnsemble",
        "An average of nearly monotone maps, weighted by their fit and simplicity.",
        "Naeini and Cooper, Binary Classifier Calibration Using an Ensemble of Near Isotonic Regressions, ICDM 2016",
        complexity=6,
        enough_rows=1000,
        formula=r"p' = \sum_m w_m f_m(s), \quad w_m \propto e^{-BIC_m / 2}",
        avoid="With few rows, or where the predicted class or the ranking must stay: its maps are only nearly "
        "monotone.",
    ),
    Method(
        "ensemble_temperature",
        "Ensemble temperature",
        "ensemble_temperature:EnsembleTemperatureScaling",
        "A weighted average of the scaled model and the uniform distribution.",
        "Zhang et al., Mix-n-Match: Ensemble and Compositional Methods for Uncertainty Calibration, ICML 2020",
        complexity=2,
        member=True,
        formula=r"p = (1 - w)\, \mathrm{softmax}(z / T) + w / K",
        avoid="Where classes are off in different ways: it treats all alike.",
    ),
    Method(
        "structured_vector",
        "Structured scaling",
        "structured_vector:StructuredScaling",
        "Temperature scaling, then a scale and a bias for every class, L2-regularised.",
        "Berta et al., Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026",
        complexity=4,
        member=True,
        formula=r"p = \mathrm{softmax}((1 + v) \circ x + b)",
        avoid="Where the predicted class must stay: a bias can change it.",
    ),
    Method(
        "scaling_binning",
        "Scaling-binning",
        "scaling_binning:ScalingBinning",
        "A logistic curve on each class's log-odds, rounded to its means in bins.",
        "Kumar et al., Verified Uncertainty Calibration, NeurIPS 2019",
        complexity=5,
        enough_rows=1000,
        formula=r"p' = \mathrm{mean}_{j \in b}\, \sigma(a s_j + c) \quad \text{for } s \text{ in bin } b",
        avoid="With few rows, or where rows must be ranked finely: all rows of a bin get the same probability.",
    ),
    Method(
        "order_preserving",
        "Order-preserving",
        "order_preserving:OrderPreservingScaling",
        "One weight for each gap between neighbouring logits of a sorted row.",
        "Rahimi et al., Intra Order-Preserving Functions for Calibration, NeurIPS 2020",
        complexity=4,
        fast=False,
        member=True,
        formula=r"p = \mathrm{softmax}(f), \quad f_{(r)} = \sum_{j \geq r} w_j (z_{(j)} - z_{(j+1)}) / T",
        avoid="Where single classes are off: it uses ranks, not classes. With two classes it is temperature scaling.",
    ),
    Method(
        "structured_matrix",
        "Structured matrix",
        "structured_vector:StructuredMatrixScaling",
        "Temperature scaling, then weights between all classes, L2-regularised.",
        "Berta et al., Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026",
        complexity=5,
        fast=False,
        member=True,
        formula=r"p = \mathrm{softmax}((I + M) x + b)",
        avoid="Where the predicted class must stay, or classes are many and rows few: it learns K (K + 1) "
        "numbers.",
    ),
    Method(
        "dirichlet",
        "Dirichlet",
        "dirichlet:DirichletCalibration",
        "Weights between all classes' log-probabilities, shrunk towards temperature scaling.",
        "Kull et al., Beyond Temperature Scaling: Dirichlet Calibration, NeurIPS 2019",
        complexity=5,
        fast=False,
        formula=r"p = \mathrm{softmax}(W \ln p + b)",
        avoid="Where the predicted class must stay, or classes are many and rows few: it learns K (K + 1) "
        "numbers.",
    ),
    Method(
        "geometric",
        "Geometric",
        "geometric:Geometric",
        "A confidence from distances to training inputs of the predicted class and of others.",
        CHOURAQUI,
        complexity=8,
        formula=r"c = f(r), \quad r = \text{separation of the input}",
        avoid="Where probabilities of all classes are needed, or the training data may not be passed on: an "
        "exported file holds them.",
    ),
    Method(
        "venn_abers",
        "Venn-Abers",
        "venn_abers:VennAbers",
        "Two isotonic fits for each score, one with the row as an event and one as none, merged.",
        "Vovk, Petej and Fedorova, Large-Scale Probabilistic Predictors with and without Guarantees of Validity, "
        "NeurIPS 2015",
        complexity=5,
        member=True,
        formula=r"p' = \frac{p_1}{1 - p_0 + p_1}",
        avoid="Where the map must fit in a few numbers: it has as many steps as there are scores.",
    ),
    Method(
        "quadratic",
        "Quadratic",
        "quadratic:QuadraticScaling",
        "A parabola on each class's log-odds that never falls.",
        "Berta et al., Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026",
        complexity=3,
        formula=r"\mathrm{logit}\, p' = a + b s + c s^2",
        avoid="With many rows whose map bends more than once: a spline or Bayes-Iso comes closer to it.",
    ),
    Method(
        "spline",
        "Spline",
        "spline:SplineCalibration",
        "A smooth curve on each class's log-odds, shrunk to a line by cross-validation.",
        "Lucena, Spline-Based Probability Calibration, 2018",
        complexity=5,
        member=True,
        formula=r"\mathrm{logit}\, p' = f(s), \quad f' \geq 0 \text{ and linear between knots}",
        avoid="Where the map jumps, or must fit in a few numbers.",
    ),
    Method(
        "auto",
        "Auto",
        "auto:AutoCalibration",
        "A mean of several methods, weighted by how well each predicts rows that it was not fitted on.",
        "Yao et al., Using Stacking to Average Bayesian Predictive Distributions, Bayesian Analysis 2018",
        complexity=8,
        fast=False,
        formula=r"p = \sum_m w_m\, p^{(m)}, \quad \sum_m w_m = 1",
        avoid="Where one formula must explain the result, or the predicted class must stay, unless "
        "`keep_accuracy=True` is set.",
    ),
    Method(
        "by_group",
        "By group",
        "by_group:ByGroup",
        "A map that all rows share, and for each group a departure from it, shrunk by cross-validation.",
        "Breslow and Clayton, Approximate Inference in Generalized Linear Mixed Models, JASA 1993",
        complexity=4,
        fast=False,
        formula=r"p' = \mathrm{softmax}((1 + a_g) \ln p + b_g), \quad p \text{ of the shared map}",
        avoid="Where the group may not decide, as of a protected attribute, or is not known of new rows.",
    ),
)  # the end of the methods

_RECOMMENDED = (
    "auto",
    "temperature",
    "isotonic",
    "gpcalib",
    "beta",
    "bayes_iso",
    "imax",
    "geometric",
)

METHODS: dict[str, Method] = {method.name: method for method in _METHODS}

OFFERED = sorted(METHODS, key=lambda name: name not in ("identity", "auto"))
"""Names in the order in which methods are offered: the raw model, the mean of several methods, then its members."""


OTHER_NAMES = {"sigmoid": "platt", "logistic": "platt", "temperature_scaling": "temperature"}
"""Names of methods in other packages, and here."""


def calibrator(name: str, **params: Any) -> Calibrator:
    """Make an unfitted calibrator by its registry name.

    Parameters
    ----------
    name : str
        Name in :data:`METHODS`.
    **params
        Parameters of the method; others are at their defaults.

    Returns
    -------
    Calibrator
        Not fitted yet.

    Raises
    ------
    CalibrationError
        For a name or a parameter that does not exist, or a value outside its range.

    Examples
    --------
    >>> calibrator("isotonic", share_classes=False)
    IsotonicCalibration(share_classes=False)
    """
    if name not in tuple(METHODS):
        raise CalibrationError(
            f"There is no calibrator {short_repr(name)}{_suggestion(name)}; choose from {', '.join(METHODS)}."
        )
    method = METHODS[name].cls().set_params(**params)
    method.check_params()
    return method


def _suggestion(name: Any) -> str:
    """The method that somebody meant, as the middle of a sentence; "" where that is not known."""
    if isinstance(name, str) and name in OTHER_NAMES:
        return f" (it is {OTHER_NAMES[name]} here)"
    return did_you_mean(name, METHODS)


def title_of(
    calibrator: Calibrator, method: str, n_classes: int, usual_seed: int | None = 0
) -> str:
    """A method's title and what tells this configuration from others, so that no two fits share a title.

    Parameters
    ----------
    calibrator : fitted or not.
    method : registry name.
    n_classes : number of classes; for two of them there is but one map to share.
    usual_seed : the seed that titles leave out; None leaves out every seed.
    """
    seed = (
        "" if usual_seed in (None, calibrator.random_state) else f"seed {calibrator.random_state}"
    )
    variant = ", ".join(filter(None, (calibrator.variant(n_classes), seed)))
    return f"{METHODS[method].title} ({variant})" if variant else METHODS[method].title


def titles_of(calibrators: Mapping[str, Calibrator], n_classes: int) -> dict[str, str]:
    """The title of each calibrator by its name: a name that is not in the registry is a title itself."""
    return {
        name: title_of(method, name, n_classes, usual_seed=None) if name in METHODS else name
        for name, method in calibrators.items()
    }


def registry_name(calibrator: Calibrator) -> str | None:
    """The registry name of a calibrator, or None for a class that is not registered."""
    where = f"{type(calibrator).__module__.rpartition('.')[2]}:{type(calibrator).__name__}"
    return next((m.name for m in METHODS.values() if m.where == where), None)


def simplicity(calibrator: Calibrator) -> tuple[int, bool]:
    """Key that sorts methods from simple to complex: their rank, and whether each class has a map of its own.

    A class that is not registered comes last.
    """
    name = registry_name(calibrator)
    complexity = (
        METHODS[name].complexity
        if name
        else 1 + max(method.complexity for method in METHODS.values())
    )
    return complexity, not calibrator.get_params().get("share_classes", True)


def short_of_rows(names: Iterable[str], n_rows: int) -> list[str]:
    """The methods among these that may leave a model worse with so few calibration rows."""
    return [name for name in names if n_rows < METHODS[name].enough_rows]


def methods_that_take(array: str) -> list[str]:
    """The methods whose ``fit`` uses an array of the rows where it is given, such as weights, by registry name."""
    return [name for name, method in METHODS.items() if array in method.cls.takes]


def missing_arrays(name: str, data: Any) -> list[str]:
    """The arrays beyond logits and labels that a method needs and a data set does not hold, by attribute name."""
    return sorted(array for array in METHODS[name].needs if getattr(data, array, None) is None)


def describe_exclusions(data: Any) -> str:
    """Name the methods that weights or pairs leave out, and those that keep one half; "" for other data."""
    methods = [method for method in METHODS.values() if method.name != "identity"]
    unweighted = [m.title for m in methods if not counts_weights(m.cls, data)]
    of_weights = f"Not here, as they take no weights: {listed(unweighted)}. " if unweighted else ""
    if not is_pairs(data):
        return of_weights.rstrip()
    methods = [m for m in methods if counts_weights(m.cls, data)]
    excluded = listed([m.title for m in methods if not can_learn(m.cls, data)])
    symmetric = listed(
        [
            m.title
            for m in methods
            if KEEPS_HALF in m.cls.traits and NEEDS_CLASSES not in m.cls.traits
        ]
    )
    return (
        f"{of_weights}{excluded} learn from the outputs of all classes and are left out: these data hold one "
        f"confidence for each answer. {symmetric} leave a confidence of 0.5 where it is."
    )


def presets(data: Any = None, n_rows: int | None = None) -> dict[str, list[str]]:
    """Choices of methods offered on the Fit page; the raw model is always there and so not listed.

    Methods that need more than logits and labels, or the outputs of all classes, are among them where ``data`` hold
    what they need. Platt scaling is recommended for two classes. Where it is known that there are ``n_rows``
    calibration rows, those are not recommended that may leave a model worse with so few.
    """
    methods = [
        METHODS[name] for name in OFFERED if name != "identity" and not missing_arrays(name, data)
    ]
    methods = [m for m in methods if can_learn(m.cls, data)]
    recommended = {*_RECOMMENDED}
    if getattr(data, "n_classes", 0) == 2:
        recommended.add("platt")  # unlike temperature scaling it corrects the level of an event
    if n_rows is not None:
        recommended.difference_update(short_of_rows(_RECOMMENDED, n_rows))
    return {
        "Recommended": [m.name for m in methods if m.name in recommended],
        "Fast": [m.name for m in methods if m.fast],
        "All": [m.name for m in methods],
    }
