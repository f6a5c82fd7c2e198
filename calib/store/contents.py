"""Data, fits, studies and open sessions as records, and back."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calib.data import Finding, Predictions
from calib.data.predictions import check_consistent
from calib.diagnostics.judgement import from_state, state_of
from calib.engine import FitSpec, Fitted, Job, TaskSpec
from calib.evaluation.studies import COLUMNS, repeat_task
from calib.registry import calibrator
from calib.store.index import Store


@dataclass(frozen=True)
class Entry:
    """Target of a link: one person's data set with everything decided about it.

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
    studies : arguments, data key and title of the studies asked for on the split, by kind.
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
    studies: Mapping[str, tuple[tuple[Any, ...], str, str]] = field(default_factory=dict)
    decisions: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()

    def specs_of_studies(self) -> dict[str, TaskSpec]:
        """Specifications that compute the studies, by kind."""
        return {kind: TaskSpec(repeat_task, *study) for kind, study in self.studies.items()}

    def keys(self) -> set[str]:
        """The records that it leads to."""
        studies = {spec.key for spec in self.specs_of_studies().values()}
        return self.fits.keys() | studies | ({self.data} if self.data else set())


def new_link() -> tuple[str, str]:
    """The token of a new link, 256 random bits as 43 characters that a URL may hold, and the link's name."""
    token = secrets.token_urlsafe(32)
    return token, link_name(token)


def link_name(token: str) -> str:
    """The name under which the link of a token is stored.

    It is a hash, so that the folder holds no secret, and how long a look-up takes says nothing about tokens that exist.
    """
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def plain_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings as an entry holds them: without what could be done about the files, which are not stored."""
    return tuple(replace(finding, fix={}, readings={}) for finding in findings)


def put_data(store: Store, data: Predictions) -> None:
    """Store a data set under its hash, unless it is there.

    Its name and findings are not part of its content: another person may have given the same bytes another name.
    """
    store.put(data.sha256, lambda: replace(data, name="", findings=()))


def get_data(store: Store, sha256: str) -> Predictions | None:
    """A stored data set, or None."""

    def checked(data: Predictions) -> Predictions:
        check_consistent(data)
        return data

    return store.get(sha256, Predictions, checked)


def put_job(store: Store, job: Job) -> None:
    """Store a fit with its judgement, or the table of a study, under its key once it is done."""

    def record() -> dict[str, Any]:
        facts = {"seconds": job.seconds, "cpu_seconds": job.cpu_seconds, "message": job.message}
        if not isinstance(job.spec, FitSpec):
            return {"said": facts, "result": job.result.to_dict("list")}
        assert job.calibrator is not None
        job.calibrator.check_state()
        judgement = None if job.judgement is None else state_of(job.judgement)
        return {
            "said": facts,
            "result": {"calibrator": job.calibrator.get_state(), "judgement": judgement},
        }

    store.put(job.key, record)


def get_job(store: Store, spec: FitSpec | TaskSpec) -> Job | None:
    """The job of a stored fit or study, or None."""

    import pandas as pd

    def job(stored: Mapping[str, Any]) -> Job:
        result = stored["result"]
        if isinstance(spec, FitSpec):
            fitted = calibrator(spec.method, **spec.params)
            judgement = result["judgement"]
            fitted.set_state(result["calibrator"])
            result = Fitted(fitted, None if judgement is None else from_state(judgement))
        elif tuple(result) == COLUMNS:
            result = pd.DataFrame(result)
        else:
            raise ValueError("These are not the columns of the study.")
        return Job(spec.key, spec, "done", 1.0, result=result, **stored["said"])

    return store.get(spec.key, dict[str, Any], job)
