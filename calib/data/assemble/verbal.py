"""Confidences in words: the number of each word is asked for once, with a proposal from two published lists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calib.data.assemble.labels import is_missing
from calib.data.findings import InvalidUpload, Step, info, shortened
from calib.data.guess.names import has, is_prediction
from calib.data.options import Choices, names_in
from calib.data.read.base import Array, Contents, distinct
from calib.data.roles import Question
from calib.data.words import CONFIDENCE
from calib.formatting import plural
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


def words_as_numbers(contents: Contents, outputs: Any, choices: Choices) -> Step[Floats | None]:
    """(n,) confidences that are written in words; None where the outputs are something else.

    Words that have no number yet are asked about.
    """
    names = names_in(outputs)
    if not contents.tabular or len(names) != 1 or "string" not in contents.info(names[0]).dtype:
        return Step(None)
    values, places = distinct(contents.read(names[0]))
    numbers = numbers_of(values, choices, choices.kind == "pairs" or has(names[0], CONFIDENCE))
    if numbers is None:
        return Step(None)
    words = [plain_word(word) for word in values.tolist()]
    if None in numbers.values():
        raise _ask(names[0], dict(zip(words, np.bincount(places).tolist(), strict=True)), numbers)
    said = ", ".join(f"{shortened(word)} = {number:g}" for word, number in numbers.items())
    finding = info("verbal", f"{names[0]} holds confidences in words, read as {said}.", "Change them with verbal.")
    values = np.array([numbers.get(word, np.nan) for word in words], dtype=np.float64)
    return Step(values[places], (finding,))


def words_in_sample(sample: Mapping[str, Array], choices: Choices) -> dict[str, Array]:
    """The sample of a table with columns of such words as numbers, so that they can be told from other text.

    A column is one of them where it was chosen as the confidence of pairs, is called a confidence where no numbers are
    called a score, or half of its words are known; a word without a number counts as one half.
    """
    chosen, numbered = names_in(choices.outputs) if choices.kind == "pairs" else (), dict(sample)
    scored = any(cells.dtype.kind in "iuf" and is_prediction(name) for name, cells in sample.items())
    for name, cells in sample.items():
        if cells.dtype.kind != "U":
            continue
        values, places = distinct(cells)
        is_confidence = chosen == (name,) or (not scored and has(name, CONFIDENCE))
        numbers = numbers_of(values, choices, is_confidence)
        if numbers is None:
            continue
        told = {word: PROPOSED.get(word) if number is None else number for word, number in numbers.items()}
        if is_confidence or 2 * list(told.values()).count(None) <= len(told):
            own = [told.get(plain_word(word), np.nan) for word in values.tolist()]
            numbered[name] = np.array([0.5 if value is None else value for value in own])[places]
    return numbered


def numbers_of(values: Array, choices: Choices, is_confidence: bool) -> dict[str, float | None] | None:
    """The number of each word, None for those that have none yet; None for values that are no words of confidence.

    Of a column that is known to be a confidence no word need be in the lists.
    """
    given = read_given(choices.verbal or ())
    if len(values) > MOST_WORDS + 1:  # one of them may be missing
        return None
    words = list(dict.fromkeys(plain_word(word) for word in values.tolist() if not is_missing(word)))
    in_words = is_confidence or any(word in given or word in PROPOSED for word in words)
    if not words or not in_words or len(words) > MOST_WORDS or all(map(NUMBER.fullmatch, words)):
        return None
    return {word: given.get(word, number_in(word)) for word in words}


def read_given(pairs: Sequence[str]) -> dict[str, float]:
    """The number of each word, from texts such as ``very likely=0.9``."""
    found = {}
    for pair in pairs:
        word, _, text = pair.rpartition("=")
        number = number_in(text)
        if not word.strip() or number is None:
            reason = f"{shortened(pair)!r} does not give a word a probability."
            action = "Write each as word=number with a number from 0 to 1, such as very likely=0.9."
            raise InvalidUpload("verbal", reason, action)
        found[plain_word(word)] = number
    return found


def _ask(name: str, rows: Mapping[str, int], numbers: Mapping[str, float | None]) -> InvalidUpload:
    """The error that asks for the numbers; its fix is the proposal, where there is one for each word."""
    said = ", ".join(f"{shortened(word)!r} ({plural(rows[word], 'row')})" for word in numbers)
    proposed = {word: PROPOSED.get(word) if number is None else number for word, number in numbers.items()}
    unknown = [shortened(word) for word, number in proposed.items() if number is None]
    fix: dict[str, Any] = {} if unknown else {"verbal": tuple(f"{word}={p:g}" for word, p in proposed.items())}
    no_proposal = f"; there is no proposal for {', '.join(unknown)}" if unknown else ""
    answer = "Give each word a number" if unknown else f"Take the proposal, {SOURCE}, or give each word its number"
    return InvalidUpload(
        "verbal",
        f"{name} holds confidences in words: {said}. What number a word means has to be said once{no_proposal}.",
        f"{answer}: the option verbal takes word=number, such as {next(iter(numbers))}=0.9.",
        question=Question(words=proposed),
        **fix,
    )


def number_in(text: str) -> float | None:
    """A probability from text, with or without a percent sign; None where it is none."""
    found = NUMBER.fullmatch(text.strip())
    value = None if found is None else float(found[1]) / (100 if found[2] else 1)
    return value if value is not None and value <= 1 else None


def plain_word(word: str) -> str:
    """A word of confidence without case, separators and the signs around it."""
    return " ".join(word.replace("_", " ").replace("-", " ").casefold().strip(" .!").split())
