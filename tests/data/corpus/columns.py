"""The columns of the corpus that say nothing about the model: features, ids, dates, clusters, weights."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
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

    def of_classes(
        self, classes: tuple[str, ...], rng: np.random.Generator
    ) -> Iterator[tuple[str, int]]:
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
        columns.append(
            Column(
                name.strip(), word, tuple(item for item in rest if not OPTION.match(item)), options
            )
        )
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

TEXTS = {
    "mails": (
        "please call back tomorrow", "meeting moved to 3 pm, see agenda", 'he said "fine", then left', "no remarks",
        "delivery late; box damaged", "see attached file", "free offer inside!!!", "Größe passt nicht",
    ),
    "questions": (
        "Who wrote the second symphony?", "In which year was the bridge opened?", "What is 17 * 23, minus 4?",
        "Which river flows through the capital?", "Name the author of this poem:", 'What does "ad hoc" mean?',
    ),
}  # fmt: skip


def numbers(
    column: Column, n: int, eta: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """The values of a feature or a weight, and their decimals where a recipe says nothing."""
    match column.word:
        case "age":
            return np.clip(rng.normal(52, 15, n) + 2 * eta, 18, 97), 0
        case "money":
            return np.exp(rng.normal(7.5, 0.9, n)), 2
        case "thousands":
            return np.exp(rng.normal(9, 0.9, n)), 2
        case "gauss":
            return rng.normal(size=n) + 0.3 * eta, 3
        case "unit":
            return rng.beta(2, 3, n), 3
        case "positive":
            return rng.gamma(2.0, 3.0, n), 2
        case "normal":
            return np.abs(rng.normal(*map(float, column.args), n)), 1
        case "weight":
            return rng.gamma(4.0, 0.25, n) + 0.05, 3
        case "flag":
            return rng.random(n) < 0.3, 0
        case "count_weight":
            return rng.integers(1, 9, size=n), 0
        case "year":
            return rng.integers(2009, 2021, size=n), 0
    low, high = map(int, column.args)
    return rng.integers(low, high + 1, size=n), 0


def noise_column(column: Column, n: int, eta: np.ndarray, rng: np.random.Generator) -> list[str]:
    """The cells of a column that is no model output and no outcome.

    Parameters
    ----------
    eta : (n,) what the outcome depends on; features depend on it a little.
    """
    args = column.args
    match column.word:
        case "cat" | "group" | "model" | "split":
            return [column.classes[k] for k in rng.integers(len(column.classes), size=n)]
        case "id":
            return [
                f"{args[0] if args else 'C'}{k:05d}"
                for k in rng.choice(90_000, size=n, replace=False) + 1
            ]
        case "rownum":
            return [str(int(args[0] if args else 1) + k) for k in range(n)]
        case "uuid":
            return [rng.bytes(16).hex() for _ in range(n)]
        case "date":
            form, start = column.options.get("form", "%Y-%m-%d"), datetime.datetime(2018, 1, 1)
            hours = rng.integers(30_000, size=n)
            return [
                (start + datetime.timedelta(hours=int(h))).strftime(form).replace("~", " ")
                for h in hours
            ]
        case "cluster" | "maybe_cluster":
            prefix, members = "".join(args[:-1]), rng.integers(int(args[-1]), size=n)
            members = np.sort(members) if column.options.get("sorted") else members
            return [f"{prefix}{k + (1 if prefix else 101):02d}" for k in members]
        case "text":
            texts = TEXTS[args[0] if args else "mails"]
            return [f"{texts[k]} ({i})" for i, k in enumerate(rng.integers(len(texts), size=n))]
        case "const":
            return [args[0].replace("~", " ")] * n
        case "blank":
            return [""] * n
    values, digits = numbers(column, n, eta, rng)
    form = f"{',' if column.word == 'thousands' else ''}.{int(column.options.get('d', digits))}f"
    return [f"{value:{form}}" for value in values]
