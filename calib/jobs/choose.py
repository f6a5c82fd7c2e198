"""The executor that the configuration asks for."""

from __future__ import annotations

from calib.jobs.dask import DaskExecutor
from calib.jobs.executor import Executor, LocalExecutor, Place
from calib.settings import text


def chosen_executor() -> Executor:
    """A Dask cluster if ``CALIB_SCHEDULER`` is the address of its scheduler, else worker processes on this machine."""
    try:
        address = text("CALIB_SCHEDULER")
    except ValueError as error:
        return LocalExecutor(place=Place(trouble=f"{error} Fits run on this machine."))
    return DaskExecutor(address) if address else LocalExecutor()
