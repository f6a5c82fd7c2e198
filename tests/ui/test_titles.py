"""Fits are told apart by their titles, which tables and figures use as keys."""

from __future__ import annotations

from calib.registry import METHODS, calibrator, title_of


def test_every_changed_parameter_changes_the_title() -> None:
    plain = title_of(calibrator("gpcalib"), "gpcalib")
    assert plain == METHODS["gpcalib"].title
    changed = [{"n_inducing": 20}, {"monotone": True}, {"random_state": 3}, {"random_state": 3, "n_inducing": 20}]
    titles = {title_of(calibrator("gpcalib", **params), "gpcalib") for params in changed}
    assert len(titles | {plain}) == 5


def test_shared_and_class_wise_maps_have_titles_of_their_own() -> None:
    shared, apart = (calibrator("isotonic", share_classes=share) for share in (True, False))
    assert title_of(shared, "isotonic") == "Isotonic (sCW)"
    assert title_of(apart, "isotonic") == "Isotonic (CW)"
