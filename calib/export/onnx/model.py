"""A fitted calibrator as a whole ONNX model: what it takes and gives, and what is recorded in it."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, ValueInfoProto, compose, helper, version_converter

import calib
from calib.canonical import ONE_COLUMN
from calib.data.scales import PLAIN
from calib.errors import CalibrationError, reason
from calib.export.formulas import canonical, formula
from calib.export.graph import Value, apply, in_order
from calib.export.onnx import operations
from calib.export.onnx.tensors import PREFIX, Graph, Tensor, described
from calib.export.runtime import ExportedCalibrator
from calib.registry import METHODS

OPSET, IR_VERSION = 18, 8
"""Version of the operators and of the format, which onnxruntime reads since 1.14 (2023)."""

OLDEST_OPSET = 16
"""The first in which all operators are there."""

INPUT = "outputs"
FLOAT_TYPES: dict[int, str] = {
    TensorProto.DOUBLE: "float64",
    TensorProto.FLOAT: "float32",
    TensorProto.FLOAT16: "float16",
}
MOST_BYTES = 2_000_000_000
"""Of an ONNX file, which is one protobuf message."""

OPERATIONS: dict[str, Callable[..., Tensor]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "exp": Tensor.exp,
    "log": Tensor.log,
    "sigmoid": operations.sigmoid,
    "softplus": operations.softplus,
    "minimum": Tensor.minimum,
    "maximum": Tensor.maximum,
    "less": operator.lt,
    "equal": Tensor.equals,
    "where": operations.where,
    "row_sum": Tensor.row_sums,
    "row_max": Tensor.row_maxima,
    "columns": Tensor.columns,
    "join": operations.joined,
    "product": lambda a, b: a @ b.op("Transpose", perm=[1, 0]),
    "softmax": operations.softmax,
    "log_softmax": lambda a: a.op("LogSoftmax", axis=1),
    "log_odds": operations.log_odds,
    "top_log_odds": lambda a: operations.without_top(a)[1],
    "in_proportion": operations.in_proportion,
    "gaps": lambda a, weights: operations.gaps(a, weights.numbers),
    "draws": operations.average_growth,
    "piecewise": operations.piecewise,
}
"""What the operations of :data:`calib.export.graph.OPERATIONS` are in ONNX; what is given follows the values."""


def to_model(
    exported: ExportedCalibrator, dtype: npt.DTypeLike = "float64", opset: int = OPSET, ir_version: int = IR_VERSION
) -> ModelProto:
    """The ONNX model of an exported calibrator.

    See :func:`calib.export.writer.to_onnx` for what it takes and gives.

    Parameters
    ----------
    dtype : of the outputs that it takes: float64, float32 or float16. They are taken to float64 first.
    opset, ir_version : versions of the operators, from 16 on, and of the format.

    Raises
    ------
    CalibrationError
        If the method, or the kind of outputs, has no ONNX form.
    """
    total = apply("row_sum", canonical(exported))
    wanted = formula(exported) + (total - total)  # NaN where a number is not finite
    graph, pairs = Graph(opset), exported.kind == "pairs"
    given = Tensor(graph, INPUT, np.dtype(dtype))
    outputs = given.cast(np.float64)
    probs = translated(wanted, outputs.reshape(-1, 1) if exported.kind in ONE_COLUMN else outputs)
    result = probs.columns([1]).reshape(-1) if pairs else probs.reshape(-1, exported.n_classes)
    ends = (
        described(given, None if exported.kind in ONE_COLUMN else ["n", exported.n_classes]),
        described(result, ["n"] if pairs else ["n", exported.n_classes]),
    )
    if graph.size > MOST_BYTES:
        raise CalibrationError(
            f"What this {METHODS[exported.method].title} learned takes {graph.size / 1e9:.1f} GB, and an ONNX file "
            "holds 2 GB; share the maps of the classes, or save a .npz."
        )
    name = "calibrated_confidence" if pairs else "calibrated_probabilities"
    model = helper.make_model(
        graph.finished("calib", name, *ends),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=ir_version,
        producer_name="calib",
        producer_version=calib.__version__,
        doc_string=f"{METHODS[exported.method].title}: calibrated with calib {calib.__version__}.",
    )
    helper.set_model_props(model, recorded(exported))
    return model


def recorded(exported: ExportedCalibrator) -> dict[str, str]:
    """What the model says of itself, under names that begin with ``calib.``; values other than texts are JSON."""
    known = {
        "version": calib.__version__,
        "method": exported.method,
        "input": INPUT,
        "params": exported.params,
        "kind": exported.kind,
        "scale": PLAIN if exported.scale is None else exported.scale,
        "floor": exported.floor,
        "class_names": exported.class_names,
        "exported_on": exported.metadata.get("exported_on", ""),
    }
    return {f"calib.{key}": each if isinstance(each, str) else json.dumps(each) for key, each in known.items()}


def translated(result: Value, outputs: Tensor) -> Tensor:
    """A formula of a model's outputs in ONNX."""
    graph, made = outputs.graph, dict[int, Tensor]()
    for value in in_order(result):
        of = [
            made[id(each)] if isinstance(each, Value) else graph.constant(np.asarray(each, np.float64))
            for each in value.of
        ]
        if value.op == "input":
            made[id(value)] = outputs
        elif value.op == "constant":
            made[id(value)] = graph.constant(value.given.numbers)
        elif _of_few_rows(value):
            softmax: Any = value.of[1]
            made[id(value)] = operations.on_rows(of[0], of[2], operations.softmax, made[id(softmax.of[0])])
        else:
            made[id(value)] = OPERATIONS[value.op](*of, *([] if value.given is None else [value.given]))
    return made[id(value)]


