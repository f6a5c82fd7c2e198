"""How things stand with a session: what an entry of the workspace records of it."""

from __future__ import annotations

from typing import Any

from calib.evaluation.kinds import STUDIES
from calib.export.flat_state import flatten
from calib.jobs import FitSpec, Job, TaskSpec
from calib.ui.session import Session
from calib.workspace import Entry, KeptSpec, KeptStudy


def entry_of(
    now: Session, jobs: dict[str, Job], settings: dict[str, Any] | None = None, earlier: tuple[str, ...] = ()
) -> Entry:
    """The entry of a session with data.

    Parameters
    ----------
    jobs : where its fits and studies stand, by key.
    settings, earlier : as in :class:`Entry`.
    """
    assert now.data is not None
    return Entry(
        visitor=now.visitor,
        data="" if now.sample else now.data.sha256,
        sample=now.sample,
        name=now.data.name,
        findings=tuple((f.level, f.code, f.message, f.action) for f in now.data.findings),
        choices=flatten(now.made.made())[0],
        part=now.part,
        seed=now.seed,
        split_key=now.split_key,
        specs=tuple(KeptSpec.of(spec, jobs.get(key)) for key, spec in specs_of(now).items()),
        settings=settings or {},
        earlier=earlier,
        studies=tuple(KeptStudy.of(kind, spec, jobs.get(spec.key)) for kind, spec in studies_of(now).items()),
    )


def specs_of(now: Session) -> dict[str, FitSpec]:
    """The fits of a session on all splits, by key."""
    return {key: spec for specs in now.specs_of_splits.values() for key, spec in specs.items()}


def studies_of(now: Session) -> dict[str, TaskSpec]:
    """The studies of a session that are kept, by kind: those that give a table."""
    return {kind: spec for kind, spec in now.studies.items() if kind in STUDIES}


def keys_of(now: Session) -> list[str]:
    """The keys of all fits and studies that are kept."""
    return [*specs_of(now), *(spec.key for spec in studies_of(now).values())]
