"""Data, fits, studies and open sessions as records, and back."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calib.data import Finding, Predictions
from calib.diagnostics.judgement import from_state, state_of
from calib.engine import FitSpec, Fitted, Job, TaskSpec
from calib.evaluation.studies import COLUMNS, STUDIES, repeat_task
from calib.records import flatten
from calib.registry import calibrator
from calib.store.index import Store

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class Study:
    """A study asked for, of one of the kinds in :data:`calib.evaluation.studies.STUDIES`."""

    arguments: tuple[Any, ...]
    data_key: str
    title: str

    @property
    def spec(self) -> TaskSpec:
        """What computes it."""
        return TaskSpec(repeat_task, self.arguments, self.data_key, self.title)


@dataclass(frozen=True)
class Entry:
    """What a link leads to: one person's data set with everything decided about it.

    Attributes
    ----------
    visitor : tells the person from others who want the same fits.
    data : hash of the stored data; empty where a sample is open.
    sample : name of the sample, or None.
    name : how pages call the data set.
    findings : what was noticed while loading.
    choices : what was decided by hand about the upload.
    part, seed, most : the split, and the calibration rows to fit on at most.
    fits : fits asked for, on this split and others, by key.
    studies : studies asked for on the split, by kind.
    decisions : what the files of fits on the split decide, by key of the fit: the states of rule and prediction sets.
    settings : what was chosen on the pages, by widget.
    earlier : links of data that were open before in the same tab; they are deleted together.
    """

    visitor: str
    data: str = ""
    sample: str | None = None
    name: str = ""
    findings: tuple[Finding, ...] = ()
    choices: Mapping[str, Any] = field(default_factory=dict)
    part: float | None = None
    seed: int = 0
    most: int | None = None
    fits: Mapping[str, FitSpec] = field(default_factory=dict)
    studies: Mapping[str, Study] = field(default_factory=dict)
    decisions: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()

    def keys(self) -> set[str]:
        """The records that it leads to."""
        studies = {study.spec.key for kind, study in self.studies.items() if kind in STUDIES}
        return self.fits.keys() | studies | ({self.data} if self.data else set())


def new_link() -> tuple[str, str]:
    """The token of a new link, 256 random bits as 43 characters that a URL may hold, and the link's name."""
    token = secrets.token_urlsafe(32)
    return token, hashlib.sha256(token.encode()).hexdigest()


def link_name(token: object) -> str | None:
    """The name under which a link is stored; None for anything that cannot be a token.

    It is a hash, so that the folder holds no secret, and how long a look-up takes says nothing about tokens that exist.
    """
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        return None
    return hashlib.sha256(token.encode()).hexdigest()


def plain_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings as an entry holds them: without what could be done about the files, which are not stored."""
    return tuple(replace(finding, fix={}, readings={}) for finding in findings)


def put_data(store: Store, data: Predictions) -> None:
    """Store a data set under its hash, unless it is there.

    Its name and findings are not part of its content: another person may have given the same bytes another name.

    Raises
    ------
    ValueError
        If the store has no room for it beside what is in use.
    """

    def made() -> Predictions:
        size = sum(array.nbytes for array in flatten(data)[1].values())
        if size > store.max_bytes or store.sweep(size) + size > store.max_bytes:
            raise ValueError(f"the server has no room for {size / 1e9:.2g} GB beside what others keep")
        return replace(data, name="", findings=())

    store.put(data.sha256, made)


def get_data(store: Store, sha256: str) -> Predictions | None:
    """A stored data set, its large arrays mapped from disk, or None; raises as :meth:`Store.get` does."""
    return store.get(sha256, Predictions, _checked)


def _checked(data: Predictions) -> Predictions:
    data.check()
    return data


def put_job(store: Store, job: Job) -> None:
    """Store a fit with its judgement, or the table of a study, under its key once it is done."""

    def made() -> dict[str, Any]:
        said = {"seconds": job.seconds, "cpu_seconds": job.cpu_seconds, "message": job.message}
        if not isinstance(job.spec, FitSpec):
            columns = {name: column.to_numpy() for name, column in job.result.items()}
            table = {name: each if each.dtype.kind in "biuf" else each.tolist() for name, each in columns.items()}
            return {"said": said, "result": table}
        assert job.calibrator is not None
        job.calibrator.check_state()
        judgement = None if job.judgement is None else state_of(job.judgement)
        return {"said": said, "result": {"calibrator": job.calibrator.get_state(), "judgement": judgement}}

    store.put(job.key, made)


def get_job(store: Store, spec: FitSpec | TaskSpec) -> Job | None:
    """The job of a stored fit or study, or None; raises as :meth:`Store.get` does."""

    def job(stored: Mapping[str, Any]) -> Job:
        result = _fitted(spec, stored["result"]) if isinstance(spec, FitSpec) else _table(spec, stored["result"])
        return Job(spec.key, spec, "done", 1.0, result=result, **stored["said"])

    return store.get(spec.key, dict[str, Any], job)


def _fitted(spec: FitSpec, stored: Mapping[str, Any]) -> Fitted:
    made, judgement = calibrator(spec.method, **spec.params), stored["judgement"]
    made.set_state(stored["calibrator"])
    return Fitted(made, None if judgement is None else from_state(judgement))


def _table(spec: TaskSpec, stored: Mapping[str, Any]) -> Any:
    import pandas as pd

    if spec.function is not repeat_task or tuple(stored) != COLUMNS:
        raise ValueError("These are not the columns of the study.")
    return pd.DataFrame(dict(stored))
