"""Sentences of pages: at most 25 words each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

MOST_WORDS = 25
ROOT = Path(__file__).parents[2]
FILES = [
    path
    for folder in ("pages", "calib/ui", "calib/plots", "calib/auditing")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts outside of docstrings with their lines; an expression within one counts as a word."""
    inner: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            inner.add(node.value)
        if node in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [v.value if isinstance(v, ast.Constant) else "X" for v in node.values]
            inner.update(ast.walk(node))
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def sentences(text: str) -> list[str]:
    """A text split behind full stops, colons and semicolons; code and tables of Markdown are none."""
    if re.search(r"px|=>|^\|", text, re.MULTILINE):
        return []
    return re.split(r"(?<=[.:;!?])[\s*]+", text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_have_at_most_25_words(path: Path) -> None:
    long = [
        (line, sentence)
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8")))
        for sentence in sentences(text)
        if len(re.findall(r"\S*\w\S*", sentence)) > MOST_WORDS
    ]
    assert not long
