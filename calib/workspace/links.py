"""Links back to a session: their secret token, the entry that each leads to, and what may be deleted."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from calib.evaluation.studies import STUDIES
from calib.export.archive import flatten
from calib.jobs import FitSpec, Job, TaskSpec
from calib.workspace.folders import ABANDONED, KINDS, Damaged, Item, Items, Kind, write_file

FORMAT = 1

_DAY = 86_400.0
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class KeptSpec:
    """A fit asked for and where it stood: done, failed or cancelled with the reason, or else not yet at its end."""

    key: str
    method: str
    params: Mapping[str, Any]
    data_key: str
    label: str
    state: str = "running"
    message: str = ""

    @classmethod
    def from_spec(cls, spec: FitSpec, job: Job | None = None) -> KeptSpec:
        """The record of a spec and its job; progress is left out, lest every step be written."""
        params, _ = flatten(dict(spec.params))
        return cls(spec.key, spec.method, params, spec.data_key, spec.label, *_ending(job))

    def spec(self) -> FitSpec:
        """The spec again."""
        return FitSpec(self.method, dict(self.params), self.data_key, self.label)


@dataclass(frozen=True)
class KeptStudy:
    """A study asked for and where it stood, likewise; ``kind`` is one of :data:`calib.evaluation.studies.STUDIES`."""

    kind: str
    key: str
    arguments: tuple[Any, ...]
    data_key: str
    title: str
    state: str = "running"
    message: str = ""

    @classmethod
    def from_spec(cls, kind: str, spec: TaskSpec, job: Job | None = None) -> KeptStudy:
        """The record of a spec and its job."""
        arguments, _ = flatten(spec.arguments)
        return cls(kind, spec.key, tuple(arguments), spec.data_key, spec.title, *_ending(job))

    def spec(self) -> TaskSpec | None:
        """The spec again, or None where this version would compute something else under its key."""
        if self.kind not in STUDIES:
            return None
        spec = TaskSpec(STUDIES[self.kind].function, self.arguments, self.data_key, self.title)
        return spec if spec.key == self.key else None


def _ending(job: Job | None) -> tuple[str, str]:
    return ("running", "") if job is None or job.active else (job.state, job.message)


@dataclass(frozen=True)
class Entry:
    """One person's data set with everything decided about it.

    Attributes
    ----------
    visitor : tells the person from others who want the same fits.
    data : hash of the stored data; empty where a sample is open.
    sample : name of the sample, or None.
    name : how pages call the data set.
    findings : what was noticed while loading: level, code, reason, action and the array left out of each.
    choices : what was decided by hand about the upload.
    part, seed : the split.
    split_key : names the data and this split.
    specs : fits asked for, on this split and others.
    settings : what was chosen on the pages, by widget.
    earlier : entries of data that were open before in the same tab; they are deleted together.
    studies : studies asked for on the split.
    former : content that it led to before, such as a study that another took the place of; deleted with it.
    """

    visitor: str
    data: str = ""
    sample: str | None = None
    name: str = ""
    findings: tuple[tuple[str, str, str, str, str], ...] = ()
    choices: Mapping[str, Any] = field(default_factory=dict)
    part: float | None = None
    seed: int = 0
    split_key: str = ""
    specs: tuple[KeptSpec, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()
    studies: tuple[KeptStudy, ...] = ()
    former: tuple[tuple[Kind, str], ...] = ()

    def contents(self) -> set[tuple[Kind, str]]:
        """The stored content that this entry may read."""
        contents: set[tuple[Kind, str]] = {("fits", spec.key) for spec in self.specs}
        contents |= {("studies", study.key) for study in self.studies}
        return contents | ({("data", self.data)} if self.data else set())

    def ever(self) -> set[tuple[Kind, str]]:
        """The stored content that this entry leads to or led to."""
        return self.contents() | set(self.former)


def to_json(entry: Entry) -> bytes:
    """The entry's file."""
    return json.dumps({"format": FORMAT, **asdict(entry)}, ensure_ascii=False).encode()


def from_json(content: bytes) -> Entry:
    """Undo :func:`to_json`; raises :class:`Damaged`."""
    try:
        fields = json.loads(content)
        if fields.pop("format") != FORMAT:
            raise Damaged("What is kept under this link was written by another version of this program.")
        fields["specs"] = tuple(KeptSpec(**spec) for spec in fields["specs"])
        fields["findings"] = tuple(
            (level, code, reason, action, left_out) for level, code, reason, action, left_out in fields["findings"]
        )
        fields["earlier"] = tuple(map(str, fields["earlier"]))
        # Entries of before there were any have none.
        fields["studies"] = tuple(_study(**study) for study in fields.get("studies", ()))
        fields["former"] = tuple(_content(*content) for content in fields.get("former", ()))
        return Entry(**fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged("What is kept under this link was damaged on disk.") from error


def _study(arguments: list[Any], **others: str) -> KeptStudy:
    if not all(isinstance(other, str) for other in others.values()):
        raise TypeError("A study of a link has another type than it can have.")
    return KeptStudy(arguments=tuple(arguments), **others)


def _content(kind: Kind, name: str) -> tuple[Kind, str]:
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is no kind of stored content.")
    return kind, str(name)


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
        entries = {}
        for path in self._folder.glob("*.json"):
            # One that cannot be read leads nowhere; its age will take it.
            with suppress(OSError, Damaged):
                entries[path.stem] = from_json(path.read_bytes())
        return entries

    def _clean(self) -> None:
        for path in self._folder.glob("*.new"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > ABANDONED:
                    path.unlink()

    def _path(self, name: str) -> Path:
        if len(name) != 64 or not name.isalnum():
            raise ValueError(f"{name!r} is no name of a link's file.")
        return self._folder / f"{name}.json"


def new_token() -> str:
    """256 random bits as 43 characters that a URL may hold."""
    return secrets.token_urlsafe(32)


def token_name(token: str) -> str:
    """SHA-256 (hex) of a token, which names its file."""
    return hashlib.sha256(token.encode()).hexdigest()


def entry_id(token: object) -> str | None:
    """Name of a token's file; None for anything that cannot be a token.

    The folder thus holds no secret, no character of the token reaches a path, and how long a look-up takes says
    nothing about tokens that exist.
    """
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        return None
    return token_name(token)
