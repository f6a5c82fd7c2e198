"""The columns of the corpus that say nothing about the model: features, ids, dates, clusters, weights."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

OPTION = re.compile(r"[a-z]+=")


@dataclass(frozen=True)
class Column:
    """One column of a recipe: its name, a word for its content, and what goes with the word."""

    name: str
    word: str
    args: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)

    @property
    def is_output(self) -> bool:
        return self.word in ("p", "each", "vec", "conf", "verbal")

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes as they are written: ``No/Yes``, ``0..9``; a tilde stands for a space."""
        text = self.args[0] if self.args else "wrong/correct"
        if ".." in text:
            first, last = text.split("..")
            return tuple(str(k) for k in range(int(first), int(last) + 1))
        return tuple(name.replace("~", " ") for name in text.split("/"))

    def of_classes(self, classes: tuple[str, ...], rng: np.random.Generator) -> Iterator[tuple[str, int]]:
        """The columns that this one stands for: name and class, in the order in which they are written."""
        named = [
            (self.name.replace("{}", name).replace("{i}", str(k)).replace("{j}", str(k + 1)), k)
            for k, name in enumerate(classes)
        ]
        named = [item for item in named if classes[item[1]] != self.options.get("skip")]
        order = self.options.get("order")
        if order == "text":
            named.sort()
        elif order == "reversed":
            named.reverse()
        elif order == "shuffled":
            named = [named[i] for i in rng.permutation(len(named))]
        yield from named


def parse(text: str) -> list[Column]:
    """The columns of a recipe."""
    columns = []
    for cell in text.split(" | "):
        name, _, content = cell.rpartition(" = ")
        word, *rest = content.split()
        options = dict(item.split("=", 1) for item in rest if OPTION.match(item))
        columns.append(Column(name.strip(), word, tuple(item for item in rest if not OPTION.match(item)), options))
    return columns


ROLES = {
    **dict.fromkeys(("y", "correct", "ytext", "onehot"), "outcome"),
    **dict.fromkeys(("p", "each", "vec", "conf", "verbal"), "outputs"),
    **dict.fromkeys(("pred", "predtext"), "predicted"),
    "cluster": "cluster", "weight": "weight", "count_weight": "weight", "group": "group", "model": "group",
    "split": "split", **dict.fromkeys(("maybe_cluster", "maybe_weight"), "features"),
    **dict.fromkeys(("id", "rownum", "uuid", "date", "text", "const", "blank"), "ignore"),
    **dict.fromkeys(("age", "money", "thousands", "positive", "gauss", "unit", "int"), "features"),
    **dict.fromkeys(("flag", "cat", "year", "near", "normal"), "features"),
}  # fmt: skip
"""The role of each content; a second outcome has none."""

Maker = Callable[["Column", int, np.ndarray, np.random.Generator], list[str]]

MAILS = (
    "please call back tomorrow", "meeting moved to 3 pm, see agenda", 'he said "fine", then left', "no remarks",
    "delivery late; box damaged", "see attached file", "free offer inside!!!", "Größe passt nicht",
)  # fmt: skip
QUESTIONS = (
    "Who wrote the second symphony?", "In which year was the bridge opened?", "What is 17 * 23, minus 4?",
    "Which river flows through the capital?", "Name the author of this poem:", 'What does "ad hoc" mean?',
)  # fmt: skip
TEXTS = {"mails": MAILS, "questions": QUESTIONS}


def _drawn(column: Column, n: int, eta: np.ndarray, rng: np.random.Generator) -> list[str]:
    names = column.classes
    return [names[k] for k in rng.integers(len(names), size=n)]


def _id(column: Column, n: int, eta: np.ndarray, rng: np.random.Generator) -> list[str]:
    prefix = column.args[0] if column.args else "C"
    return [f"{prefix}{k:05d}" for k in rng.choice(90_000, size=n, replace=False) + 1]


def _rownum(column: Column, n: int, eta: np.ndarray, rng: np.random.Generator) -> list[str]:
    first = int(column.args[0]) if column.args else 1
    return [str(first + k) for k in range(n)]


