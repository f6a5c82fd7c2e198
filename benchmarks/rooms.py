"""The picture of the rooms in CONTRIBUTING.md, made from the imports of the code.

    python -m benchmarks.rooms            # writes it anew

A room is a package of ``calib``. The modules at its root are one room, ``calib/*.py``, and so are ``app.py`` with
``pages/``. Imports inside functions and for type checking count. An arrow that follows from others is not drawn.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "calib"
GUIDE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- made by python -m benchmarks.rooms -->\n", "<!-- end -->\n"

BASE, PAGES = "calib/*.py", "pages"
PURPOSES = {
    BASE: "The contract of a calibrator, the registry, settings, errors, and how numbers are computed and written.",
    PAGES: "One script for each page: it reads the session, calls `calib` and draws. `app.py` is the page Data.",
}
"""Of what has no ``__init__.py``; the others say it in the first line of theirs."""


def imported(path: Path) -> set[str]:
    """Dotted names of everything that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files() -> dict[str, list[Path]]:
    """The files of each room; the two modules that offer what all rooms hold belong to none."""
    rooms = {path.parent.name: sorted(path.parent.rglob("*.py")) for path in sorted(PACKAGE.glob("*/__init__.py"))}
    rooms[BASE] = [path for path in sorted(PACKAGE.glob("*.py")) if path.stem not in ("__init__", "__main__")]
    rooms[PAGES] = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]
    return rooms


def room_of(name: str) -> str | None:
    """The room of an imported name; None for what is not part of ``calib``."""
    top, _, rest = name.partition(".")
    if top != "calib":
        return None
    part = rest.partition(".")[0]
    return part if (PACKAGE / part / "__init__.py").is_file() and part else BASE


@cache
def needs() -> dict[str, frozenset[str]]:
    """For each room, the other rooms that its files import."""
    return {
        room: frozenset({room_of(name) for path in paths for name in imported(path)} - {None, room})
        for room, paths in files().items()
    }


@cache
def below(room: str) -> frozenset[str]:
    """Every room that one needs, directly or through others."""
    return needs()[room].union(*(below(other) for other in needs()[room]))


def arrows() -> list[tuple[str, str]]:
    """Pairs of rooms, the first of which needs the second, without those that follow from others."""
    return [
        (room, other)
        for room in rows()
        for other in sorted(needs()[room])
        if not any(other in below(between) for between in needs()[room])
    ]


@cache
def height(room: str) -> int:
    """How many rooms lie below one on the longest way down."""
    return 1 + max((height(other) for other in needs()[room]), default=-1)


def rows() -> list[str]:
    """The rooms from the top down: each lies above all that it needs."""
    return sorted(needs(), key=lambda room: (-height(room), room))


def purpose(room: str) -> str:
    """What a room holds, in one sentence."""
    if room in PURPOSES:
        return PURPOSES[room]
    documented = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))) or ""
    return documented.partition("\n")[0].replace("``", "`")


def picture() -> str:
    """The rooms as a Mermaid graph, which GitHub draws, and as a table."""
    graph = [f"    {room} --> {'base' if other == BASE else other}" for room, other in arrows()]
    table = [f"| `{_where(room)}` | {purpose(room)} |" for room in rows()]
    return "\n".join(
        [
            "```mermaid",
            "graph TD",
            f'    base["{BASE}"]',
            *graph,
            "```",
            "",
            "| room | what it holds |",
            "|---|---|",
            *table,
            "",
        ]
    )


def _where(room: str) -> str:
    return room if room == BASE else "app.py, pages/" if room == PAGES else f"calib/{room}/"


def main() -> None:
    """Write the picture between its two marks."""
    before, _, rest = GUIDE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    GUIDE.write_text(f"{before}{BEGIN}\n{picture()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
