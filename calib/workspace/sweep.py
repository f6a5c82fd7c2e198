"""What the workspace deletes by itself: what was unused for long, and what is beyond a visitor's share or the whole."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from calib.workspace.files import Item, Items
from calib.workspace.links import Content, Entries, Entry

DAY = 86_400.0
TOLERATED = 0.1
"""Of the days after which things go, by which the clock may be ahead of the time that passed."""


class Sweep:
    """Deletes on each call what goes; several servers may do so on the same folder.

    Days count while a server runs. Where the clock is ahead of the time that passed since the last call, because it was
    set or no server ran, everything is dated anew, as if that time had not been: a wrong clock deletes nothing.

    Parameters
    ----------
    max_bytes : most bytes on disk; what was unused for longest goes first.
    max_days : days after the last use at which anything goes.
    share : most of the bytes that one owner of links may take where there are others; beyond it go the owner's own.
    """

    def __init__(self, items: Items, entries: Entries, max_bytes: int, max_days: float, share: float):
        self._items, self._entries = items, entries
        self._max_bytes, self._max_days, self._share = max_bytes, max_days, share
        self._last: float | None = None  # by the steady clock

    def __call__(self) -> set[Content]:
        """Delete; returns what made room for others before its days were over. Raises OSError and Unreadable."""
        with self._items.locked():
            self._date_anew()
            self._items.clean()
            stored = {(item.kind, item.name): item for item in self._items.all()}
            oldest = self._items.clock.now() - self._max_days * DAY
            kept = self._kept(stored, self._entries.all(), oldest)
            for kind, name in stored.keys() - kept:
                self._items.remove(kind, name)
            return {content for content, item in stored.items() if content not in kept and item.used >= oldest}

    def _date_anew(self) -> None:
        now, steady = self._items.clock.now(), self._items.clock.steady()
        passed = 0.0 if self._last is None else steady - self._last
        ahead = now - self._items.swept() - passed
        hidden = ahead if ahead > TOLERATED * self._max_days * DAY else 0.0
        self._items.date_anew(hidden)
        self._items.swept(now)
        self._last = steady

    def _kept(self, stored: Mapping[Content, Item], links: Mapping[str, Entry], oldest: float) -> set[Content]:
        claims = [claim for claim in _claims(stored, links, oldest) if claim[1] >= oldest]
        alone = len({owner for owner, *_ in claims if owner}) < 2
        most = self._max_bytes * (1.0 if alone else self._share)
        within: dict[Content, tuple[float, int]] = {}  # what no share forbids: when it was used last, and its rank
        for owner, mine in groupby(sorted(claims, key=lambda c: (c[0], -c[1], c[2])), key=lambda claim: claim[0]):
            nbytes, seen = 0, set()
            for _, used, rank, content in mine:
                nbytes += 0 if content in seen else stored[content].nbytes
                seen.add(content)
                if not owner or nbytes <= most:
                    within[content] = max((used, -rank), within.get(content, (0.0, 0)))
        total, kept = 0, set()
        for content in sorted(within, key=lambda content: within[content], reverse=True):
            total += stored[content].nbytes
            if total > self._max_bytes:
                break
            kept.add(content)
        return kept


def _claims(
    stored: Mapping[Content, Item], links: Mapping[str, Entry], oldest: float
) -> list[tuple[str, float, int, Content]]:
    """Whose each file is, when it was used last, its rank among what is used together, and its name.

    Using a link counts as using all it leads to. What no link leads to is nobody's.
    """
    claims: list[tuple[str, float, int, Content]] = []
    for name, entry in links.items():
        link = stored.get(("links", name))
        if link is None or link.used < oldest:
            continue
        owner = entry.owner or entry.visitor
        ordered = [("links", name), *sorted(entry.contents())]  # a link outlives its data, and data their fits
        for rank, content in enumerate(ordered):
            if content in stored:
                claims.append((owner, max(link.used, stored[content].used), rank, content))
        claims += [
            (owner, stored[content].used, len(ordered), content) for content in entry.former if content in stored
        ]
    claimed = {content for *_, content in claims}
    claims += [("", item.used, 0, content) for content, item in stored.items() if content not in claimed]
    return claims
