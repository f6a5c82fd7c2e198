"""The engine of the corpus: from a recipe, a table as somebody would write it, with the truth beside it.

A recipe is a line of columns, ``name = content | name = content``. The contents that say something about the model:

- ``y No/Yes``: the outcome; the last class of two is the event. ``y 0..9`` counts, ``y2`` is a second outcome.
- ``correct 0/1``: the outcome of pairs. ``ytext`` and ``predtext``: words read, and what was there.
- ``p``: the probability of the event; ``p of=bus`` of a class; ``each`` one column per class, whose name has ``{}``
  for the class, ``{i}`` for its number from zero or ``{j}`` from one. ``order=`` text, reversed or shuffled;
  ``skip=`` leaves out the column of a class.
- ``vec``: the probabilities of all classes in one cell; ``form=`` says how (:data:`VECTORS`).
- ``onehot``: the outcome as a column of 0 and 1 for each class, beside ``y`` or in its place.
- ``conf``: the probability of the predicted class, or of being correct. ``verbal``: that in words.
- ``pred``: the predicted class. ``near -.05``: a confidence limit of the first model's probability.

Outputs take ``s=`` for their scale (:data:`SCALES`), ``d=`` for decimals, ``steps=`` for a grid and ``m=`` for the
model they come from. All other contents are in :mod:`tests.data.corpus.columns`.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from tests.data.corpus.columns import ROLES, Column, noise_column, parse
from tests.data.corpus.writing import LAYOUTS, numeric, write

Verdict = Literal["readable", "ask", "refuse"]


@dataclass(frozen=True)
class Recipe:
    """How a table is made. :func:`read_recipes` reads many from a text.

    Attributes
    ----------
    also : further acceptable readings as (outcome, outputs), where a table is asked about.
    blank : share of empty cells by column; ``na`` is written there.
    layout : how the file is written, see :data:`tests.data.corpus.writing.LAYOUTS`.
    quality : of the model; drawn unless given, see :func:`model_logits`.
    """

    name: str
    columns: str
    verdict: Verdict = "readable"
    also: tuple[tuple[str, tuple[str, ...]], ...] = ()
    blank: dict[str, float] = field(default_factory=dict)
    na: str = ""
    layout: str = "csv"
    quality: str = ""
    n: int = 0


def read_recipes(text: str, verdict: Verdict) -> tuple[Recipe, ...]:
    """Recipes from a text: ``name option=value ... :: columns``, with more columns on indented lines.

    ``blank`` is written ``column:share,column:share``, ``also`` as ``outcome:output+output,...``. Lines that begin with
    ``#`` are comments.
    """
    recipes = []
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    for block in re.split(r"\n(?=\S)", text.strip()):
        head, columns = " ".join(block.split()).split(" :: ", 1)
        name, *rest = head.split()
        options: dict[str, Any] = dict(item.split("=", 1) for item in rest)
        blank = dict(item.split(":") for item in options.pop("blank", "").split(",") if item)
        also = [item.split(":") for item in options.pop("also", "").split(",") if item]
        recipes.append(
            Recipe(
                name,
                columns,
                verdict,
                also=tuple((outcome, tuple(outputs.split("+"))) for outcome, outputs in also),
                blank={column: float(share) for column, share in blank.items()},
                n=int(options.pop("n", 0)),
                **options,
            )
        )
    return tuple(recipes)


@dataclass(frozen=True)
class Truth:
    """What a table means. Arrays have a row for each row of the table that has an outcome and an output.

    Attributes
    ----------
    roles : columns by role, as ``calib.load(path, roles=...)`` takes them.
    kind : one of calib's kinds, or None where the table holds no model output.
    classes : class names in order, as the labels are written. Of pairs: ``("wrong", "correct")``.
    event : the event of two classes; ``column_is``: the class whose probability a single column holds.
    rows : (n,) numbers of these rows in the table.
    labels : (n,) the class name of each row.
    probs : (n, n_classes) what the model says.
    clusters, weights : (n,) as written, or None.
    readings : the acceptable readings, as (outcome, outputs).
    models : for several models in one table, what each says and about which rows: ``{name: (rows, probs)}``.
    maybe : further columns that may be taken for clusters or weights, or not: stations, a car's weight.
    """

    roles: dict[str, Any]
    kind: str | None = None
    classes: tuple[str, ...] = ()
    event: str | None = None
    column_is: str | None = None
    rows: Any = None
    labels: Any = None
    probs: Any = None
    clusters: Any = None
    weights: Any = None
    readings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    models: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    maybe: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CorpusTable:
    """A table, its truth, and what a careful person who sees the header and eight rows would do with it."""

    name: str
    filename: str
    content: bytes
    truth: Truth
    verdict: Verdict


def softmax(logits: np.ndarray) -> np.ndarray:
    unnormalised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return unnormalised / unnormalised.sum(axis=1, keepdims=True)


def model_logits(latent: np.ndarray, quality: str, rng: np.random.Generator) -> np.ndarray:
    """Logits of a model of this quality, where labels are drawn from the softmax of the latent ones."""
    noise = rng.normal(size=latent.shape)
    noise[:, 0] *= latent.shape[1] > 2  # of two classes the first logit stays zero
    slope, spread = {
        "fair": (1.0, 0.4), "over": (1.9, 0.5), "under": (0.6, 0.2), "shifted": (1.0, 0.4), "weak": (0.25, 1.0),
        "inverted": (-0.6, 0.5),
    }[quality]  # fmt: skip
    centre = latent.mean(axis=0)
    shift = np.where(
        np.arange(latent.shape[1]) == latent.shape[1] - 1, 0.8 * (quality == "shifted"), 0.0
    )
    return centre + slope * (latent - centre) + spread * noise + shift


def _whole(shares: np.ndarray, total: float) -> np.ndarray:
    """Whole numbers with exactly this sum in each row: the largest remainders are rounded up."""
    floors = np.floor(shares * total)
    missing = np.round(total - floors.sum(axis=1)).astype(int)
    order = np.argsort(np.argsort(floors - shares * total, axis=1), axis=1)
    return floors + (order < missing[:, None])


SCALES: dict[str, tuple[Any, Any]] = {
    "p": (lambda p: p, lambda v: v),
    "words": (lambda p: p, lambda v: v),
    "pct": (lambda p: 100 * p, lambda v: v / 100),
    "permille": (lambda p: 1000 * p, lambda v: v / 1000),
    "bps": (lambda p: 1e4 * p, lambda v: v / 1e4),
    "ppm": (lambda p: 1e6 * p, lambda v: v / 1e6),
    "frac": (lambda p: p, lambda v: v),
    "vec": (lambda p: p, lambda v: v),
    "decimal": (lambda p: 1 / p, lambda v: 1 / v),
    "trees": (lambda p: _whole(p, 500), lambda v: v / 500),
    "votes": (lambda p: _whole(p, 50), lambda v: v / 50),
    "hundred": (lambda p: _whole(p, 100), lambda v: v / 100),
    "byte": (lambda p: 255 * p, lambda v: v / 255),
    "ten": (lambda p: 10 * p, lambda v: v / 10),
    "odds": (lambda p: p / (1 - p), lambda v: v / (1 + v)),
    "logp": (np.log, np.exp),
}
"""Ways of writing a probability, forth and back; ``logit`` is not among them, for it is written before the softmax."""

DIGITS = {"p": 4, "pct": 1, "permille": 1}
DIGITS |= dict.fromkeys(("bps", "ppm", "trees", "votes", "hundred", "byte"), 0)
"""Decimals where a recipe says nothing; four for every other scale."""

VECTORS: dict[str, Callable[[list[str], tuple[str, ...]], str]] = {
    "json": lambda cells, classes: f"[{', '.join(cells)}]",
    "numpy": lambda cells, classes: f"[{' '.join(cells)}]",
    "space": lambda cells, classes: " ".join(cells),
    "dict": lambda cells, classes: repr(
        {name: float(cell) for name, cell in zip(classes, cells, strict=True)}
    ),
    "label_prob": lambda cells, classes: _label_list(cells, classes, "prob"),
    "label_score": lambda cells, classes: _label_list(cells, classes, "score"),
}
"""Ways of writing the probabilities of all classes into one cell."""


def _label_list(cells: list[str], classes: tuple[str, ...], key: str) -> str:
    """A list of objects, the largest first, as cloud services and pipelines write it."""
    items = sorted(zip(classes, map(float, cells), strict=True), key=lambda item: -item[1])
    return json.dumps([{"label": name, key: value} for name, value in items])


WORDS = {
    "almost certain": 0.95,
    "very likely": 0.85,
    "likely": 0.7,
    "even chance": 0.5,
    "unlikely": 0.25,
}


class MadeTable:
    """One table while it is made: the model first, then column by column the cells and what they mean."""

    def __init__(self, recipe: Recipe, seed: int):
        self.rng = np.random.default_rng([seed, zlib.crc32(recipe.name.encode())])
        columns = parse(recipe.columns)
        outcome = next(
            (column for column in columns if column.word in ("y", "correct", "onehot")), None
        )
        self.by_correctness = outcome is None or outcome.word == "correct"
        self.classes = outcome.classes if outcome else ("wrong", "correct")
        self.pairs = any(column.word in ("conf", "verbal") for column in columns)
        self.n = recipe.n or int(self.rng.integers(60, 400))
        rate = float(outcome.options.get("rate", 0.35)) if outcome else 0.6
        spread = self.rng.normal(size=(self.n, len(self.classes))) * 1.6
        if len(self.classes) == 2:
            spread[:, 0] = 0
            spread[:, 1] += 1.5 * np.log(rate / (1 - rate))
        self.latent = spread
        self.labels = np.argmax(spread + self.rng.gumbel(size=spread.shape), axis=1)
        # A class that never occurs says nothing about a reader: one row of each at least.
        present = self.rng.permutation(self.n)[: len(self.classes)]
        self.labels[present] = np.arange(len(present))
        qualities = ["fair", "over", "under", "shifted", "weak", "inverted"]
        quality = recipe.quality or str(
            self.rng.choice(qualities, p=[0.35, 0.25, 0.1, 0.15, 0.1, 0.05])
        )
        tags = dict.fromkeys(
            column.options.get("m", "") for column in columns if column.is_output
        ) or {"": None}
        self.right = np.zeros(self.n, dtype=bool)
        self.models = {tag: model_logits(spread, quality, self.rng) for tag in tags}
        self.header = LAYOUTS[recipe.layout].header
        self.cells: dict[str, list[str]] = {}
        self.outputs: dict[str, list[tuple[str, int, np.ndarray]]] = {tag: [] for tag in tags}
        self.scales = dict.fromkeys(tags, "p")
        self.roles: dict[str, list[str]] = {}
        self.model_column = next(
            (column.name for column in columns if column.word == "model"), None
        )
        self.two_outcomes = any(column.word == "y2" for column in columns)
        self.maybe = tuple(column.name for column in columns if column.word.startswith("maybe_"))
        for column in columns:
            self.add(column)

    @property
    def predicted(self) -> np.ndarray:
        return np.argmax(next(iter(self.models.values())), axis=1)

    def add(self, column: Column) -> None:
        if column.word == "each":
            for name, k in column.of_classes(self.classes, self.rng):
                self.add_output(name, column, k)
        elif column.word == "vec":
            self.add_vector(column)
        elif column.word == "onehot":
            for name, k in column.of_classes(self.classes, self.rng):
                self.put(column, [str(int(label == k)) for label in self.labels], name)
        elif column.is_output:
            of_class = column.options.get("of", self.classes[-1]).replace("~", " ")
            self.add_output(column.name, column, self.classes.index(of_class))
        elif column.word in ("y", "y2", "correct", "pred"):
            index = {
                "y2": (self.latent[:, -1] + self.rng.logistic(size=self.n) > 0.5).astype(int)
            }.get(column.word, self.predicted if column.word == "pred" else self.labels)
            written = column.classes if column.args else self.classes
            if column.word == "pred" and column.args:  # the prediction has names of its own
                self.right = index == self.labels
            self.put(column, [written[k] for k in index])
        elif column.word in ("ytext", "predtext"):
            words = np.random.default_rng(self.n).choice(
                ["main", "house", "invoice", "total", "street"], self.n
            )
            wrong = (self.labels == 0) & (column.word == "predtext")
            self.put(
                column,
                [word[:-1] + "~" if bad else word for word, bad in zip(words, wrong, strict=True)],
            )
        elif column.word == "near":
            bound = softmax(next(iter(self.models.values())))[:, -1] + float(column.args[0])
            self.put(column, [f"{value:.5f}" for value in np.clip(bound, 0.001, 0.999)])
        else:
            self.put(column, noise_column(column, self.n, self.latent[:, -1], self.rng))

    def put(self, column: Column, cells: list[str], name: str = "") -> str:
        """Add a column and give its name, which is the reader's where the file has no header."""
        name = (name or column.name) if self.header else f"column_{len(self.cells)}"
        self.cells[name] = cells
        if column.word != "y2":
            self.roles.setdefault(ROLES[column.word], []).append(name)
        return name

    def add_output(self, name: str, column: Column, k: int) -> None:
        tag, scale = column.options.get("m", ""), column.options.get("s", "p")
        logits = self.models[tag]
        probs = softmax(logits)
        if column.word in ("conf", "verbal") and not self.by_correctness:
            k, values = 1, np.stack([1 - probs.max(axis=1), probs.max(axis=1)], axis=1)
        else:
            values = probs
        if scale == "logit":
            written = (logits - logits[:, :1] if column.word != "each" else logits)[:, k]
        else:
            if steps := float(column.options.get("steps", 0)):
                values = np.round(values * steps) / steps
            written = SCALES[scale][0](values)[:, k]
        text = [
            f"{value:.{int(column.options.get('d', DIGITS.get(scale, 4)))}f}" for value in written
        ]
        text = [cell if float(cell) else cell.lstrip("-") for cell in text]
        if scale == "frac":
            parts = np.full(self.n, steps) if steps else self.rng.integers(4, 30, size=self.n)
            text = [f"{value * of:.0f}/{of:.0f}" for value, of in zip(written, parts, strict=True)]
            numbers = np.array([float(Fraction(cell)) for cell in text])
        elif column.word == "verbal":
            bounds = sorted(WORDS.items(), key=lambda item: abs(item[1]))
            text = [min(bounds, key=lambda item, v=value: abs(item[1] - v))[0] for value in written]
            scale, numbers = "words", np.array([WORDS[word] for word in text])
        else:
            numbers = np.array([float(cell) for cell in text])
        unit = column.options.get("unit", "").replace("~", " ")
        name = self.put(column, [cell + unit for cell in text], name)
        self.outputs[tag].append((name, k, numbers))
        self.scales[tag] = scale

    def add_vector(self, column: Column) -> None:
        probs = softmax(self.models[""])
        rows = [[f"{value:.{int(column.options.get('d', 4))}f}" for value in row] for row in probs]
        name = self.put(
            column, [VECTORS[column.options["form"]](row, self.classes) for row in rows]
        )
        self.outputs[""] = [
            (name, k, np.array([float(row[k]) for row in rows])) for k in range(len(self.classes))
        ]
        self.scales[""] = "vec"

    def probabilities(self, tag: str, n_classes: int) -> np.ndarray:
        """(n, n_classes) probabilities from the numbers as they were rounded and written."""
        columns, scale = self.outputs[tag], self.scales[tag]
        if len(columns) == 1:
            _, k, numbers = columns[0]
            p = 1 / (1 + np.exp(-numbers)) if scale == "logit" else SCALES[scale][1](numbers)
            return np.stack([1 - p, p] if k == 1 else [p, 1 - p], axis=1)
        matrix = np.empty((self.n, n_classes))
        for _, k, numbers in columns:
            matrix[:, k] = numbers
        if scale == "logit":
            return softmax(matrix)
        matrix = SCALES[scale][1](matrix)
        if left_out := set(range(n_classes)) - {k for _, k, _ in columns}:
            others = [k for _, k, _ in columns]
            matrix[:, left_out.pop()] = np.maximum(0, 1 - matrix[:, others].sum(axis=1))
        return matrix / matrix.sum(axis=1, keepdims=True)


