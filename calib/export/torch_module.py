"""A fitted calibrator as the source of a PyTorch module, which needs torch alone.

:mod:`calib.export.predict` says what each step computes; here each is a line or a few of the module's ``forward``.
"""

from __future__ import annotations

import base64
import re
import textwrap
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import calib
from calib.calibrators.steps import TINY, Step
from calib.canonical import KINDS
from calib.export.npz import checked_steps, logit_steps
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats
from calib.registry import METHODS

FEW = 24
"""Numbers up to which an array is written as numbers; longer ones are packed."""

WIDE = 100
"""Characters of a line."""

MODULE = '''"""{title}, exported by calib {version}; this file needs torch alone.

{about}

    from calibrator import Calibrator
    probs = Calibrator()(outputs)
"""

{imports}import torch


{parts}class Calibrator(torch.nn.Module):
    """Calibrated probabilities (n, {n_classes}) of a model's outputs (n, {n_columns}), float64.

    Outputs: {outputs}. Rows with NaN or infinite values become NaN.
    """

    def __init__(self) -> None:
        super().__init__()
{buffers}
    def forward(self, outputs: torch.Tensor) -> torch.Tensor:
        """Probabilities of outputs of any floating dtype."""
        x = outputs.to(torch.float64)
{lines}
        return torch.where(usable, x, float("nan"))
'''

PARTS = {
    "numbers": '''
def numbers(text: str, rows: int, columns: int) -> torch.Tensor:
    """Float64 numbers from their compressed bytes."""
    raw = bytearray(zlib.decompress(base64.b64decode(text)))
    return torch.frombuffer(raw, dtype=torch.float64).reshape(rows, columns)
''',
    "log_odds": '''
def log_odds(x: torch.Tensor) -> torch.Tensor:
    """Log-odds of each class against all others."""
    top = torch.arange(x.shape[1], device=x.device) == torch.argmax(x, 1, keepdim=True)
    others = torch.where(top, float("-inf"), x - torch.amax(x, 1, keepdim=True))
    odds = torch.exp(others)
    rest = torch.clamp(torch.sum(odds, 1, keepdim=True) - odds, min=0.0)
    below = others - torch.log1p(rest)
    best = -torch.logsumexp(others, 1, keepdim=True)
    return torch.where(top, torch.maximum(best, torch.amax(below, 1, keepdim=True)), below)
''',
    "weighed_gaps": '''
def weighed_gaps(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Each row sorted, its gaps times the weights, its largest at 0; back in the order of the classes."""
    ranked, order = torch.sort(x, dim=1, descending=True, stable=True)
    below = torch.cumsum((ranked[:, 1:] - ranked[:, :-1]) * weights, 1)
    return torch.gather(torch.nn.functional.pad(below, (1, 0)), 1, torch.argsort(order, 1))
''',
    "piecewise": '''
def piecewise(
    x: torch.Tensor, breaks: torch.Tensor, origins: torch.Tensor, coefficients: torch.Tensor
) -> torch.Tensor:
    """Polynomials of x less an origin between breaks, (maps, m): one map for all columns, or one for each.

    A break belongs to the interval that begins with it. Coefficients: (degree + 1, maps (m + 1)), the constant first.
    """
    at = x.detach()
    if breaks.shape[0] == 1:
        i = torch.searchsorted(breaks[0], at.contiguous(), right=True)
    else:
        i = torch.searchsorted(breaks, at.t().contiguous(), right=True).t()
        i = i + torch.arange(breaks.shape[0], device=x.device) * origins.shape[1]
    degree = coefficients.shape[0] - 1
    result = coefficients[degree][i]
    for power in range(degree):
        result = result * (x - origins.flatten()[i]) + coefficients[degree - 1 - power][i]
    return result
''',
    "mean_of_draws": '''
def mean_of_draws(
    x: torch.Tensor, at: torch.Tensor, growth: torch.Tensor, low: float, spacing: float, order: int
) -> torch.Tensor:
    """Mean softmax of x plus functions of ``at``, whose exponentials at the nodes of a grid are given.

    Growth: (nodes, draws); the nodes begin at ``low``. Between them it is a polynomial of the order 1 or 3.
    """
    size = growth.shape[0]
    at = torch.clamp((at - low) / spacing, 0.0, size - 1.0)
    first = torch.clamp(torch.floor(at.detach()).long() - order // 2, 0, size - 1 - order)
    u = at - first
    weights = [1 - u, u]
    if order == 3:
        left, right = u * (u - 1), (u - 2) * (u - 3)
        weights = [(u - 1) * right / -6, u * right / 2, left * (u - 3) / -2, left * (u - 2) / 6]
    odds = torch.exp(x - torch.amax(x, 1, keepdim=True))
    sums = torch.zeros(x.shape[0], size, dtype=x.dtype, device=x.device)
    for step, weight in enumerate(weights):
        sums = torch.scatter_add(sums, 1, first + step, odds * weight)
    ratio = torch.matmul(1 / torch.matmul(sums, growth), growth.t()) / growth.shape[1]
    result = torch.zeros_like(odds)
    for step, weight in enumerate(weights):
        result = result + weight * torch.gather(ratio, 1, first + step)
    return odds * result
''',
}
"""Functions that modules are made of; each needs earlier ones alone."""


