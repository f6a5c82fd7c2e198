"""Links back to a session: their secret token, the entry that each leads to, and what may be deleted."""

from __future__ import annotations

import hashlib
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import AnyRule
from calib.errors import CalibrationError, Finding
from calib.evaluation.studies import STUDIES
from calib.export.decisions import DECISION, SETS, from_fields, to_fields
from calib.export.record_files import pack, unpack
from calib.formatting import listed, plural
from calib.jobs import FitSpec, Job, TaskSpec
from calib.records import BadRecord as BadMessage
from calib.records import flatten, unflatten
from calib.workspace.content import MAX_RECORD, sealed, unsealed
from calib.workspace.files import CONTENT, Damaged, Items, Kind, Unreadable, in_words

FORMAT = 4
WITHOUT_DECISIONS = 3
"""The format before this one, whose entries are read too."""
MOST_OF_DECISION = 2**20
"""Bytes of a fit's decision that is kept; a matrix of 300 by 300 costs fits."""

Content = tuple[Kind, str]
"""What kind of file, and its name."""

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
class KeptDecision:
    """What the files of a fit decide, as a record of an export: JSON and base64 of npz."""

    key: str
    record: str
    arrays: str

    @classmethod
    def from_rules(cls, key: str, decision: AnyRule | None, sets: PredictionSets | None) -> KeptDecision | None:
        """The record of a fit's rule and sets; None where it is larger than any that is kept."""
        text, npz = pack(*to_fields(None, decision, sets))
        kept = cls(key, text, b64encode(npz).decode())
        return kept if len(kept.record) + len(kept.arrays) <= MOST_OF_DECISION else None

    def rules(self) -> tuple[AnyRule | None, PredictionSets | None]:
        """The rule and the sets again.

        Raises
        ------
        CalibrationError
            If this version would not write them so.
        """
        try:
            found = from_fields(*unpack(self.record, b64decode(self.arrays, validate=True)))
        except ValueError as error:
            raise CalibrationError("What the files of a fit decide was damaged on disk.") from error
        return found[DECISION], found[SETS]


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
    owner : to whose share of the workspace it counts; the visitor's where it is empty.
    decisions : what the files of fits on the split decide.
    most : calibration rows to fit on at most; None where nothing was chosen.
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
    former: tuple[Content, ...] = ()
    owner: str = ""
    decisions: tuple[KeptDecision, ...] = ()
    most: int | None = None

    def contents(self) -> set[Content]:
        """The stored content that this entry may read."""
        contents: set[Content] = {("fits", spec.key) for spec in self.specs}
        contents |= {("studies", study.key) for study in self.studies}
        return contents | ({("data", self.data)} if self.data else set())

    def ever(self) -> set[Content]:
        """The stored content that this entry leads to or led to."""
        return self.contents() | set(self.former)


def plain_findings(findings: Iterable[Finding]) -> tuple[tuple[str, str, str, str, str], ...]:
    """What was noticed while loading, as an entry holds it."""
    return tuple((f.level, f.code, f.reason, f.action, f.left_out) for f in findings)


def to_json(entry: Entry) -> bytes:
    """The entry's file, with a checksum; ValueError for one that is larger than :func:`from_json` reads."""
    return sealed({"format": FORMAT, **asdict(entry)})


def from_json(content: bytes) -> Entry:
    """Undo :func:`to_json`; raises :class:`Damaged`."""
    try:
        fields = unsealed(content)
        written = fields.pop("format")
        if written == WITHOUT_DECISIONS:
            fields["decisions"] = []
        elif written != FORMAT:
            raise Damaged("What is kept under this link was written by another version of this program.")
        entry: Entry = unflatten(fields, {}, Entry)
        if any(kind not in CONTENT for kind, _ in entry.former):
            raise ValueError("A link leads to no other link.")
        return entry
    except (ValueError, KeyError, BadMessage, RecursionError) as error:
        raise Damaged("What is kept under this link was damaged on disk.") from error