def build(recipe: Recipe, seed: int) -> CorpusTable:
    """The table of a recipe and its truth."""
    table = MadeTable(recipe, seed)
    for name, share in recipe.blank.items():
        for row in np.flatnonzero(table.rng.random(table.n) < share):
            table.cells[name][row] = recipe.na
    filename, content = write(table.cells, recipe.layout, recipe.name)
    return CorpusTable(recipe.name, filename, content, truth_of(recipe, table), recipe.verdict)


def truth_of(recipe: Recipe, table: MadeTable) -> Truth:
    """What a table means."""
    several = ("outputs", "features", "ignore", "group")
    roles: dict[str, Any] = {
        role: tuple(names) if role in several else names[0] for role, names in table.roles.items()
    }
    tag = next(iter(table.outputs))
    columns = table.outputs[tag]
    if not columns or "outcome" not in roles:
        return Truth(roles)
    outputs = tuple(
        dict.fromkeys(name for name, *_ in sorted(columns, key=lambda column: column[1]))
    )
    roles["outputs"] = outputs
    needed = [
        roles["outcome"],
        *outputs,
        *([roles["predicted"]] if table.pairs and "predicted" in roles else []),
    ]
    cells = np.array([table.cells[name] for name in needed])
    kept = (cells != recipe.na).all(axis=0) | (not recipe.blank)
    rows = np.flatnonzero(kept)
    scale = table.scales[tag]
    if table.pairs:
        kind, classes = "pairs", ("wrong", "correct")
        if "predicted" in roles:
            right = np.array(table.cells[roles["outcome"]]) == np.array(
                table.cells[roles["predicted"]]
            )
            right |= table.right
        else:
            right = table.labels == 1
        labels = np.where(right, "correct", "wrong")
    else:
        logs = {"logp": "log_probabilities"}
        single = "binary_log_odds" if scale == "logit" else "binary_probability"
        kind = (
            single
            if len(columns) == 1
            else "logits"
            if scale == "logit"
            else logs.get(scale, "probabilities")
        )
        classes, labels = table.classes, np.array(table.classes)[table.labels]
    models = {}
    if table.model_column:
        of_model, probs = (
            np.array(table.cells[table.model_column]),
            table.probabilities(tag, len(classes)),
        )
        for name in np.unique(of_model):
            own = np.flatnonzero(kept & (of_model == name))
            models[str(name)] = own, probs[own]
    elif len(table.outputs) > 1 and not table.two_outcomes:
        models = {
            name: (rows, table.probabilities(name, len(classes))[rows]) for name in table.outputs
        }
    others = [
        (roles["outcome"], tuple(name for name, *_ in sorted(of, key=lambda column: column[1])))
        for of in list(table.outputs.values())[: 1 if table.two_outcomes else None]
    ]
    weight, cluster = roles.get("weight"), roles.get("cluster")
    return Truth(
        roles=roles, kind=kind, classes=classes, event=classes[1] if len(classes) == 2 else None,
        column_is=classes[columns[0][1]] if len(columns) == 1 and not table.pairs else None,
        rows=rows, labels=labels[rows], probs=table.probabilities(tag, len(classes))[rows],
        clusters=np.array(table.cells[cluster])[rows] if cluster else None,
        weights=np.array([numeric(table.cells[weight][row]) for row in rows]) if weight else None,
        readings=(*others, *recipe.also), models=models,
        maybe={name: np.array(table.cells[name])[rows] for name in table.maybe},
    )  # fmt: skip
