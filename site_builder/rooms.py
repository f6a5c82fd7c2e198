"""The picture and the table of the packages in CONTRIBUTING.md, made from the imports of the code.

    python -m site_builder.rooms            # renews them

A box is a package of ``calib``. The modules at its root are one box, ``calib/*.py``, and so are ``app.py`` with
``pages/``. Imports inside functions and for type checking count. An arrow that follows from others is not drawn.
"""

from __future__ import annotations

import ast
from functools import cache
from itertools import permutations, product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "calib"
GUIDE = ROOT / "CONTRIBUTING.md"
PICTURE = ROOT / "docs" / "rooms.svg"
BEGIN, END = "<!-- made by python -m site_builder.rooms -->\n", "<!-- end -->\n"

COLUMNS, WIDTH, HEIGHT, BOX = 4, 190, 76, (150, 36)
"""Of the picture, in pixels but for the first."""

BASE, PAGES = "calib/*.py", "pages"
PURPOSES = {
    BASE: "The contract of a calibrator, the registry, settings, errors, numerics and number formatting.",
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
    rooms = {
        path.parent.name: sorted(path.parent.rglob("*.py"))
        for path in sorted(PACKAGE.glob("*/__init__.py"))
    }
    rooms[BASE] = [
        path for path in sorted(PACKAGE.glob("*.py")) if path.stem not in ("__init__", "__main__")
    ]
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
    documented = (
        ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8")))
        or ""
    )
    return documented.partition("\n")[0].replace("``", "`")


def layout() -> dict[str, tuple[int, int]]:
    """Column and row of each room, the top row 0: short arrows that cross few others and run below no other room."""
    top = max(map(height, rows()))
    levels = [[room for room in rows() if top - height(room) == y] for y in range(top + 1)]
    place = {room: (x, y) for y, level in enumerate(levels) for x, room in enumerate(level)}
    best = _cost(place)
    while True:
        before = best
        for y, y2 in [(y, y + apart) for apart in (1, 2) for y in range(top + 1 - apart)]:
            for some, others in product(
                *(permutations(range(COLUMNS), len(levels[each])) for each in (y, y2))
            ):
                tried = place | {room: (x, y) for room, x in zip(levels[y], some, strict=True)}
                tried |= {room: (x, y2) for room, x in zip(levels[y2], others, strict=True)}
                if (cost := _cost(tried)) < best:
                    place, best = tried, cost
        if best == before:
            return place


def _cost(place: dict[str, tuple[int, int]]) -> int:
    lines = [(place[room], place[other]) for room, other in arrows()]
    total = 0
    for i, ((x1, y1), (x2, y2)) in enumerate(lines):
        total += 2 * abs(x1 - x2)
        for x, y in place.values():  # below a room: within half a column of it
            between = y1 < y < y2
            total += 40 * (
                between and 2 * abs((x - x1) * (y2 - y1) - (x2 - x1) * (y - y1)) < y2 - y1 + 1
            )
        for (x3, y3), (x4, y4) in lines[:i]:
            crossing = max(y1, y3) < min(y2, y4) and (x1 - x3) * (x2 - x4) < 0
            total += 3 * crossing
    return total


def in_words() -> str:
    """The arrows as text, which the picture holds too."""
    return "; ".join(f"{room} imports {other}" for room, other in arrows())


def picture() -> str:
    """The rooms and their arrows as SVG."""
    place = layout()
    center = {
        room: (WIDTH * (2 * x + 1) // 2, HEIGHT * (2 * y + 1) // 2)
        for room, (x, y) in place.items()
    }
    width, height_of_all = WIDTH * COLUMNS, HEIGHT * (1 + max(y for _, y in place.values()))
    lines = [
        f'<line x1="{x1}" y1="{y1 + BOX[1] // 2}" x2="{x2}" y2="{y2 - BOX[1] // 2 - 6}"/>'
        for (x1, y1), (x2, y2) in ((center[room], center[other]) for room, other in arrows())
    ]
    boxes = [
        f'<rect x="{x - BOX[0] // 2}" y="{y - BOX[1] // 2}" width="{BOX[0]}" height="{BOX[1]}" rx="6"/>'
        f'<text x="{x}" y="{y + 5}">{room}</text>'
        for room, (x, y) in center.items()
    ]
    style = (
        "rect{fill:#e8f1f8;stroke:#0072b2}line{stroke:#666;marker-end:url(#end)}"
        "text{font:15px sans-serif;text-anchor:middle}"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height_of_all}">',
            f"<desc>{in_words()}</desc>",
            f"<style>{style}</style>",
            '<marker id="end" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#666"/></marker>',
            f'<path d="M0 0H{width}V{height_of_all}H0z" fill="#fff"/>',
            *lines,
            *boxes,
            "</svg>\n",
        ]
    )


def table() -> str:
    """What each room holds."""
    cells = [f"| `{_where(room)}` | {purpose(room)} |" for room in rows()]
    return "\n".join(["| package | what it holds |", "|---|---|", *cells, ""])


def _where(room: str) -> str:
    return room if room == BASE else "app.py, pages/" if room == PAGES else f"calib/{room}/"


def main() -> None:
    """Write the picture, and the table between its two marks."""
    PICTURE.write_text(picture(), encoding="utf-8")
    before, _, rest = GUIDE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    GUIDE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
