"""A grammar of CSV and of JSON as people and programs write them, with what a reader may stumble over in any place.

Each function draws from a :class:`random.Random`; Hypothesis has one whose draws it makes smaller.
"""

from __future__ import annotations

import json
from random import Random

NAMES = ("label", "y_true", "target", "p_0", "p_1", "p_2", "prob", "score", "prediction", "id", "feature_0", "model",
         "split", "date", "text", "p 1", "", " ", "Label", "p_0", "0", "1", "-1", "<b>x</b>", "![a](http://x.invalid/a.png)",
         "=1+1", "\u202ea", "名", "a" * 3000, "a,b", 'a"b', "p_999999999999999999999", "--1")  # fmt: skip
PLAIN = ("0", "1", "2", "0.25", "0.5", "cat", "dog", "no", "yes", "1e-3", "-1.5")
ODD = ("", " ", "nan", "NaN", "-inf", "1e999", "-0", "1,5", "1.000,5", "12 %", "$3", "1_000", "0x1F", "1e", "+", "٣",
       "½", "9" * 400, "2024-01-31", "12:30", "true", "NULL", "None", "#N/A", "--1", "=cmd|' /C calc'!A0", "\ufeff1",
       "a\tb", "<script>alert(1)</script>", "a\u2028b", "very likely")  # fmt: skip
ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis", "utf-7")

LARGEST = 2**21
"""Bytes of a text."""


def csv_text(random: Random) -> bytes:
    """A table: lines before it, a header, rows of which some are ragged, in some encoding."""
    delimiter = random.choice([*",,,,;\t|", " ", ", ", "::"])
    end = random.choice(["\n", "\n", "\n", "\r\n", "\r", "\n\r", "\n\n"])
    n_columns = random.choice([1, 2, 3, 4, 4, 4, 6, 30])
    oddness = random.choice([0.0, 0.0, 0.01, 0.1, 0.6])
    header = [random.choice(NAMES) for _ in range(n_columns)]
    if random.random() < 0.6:
        header = ["label", *(f"p_{j}" for j in range(n_columns - 1))]
    lines = [random.choice(["", "# note", "sep=;", '"', "a,b", "---"]) for _ in range(random.choice([0, 0, 0, 1, 3]))]
    lines += [delimiter.join(quoted(name, delimiter, random) for name in header)] if random.random() < 0.9 else []
    for i in range(random.choice([0, 1, 2, 20, 60, 60, 200])):
        cells = [str(i % 3), *probabilities(random, n_columns - 1)]
        cells += (random.choice([0, 0, 0, 1, 40]) if random.random() < oddness / 4 else 0) * ["1"]
        cells = [odd_cell(random) if random.random() < oddness else cell for cell in cells]
        if random.random() < oddness / 4:
            del cells[random.randrange(len(cells)) :]
        lines.append(delimiter.join(quoted(cell, delimiter, random) for cell in cells))
    text = end.join(lines) + random.choice([end, "", end * 3, " ", "\x1a", '"'])
    if random.random() < 0.05:
        text = text[: random.randrange(len(text) + 1)]
    return encoded(text, random)[:LARGEST]


def probabilities(random: Random, n: int) -> list[str]:
    """Numbers that sum to one."""
    weights = [random.random() + 0.01 for _ in range(n)]
    return [f"{weight / sum(weights):.9f}" for weight in weights]


def odd_cell(random: Random) -> str:
    """What a cell should not hold, or much of something."""
    if random.random() < 0.7:
        return random.choice(ODD)
    length = int(10 ** random.uniform(1, 5.3 if random.random() < 0.02 else 1.5))
    return random.choice([" ", "0", "9", ".", "x", '"', "\n", ",", "\0", "1 ", "- ", "\t "]) * length + random.choice(
        ["", "x", "1"]
    )


def quoted(cell: str, delimiter: str, random: Random) -> str:
    """The cell, quoted where it must be, and sometimes where it must not, or wrongly."""
    must = any(c in cell for c in (delimiter, '"', "\n", "\r"))
    if random.random() < (0.9 if must else 0.02):
        return '"' + cell.replace('"', '""') + '"'
    return random.choice(['"' + cell, cell + '"', "'" + cell + "'"]) if random.random() < 0.002 else cell


