"""Every code block of the README and of docs/: it runs, and prints what stands beneath it.

A block is ``python``, ``sh``, or ``text`` for output. Python blocks of a document share their names. What is printed is
compared with the ``text`` block right beneath, numbers to 2 % so that other versions may round in another way. Of shell
blocks each command runs; ``make`` says only what it would do. A block after ``<!-- not run: REASON -->`` does not run.
Each document runs by itself in an empty folder. Python blocks of CONTRIBUTING.md are applied to a copy of the
code by test_guide.py.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from calib.cli import main
from tests.conftest import DOCUMENTS, ROOT

_NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
_REASON = re.compile(r"<!-- not run: (.+?) -->")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, its text, what it must print, and why it does not run."""

    line: int
    language: str
    text: str
    prints: str | None
    reason: str


def blocks(document: str) -> Iterator[Block]:
    tokens = [
        t
        for t in MarkdownIt().parse((ROOT / document).read_text(encoding="utf-8"))
        if t.type != "paragraph_close"
    ]
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token.type != "fence":
            continue
        said = _REASON.search(before.content) if before and before.type == "html_block" else None
        is_output = (
            token.info == "python" and after and after.type == "fence" and after.info == "text"
        )
        yield Block(token.map[0] + 1, token.info, token.content, after.content if is_output else None,
                    said[1] if said else "")  # fmt: skip


def same(printed: str, stated: str) -> bool:
    """Whether two texts have the same words, and numbers that differ by no more than 2 % or their last digit."""
    if _NUMBER.sub("#", printed).split() != _NUMBER.sub("#", stated).split():
        return False
    pairs = zip(_NUMBER.findall(printed), _NUMBER.findall(stated), strict=True)
    return all(
        abs(value(a) - value(b)) <= 0.02 * abs(value(b)) + 1.01 * last_digit(b) for a, b in pairs
    )


def test_another_number_or_word_beneath_a_block_is_found() -> None:
    stated = "AUROC is 0.681 [0.656, 0.705]: 1,732 rows."
    assert same("AUROC is 0.682 [0.656, 0.705]: 1,733  rows.\n", stated)
    assert not same("AUROC is 0.71 [0.656, 0.705]: 1,732 rows.", stated)
    assert not same("O:E is 0.681 [0.656, 0.705]: 1,732 rows.", stated)
    assert not same("AUROC is 0.681 [0.656, 0.705]", stated)


def value(number: str) -> float:
    return float(number.replace(",", ""))


def last_digit(number: str) -> float:
    return 10.0 ** -len(number.partition(".")[2]) if "e" not in number else 0.0


def commands(text: str) -> list[list[str]]:
    """Commands of a shell block as words, without comments."""
    joined = text.replace("\\\n", " ")
    return [words for line in joined.splitlines() if (words := shlex.split(line, comments=True))]


def run_command(words: list[str], folder: Path) -> None:
    while "=" in words[0]:  # variables of this command
        words = words[1:]
    output = ""
    if ">" in words:
        words, (output,) = words[: words.index(">")], words[words.index(">") + 1 :]
    if words[0] == "make":
        assert (
            subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True).returncode
            == 0
        ), words
    elif words[:2] == ["calib", "app"] or words[:4] == ["python", "-m", "calib", "app"]:
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["app", "--help"]) == 0
    elif words[0] == "unzip":
        shutil.unpack_archive(words[1], words[3], "zip")
    elif words[:3] == ["python", "-m", "calib"]:
        with (
            contextlib.redirect_stdout(io.StringIO()) as printed,
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            status = main(words[3:])
        assert status in (0, 3), (
            f"{' '.join(words)}: {said.getvalue()}"
        )  # 3: the gate found a limit broken
        if output:
            (folder / output).write_text(printed.getvalue(), encoding="utf-8")
    else:
        program = [sys.executable, *words[1:]] if words[0] == "python" else words
        done = subprocess.run(program, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, where code runs as if pasted."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_block_says_what_it_is_and_few_do_not_run() -> None:
    found = [(document, block) for document in DOCUMENTS for block in blocks(document)]
    assert len(found) > 40
    unknown = [(document, block.line) for document, block in found
               if not block.reason and block.language not in ("python", "sh", "text")]  # fmt: skip
    assert not unknown
    left_out = [(document, block.line) for document, block in found if block.reason]
    assert len(left_out) <= 10, left_out


PYTHON_ELSEWHERE = ("CONTRIBUTING.md",)
LONG = (
    "docs/command_line.md", "docs/guide/compare.md", "docs/risk_models.md", "docs/tutorials/clinic.md",
    "docs/tutorials/credit.md",
)  # fmt: skip


@pytest.mark.parametrize(
    "document",
    [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in DOCUMENTS],
)
def test_the_blocks_of_a_document_run(document: str, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    run_blocks(document, folder, names)


def run_blocks(document: str, folder: Path, names: dict[str, Any]) -> None:
    for block in blocks(document):
        if block.reason:
            continue
        if block.language == "sh":
            for words in commands(block.text):
                run_command(words, folder)
        elif block.language == "python" and document not in PYTHON_ELSEWHERE:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block.text, f"{document}:{block.line}", "exec"), names)
            if block.prints is not None:
                said = printed.getvalue()
                assert same(said, block.prints), f"{document}:{block.line} prints\n{said}"
