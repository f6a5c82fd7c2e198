"""What a type checker knows of :func:`calib.calibrator`: the class of each name; never imported at run time."""

from typing import Any, Literal, TypeAlias, overload

from calib.base import Calibrator
from calib.calibrators.auto import AutoCalibration
from calib.calibrators.bayes_iso import BayesIso
from calib.calibrators.bbq import BayesianBinning
from calib.calibrators.beta import BetaCalibration
from calib.calibrators.by_group import ByGroup
from calib.calibrators.dirichlet import DirichletCalibration
from calib.calibrators.enir import NearIsotonicEnsemble
from calib.calibrators.ensemble_temperature import EnsembleTemperatureScaling
from calib.calibrators.geometric import Geometric
from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.identity import Identity
from calib.calibrators.imax import IMaxBinning
from calib.calibrators.isotonic import IsotonicCalibration
from calib.calibrators.order_preserving import OrderPreservingScaling
from calib.calibrators.platt import PlattScaling
from calib.calibrators.quadratic import QuadraticScaling
from calib.calibrators.scaling_binning import ScalingBinning
from calib.calibrators.spline import SplineCalibration
from calib.calibrators.structured_vector import StructuredMatrixScaling, StructuredScaling
from calib.calibrators.temperature import TemperatureScaling
from calib.calibrators.vector import VectorScaling
from calib.calibrators.venn_abers import VennAbers

MethodName: TypeAlias = Literal[
    "identity",
    "temperature",
    "isotonic",
    "gpcalib",
    "beta",
    "platt",
    "histogram",
    "vector",
    "bbq",
    "imax",
    "bayes_iso",
    "enir",
    "ensemble_temperature",
    "structured_vector",
    "scaling_binning",
    "order_preserving",
    "structured_matrix",
    "dirichlet",
    "geometric",
    "venn_abers",
    "quadratic",
    "spline",
    "auto",
    "by_group",
]

@overload
def calibrator(name: Literal["identity"], **params: Any) -> Identity: ...
@overload
def calibrator(name: Literal["temperature"], **params: Any) -> TemperatureScaling: ...
@overload
def calibrator(name: Literal["isotonic"], **params: Any) -> IsotonicCalibration: ...
@overload
def calibrator(name: Literal["gpcalib"], **params: Any) -> GPCalib: ...
@overload
def calibrator(name: Literal["beta"], **params: Any) -> BetaCalibration: ...
@overload
def calibrator(name: Literal["platt"], **params: Any) -> PlattScaling: ...
@overload
def calibrator(name: Literal["histogram"], **params: Any) -> HistogramBinning: ...
@overload
def calibrator(name: Literal["vector"], **params: Any) -> VectorScaling: ...
@overload
def calibrator(name: Literal["bbq"], **params: Any) -> BayesianBinning: ...
@overload
def calibrator(name: Literal["imax"], **params: Any) -> IMaxBinning: ...
@overload
def calibrator(name: Literal["bayes_iso"], **params: Any) -> BayesIso: ...
@overload
def calibrator(name: Literal["enir"], **params: Any) -> NearIsotonicEnsemble: ...
@overload
def calibrator(
    name: Literal["ensemble_temperature"], **params: Any
) -> EnsembleTemperatureScaling: ...
@overload
def calibrator(name: Literal["structured_vector"], **params: Any) -> StructuredScaling: ...
@overload
def calibrator(name: Literal["scaling_binning"], **params: Any) -> ScalingBinning: ...
@overload
def calibrator(name: Literal["order_preserving"], **params: Any) -> OrderPreservingScaling: ...
@overload
def calibrator(name: Literal["structured_matrix"], **params: Any) -> StructuredMatrixScaling: ...
@overload
def calibrator(name: Literal["dirichlet"], **params: Any) -> DirichletCalibration: ...
@overload
def calibrator(name: Literal["geometric"], **params: Any) -> Geometric: ...
@overload
def calibrator(name: Literal["venn_abers"], **params: Any) -> VennAbers: ...
@overload
def calibrator(name: Literal["quadratic"], **params: Any) -> QuadraticScaling: ...
@overload
def calibrator(name: Literal["spline"], **params: Any) -> SplineCalibration: ...
@overload
def calibrator(name: Literal["auto"], **params: Any) -> AutoCalibration: ...
@overload
def calibrator(name: Literal["by_group"], **params: Any) -> ByGroup: ...
@overload
def calibrator(name: MethodName, **params: Any) -> Calibrator: ...