class NotDeleted(Exception):
    """What was to be deleted is still on disk, wholly or in part; the text is one sentence."""


def counted(contents: Collection[Content]) -> str:
    """Content in words: the data, 2 fits and the link."""
    numbers = {kind: sum(each == kind for each, _ in contents) for kind in ("data", "fits", "studies", "links")}
    words = [
        "the data" if numbers["data"] == 1 else plural(numbers["data"], "data set"),
        plural(numbers["fits"], "fit"),
        plural(numbers["studies"], "study", "studies"),
        "the link" if numbers["links"] == 1 else plural(numbers["links"], "link"),
    ]
    return listed([each for each, number in zip(words, numbers.values(), strict=True) if number])


def _ever(entries: Iterable[Entry]) -> set[Content]:
    return {content for entry in entries for content in entry.ever()}


class Entries:
    """One file for each link among ``items``, found by the hash of its token alone."""

    def __init__(self, items: Items):
        self._items = items

    def write(self, name: str, entry: Entry) -> None:
        """Write or replace an entry, which remembers what the one in its place led to, to delete that too.

        Raises
        ------
        OSError, Unreadable
            If the disk is full, or cannot be read or written.
        ValueError
            If it is larger than any that is kept.
        """
        replaced = self._read_whole(name)
        before = set() if replaced is None else replaced.ever()
        content = to_json(replace(entry, former=tuple(sorted(before - entry.contents()))))
        self._items.replace("links", name, content)

    def read(self, name: str) -> Entry | None:
        """An entry, which counts as used now, or None if there is none; raises :class:`Damaged`."""
        entry = self._read(name)
        if entry is not None:
            self._items.find("links", name)
        return entry

    def all(self) -> dict[str, Entry]:
        """Every entry that leads anywhere, by name; raises :class:`Unreadable` where that cannot be known."""
        entries = {}
        for item in self._items.all("links"):
            if (entry := self._read_whole(item.name)) is not None:
                entries[item.name] = entry
        return entries

    def delete(self, name: str, earlier: Collection[str] = ()) -> None:
        """Delete an entry with those of before it, and the content that no other entry leads to.

        The links go last: while any of the content is left, they lead to it, so that it can be deleted again.

        Parameters
        ----------
        earlier : names of entries of before it, beside those that it names.

        Raises
        ------
        NotDeleted
            If anything is left.
        """
        theirs: set[Content] = set()
        try:
            if (entry := self._read_whole(name)) is not None:
                theirs, earlier = entry.ever(), {*earlier, *entry.earlier}
            with self._items.locked():
                everyone, going = self.all(), {name, *earlier}
                theirs = _ever(everyone[other] for other in going if other in everyone)
                theirs -= _ever(entry for other, entry in everyone.items() if other not in going)
                links: list[Content] = [("links", other) for other in going - {name}]
                why: Exception | None = self._remove(theirs) or self._remove(links) or self._remove([("links", name)])
        except (OSError, Unreadable) as error:
            why = error
        if why is not None:
            left = {content for content in (*theirs, ("links", name)) if self._items.holds(*content)}
            raise NotDeleted(f"Still on the server's disk: {counted(left or theirs)}; {in_words(why)}.")

    def _remove(self, contents: Collection[Content]) -> OSError | None:
        """Remove what can be removed; why not all of it."""
        why = None
        for kind, name in contents:
            try:
                self._items.remove(kind, name)
            except OSError as error:
                why = error
        return why

    def _read_whole(self, name: str) -> Entry | None:
        """An entry; None also for one that was damaged, which leads nowhere and goes with its age."""
        try:
            return self._read(name)
        except Unreadable:
            raise
        except Damaged:
            return None

    def _read(self, name: str) -> Entry | None:
        content = self._items.read("links", name, MAX_RECORD + 1)
        return None if content is None else from_json(content)


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