class Lines:
    """The lines of ``forward``, which make x anew step by step, and the buffers that they read."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.buffers: list[str] = []
        self._names: dict[str, int] = {}

    def set(self, value: str, name: str = "x") -> None:
        """Write that a variable becomes the value of an expression."""
        if value != name:
            self.lines.append(f"{name} = {value}")

    def new(self, name: str) -> str:
        """A name that is not taken yet."""
        self._names[name] = self._names.get(name, 0) + 1
        return name if self._names[name] == 1 else f"{name}_{self._names[name]}"

    def kept(self) -> str:
        """The name of a variable that keeps what x is now."""
        name = self.new("given")
        self.set("x", name)
        return name

    def held(self, name: str, array: Any) -> str:
        """A number as it is, and an array as a buffer."""
        array = np.asarray(array)
        if array.ndim == 0:
            return repr(array.item())
        name = self.new(name)
        self.buffers.append(f'self.register_buffer("{name}", {_tensor(array)})')
        return f"self.{name}"

    def run(self, steps: Sequence[Step]) -> None:
        """Write what a list of steps makes of x."""
        for step in steps:
            options = {name: value for name, value in step.items() if name != "step"}
            word = WORDS[step["step"]]
            if isinstance(word, str):
                self.set(
                    word.format(**{name: self.held(name, value) for name, value in options.items()})
                )
            else:
                word(self, **options)


def _tensor(array: Any) -> str:
    """An array in torch, as numbers where they are few."""
    if array.dtype.kind == "i":
        return f"torch.tensor({array.tolist()})"
    if array.size <= FEW:
        return f"torch.tensor({array.tolist()}, dtype=torch.float64)".replace("inf", 'float("inf")')
    packed = base64.b64encode(zlib.compress(array.astype("<f8").tobytes(), 9)).decode()
    rows = np.atleast_2d(array).shape
    return f'numbers("{packed}", {rows[0]}, {rows[1]})' + ("" if array.ndim == 2 else "[0]")


def _affine(to: Lines, scale: Any = 1.0, offset: Any = 0.0, x: str = "x") -> None:
    x += f" * {to.held('scale', scale)}" if np.any(np.not_equal(scale, 1.0)) else ""
    to.set(x + (f" + {to.held('offset', offset)}" if np.any(offset) else ""))


def _softmax(to: Lines, among: Any = None, kept: Any = None) -> None:
    if kept is None:
        to.set("torch.softmax(x, 1)")
        return
    among_ = to.held("among", among)
    kept_ = to.held("kept", kept)
    to.set(f"torch.exp(x[:, {kept_}])", "held")
    to.set("torch.clamp(1 - held.sum(1, keepdim=True), min=0.0)", "left")
    to.set(f"left * torch.softmax(x[:, {among_}], 1)", "shares")
    to.set(
        f"torch.cat([held, shares], 1)[:, {to.held('order', np.argsort(np.append(kept, among)))}]"
    )


def _piecewise(to: Lines, breaks: Floats, origins: Floats, coefficients: Floats) -> None:
    given = {
        "breaks": np.atleast_2d(breaks),
        "origins": np.atleast_2d(origins),
        "coefficients": coefficients.reshape(len(coefficients), -1),
    }
    to.set(f"piecewise(x, {', '.join(to.held(name, array) for name, array in given.items())})")


def _mix(to: Lines, weights: Sequence[Any], parts: Sequence[list[Step]]) -> None:
    given = to.kept()
    total = to.new("total")
    for i, (weight, part) in enumerate(zip(weights, parts, strict=True)):
        if i:
            to.set(given)
        to.run(part)
        to.set(f"{total} + " * (i > 0) + f"{to.held('weight', weight)} * x", total)
    to.set(total)


def _one_vs_rest(to: Lines, steps: list[Step]) -> None:
    given = to.kept()
    to.set("log_odds(x)")
    to.run(steps)
    to.set(f"torch.where(x.sum(1, keepdim=True) < {TINY!r}, torch.softmax({given}, 1), x)")


def _draws(
    to: Lines,
    growth: Floats,
    low: float,
    spacing: float,
    order: int,
    of_probabilities: bool = False,
) -> None:
    at = "torch.softmax(x, 1)" if of_probabilities else "x"
    to.set(f"mean_of_draws(x, {at}, {to.held('growth', growth)}, {low!r}, {spacing!r}, {order})")


WORDS: dict[str, str | Callable[..., None]] = {
    "affine": _affine,
    "matrix": lambda to, matrix, offset=0.0: _affine(
        to, 1.0, offset, f"x @ {to.held('matrix', matrix)}.t()"
    ),
    "log": "torch.log(torch.clamp(x, min=0.0))",
    "cut": "torch.maximum(x, x.amax(1, keepdim=True) - {depth})",
    "finite": 'torch.where(x == float("-inf"), {low}, x)',
    "log_sigmoid": "torch.nn.functional.logsigmoid(x)",
    "sigmoid": "torch.sigmoid(x)",
    "normalise": "x / x.sum(1, keepdim=True)",
    "log_softmax": "torch.log_softmax(x, 1)",
    "softmax": _softmax,
    "piecewise": _piecewise,
    "mix": _mix,
    "one_vs_rest": _one_vs_rest,
    "ranks": "weighed_gaps(x, {weights})",
    "draws": _draws,
}
"""Each step of :data:`calib.export.predict.STEPS` in torch: what x becomes, or what writes the lines that say so."""


def torch_source(exported: ExportedCalibrator) -> str:
    """The text of a ``.py``, as :func:`calib.export.save` writes it."""
    metadata = exported.metadata
    kind = exported.kind
    n_columns = exported.n_outputs
    to = Lines()
    if n_columns == 1:
        to.lines += ["if x.dim() == 1:", "    x = x[:, None]"]
    to.lines += [f"if x.dim() != 2 or x.shape[1] != {n_columns}:"]
    to.lines += [f'    raise ValueError("The calibrator takes outputs of shape (n, {n_columns}).")']
    to.set(
        'torch.all(x < float("inf"), 1, keepdim=True)' if kind == "log_probabilities" else _FINITE,
        "usable",
    )
    to.run([*logit_steps(exported), *checked_steps(exported.calibrator)])
    names = ", ".join(exported.class_names[:20]) + (", ..." if exported.n_classes > 20 else ".")
    day = metadata.get("exported_on", "an unknown day")
    about = f"Data: {metadata.get('data_name', 'not recorded')}; exported on {day}."
    body = "\n".join([*to.buffers, *to.lines])
    parts: list[str] = []
    for name, text in reversed(PARTS.items()):
        if re.search(rf"(?<![\w.]){name}\(", "\n".join([body, *parts])):
            parts.insert(0, f"{text.strip()}\n\n\n")
    return MODULE.format(
        title=METHODS[exported.method].title,
        version=calib.__version__,
        about="\n".join(
            textwrap.wrap(_plain(f"{about} Classes: {names}"), WIDE, break_on_hyphens=False)
        ),
        imports="import base64\nimport zlib\n\n" if "numbers(" in body else "",
        parts="".join(parts),
        n_classes=exported.calibrator.n_classes_,
        n_columns=n_columns,
        outputs=KINDS[kind],
        buffers="".join(f"        {line}\n" for line in to.buffers),
        lines="\n".join(f"        {line}" for line in to.lines),
    )


_FINITE = "torch.all(torch.isfinite(x), 1, keepdim=True)"


def _plain(text: str) -> str:
    """Text that stays text inside a docstring, whatever it holds."""
    return "".join(c if c.isprintable() and c not in '"\\' else "?" for c in text)
