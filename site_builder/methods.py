"""A page for each method: what the registry, its class and the arena say of it, and a picture."""

from __future__ import annotations

import inspect
import re
from dataclasses import Field, fields
from functools import cache
from pathlib import Path

from latex2mathml.converter import convert

from calib.base import (
    EQUIVARIANT,
    KEEPS_ACCURACY,
    KEEPS_RANKING,
    NEEDS_CLASSES,
    POSITIVE,
    ROWS_SUM_TO_ONE,
    Calibrator,
)
from calib.calibrators.auto import candidates
from calib.formatting import listed
from calib.registry import METHODS, Method
from site_builder.docstrings import markdown
from site_builder.pictures import draw_script, picture

ARENA = Path(__file__).parents[1] / "docs" / "arena.md"
PROMISES = {
    KEEPS_ACCURACY: "The predicted class stays",
    KEEPS_RANKING: "The order of a row's classes stays",
    ROWS_SUM_TO_ONE: "Rows sum to one",
    EQUIVARIANT: "The numbering of the classes does not matter",
}
"""What a promise means, in words; the contract test holds each method to its own."""
SYMBOLS = {
    "z": "the logits of a row",
    "K": "the number of classes",
    "s": "the model's log-odds of one class against the rest",
    "p'": "the calibrated probability of that class",
    "p": "the calibrated probabilities of a row",
    "T": "the temperature",
    "i": "numbers the calibration rows",
    "x": "the log-probabilities after temperature scaling",
    r"\sigma": "the logistic function, 1 / (1 + exp(-u)) of u",
    "I": "the identity matrix",
    r"\mathrm{softmax}": "the exponentials, divided by their sum",
    r"\mathrm{logit}": "the log-odds, ln(u / (1 - u)) of u",
}
"""What the symbols of formulas stand for, in LaTeX, where :data:`OWN` does not say otherwise."""

_BINS = {"b": "a bin of the log-odds"}
_MAPS = {
    "m": "numbers the maps",
    "w_m": "the weight of map m",
    "f_m": "map m, from the log-odds to a probability",
}
_EACH = {"b": "the bias of each class"}
OWN: dict[str, dict[str, str]] = {
    "identity": {"p": "the model's probabilities of a row"},
    "isotonic": {
        "f": "the map that is learned, which never falls",
        "y_i": "1 where calibration row i has that class, 0 where it has another",
        "s_i": "the s of row i",
    },
    "gpcalib": {
        "g": "the latent function, one for all classes, which is learned",
        "GP": "a Gaussian process",
        r"\mu": "its mean before any row is seen: the logit itself, so that the model counts as calibrated",
        "k": "its covariance function: how alike g is at two logits",
    },
    "beta": {
        "p": "the model's probability of that class",
        "a": "how strongly ln p counts",
        "b": "how strongly ln(1 - p) counts",
        "c": "the shift",
    },
    "platt": {"a": "the slope", "b": "the intercept"},
    "histogram": {
        **_BINS,
        "n_b": "the number of calibration pairs in bin b",
        "n^{+}_{b}": "the number of those with that class",
        "m_b": "the mean of the model's probabilities in bin b",
        "S": "the strength of the smoothing, in pairs",
    },
    "vector": {"a": "the scale of each class", **_EACH, r"\circ": "multiplies class by class"},
    "bbq": {
        "m": "numbers the histograms",
        "w_m": "the weight of histogram m, all of them together 1",
        "f_m": "histogram m, from the log-odds to a probability",
        "P": "how likely histogram m makes the labels",
        "y": "the labels of the calibration rows",
    },
    "imax": {
        **_BINS,
        "b(s)": "the bin in which s lies",
        "r_b": "the probability that stands for bin b",
        "I": "the mutual information",
        "y": "whether a row has that class",
    },
    "bayes_iso": {
        **_MAPS,
        "y_i": "1 where calibration row i has that class, 0 where it has another",
        "s_i": "the s of row i",
    },
    "enir": {
        **_MAPS,
        "BIC": "the Bayesian information criterion of map m, lower for a likelier and simpler map",
        "e": "the base of natural logarithms",
    },
    "ensemble_temperature": {"w": "the weight of the uniform distribution"},
    "structured_vector": {"v": "added to each class's scale of 1", **_EACH, r"\circ": "multiplies class by class"},
    "scaling_binning": {
        **_BINS,
        "j": "numbers the calibration pairs in bin b",
        "s_j": "the s of pair j",
        "a": "the slope",
        "c": "the intercept",
    },
    "order_preserving": {
        "f": "the new logits",
        "r": "a rank in the sorted row, and (r) the class that has it",
        "j": "the ranks from r on",
        "w_j": "the weight of the gap between ranks j and j + 1",
    },
    "structured_matrix": {"M": "what is added to it, weights between all classes", **_EACH},
    "dirichlet": {
        "p": "right of the equals sign the model's probabilities of a row, left of it the calibrated ones",
        "W": "the weights between all classes",
        **_EACH,
    },
    "geometric": {
        "c": "the confidence in the predicted class",
        "f": "the map that is learned",
        "r": "how far the input lies on its class's side of the training data",
    },
    "venn_abers": {
        "p_1": "the isotonic fit where the row is taken as an event",
        "p_0": "that where it is taken as none",
    },
    "quadratic": {"a": "the intercept", "b": "the slope at s = 0", "c": "the curvature"},
    "spline": {"a": "the intercept", "b": "what is added to the slope of 1", "f": "a smooth curve"},
    "auto": {
        "m": "numbers the methods that are averaged",
        "w_m": "the weight of method m, from 0 to 1",
        "p^{(m)}": "the probabilities that method m gives the row",
    },
    "by_group": {
        "g": "the group of the row",
        "a_g": "the departure of the group's slope, 0 without one",
        "b_g": "the departure of the group's offsets, one for each class",
    },
}  # fmt: skip
"""What symbols stand for in the formula of one method."""


