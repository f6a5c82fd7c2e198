"""Confidences in words: the number of each word is asked for once, with a proposal from two published lists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calib.data.checks.report import InvalidUpload, Report, shortened
from calib.data.interpret.label_values import is_missing
from calib.data.options import Choices
from calib.data.read.base import Array, Contents
from calib.data.read.table import Table, is_text, value_type
from calib.numerics import Floats

MOST_WORDS = 40
"""Different words; more are free text."""

SOURCE = "the middle of the range of Intelligence Community Directive 203 (2015), else Sherman Kent's number (1964)"

PROPOSED: dict[str, float] = {
    **dict.fromkeys(("almost no chance", "remote"), 0.03),
    **dict.fromkeys(("very unlikely", "highly improbable"), 0.125),
    **dict.fromkeys(("unlikely", "improbable"), 0.325),
    **dict.fromkeys(("roughly even chance", "roughly even odds"), 0.5),
    **dict.fromkeys(("likely",), 0.675),
    **dict.fromkeys(("very likely", "highly probable"), 0.875),
    **dict.fromkeys(("almost certain", "nearly certain"), 0.97),
    **{"certain": 1.0, "probable": 0.75, "chances about even": 0.5, "about even": 0.5},
    **{"probably not": 0.3, "almost certainly not": 0.07, "impossible": 0.0},
}
"""A number for each word.

The first seven lines are the middles of the ranges of ICD 203, "Analytic Standards", Office of the Director of National
Intelligence, 2015: 1 to 5, 5 to 20, 20 to 45, 45 to 55, 55 to 80, 80 to 95 and 95 to 99 %. The rest is from Kent,
"Words of estimative probability", Studies in Intelligence 8 (1964). People differ widely in what they mean by a word:
over 21 studies, even "impossible" and "definite" had means of 7 and 95 % (Vogel et al., "The interpretation of verbal
probabilities", Stud Health Technol Inform 296, 2022). So the proposal is never used unless it is confirmed.
"""

NUMBER = re.compile(r"(\d{1,15}\.?\d{0,15}|\.\d{1,15})\s*(%?)")


def words_as_numbers(contents: Contents, outputs: Any, report: Report) -> Floats | None:
    """(n,) confidences that are written in words; None where the outputs are something else.

    Raises
    ------
    InvalidUpload
        For words that have no number yet; its fix is the proposal, where there is one for each word.
    """
    name = outputs if isinstance(outputs, str) else outputs[0] if len(outputs) == 1 else None
    if name is None or not isinstance(contents, Table) or not is_text(value_type(contents.schema.field(name).type)):
        return None
    given = {} if report.choices.verbal is None else read_given(report.choices.verbal)
    different = contents.column(name).unique()
    if len(different) > MOST_WORDS + 1:  # one of them may be missing
        return None
    words = [_plain(str(word)) for word in different.to_pylist() if word is not None]
    in_words = report.choices.kind == "pairs" or given or any(word in PROPOSED for word in words)
    if not in_words or len(words) > MOST_WORDS or all(NUMBER.fullmatch(word) or is_missing(word) for word in words):
        return None
    cells = contents.read(name)
    different, positions = np.unique(cells, return_inverse=True)
    plain = [_plain(word) for word in different.tolist()]
    numbers = {word: given.get(word, _number(word)) for word in plain if not is_missing(word)}
    if any(number is None for number in numbers.values()):
        report.words = {word: PROPOSED.get(word) if number is None else number for word, number in numbers.items()}
        raise _ask(name, cells, numbers)
    values = np.array([numbers.get(word, np.nan) for word in plain], dtype=np.float64)
    report.info(
        "verbal",
        f"{name} holds confidences in words, read as {_listed(numbers)}.",
        "Change them with the option verbal.",
    )
    return values[positions.reshape(-1)]


def words_in_sample(sample: Mapping[str, Array], choices: Choices) -> dict[str, Array]:
    """The sample of a table with columns of such words as numbers, so that they can be told from other text.

    A column is one of them where it was chosen as the confidence of pairs, or half of its words are known.
    """
    given = {} if choices.verbal is None else read_given(choices.verbal)
    chosen = choices.outputs if choices.kind == "pairs" else None
    return {
        name: _provisional(cells, given, name == chosen or (name,) == chosen) if cells.dtype.kind == "U" else cells
        for name, cells in sample.items()
    }


def _provisional(cells: Array, given: Mapping[str, float], chosen: bool) -> Array:
    """Numbers where the cells are words of confidence, one half for those without a number; else the cells."""
    different, positions = np.unique(cells, return_inverse=True)
    words = [_plain(word) for word in different.tolist()]
    present = [word for word in words if not is_missing(word)]
    known = [word in given or word in PROPOSED for word in present]
    if not present or len(present) > MOST_WORDS or all(NUMBER.fullmatch(word) for word in present):
        return cells
    if not chosen and 2 * sum(known) < len(present):
        return cells
    numbers = [np.nan if is_missing(word) else given.get(word, PROPOSED.get(word, _number(word))) for word in words]
    return np.array([0.5 if number is None else number for number in numbers])[positions.reshape(-1)]


def read_given(pairs: Sequence[str]) -> dict[str, float]:
    """The number of each word, from texts such as ``very likely=0.9``.

    Raises
    ------
    InvalidUpload
        For a text of another form, or a number that is no probability.
    """
    found = {}
    for pair in pairs:
        word, _, text = pair.rpartition("=")
        number = _number(text)
        if not word.strip() or number is None:
            raise InvalidUpload(
                "verbal",
                f"{shortened(pair)!r} does not give a word a probability.",
                "Write each as word=number with a number from 0 to 1, such as very likely=0.9.",
            )
        found[_plain(word)] = number
    return found


def _ask(name: str, cells: Array, numbers: dict[str, float | None]) -> InvalidUpload:
    counts = dict.fromkeys(numbers, 0)
    for word, n in zip(*np.unique(cells, return_counts=True), strict=True):
        if _plain(word) in counts:
            counts[_plain(word)] += int(n)
    said = ", ".join(f"{shortened(word)!r} ({counts[word]:,} rows)" for word in numbers)
    proposed = {word: PROPOSED.get(word) if number is None else number for word, number in numbers.items()}
    unknown = [shortened(word) for word, number in proposed.items() if number is None]
    fix: dict[str, Any] = {} if unknown else {"verbal": tuple(f"{word}={p:g}" for word, p in proposed.items())}
    action = (
        f"Take the proposal, {SOURCE}, or give each word a number of your own" if fix else "Give each word a number"
    )
    return InvalidUpload(
        "verbal",
        f"{name} holds confidences in words: {said}. What number a word means has to be said once"
        + (f"; there is no proposal for {', '.join(unknown)}." if unknown else "."),
        f"{action}: the option verbal takes word=number, such as {next(iter(numbers))}=0.9.",
        **fix,
    )


def _listed(numbers: dict[str, float | None]) -> str:
    return ", ".join(f"{shortened(word)} = {number:g}" for word, number in numbers.items())


def _number(text: str) -> float | None:
    """A probability from text, with or without a percent sign; None where it is none."""
    found = NUMBER.fullmatch(text.strip())
    value = None if found is None else float(found[1]) / (100 if found[2] else 1)
    return value if value is not None and value <= 1 else None


def _plain(word: str) -> str:
    return " ".join(word.replace("_", " ").replace("-", " ").casefold().strip(" .!").split())