def encoded(text: str, random: Random) -> bytes:
    """The text in UTF-8, or in another encoding, or in one with pieces of another."""
    if random.random() < 0.8:
        return text.encode("utf-8", "surrogatepass")
    out = text.encode(random.choice(ENCODINGS), "replace")
    if random.random() < 0.4:
        at = random.randrange(len(out) + 1)
        out = (
            out[:at]
            + random.choice([b"\xff", b"\xc3(", b"\0", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x80" * 9])
            + out[at:]
        )
    return out


def json_text(random: Random) -> bytes:
    """A document: records, columns, lists by name, samples line by line, or anything."""
    oddness = random.choice([0.0, 0.02, 0.1, 0.5])
    records = [record(random, oddness, i) for i in range(random.choice([0, 1, 2, 30, 100]))]
    kind = random.randrange(6)
    if kind == 0:
        text = random.choice(["\n", "\r\n", "\n\n", ",\n", " "]).join(records)
    elif kind == 1:
        text = members(
            [(name, [value(random, oddness, 1) for _ in records]) for name in ("label", "p_0", "p_1")], random
        )
    elif kind == 2:
        text = members(
            [("logits", [f"[{i}, 0.5]" for i in range(len(records))]), ("labels", ["0"] * len(records))], random
        )
    elif kind == 3:
        text = value(random, 0.3, 5)
    else:
        text = random.choice(["[%s]", '{"data": [%s]}', "[[%s]]", "[%s,]", "[%s"]) % ", ".join(records)
    if random.random() < 0.05:
        text = text[: random.randrange(len(text) + 1)] + random.choice(["", "}", "]", ",", "\0", "//"])
    return encoded(random.choice(["", "", "", " \n", "\ufeff"]) + text, random)[:LARGEST]


def members(columns: list[tuple[str, list[str]]], random: Random) -> str:
    """An object of lists, in which one may be longer, stand twice or not at all."""
    for name, cells in list(columns):
        if random.random() < 0.05:
            columns.append((name, cells * random.choice([0, 1, 2])))
    return "{" + ", ".join(f"{json.dumps(name)}: [{', '.join(cells)}]" for name, cells in columns) + "}"


def record(random: Random, oddness: float, i: int) -> str:
    """One sample: a label and its probabilities, in one of the shapes that are common."""
    probs = [value(random, oddness, 1) if random.random() < oddness else p for p in probabilities(random, 3)]
    label = value(random, oddness, 1) if random.random() < oddness else str(i % 3)
    shapes = (
        f'"probs": [{", ".join(probs)}]',
        f'"probs": {{"a": {probs[0]}, "b": {probs[1]}, "c": {probs[2]}}}',
        f'"scores": [{{"label": "a", "score": {probs[0]}}}, {{"label": "b", "score": {probs[1]}}}]',
        ", ".join(f'"p_{j}": {prob}' for j, prob in enumerate(probs)),
    )
    inner = random.choice(shapes) if random.random() < max(oddness, 0.01) else shapes[-1]
    more = (
        f', "{random.choice(["label", "p_0", "x", ""])}": {value(random, oddness, 3)}'
        if random.random() < oddness
        else ""
    )
    return f'{{"label": {label}, {inner}{more}}}'


def value(random: Random, oddness: float, depth: int) -> str:
    """Any value of JSON, or nearly."""
    if random.random() < oddness / 20:
        nested = int(10 ** random.uniform(1, 5))
        return random.choice(["[", '{"a":', '[{"":']) * nested + "]" * (nested if random.random() < 0.5 else 0)
    kind = random.randrange(8 if depth else 5)
    if kind < 2:
        return f"{random.gauss(0, 2):.3f}"
    if kind == 2:
        return random.choice(
            ["null", "true", "NaN", "-Infinity", "1e999", "-0", "01", "1.", "+1", "9" * 5000, "1e-99999", "0x1"]
        )
    if kind < 5:
        text = json.dumps(random.choice([*PLAIN, *ODD, *NAMES]), ensure_ascii=random.random() < 0.5)
        return (
            text
            if random.random() < 0.9
            else random.choice(['"\\ud800"', '"\\u12"', '"\\x"', '"a\nb"', "'a'", '"\0"', "a"])
        )
    inner = [value(random, oddness, depth - 1) for _ in range(random.randrange(4))]
    if kind == 5:
        return "[" + ", ".join(inner) + "]"
    names = [json.dumps(random.choice(["a", "a", "label", "", "__class__", "p_0"])) for _ in inner]
    return "{" + ", ".join(f"{name}: {each}" for name, each in zip(names, inner, strict=True)) + "}"
