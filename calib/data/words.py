"""Words in names and in cells, by what they say: the lists of ``words.ini``, where words are added."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

_LISTS = ConfigParser(delimiters=("=",), comment_prefixes=("#",), interpolation=None)
_LISTS.read(Path(__file__).with_name("words.ini"), encoding="utf-8")


def listed_terms(meaning: str) -> tuple[str, ...]:
    """The words of one section in its order, of all languages and tools."""
    return tuple(dict.fromkeys(word for text in _LISTS[meaning].values() for word in text.split()))


def _terms(*meanings: str) -> frozenset[str]:
    return frozenset(word for meaning in meanings for word in listed_terms(meaning))


PROBABILITY = _terms("probability")
SCORE = _terms("score")
MODELS = _terms("models")
PERCENT = _terms("percent")
CONFIDENCE = _terms("confidence")
UNSURE = _terms("unsure")
RISK = _terms("risk")
POINTS = _terms("points")
CREDIT = _terms("credit")
PREDICTED = _terms("predicted")
CLASS = _terms("class")

TRUTH = _terms("truth")
LABEL = _terms("label")
CORRECT = _terms("correct")
ACHIEVED = _terms("achieved")
RIGHT = frozenset(word for word in CORRECT if len(word) > 3)
"""Such words beside a class mean the true one: ``correct_answer``."""
RESPONSES = _terms("responses")

GOOD = _terms("good")
BAD = _terms("bad")
EVENTS = GOOD | BAD | ACHIEVED | _terms("happens")
"""Words of events; a column of two values with such a name may be the outcome."""
FAILS = _terms("fails")
SUCCEEDS = CORRECT | ACHIEVED | _terms("success")
NEGATIONS = _terms("negations")

JUDGE, PROBLEM = _terms("judge"), _terms("problem")
CLUSTER, GROUP, MODEL, BODY = map(_terms, ("cluster", "group", "model", "body"))
WEIGHT = _terms("weight") | _terms("sampling_weight")
SAMPLING = _terms("sampling") | _terms("sampling_weight")
"""Such a word in the name of weights says that they are sampling weights."""
COUNTS = _terms("counts")
"""Such a word says that they are frequencies or exposures."""
EARLIER, SPLIT, TIME, ID, TEXT = map(_terms, ("earlier", "split", "time", "id", "text"))
ORIGIN = _terms("origin")
"""Beside these a year says how old something is, not when it was scored."""

SUBJECTLESS = MODELS | CLASS | PREDICTED | RISK | POINTS | CREDIT | UNSURE | {"event", "final"}
"""Words in the name of a score that do not say what it is the probability of."""

GENERAL = TRUTH | LABEL | SCORE | PROBABILITY | PERCENT | _terms("small")
"""Words that say nothing of what outcome and outputs are about."""

HAPPENED = _terms("happened")
DID_NOT = _terms("did_not")
"""Labels that say of themselves that something happened, or that it did not; lower case."""
ANSWER_RIGHT = HAPPENED | _terms("answer_right")
ANSWER_WRONG = DID_NOT | _terms("answer_wrong")
"""Values that say that an answer is correct, or wrong."""
MISSING = _terms("missing")
PERHAPS_MISSING = _terms("perhaps_missing")
"""Texts that stand for no value unless a class has that name; the second where there are more of them than classes."""
NO_VALUE = MISSING | PERHAPS_MISSING

_IN_NAMES = """
    probability score models percent confidence unsure risk predicted class truth label responses fails
    cluster group model weight sampling_weight body earlier split time id text
"""
KNOWN = EVENTS | SUCCEEDS | _terms(*_IN_NAMES.split())
"""Every word that may stand in the name of a column."""

LONG = frozenset(word for word in KNOWN if len(word) >= 5)
ENDS = LONG | {"risk", "prob", "kans"}
"""Words that are also looked for at the ends of a compound such as "Ausfallwahrscheinlichkeit"."""
