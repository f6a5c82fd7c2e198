"""The files of all links, and what may be deleted because none of them leads to it, or because it is old."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from calib.workspace.entry import Entry, from_json, to_json
from calib.workspace.folders import ABANDONED, Damaged, Item, Items, write_file

_DAY = 86_400.0


class Entries:
    """One file for each link, below the root of ``items``; found by the hash of its token alone."""

    def __init__(self, items: Items):
        self._items = items
        self._folder = items.root / "links"
        self._folder.mkdir(mode=0o700, exist_ok=True)

    def write(self, name: str, entry: Entry) -> None:
        """Write or replace an entry, which remembers what the one in its place led to, to delete that too."""
        path, before = self._path(name), set()
        with suppress(OSError, Damaged):
            before = from_json(path.read_bytes()).ever()
        write_file(path, to_json(replace(entry, former=tuple(sorted(before - entry.contents())))))

    def read(self, name: str) -> Entry | None:
        """An entry, which counts as used now, or None if there is none; raises :class:`Damaged`."""
        path = self._path(name)
        try:
            content = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return from_json(content)

    def delete(self, name: str) -> None:
        """Delete an entry with those of before it, and the content that no other entry leads to."""
        with self._items.locked():
            everyone = self._all()
            going = {name}
            if name in everyone:
                going |= set(everyone[name].earlier)
            staying = [entry.ever() for other, entry in everyone.items() if other not in going]
            for other in going:
                self._path(other).unlink(missing_ok=True)
            theirs = [everyone[other].ever() for other in going if other in everyone]
            for kind, content in set().union(*theirs) - set().union(*staying):
                self._items.remove(kind, content)

    def sweep(self, max_bytes: int, max_days: float) -> None:
        """Delete what is older than ``max_days``, then what was unused for longest until ``max_bytes`` hold the rest.

        Using a link counts as using all it leads to.
        """
        self._items.clean()
        with self._items.locked():
            self._clean()
            used: dict[tuple[str, str], float] = {}
            links = []
            for name, entry in self._all().items():
                with suppress(OSError):
                    stat = self._path(name).stat()
                    links.append((stat.st_mtime, stat.st_size, name))
                    for content in entry.contents():
                        used[content] = max(used.get(content, 0.0), stat.st_mtime)
            stored: list[tuple[float, int, Item | str]] = list(links)
            for item in self._items.all():
                stored.append((max(item.used, used.get((item.kind, item.name), 0.0)), item.nbytes, item))
            too_old = time.time() - max_days * _DAY
            total = sum(nbytes for _, nbytes, _ in stored)
            for last_use, nbytes, what in sorted(stored, key=lambda each: each[:2]):
                if last_use >= too_old and total <= max_bytes:
                    break
                total -= nbytes
                if isinstance(what, Item):
                    self._items.remove(what.kind, what.name)
                else:
                    self._path(what).unlink(missing_ok=True)

    def _all(self) -> dict[str, Entry]:
        found = {}
        for path in self._folder.glob("*.json"):
            # One that cannot be read leads nowhere; its age will take it.
            with suppress(OSError, Damaged):
                found[path.stem] = from_json(path.read_bytes())
        return found

    def _clean(self) -> None:
        for path in self._folder.glob("*.new"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > ABANDONED:
                    path.unlink()

    def _path(self, name: str) -> Path:
        if len(name) != 64 or not name.isalnum():
            raise ValueError(f"{name!r} is no name of a link's file.")
        return self._folder / f"{name}.json"