def menu() -> list[dict[str, str]]:
    """Entries of the menu."""
    return [
        {"All methods": "methods/index.md"},
        *({m.title: f"methods/{m.name}.md"} for m in METHODS.values()),
    ]


def pages() -> dict[str, str]:
    """Text by path."""
    return {
        "methods/index.md": _overview(),
        **{f"methods/{m.name}.md": _page(m) for m in METHODS.values()},
    }


def formula(latex: str) -> str:
    """A formula as MathML, which browsers draw without a script."""
    return f'<div class="formula">{convert(latex, display="block")}</div>'


def letters(latex: str) -> list[str]:
    """The symbols of a formula that need an explanation, in their order; of an index its letter."""
    named = r"\\mathrm\{(?:softmax|logit)\}|\\(?:sigma|mu|circ)\b"
    words = r"\\(?:text|mathrm)\{[^}]*\}|\\\w+"  # which say themselves what they mean
    found = re.findall(rf"(?P<named>{named})|{words}|(?P<letter>GP|BIC|p'|p_\d|[A-Za-z])", latex)
    return list(dict.fromkeys(name or letter for name, letter in found if name or letter))


def symbols(method: Method) -> str:
    """A list of what the symbols of a method's formula stand for."""
    own = OWN.get(method.name, {})
    found = [
        symbol for symbol in letters(method.formula) if symbol in SYMBOLS and symbol not in own
    ]
    explained = {**{symbol: SYMBOLS[symbol] for symbol in found}, **own}
    return "\n".join(f"- {convert(symbol)}: {words}" for symbol, words in explained.items())


def _overview() -> str:
    rows = [
        f"| [{m.title}]({m.name}.md) | {m.summary} | {_keeps(m)} | {f'{m.enough_rows:,}' if m.enough_rows else ''} |"
        for m in METHODS.values()
    ]
    return "\n".join([
        "# Methods\n",
        "All calibrators of the registry, in the order in which the app shows them. Each page has the formula, the "
        "parameters with their defaults, what is promised, a picture, when another method is the better choice, and "
        "what was measured in the [arena](../arena.md). How to choose: [which method?](../guide/which_method.md)\n",
        "| method | what it does | keeps the predicted class | may harm below so many rows |",
        "|---|---|---|--:|",
        *rows,
    ])  # fmt: skip


def _page(method: Method) -> str:
    drawing, said = picture(method)
    return "\n\n".join(part for part in [
        f"# {method.title}",
        f"{method.summary} In code and on the command line it is `{method.name}`.",
        formula(method.formula),
        symbols(method),
        f'<div class="drawing">{drawing}</div>',
        said,
        "## When not to use it",
        _limits(method),
        "## What it promises",
        _promises(method),
        "## Parameters",
        _parameters(method.cls),
        "## How it works",
        markdown(inspect.getdoc(method.cls) or ""),
        _candidates() if method.name == "auto" else "",
        f"**Source.** {method.paper}." if method.paper else "",
        "## In the arena",
        _arena(method),
        draw_script(1),
    ] if part)  # fmt: skip


