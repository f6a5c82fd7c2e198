"""Words in names and in cells, by what they say: the lists of ``words.ini``, where words are added."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

_LISTS = ConfigParser(delimiters=("=",), comment_prefixes=("#",), interpolation=None)
_LISTS.read(Path(__file__).with_name("words.ini"), encoding="utf-8")


def listed_words(meaning: str) -> tuple[str, ...]:
    """The words of one section in its order, of all languages and tools."""
    return tuple(
        dict.fromkeys(word for words in _LISTS[meaning].values() for word in words.split())
    )


def _words(*meanings: str) -> frozenset[str]:
    return frozenset(word for meaning in meanings for word in listed_words(meaning))


PROBABILITY = _words("probability")
SCORE = _words("score")
MODELS = _words("models")
PERCENT = _words("percent")
CONFIDENCE = _words("confidence")
UNSURE = _words("unsure")
RISK = _words("risk")
POINTS = _words("points")
CREDIT = _words("credit")
PREDICTED = _words("predicted")
CLASS = _words("class")

TRUTH = _words("truth")
LABEL = _words("label")
CORRECT = _words("correct")
ACHIEVED = _words("achieved")
RIGHT = frozenset(word for word in CORRECT if len(word) > 3)
"""Such words beside a class mean the true one: ``correct_answer``."""
RESPONSES = _words("responses")

GOOD = _words("good")
BAD = _words("bad")
EVENTS = GOOD | BAD | ACHIEVED | _words("happens")
"""Words of events; a column of two values with such a name may be the outcome."""
FAILS = _words("fails")
SUCCEEDS = CORRECT | ACHIEVED | _words("success")
NEGATIONS = _words("negations")

JUDGE, PROBLEM = _words("judge"), _words("problem")
CLUSTER, GROUP, MODEL, BODY = map(_words, ("cluster", "group", "model", "body"))
WEIGHT = _words("weight") | _words("sampling_weight")
SAMPLING = _words("sampling") | _words("sampling_weight")
"""Such a word in the name of weights says that they are sampling weights."""
COUNTS = _words("counts")
"""Such a word says that they are frequencies or exposures."""
EARLIER, SPLIT, TIME, ID, TEXT = map(_words, ("earlier", "split", "time", "id", "text"))
ORIGIN = _words("origin")
"""Beside these a year says how old something is, not when it was scored."""

SUBJECTLESS = MODELS | CLASS | PREDICTED | RISK | POINTS | CREDIT | UNSURE | {"event", "final"}
"""Words in the name of a score that do not say what it is the probability of."""

GENERAL = TRUTH | LABEL | SCORE | PROBABILITY | PERCENT | _words("small")
"""Words that say nothing of what outcome and outputs are about."""

HAPPENED = _words("happened")
DID_NOT = _words("did_not")
"""Labels that say of themselves that something happened, or that it did not; lower case."""
ANSWER_RIGHT = HAPPENED | _words("answer_right")
ANSWER_WRONG = DID_NOT | _words("answer_wrong")
"""Values that say that an answer is correct, or wrong."""
MISSING = _words("missing")
PERHAPS_MISSING = _words("perhaps_missing")
"""Texts that stand for no value unless a class has that name; the second where there are more of them than classes."""
NO_VALUE = MISSING | PERHAPS_MISSING

_IN_NAMES = """
    probability score models percent confidence unsure risk predicted class truth label responses fails
    cluster group model weight sampling_weight body earlier split time id text
"""
KNOWN = EVENTS | SUCCEEDS | _words(*_IN_NAMES.split())
"""Every word that may stand in the name of a column."""

LONG = frozenset(word for word in KNOWN if len(word) >= 5)
ENDS = LONG | {"risk", "prob", "kans"}
"""Words that are also looked for at the ends of a compound such as "Ausfallwahrscheinlichkeit"."""
