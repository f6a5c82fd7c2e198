"""A fitted calibrator as the source of a PyTorch module, which needs torch alone."""

from __future__ import annotations

import base64
import math
import re
import textwrap
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

import calib
from calib.canonical import KINDS, ONE_COLUMN
from calib.export.formulas import formula
from calib.export.graph import Array, Draws, Piecewise, Value, in_order
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats
from calib.registry import METHODS

FEW = 24
"""Numbers up to which an array is written as numbers; longer ones are packed."""

MOST_NAMES = 20
"""Classes whose names the source says."""

WIDE = 88
"""Characters up to which an expression that is used once becomes part of another."""

_COMPARE, _ADD, _MULTIPLY, _ATOM = range(4)  # how strongly Python binds

WORDS = {
    "less": (_COMPARE, "{} < {}"),
    "equal": (_COMPARE, "{} == {}"),
    "add": (_ADD, "{} + {}"),
    "subtract": (_ADD, "{} - {}"),
    "multiply": (_MULTIPLY, "{} * {}"),
    "divide": (_MULTIPLY, "{} / {}"),
    "exp": (_ATOM, "torch.exp({})"),
    "log": (_ATOM, "torch.log({})"),
    "sigmoid": (_ATOM, "torch.sigmoid({})"),
    "softplus": (_ATOM, "softplus({})"),
    "minimum": (_ATOM, "torch.minimum({}, {})"),
    "maximum": (_ATOM, "torch.maximum({}, {})"),
    "where": (_ATOM, "torch.where({}, {}, {})"),
    "row_sum": (_ATOM, "torch.sum({}, 1, keepdim=True)"),
    "row_max": (_ATOM, "torch.amax({}, 1, keepdim=True)"),
    "product": (_ATOM, "torch.matmul({}, {}.t())"),
    "softmax": (_ATOM, "torch.softmax({}, 1)"),
    "log_softmax": (_ATOM, "torch.log_softmax({}, 1)"),
    "log_odds": (_ATOM, "log_odds({})"),
    "top_log_odds": (_ATOM, "top_log_odds({})"),
    "in_proportion": (_ATOM, "in_proportion({}, {})"),
    "gaps": (_ATOM, "gaps({}, {})"),
    "draws": (_ATOM, "{2}({0}, {1})"),
    "piecewise": (_ATOM, "{1}({0})"),
}
"""Operations in torch, and how strongly each binds its parts; what is given follows the values."""


def torch_source(given: ExportedCalibrator) -> str:
    """The text of the file that :func:`calib.export.to_torch` writes.

    Raises
    ------
    CalibrationError
        For a method without a formula; see :func:`calib.export.formulas.formula`.
    """
    written = _Writer(in_order(formula(given)))
    kind, columns = given.kind, 1 if given.kind in ONE_COLUMN else given.n_classes
    usable = "outputs < float('inf')" if kind == "log_probabilities" else "torch.isfinite(outputs)"
    one_column = ["if outputs.dim() == 1:", "    outputs = outputs.unsqueeze(1)"] if columns == 1 else []
    forward = [
        '"""Probabilities in float64."""',
        "outputs = outputs.to(torch.float64)",
        *one_column,
        f"if outputs.dim() != 2 or outputs.shape[1] != {columns}:",
        f'    raise ValueError("The calibrator takes outputs of shape (n, {columns}).")',
        *written.lines,
        f"usable = torch.all({usable}, 1, keepdim=True)",
        f"return torch.where(usable, {written.result}, float('nan'))",
    ]
    title, shown = METHODS[given.method].title, ", ".join(given.class_names[:MOST_NAMES])
    names = _plain(f"Classes: {shown}{', ...' if given.n_classes > MOST_NAMES else '.'}")
    members = [
        f'"""Calibrated probabilities (n, {given.n_classes}) of a model\'s outputs (n, {columns}), by {title}.',
        "",
        f"Outputs: {KINDS[kind]}. Rows with NaN or infinite values become NaN.",
        *textwrap.wrap(names, 100, break_on_hyphens=False),
        '"""',
        "",
        "def __init__(self) -> None:",
        *_indented(["super().__init__()", *written.members]),
        "",
        "def forward(self, outputs: torch.Tensor) -> torch.Tensor:",
        *_indented(forward),
    ]
    module = "\n".join(["class Calibrator(torch.nn.Module):", *_indented(members)])
    parts = _needed_parts(module)
    head = [
        f'"""{title}, exported by calib {calib.__version__}; this file needs torch alone.',
        "",
        "from calibrator import Calibrator",
        "probs = Calibrator()(outputs)",
        '"""',
        "",
        *(["import base64", "import zlib", ""] if "def numbers(" in "".join(parts) else []),
        "import torch",
    ]
    return "\n\n\n".join(["\n".join(head), *parts, module]) + "\n"


