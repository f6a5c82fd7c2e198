"""Names that people import: each is documented, and a new one is added here on purpose."""

from __future__ import annotations

from importlib import import_module

import pytest

from site_builder.reference import PACKAGES, public_names, result_classes

PUBLIC = {
    "calib": """METHODS AmbiguousTable Audit CalibrationError CalibrationWarning Calibrator Comparison DataError
        FitCancelled Predictions audit audit_tasks calibrator compare ece find_groups from_outputs load
        load_sample logits open_app reliability_curve report scores""",
    "calib.calibrators": """AutoCalibration BayesIso BayesianBinning BetaCalibration ByGroup DirichletCalibration
        EnsembleTemperatureScaling GPCalib Geometric HistogramBinning IMaxBinning Identity IsotonicCalibration
        NearIsotonicEnsemble OrderPreservingScaling PlattScaling QuadraticScaling ScalingBinning SplineCalibration
        StructuredMatrixScaling StructuredScaling TemperatureScaling VectorScaling VennAbers""",
    "calib.metrics": """accuracy auroc average_precision brier confidence_gap corp corrected_rate
        cumulative_test debiased_ece ece judge_agreement net_benefit nll overconfidence
        rate_behind_errors risk_model smooth_ece top_k_accuracy underconfidence""",
    "calib.decisions": """AnswerAbove Costs EventCut Goal certify change conformal_sets
        estimate_rate event_decision fit_and_judge fit_sets judge_answers judge_sets outcome_of
        recalibrated_cut rows_needed shift_prior""",
    "calib.export": "save to_onnx to_sql",
    "calib.export.runtime": "load",
    "calib.sklearn": "CalibratedModel ReliabilityDisplay Scorer brier_scorer ece_scorer nll_scorer",
    "calib.active_learning": "Plan compare_arms pool_from_predictions rounds_table simulate verdicts",
    "calib.apply": "predict_file sample_rows",
    "calib.evaluation.studies": "repeated_splits summarise_splits",
    "calib.diagnostics.group_panels": "group_panels",
    "calib.diagnostics.new_rows": "without_labels",
    "calib.diagnostics.sequential_tests": "tests_over_time",
}
MOST = 109


def test_the_public_names_are_these():
    assert {package: set(public_names(package)) for package in PACKAGES} == {
        package: set(names.split()) for package, names in PUBLIC.items()
    }
    different = {id(each) for package in PACKAGES for each in public_names(package).values()}
    assert len(different) <= MOST


@pytest.mark.parametrize("package", PUBLIC)
def test_results_are_documented_beside_the_functions_that_return_them(package):
    for place in result_classes(package):
        module, _, name = place.rpartition(".")
        assert getattr(import_module(module), name).__doc__


def test_a_result_has_a_place_on_the_page_of_its_function():
    assert "calib.metrics.decision_curve.NetBenefit" in result_classes("calib.metrics")
    assert "calib.export.runtime.ExportedCalibrator" in result_classes("calib.export.runtime")


@pytest.mark.parametrize(
    ("package", "name"),
    [
        *(("calib.calibrators", name) for name in PUBLIC["calib.calibrators"].split()),
        *(
            ("calib", name)
            for name in ["Predictions", "audit", "compare", "ece", "from_outputs", "load"]
        ),
    ],
)
def test_it_has_an_example(package, name):
    """The examples of all docstrings are run by tests/test_documents.py."""
    assert ">>>" in public_names(package)[name].__doc__
