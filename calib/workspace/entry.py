"""What a link leads to: one small file that says which content is its own, and how it was used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from calib.evaluation.kinds import STUDIES
from calib.export.flat_state import flatten
from calib.jobs import FitSpec, Job, TaskSpec
from calib.workspace.folders import KINDS, Damaged, Kind

FORMAT = 1


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
    def of(cls, spec: FitSpec, job: Job | None = None) -> KeptSpec:
        """The record of a spec and its job; progress is left out, lest every step be written."""
        params, _ = flatten(dict(spec.params))
        return cls(spec.key, spec.method, params, spec.data_key, spec.label, *_ending(job))

    def spec(self) -> FitSpec:
        """The spec again."""
        return FitSpec(self.method, dict(self.params), self.data_key, self.label)


@dataclass(frozen=True)
class KeptStudy:
    """A study asked for and where it stood, likewise; ``kind`` is one of :data:`calib.evaluation.kinds.STUDIES`."""

    kind: str
    key: str
    arguments: tuple[Any, ...]
    data_key: str
    title: str
    state: str = "running"
    message: str = ""

    @classmethod
    def of(cls, kind: str, spec: TaskSpec, job: Job | None = None) -> KeptStudy:
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
    findings : what was noticed while loading: level, code, message and action of each.
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
    findings: tuple[tuple[str, str, str, str], ...] = ()
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
        found: set[tuple[Kind, str]] = {("fits", spec.key) for spec in self.specs}
        found |= {("studies", study.key) for study in self.studies}
        return found | ({("data", self.data)} if self.data else set())

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
        fields["findings"] = tuple((level, code, text, action) for level, code, text, action in fields["findings"])
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