def _needed_parts(module: str) -> list[str]:
    """Source of the functions and classes that a module needs, in the order of their file."""
    _, *parts = Path(__file__).with_name("torch_parts.py").read_text(encoding="utf-8").rstrip().split("\n\n\n")
    needed: list[str] = []
    for part in reversed(parts):  # each is used by later ones alone
        name = part.partition("(")[0].split()[-1]
        if re.search(rf"(?<![\w.]){name}\(", "\n".join([*needed, module])):
            needed.insert(0, part)
    return needed


def _plain(text: str) -> str:
    """Text that stays text inside a docstring, whatever it holds."""
    return "".join(c if c.isprintable() and c not in '"\\' else "?" for c in text)


def _indented(lines: list[str]) -> list[str]:
    return ["\n".join(f"    {part}" if part else "" for part in line.split("\n")) for line in lines]


class _Writer:
    """Values as lines of Python.

    Attributes
    ----------
    members : lines that make what was learned an attribute of the module.
    lines : statements in the order of the values.
    result : the last value as an expression.
    """

    def __init__(self, values: list[Value]):
        self.members: list[str] = []
        self.lines: list[str] = []
        self._names: dict[str, int] = {}
        self._known: dict[int, str] = {}
        uses = Counter(id(part) for value in values for part in value.of)
        self._written: dict[int, tuple[int, str]] = {}
        for value in values:
            binds, text = self._expression(value)
            if value.of and (uses[id(value)] > 1 or len(text) > WIDE):
                name = self._new("v")
                self.lines.append(f"{name} = {text}")
                binds, text = _ATOM, name
            self._written[id(value)] = binds, text
        self.result = text

    def _expression(self, value: Value) -> tuple[int, str]:
        op, of, given = value.op, value.of, value.given
        if op == "input":
            return _ATOM, "outputs"
        if op == "constant":
            return _ATOM, self._given(given)
        if op == "join":
            return _ATOM, f"torch.cat([{', '.join(self._part(part) for part in of)}], 1)"
        if op == "columns":
            return _ATOM, self._columns(self._part(of[0], _ATOM), given)
        if op in ("minimum", "maximum") and not isinstance(of[1], Value):
            bound = "max" if op == "minimum" else "min"
            return _ATOM, f"torch.clamp({self._part(of[0])}, {bound}={_number(of[1])})"
        binds, words = WORDS[op]
        # The right side of - and / binds its own parts more strongly; so does that of + and *, which costs nothing.
        parts = [self._part(part, binds + (place > 0) if binds < _ATOM else 0) for place, part in enumerate(of)]
        if op == "product":
            parts[1] = self._part(of[1], _ATOM)
        return binds, words.format(*parts, *([] if given is None else [self._given(given)]))

    def _part(self, part: Value | float, binds: int = 0) -> str:
        """A value inside an expression, in parentheses where it binds less strongly."""
        if not isinstance(part, Value):
            return _number(part)
        own, text = self._written[id(part)]
        return text if own >= binds else f"({text})"

    def _columns(self, of: str, which: tuple[int, ...]) -> str:
        if which == tuple(range(which[0], which[0] + len(which))):
            return f"{of}[:, {which[0]}:{which[-1] + 1}]"
        return f"torch.index_select({of}, 1, {self._buffer('classes', f'torch.tensor({list(which)})')})"

    def _given(self, given: Array | Piecewise | Draws) -> str:
        """An attribute that holds what was learned, made once."""
        if id(given) not in self._known:
            self._known[id(given)] = self._member(given)
        return self._known[id(given)]

    def _member(self, given: Array | Piecewise | Draws) -> str:
        if isinstance(given, Array):
            return self._buffer(given.name, _array(given.numbers))
        if isinstance(given, Draws):
            made = f"Draws({_array(given.growth)}, {given.low!r}, {given.spacing!r}, {given.order})"
            return self._attribute("draws", made)
        flat = given.coefficients.reshape(given.degree + 1, -1)
        arrays = (np.atleast_2d(given.breaks), np.atleast_2d(given.origins), flat)
        made = ",\n        ".join([*map(_array, arrays), repr(given.right)])
        return self._attribute("map", f"Piecewise(\n        {made},\n    )")

    def _attribute(self, name: str, made: str) -> str:
        self.members.append(f"self.{(own := self._new(name))} = {made}")
        return f"self.{own}"

    def _buffer(self, name: str, made: str) -> str:
        self.members.append(f'self.register_buffer("{(own := self._new(name))}", {made})')
        return f"self.{own}"

    def _new(self, name: str) -> str:
        self._names[name] = self._names.get(name, 0) + 1
        return f"{name}_{self._names[name]}" if name == "v" or self._names[name] > 1 else name


def _number(value: float) -> str:
    return repr(float(value)) if math.isfinite(value) else f'float("{value}")'


def _array(array: Floats) -> str:
    """A matrix of float64 in torch, as numbers where they are few."""
    if array.size <= FEW:
        rows = ", ".join("[" + ", ".join(map(_number, row)) + "]" for row in array.tolist())
        return f"torch.tensor([{rows}], dtype=torch.float64)"
    packed = base64.b64encode(zlib.compress(array.astype("<f8").tobytes(), 9)).decode()
    return f'numbers("{packed}", {len(array)}, {array.shape[1]})'
