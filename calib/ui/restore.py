"""An open session as the entry of its link, and back with its fits and studies."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from calib.data import Choices, Predictions
from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import rule_from_state, rule_state
from calib.engine import FitSpec, Job, TaskSpec
from calib.errors import CalibrationError
from calib.evaluation.studies import STUDIES
from calib.export.decisions import check_decisions
from calib.formatting import plural
from calib.records import without_arrays
from calib.registry import calibrator, extras_for
from calib.store.arrays import Damaged
from calib.store.contents import Decided, Entry, Study, get_job, plain_findings
from calib.store.saving import Keeper
from calib.ui import fits
from calib.ui.session import EXPORTED, Carried, OpenSession, Reading

INTERRUPTED = "Interrupted: the app stopped before this was finished, or its result was not kept."


def entry_of(session: OpenSession, jobs: Iterable[Job] = ()) -> Entry:
    """The entry of a session, without settings.

    Parameters
    ----------
    jobs : where its fits and studies stand; progress is left out, lest every step be written.
    """
    studies = {kind: spec for kind, spec in session.studies.items() if kind in STUDIES}
    return Entry(
        visitor=session.visitor,
        data="" if session.sample else session.data.sha256,
        sample=session.sample,
        name=session.data.name,
        findings=plain_findings(session.data.findings),
        choices=without_arrays(session.reading.choices.given()),
        part=session.part,
        seed=session.seed,
        most=session.most,
        fits=tuple(spec for spec in session.all_specs if isinstance(spec, FitSpec)),
        studies={kind: Study(spec.arguments, spec.data_key, spec.title) for kind, spec in studies.items()},
        failed={job.key: (job.state, job.message) for job in jobs if job.state in ("failed", "cancelled")},
        decisions={
            key: Decided(rule_state(held.decision), None if held.sets is None else held.sets.as_state())
            for key, held in session.carried.items()
        },
    )


def counted(session: OpenSession) -> list[str]:
    """How many fits, studies and decisions of the open split are there, in words."""
    studies = sum(kind in STUDIES for kind in session.studies)
    counts = [("fit", "fits", len(session.specs)), ("study", "studies", studies)]
    counts += [("decision", "decisions", len(session.carried))]
    return [plural(count, one, many) for one, many, count in counts if count]


def session_of(entry: Entry, data: Predictions) -> OpenSession:
    """The session of an entry with its data, whose fits and studies are still to be brought back."""
    choices = Choices(**entry.choices)
    if not entry.sample:
        data = replace(data, name=entry.name, findings=entry.findings)
    elif choices.event or choices.weight_kind:  # of an upload these are stored with the data
        data = data.decided(choices.event if choices.event in data.class_names else None, choices.weight_kind)
    about: dict[str, Any] = {"sample": entry.sample, "visitor": entry.visitor, "reading": Reading(choices=choices)}
    session = OpenSession.from_data(data, entry.part, entry.seed, entry.most, **about)
    take_in(session, entry)
    return session


def take_in(session: OpenSession, entry: Entry, before: Entry | None = None) -> None:
    """Count the fits, studies and decisions of an entry among those of a session with the same data.

    Parameters
    ----------
    before : what the session had; if it has some of that no more, it was removed and stays so.
    """
    before = before or Entry(entry.visitor)
    for spec in entry.fits:
        if spec not in before.fits:
            with suppress(CalibrationError):  # a fit that this version cannot do is left out
                extras_for(calibrator(spec.method, **spec.params), session.data)
                session.specs_of_splits.setdefault(spec.data_key, {}).setdefault(spec.key, spec)
    for kind, study in entry.studies.items():
        if kind in STUDIES and kind not in before.studies and study.data_key == session.data.sha256:
            session.studies.setdefault(kind, study.spec(kind))
    for key, decided in entry.decisions.items():
        if key in session.specs and key not in (*session.carried, *before.decisions):
            with suppress(CalibrationError):
                session.carried[key] = _carried(session, session.specs[key], decided)
                session.picked[EXPORTED] = key  # the page Export shows the one that decides


def _carried(session: OpenSession, of: FitSpec, decided: Decided) -> Carried:
    """What a fit's files decide; CalibrationError where nobody can have written it so for this fit."""
    decision, sets = rule_from_state(decided.decision), PredictionSets.from_state(decided.sets)
    probabilities = calibrator(of.method, **of.params).gives_probabilities
    check_decisions(None, decision, sets, session.data.n_classes, session.data.kind, probabilities)
    return Carried(decision, sets)


def bring_back(session: OpenSession, entry: Entry, store: Keeper | None) -> list[FitSpec | TaskSpec]:
    """Bring back fits and studies as far as they are stored.

    Returns
    -------
    unfinished : those of the open split that were never finished, or whose results are gone; they can be tried again.

    Raises
    ------
    OSError
        If the disk does not give them.
    """
    unfinished: list[FitSpec | TaskSpec] = []
    asked: list[FitSpec | TaskSpec] = [*session.specs.values(), *session.studies.values()]
    for spec in asked:
        job = _as_it_stood(spec, entry, store)
        fits.bring_back(job, session)
        unfinished += [spec] if job.state == "failed" and spec.key not in entry.failed else []
    for split, specs in session.specs_of_splits.items():
        for key, spec in list(specs.items()) if specs is not session.specs else ():
            job = _as_it_stood(spec, entry, store)
            if job.state == "failed":  # leaving the split ended what was not finished
                del specs[key]
                continue
            fits.bring_back(job, session)
            if job.judgement is not None:
                session.evaluated_of_splits.setdefault(split, {})[key] = job.judgement
    return unfinished


def _as_it_stood(spec: FitSpec | TaskSpec, entry: Entry, store: Keeper | None) -> Job:
    """The job of a fit or study that is finished, runs on or ended otherwise; failed where it can be tried again."""
    if here := fits.queue().snapshot([spec.key]):
        return here[0]
    state, message = entry.failed.get(spec.key, ("failed", INTERRUPTED))
    if spec.key not in entry.failed and store is not None:
        try:
            if (stored := get_job(store, spec)) is not None:
                return stored
        except Damaged as error:
            message = str(error)
    return Job(spec.key, spec, state="cancelled" if state == "cancelled" else "failed", message=message)
