"""A page for each method: what the registry, its class and the arena say of it, and a picture."""

from __future__ import annotations

import inspect
import re
from dataclasses import Field, fields
from functools import cache
from pathlib import Path

from latex2mathml.converter import convert

from calib.base import EQUIVARIANT, GIVES_UNCERTAINTY, KEEPS_ACCURACY, KEEPS_RANKING, ROWS_SUM_TO_ONE, Calibrator
from calib.formatting import listed
from calib.registry import METHODS, Method
from documentation.pictures import picture

ARENA = Path(__file__).parents[1] / "docs" / "arena.md"
PROMISES = {
    KEEPS_ACCURACY: "The predicted class stays",
    KEEPS_RANKING: "The order of a row's classes stays",
    ROWS_SUM_TO_ONE: "Rows sum to one",
    EQUIVARIANT: "The numbering of the classes does not matter",
    GIVES_UNCERTAINTY: "It says how uncertain its map is",
}
"""What a promise means, in words; the contract test holds each method to its own."""
SYMBOLS = {
    r"\bz": "z are the logits of a row with K classes",
    r"\bs\b": "s is the model's log-odds of one class against the rest",
    r"\bp\b(?!')": "p are probabilities",
    "p'": "p' is the calibrated probability of that class",
    r"\bc =": "c is the confidence in the predicted class",
}
"""What stands in a formula where its text matches."""


def menu() -> list[dict[str, str]]:
    """Entries of the menu."""
    return [{"All methods": "methods/index.md"}, *({m.title: f"methods/{m.name}.md"} for m in METHODS.values())]


def pages() -> dict[str, str]:
    """Text by path."""
    return {"methods/index.md": _overview(), **{f"methods/{m.name}.md": _page(m) for m in METHODS.values()}}


def formula(latex: str) -> str:
    """A formula as MathML, which browsers draw without a script."""
    return f'<div class="formula">{convert(latex, display="block")}</div>'


def _overview() -> str:
    rows = [
        f"| [{m.title}]({m.name}.md) | {m.summary} | {_yes(KEEPS_ACCURACY, m, 2)} | {_yes(KEEPS_ACCURACY, m, 10)} |"
        f" {m.enough_rows or ''} |"
        for m in METHODS.values()
    ]
    return "\n".join([
        "# Methods\n",
        "All calibrators of the registry, in the order in which the app shows them. Each page has the formula, the "
        "parameters with their defaults, what is promised, a picture, when another method is the better choice, and "
        "what was measured in the [arena](../arena.md). How to choose: [what to take](../library.md#what-to-take).\n",
        "| method | what it does | keeps the class, 2 classes | more classes | rows below which it may harm |",
        "|---|---|:-:|:-:|--:|",
        *rows,
    ])  # fmt: skip


def _page(method: Method) -> str:
    drawing, said = picture(method)
    return "\n\n".join(part for part in [
        f"# {method.title}",
        f"{method.summary} In code and on the command line it is `{method.name}`.",
        formula(method.formula),
        "Here " + "; ".join(words for symbol, words in SYMBOLS.items() if re.search(symbol, method.formula)) + ".",
        f'<figure class="drawing">{drawing}</figure>',
        said,
        "## When not to use it",
        _limits(method),
        "## When more rows come",
        f"{method.cls.more_rows} See [more rows](../library.md#more-rows).",
        "## What it promises",
        _promises(method),
        "## Parameters",
        _parameters(method.cls),
        "## How it works",
        inspect.getdoc(method.cls) or "",
        f"**Source.** {method.paper}." if method.paper else "",
        "## In the arena",
        _arena(method),
    ] if part)  # fmt: skip


def _limits(method: Method) -> str:
    cls = method.cls
    said = [method.avoid]
    if method.enough_rows:
        said.append(
            f"Below {method.enough_rows:,} calibration rows it was measured to leave some models worse than they were "
            "([few rows](../library.md#calibrators))."
        )
    if method.needs:
        said.append(f"It needs {listed([f'`{name}`' for name in sorted(method.needs)])} beside the outputs.")
    if cls.needs_classes:
        said.append("It learns from the outputs of all classes: one confidence for each answer is not enough.")
    if not cls.takes_top_k():
        said.append("It does not take the top k logits of very many classes.")
    return " ".join(said)


def _yes(promise: str, method: Method, n_classes: int) -> str:
    return "yes" if promise in method.cls().promises(n_classes) else "–"


def _promises(method: Method) -> str:
    rows = [f"| {words} | {_yes(promise, method, 2)} | {_yes(promise, method, 10)} |"
            for promise, words in PROMISES.items()]  # fmt: skip
    positive = "yes" if method.cls.positive else "–"
    rows.append(f"| No class gets the probability 0, but by rounding | {positive} | {positive} |")
    table = "\n".join(["| with the default parameters | 2 classes | more classes |", "|---|:-:|:-:|", *rows])
    return f"{table}\n\nThe project's tests hold it to each; a dash is no promise."


def _parameters(cls: type[Calibrator]) -> str:
    helps = {f.name: f.metadata.get("help", "").replace("|", "&#124;") for f in fields(cls)}
    rows = [f"| `{f.name}` | `{f.default!r}` | {_range(f)} | {helps[f.name]} |" for f in fields(cls)]
    return "\n".join(["| name | default | values | what it does |", "|---|---|---|---|", *rows])


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
    sections = re.compile(r"^### (\d+ classes, known truth)\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
    for title, body in sections.findall(ARENA.read_text(encoding="utf-8")):
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line[:1] == "|"]
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