def _candidates() -> str:
    two, more = (listed([METHODS[name].title for name in candidates(k)]) for k in (2, 10))
    return f"`candidates` names the methods that are tried: of two classes {two}; of more classes {more}."


def _limits(method: Method) -> str:
    cls = method.cls
    said = [method.avoid]
    if method.enough_rows:
        said.append(
            f"Below {method.enough_rows:,} calibration rows it was measured to leave some models worse than they were "
            "([few rows](../benchmarks.md#11-calibrators-on-few-rows-and-on-cifar))."
        )
    if method.needs:
        said.append(
            f"It needs {listed([f'`{name}`' for name in sorted(method.needs)])} beside the outputs."
        )
    if NEEDS_CLASSES in cls.traits:
        said.append(
            "It learns from the outputs of all classes: one confidence for each answer, or the largest logits of very "
            "many classes, are not enough."
        )
    return " ".join(said)


def _yes(promise: str, method: Method, n_classes: int) -> str:
    return "yes" if promise in method.cls().promises(n_classes) else "–"


def _keeps(method: Method) -> str:
    two, more = (KEEPS_ACCURACY in method.cls().promises(k) for k in (2, 10))
    return (
        "always"
        if two and more
        else "of two classes"
        if two
        else "of more than two"
        if more
        else "not promised"
    )


def _promises(method: Method) -> str:
    rows = [f"| {words} | {_yes(promise, method, 2)} | {_yes(promise, method, 10)} |"
            for promise, words in PROMISES.items()]  # fmt: skip
    positive = "yes" if POSITIVE in method.cls.traits else "–"
    rows.append(f"| No class gets the probability 0, but by rounding | {positive} | {positive} |")
    table = "\n".join(
        ["| with the default parameters | 2 classes | more classes |", "|---|:-:|:-:|", *rows]
    )
    return f"{table}\n\nThe project's tests hold it to each; a dash is no promise."


def _parameters(cls: type[Calibrator]) -> str:
    helps = {f.name: f.metadata.get("help", "").replace("|", "&#124;") for f in fields(cls)}
    rows = [
        f"| `{f.name}` | `{f.default!r}` | {_range(f)} | {helps[f.name]} |" for f in fields(cls)
    ]
    table = "\n".join(["| name | default | values | what it does |", "|---|---|---|---|", *rows])
    return f'<div class="parameters" markdown>\n\n{table}\n\n</div>'


def _range(declared: Field[object]) -> str:
    meta = declared.metadata
    if meta.get("choices"):
        return ", ".join(f"`{choice!r}`" for choice in meta["choices"])
    if isinstance(declared.default, bool):
        return "`True`, `False`"
    low, high = meta.get("low"), meta.get("high")
    if low is None or high is None:
        return "" if low is None else f"{low:,} or more"
    return f"{low:,} to {high:,}"


@cache
def arena() -> dict[str, tuple[list[str], dict[str, list[str]]]]:
    """Tables of docs/arena.md where the truth is known, by title: the heads, and the cells of each method."""
    found = {}
    sections = re.compile(
        r"^### (\d+ classes, known truth)\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL
    )
    for title, body in sections.findall(ARENA.read_text(encoding="utf-8")):
        lines = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in body.splitlines()
            if line[:1] == "|"
        ]
        found[title] = (lines[0], {line[0]: line for line in lines[2:]})
    return found


def _arena(method: Method) -> str:
    others = [METHODS[name].title for name in ("identity", "auto") if name != method.name]
    rows, ranks = [], []
    for title, (heads, cells) in arena().items():
        if method.title not in cells:
            continue
        for i, head in enumerate(heads):
            if head.endswith(" rows") and not head.startswith("CPU"):
                numbers = [cells[name][i] for name in (method.title, *others)]
                rows.append(f"| {title.partition(',')[0]}, {head} | {' | '.join(numbers)} |")
        rank = heads.index("mean rank")
        ranks.append(f"{cells[method.title][rank]} of {len(cells)} ({title.partition(',')[0]})")
    if not rows:
        return "It needs more than outputs, and so takes no part in the [arena](../arena.md)."
    return "\n".join([
        "Mean excess NLL x 1e-4 over eight simulated shapes of miscalibration, with its standard error: 0 is knowing "
        "the truth, bold is no worse than the best. The replicates are few; the [arena](../arena.md) has all methods, "
        f"other packages, real outputs and how it was measured. Mean rank: {', '.join(ranks)}.\n",
        f"| simulated | {' | '.join([method.title, *others])} |",
        f"|---|{'--:|' * (1 + len(others))}",
        *rows,
    ])  # fmt: skip
