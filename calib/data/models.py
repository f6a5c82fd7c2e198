"""Several models in one table: a column of scores for each, or a column that names the model of each row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calib.data.interpret.vocabulary import MODEL, has_word
from calib.data.load import inspect_all, unusable
from calib.data.options import Choices, LoadOptions, Source
from calib.data.predictions import Predictions


def load_models(source: Source, options: LoadOptions | None = None, **changes: Any) -> dict[str, Predictions]:
    """Read every model of a table, by name.

    Parameters
    ----------
    source, options, **changes : as for :func:`calib.load`. In wide form the table has the outcome once and outputs of
        each model side by side; in long form a column such as ``model`` says which model each row is of.

    Returns
    -------
    The data set of each model; a single one under the file's name where the table holds no more.

    Raises
    ------
    DataError
        If the table cannot be used; :class:`calib.AmbiguousTable` where it is unclear for another reason than several
        models.
    """
    options = (options or LoadOptions()).changed(**changes)
    inspection, models = inspect_all(source, options)
    if models:
        return {name: _one(source, options, roles, name) for name, roles in models.items()}
    data = inspection.predictions
    if data is None:
        raise unusable(inspection.findings, inspection.readings)
    named = [role.column for role in data.roles if role.role == "group" and has_word(role.column, MODEL)]
    if not named:
        return {data.name: data}
    data = _one(source, options, {"group": named[0]}, data.name)
    assert data.groups is not None  # the column of models was read as such
    return {
        str(name): replace(data.take(np.flatnonzero(data.groups == name)), name=str(name), groups=None)
        for name in np.unique(data.groups)
    }


def _one(source: Source, options: LoadOptions, roles: dict[str, Any], name: str) -> Predictions:
    """One model, by the roles of its columns."""
    if isinstance(source, tuple) and hasattr(source[1], "seek"):
        source[1].seek(0)
    choices = Choices.from_roles(roles, options.choices)
    found, _ = inspect_all(source, replace(options, choices=choices))
    if found.predictions is None:
        raise unusable(found.findings, found.readings)
    return replace(found.predictions, name=name)
