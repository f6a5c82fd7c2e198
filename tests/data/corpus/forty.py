"""Those of the forty tables that no recipe can say: columns of a recipe, nested, repeated or put below each other."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.data.corpus.tables import CorpusTable, MadeTable, Verdict, read_recipes, truth_of
from tests.data.corpus.writing import write

Made = tuple[str, bytes]
"""File name and bytes."""


def json_lines(rows: Iterable[dict[str, Any]]) -> Made:
    """One object a line."""
    return "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode()


def rows_of(table: MadeTable) -> list[dict[str, str]]:
    """The cells by row."""
    return [
        dict(zip(table.cells, row, strict=True)) for row in zip(*table.cells.values(), strict=True)
    ]


def spark_flattened(table: MadeTable) -> Made:
    """Spark ML: vector_to_array of rawPrediction and probability, one column for each place."""
    p = np.array(table.cells["probability_1"], dtype=float).clip(1e-6, 1 - 1e-6)
    raw = np.log(p / (1 - p))
    columns = {
        f"rawPrediction_{k}": [f"{value:.8f}" for value in (2 * k - 1) * raw] for k in (0, 1)
    }
    return write({**columns, **table.cells}, "csv", "part-00000")


def bigquery_ml(table: MadeTable) -> Made:
    """BigQuery ML: ML.PREDICT exported as JSON lines with its nested list of labels and probs."""
    rows = []
    for row in rows_of(table):
        p = float(row.pop("p"))
        nested = [{"label": "true", "prob": p}, {"label": "false", "prob": round(1 - p, 6)}]
        rows.append(row | {"predicted_churned_probs": nested, "churned": row["churned"] == "true"})
    return json_lines(rows)


def lm_eval_samples(table: MadeTable) -> Made:
    """lm-evaluation-harness 0.4.8 with --log_samples, a task of four choices."""
    rows = []
    for k, row in enumerate(rows_of(table)):
        lines = [float(row[name]) - 30 for name in "abcd"]
        answers = [[str(value), str(value == max(lines))] for value in lines]
        asked = {
            "question": f"What follows from premise {k}?",
            "choices": list("ABCD"),
            "answer": int(row["target"]),
        }
        done = {
            "doc_id": k,
            "doc": asked,
            "target": row["target"],
            "resps": [[answer] for answer in answers],
        }
        done |= {
            "filtered_resps": answers,
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": f"{zlib.crc32(b'%d' % k):x}",
        }
        rows.append(done | {"acc": float(int(np.argmax(lines)) == int(row["target"]))})
    return json_lines(rows)


def llm_in_words(table: MadeTable) -> Made:
    """Answers of a language model that said in words how sure it is, which no list of words has."""
    said = ("very unsure", "rather unsure", "rather sure", "very sure")
    words = [said[min(3, int(4 * float(value)))] for value in table.cells.pop("p")]
    return write({**table.cells, "stated_confidence": words}, "csv", "answers")


def ticket_join(table: MadeTable) -> Made:
    """A help desk's SELECT with a join that repeats the key."""
    lines = zip(*table.cells.values(), table.cells["ticket_id"], strict=True)
    return "query.csv", "".join(
        ",".join(line) + "\n" for line in [(*table.cells, "ticket_id"), *lines]
    ).encode()


def melted_images(table: MadeTable) -> Made:
    """pivot_longer of an image model's output: a row for each image and class."""
    names = ("forest", "meadow", "water")
    rows = [
        (row["image_id"], name, row[name], row["true_class"])
        for row in rows_of(table)
        for name in names
    ]
    header = ("image_id", "class", "probability", "true_class")
    return write(
        dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)), "csv", "melted"
    )


def stacked_models(table: MadeTable) -> Made:
    """Three models stacked under each other, each about the same applicants."""
    names = ("glm", "gbm", "nn")
    rows = [
        (name, row["applicant"], row["truth"], row[name])
        for name in names
        for row in rows_of(table)
    ]
    header = ("model", "applicant", "truth", "estimate")
    return write(
        dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)), "csv", "all_models"
    )


RECIPES: dict[Callable[[MadeTable], Made], tuple[Verdict, str]] = {
    spark_flattened: (
        "readable",
        "customer_sk = id | event_ts = date form=%Y-%m-%d~%H:%M:%S | label = y 0.0/1.0 rate=.12 | "
        "probability_0 = p of=0.0 d=8 | probability_1 = p of=1.0 d=8 | prediction = pred",
    ),
    bigquery_ml: (
        "readable",
        "customer_id = id | predicted_churned = pred | p = p d=6 | churned = y false/true rate=.3 | "
        "region = group EMEA/AMER/APAC",
    ),
    lm_eval_samples: (
        "readable",
        "target = y 0..3 | a = p of=0 s=logit | b = p of=1 s=logit | c = p of=2 s=logit | d = p of=3 s=logit",
    ),
    llm_in_words: (
        "ask",
        "question = text questions | answer = text | subject = group geography/history/law | "
        "graded = correct incorrect/correct | p = conf",
    ),
    ticket_join: (
        "readable",
        "ticket_id = id | Opened = date form=%Y-%m-%d~%H:%M | Team = group Network/Desktop/SAP | "
        "escalation_prob = p d=3 | escalated = y N/Y rate=.3",
    ),
    melted_images: ("ask", "image_id = id img_ | {} = each | true_class = y forest/meadow/water"),
    stacked_models: (
        "ask", "applicant = id | truth = y 0/1 rate=.35 | glm = p m=glm | gbm = p m=gbm | nn = p m=nn",
    ),
}  # fmt: skip


def tables(seed: int) -> Iterator[CorpusTable]:
    """All of them, with the same bytes in every run."""
    for make, (verdict, columns) in RECIPES.items():
        (recipe,) = read_recipes(f"{make.__name__} n=240 :: {columns}", verdict)
        table = MadeTable(recipe, seed)
        truth = truth_of(recipe, table)
        if make is llm_in_words:
            truth = replace(truth, kind=None)  # there is no number that it means
        yield CorpusTable(recipe.name, *make(table), truth, verdict)