def _of_few_rows(value: Value) -> bool:
    """Whether a softmax replaces the rows with a certain sum: it is computed of those rows alone."""
    if value.op != "where" or not isinstance(value.of[0], Value) or not isinstance(value.of[1], Value):
        return False
    tested = value.of[0].of[0] if value.of[0].op == "less" else None
    return isinstance(tested, Value) and tested.op == "row_sum" and value.of[1].op == "softmax"


# -- behind the model that was calibrated -----------------------------------------------------------------------------


def put_behind(
    model_path: str | Path, exported: ExportedCalibrator, path: str | Path, output: str | None = None
) -> Path:
    """Write one model that runs the user's and then calibrates; see :func:`calib.export.writer.behind`."""
    name = Path(model_path).name
    try:
        model = onnx.load(model_path)
    except OSError as error:
        raise CalibrationError(f"The ONNX model {name} cannot be read ({reason(error)}); check its path.") from error
    except (DecodeError, onnx.checker.ValidationError) as error:
        raise CalibrationError(
            f"{name} is no ONNX model, or numbers that it keeps in files beside it are missing ({reason(error)[:200]})."
        ) from error
    opset = _opset(model)
    if opset < OLDEST_OPSET:
        try:
            model, opset = version_converter.convert_version(model, OLDEST_OPSET), OLDEST_OPSET
        except Exception as error:
            raise CalibrationError(
                f"{name} has operators of version {opset}, and calibrating takes {OLDEST_OPSET}; they "
                f"could not be converted, so write the model with opset {OLDEST_OPSET} or newer."
            ) from error
    taken = _output_of(model, exported, output)
    after = to_model(exported, FLOAT_TYPES[taken.type.tensor_type.elem_type], opset, model.ir_version)
    if any(name.startswith((PREFIX, "calib.")) for name in _names(model)):
        raise CalibrationError(f"{name} holds a calibrator already; give the model without it.")
    try:
        merged = compose.merge_models(model, after, io_map=[(taken.name, INPUT)])
    except ValueError as error:
        raise CalibrationError(f"{name} could not be merged with the calibrator: {reason(error)}.") from error
    try:
        onnx.save(merged, path)
    except OSError as error:
        raise CalibrationError(f"{Path(path).name} cannot be written ({reason(error)}); give another path.") from error
    return Path(path)


def _opset(model: ModelProto) -> int:
    return next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), OPSET)


def _names(model: ModelProto) -> list[str]:
    return [name for node in model.graph.node for name in node.output] + [each.key for each in model.metadata_props]


def _output_of(model: ModelProto, exported: ExportedCalibrator, name: str | None) -> ValueInfoProto:
    """The output that the calibrator takes: the one named, or the only one that fits."""
    outputs = {each.name: each for each in model.graph.output}
    fit = {each: value for each, value in outputs.items() if _fits(value, exported)}
    if name is not None:
        fit = {each: value for each, value in fit.items() if each == name}
    if len(fit) != 1:
        wanted = "one column" if exported.kind in ONE_COLUMN else f"{exported.n_classes} columns"
        said = f"the output {name!r} is none" if name is not None else f"{len(fit)} outputs are"
        raise CalibrationError(
            f"The calibrator takes a tensor of floats with {wanted}, and {said} of the model's: {', '.join(outputs)}. "
            "Name the right one with output=; a classifier of scikit-learn is written with zipmap=False."
        )
    return next(iter(fit.values()))


def _fits(value: ValueInfoProto, exported: ExportedCalibrator) -> bool:
    of = value.type.tensor_type
    if of.elem_type not in FLOAT_TYPES:
        return False
    sizes = [size.dim_value for size in of.shape.dim] if of.HasField("shape") else []
    if exported.kind in ONE_COLUMN:
        return len(sizes) < 2 or (len(sizes) == 2 and sizes[1] in (0, 1))
    return not sizes or (len(sizes) == 2 and sizes[1] in (0, exported.n_classes))
