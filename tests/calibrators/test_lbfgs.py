"""One report of how a fit by L-BFGS ended."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from calib.calibrators._lbfgs import LBFGSReport, minimise_convex

CENTRE = np.array([3.0, -1.0, 0.5])
STEEPNESS = np.array([1.0, 10.0, 100.0])


def bowl(weights):
    away = weights - CENTRE
    return float(STEEPNESS @ away**2), 2 * STEEPNESS * away


@pytest.mark.parametrize("max_iter", [1, 3, 100])
def test_the_trace_begins_at_the_start_and_has_one_value_for_each_callback(max_iter):
    seen = []
    found, report = minimise_convex(bowl, np.zeros(3), max_iter, lambda *step: seen.append(step))
    assert report.trace[0] == bowl(np.zeros(3))[0]
    assert report.trace[-1] == pytest.approx(bowl(found)[0], abs=1e-12)
    assert seen == [(i + 1, max_iter, value) for i, value in enumerate(report.trace[1:])]
    assert report.n_iter == len(seen) <= max_iter
    assert report.converged == (max_iter == 100)
    if report.converged:
        np.testing.assert_allclose(found, CENTRE, atol=1e-6)


@pytest.mark.parametrize(
    ("status", "value", "converged", "smooth_convex"),
    [(0, 1.0, True, True), (1, 1.0, False, False), (2, 1.0, False, True), (0, np.inf, False, False)],
)
def test_a_line_search_without_a_better_point_has_arrived_on_a_convex_loss_only(
    status, value, converged, smooth_convex
):
    result = OptimizeResult(fun=value, success=status == 0, status=status)
    reports = [LBFGSReport.from_result(result, [2.0, 1.0], smooth_convex=convex) for convex in (False, True)]
    assert [report.converged for report in reports] == [converged, smooth_convex]
    assert {report.message for report in reports} == {reports[0].message}
    assert "1 iteration" in reports[0].message