def _date(column: Column, n: int, eta: np.ndarray, rng: np.random.Generator) -> list[str]:
    form = column.options.get("form", "%Y-%m-%d")
    start = datetime.datetime(2018, 1, 1)
    return [
        (start + datetime.timedelta(hours=int(h))).strftime(form).replace("~", " ")
        for h in rng.integers(30_000, size=n)
    ]


def _clusters(column: Column, n: int, eta: np.ndarray, rng: np.random.Generator) -> list[str]:
    prefix, m = (column.args[0], int(column.args[1])) if len(column.args) > 1 else ("", int(column.args[0]))
    members = np.sort(rng.integers(m, size=n)) if column.options.get("sorted") else rng.integers(m, size=n)
    return [f"{prefix}{k + 101 if not prefix else k + 1:02d}" for k in members]


def _numbers(draw: Callable[[int, np.ndarray, np.random.Generator], np.ndarray], digits: int, form: str = "") -> Maker:
    return lambda column, n, eta, rng: [
        f"{v:{form}.{int(column.options.get('d', digits))}f}" for v in draw(n, eta, rng)
    ]


def _int(column: Column, n: int, eta: np.ndarray, rng: np.random.Generator) -> list[str]:
    low, high = (int(arg) for arg in column.args)
    return [str(v) for v in rng.integers(low, high + 1, size=n)]


def _text(column: Column, n: int, eta: np.ndarray, rng: np.random.Generator) -> list[str]:
    texts = TEXTS[column.args[0] if column.args else "mails"]
    return [f"{texts[k]} ({i})" for i, k in enumerate(rng.integers(len(texts), size=n))]


def _normal(column: Column, n: int, eta: np.ndarray, rng: np.random.Generator) -> list[str]:
    mean, deviation = (float(arg) for arg in column.args)
    values = np.abs(rng.normal(mean, deviation, n))
    return [f"{v:.{int(column.options.get('d', 1))}f}" for v in values]


MAKERS: dict[str, Maker] = {
    "age": _numbers(lambda n, eta, rng: np.clip(rng.normal(52, 15, n) + 2 * eta, 18, 97), 0),
    "money": _numbers(lambda n, eta, rng: np.exp(rng.normal(7.5, 0.9, n)), 2),
    "thousands": _numbers(lambda n, eta, rng: np.exp(rng.normal(9, 0.9, n)), 2, ","),
    "gauss": _numbers(lambda n, eta, rng: rng.normal(size=n) + 0.3 * eta, 3),
    "unit": _numbers(lambda n, eta, rng: rng.beta(2, 3, n), 3),
    "positive": _numbers(lambda n, eta, rng: rng.gamma(2.0, 3.0, n), 2),
    "flag": lambda column, n, eta, rng: [str(int(v)) for v in rng.random(n) < 0.3],
    "weight": _numbers(lambda n, eta, rng: rng.gamma(4.0, 0.25, n) + 0.05, 3),
    "count_weight": lambda column, n, eta, rng: [str(v) for v in rng.integers(1, 9, size=n)],
    "year": lambda column, n, eta, rng: [str(v) for v in rng.integers(2009, 2021, size=n)],
    "int": _int, "normal": _normal, "cat": _drawn, "group": _drawn, "model": _drawn, "split": _drawn,
    "cluster": _clusters, "maybe_cluster": _clusters, "maybe_weight": _int,
    "id": _id, "rownum": _rownum, "date": _date, "text": _text,
    "uuid": lambda column, n, eta, rng: [rng.bytes(16).hex() for _ in range(n)],
    "const": lambda column, n, eta, rng: [column.args[0].replace("~", " ")] * n,
    "blank": lambda column, n, eta, rng: [""] * n,
}  # fmt: skip


def noise_column(column: Column, n: int, eta: np.ndarray, rng: np.random.Generator) -> list[str]:
    """The cells of a column that is no model output and no outcome.

    Parameters
    ----------
    eta : (n,) what the outcome depends on; features depend on it a little.
    """
    return MAKERS[column.word](column, n, eta, rng)
