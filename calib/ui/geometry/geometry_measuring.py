"""Measuring reductions of the training set in the background, setting by setting, until done or stopped."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from threading import Thread

from calib.data import Predictions
from calib.diagnostics.reduction_cost import Tradeoff, measure_reduction, subsets
from calib.errors import CalibrationError
from calib.logs import trace
from calib.ui.session import session

FACTORS = (2, 3, 4)
Setting = tuple[str, int]


class Cancelled(Exception):
    """Raised within a measurement that nobody waits for any more."""


@dataclass(eq=False)
class Measuring:
    """What was measured so far, and what is still to be.

    Attributes
    ----------
    calibration, test : the rows it is measured on.
    found : results by setting, from this and earlier requests.
    waiting : settings still to be measured, in order; each request has a list of its own.
    asked : how many there were when it was begun.
    trouble : why it ended early, if it did.
    """

    calibration: Predictions
    test: Predictions
    found: dict[Setting, Tradeoff] = field(default_factory=dict)
    waiting: list[Setting] = field(default_factory=list)
    asked: int = 0
    trouble: str = ""

    @classmethod
    def of_session(cls) -> Measuring:
        """On the open split, or part of it."""
        now = session()
        assert now.calibration is not None and now.test is not None
        return cls(*subsets(now.calibration, now.test))

    def missing(self, names: list[str]) -> list[Setting]:
        """Settings of these reductions that are not measured yet, and first of all none."""
        settings = [("none", 1), *((name, factor) for name in names for factor in FACTORS)]
        return [setting for setting in settings if setting not in self.found]

    def begin(self, names: list[str]) -> None:
        """Start to measure what is missing."""
        self.waiting = self.missing(names)
        self.asked, self.trouble = len(self.waiting), ""
        Thread(target=self._run, args=(self.waiting,), daemon=True).start()

    def stop(self) -> None:
        """Measure no more; what is found stays."""
        self.waiting = []

    def shown(self, names: list[str]) -> list[Tradeoff]:
        """What was found of these reductions, and of none."""
        return [one for one in list(self.found.values()) if one.reduction in ("none", *names)]

    def _run(self, mine: list[Setting]) -> None:
        try:
            while mine:
                go_on = partial(self._go_on, mine)
                self.found[mine[0]] = measure_reduction(self.calibration, self.test, *mine[0], go_on)
                mine.pop(0)
        except Cancelled:
            pass
        except Exception as error:
            logging.getLogger("calib").error("reductions could not be measured\n%s", trace(error))
            told = isinstance(error, CalibrationError)
            self.trouble = str(error) if told else f"{type(error).__name__}; the log of the app has the details."
            mine.clear()

    def _go_on(self, mine: list[Setting], *_: float) -> None:
        if self.waiting is not mine:
            raise Cancelled
