"""An open session as the entry of its link, and back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from calib.data import Choices, Predictions
from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import rule_from_state, rule_state
from calib.engine import FitSpec
from calib.errors import CalibrationError
from calib.evaluation.studies import STUDIES
from calib.export.decisions import check_decisions
from calib.formatting import plural
from calib.records import without_arrays
from calib.registry import calibrator, extras_for
from calib.store.contents import Entry, Study, plain_findings
from calib.ui.session import EXPORTED, Carried, OpenSession, Reading


def entry_of(session: OpenSession) -> Entry:
    """The entry of a session, without settings."""
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
        fits={spec.key: spec for spec in session.all_specs if isinstance(spec, FitSpec)},
        studies={kind: Study(spec.arguments, spec.data_key, spec.title) for kind, spec in studies.items()},
        decisions={
            key: (rule_state(held.decision), held.sets and without_arrays(held.sets.as_state()))
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
    """The session of an entry with its data."""
    choices = Choices(**entry.choices)
    if not entry.sample:
        data = replace(data, name=entry.name, findings=entry.findings)
    elif choices.event or choices.weight_kind:  # of an upload these are stored with the data
        data = data.decided(choices.event if choices.event in data.class_names else None, choices.weight_kind)
    about: dict[str, Any] = {"sample": entry.sample, "visitor": entry.visitor, "reading": Reading(choices=choices)}
    session = OpenSession.from_data(data, entry.part, entry.seed, entry.most, **about)
    take_in(session, entry)
    return session


def take_in(session: OpenSession, entry: Entry, known: Entry | None = None) -> None:
    """Count the fits, studies and decisions of an entry, but for those known, among those of a session of its data."""
    known = known or Entry("")
    for key, spec in entry.fits.items():
        if key not in known.fits:
            with suppress(CalibrationError):  # a fit that this version cannot do is left out
                extras_for(calibrator(spec.method, **spec.params), session.data)
                session.specs_of_splits.setdefault(spec.data_key, {}).setdefault(key, spec)
    for kind, study in entry.studies.items():
        if kind in STUDIES and kind not in known.studies and study.data_key == session.data.sha256:
            session.studies.setdefault(kind, study.spec)
    for key, states in entry.decisions.items():
        if key in session.specs and key not in session.carried and key not in known.decisions:
            with suppress(CalibrationError):
                session.carried[key] = _carried(session, session.specs[key], *states)
                session.picked[EXPORTED] = key  # the page Export shows the one that decides


def _carried(session: OpenSession, of: FitSpec, rule: Any, sets: Any) -> Carried:
    """What a fit's files decide; CalibrationError where nobody can have written it so for this fit."""
    made = Carried(rule_from_state(rule), PredictionSets.from_state(sets))
    probabilities = calibrator(of.method, **of.params).gives_probabilities
    check_decisions(None, made.decision, made.sets, session.data.n_classes, session.data.kind, probabilities)
    return made
