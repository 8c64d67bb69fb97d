"""Numbers to counts: the regressors. A leaf package that knows neither `crowdcount` nor `features`."""

from importlib import import_module

_HOMES = {
    "BetaSVMClassifier": "beta_svm",
    "CountRegressor": "count_regressor",
    "CurveRegressor": "curve_regressor",
    "FunctionalRegressor": "functional",
    "HuberLossRegressor": "hlr",
    "blocked_quantile": "intervals",
    "conformal_quantile": "intervals",
    "count_interval": "intervals",
    "count_scale": "intervals",
    "later_quantile": "intervals",
    "normalised_scores": "intervals",
    "CountPredictor": "predictor",
    "CurvePredictor": "predictor",
    "mean_predictor": "predictor",
    "Correction": "recalibration",
    "are_alike": "recalibration",
    "are_slips": "recalibration",
    "fit_correction": "recalibration",
    "leave_one_out": "recalibration",
    "renewed_quantile": "recalibration",
    "transductive_design": "design",
    "RobustKernelRegressor": "robust_kernel",
    "SuperSparseRegressor": "super_sparse",
    "prototype_path": "super_sparse",
    "BlockedKFold": "validation",
    "Copies": "validation",
    "CountMetrics": "validation",
    "count_metrics": "validation",
    "fold_outputs": "validation",
    "local_predictors": "local_counts",
    "out_of_fold": "validation",
    "out_of_fold_each": "validation",
}

__all__ = list(_HOMES)


def __getattr__(name):
    """Import a public name where it is first asked for: what fits takes a second to load."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
