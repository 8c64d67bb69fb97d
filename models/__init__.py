"""Numbers to counts: the regressors. A leaf package that knows neither `crowdcount` nor `features`."""

from .beta_svm import BetaSVMClassifier
from .count_regressor import CountRegressor
from .functional import FunctionalRegressor
from .hlr import HuberLossRegressor
from .intervals import blocked_quantile, conformal_quantile, count_interval, count_scale, normalised_scores
from .super_sparse import SuperSparseRegressor, prototype_path
from .validation import BlockedKFold, CountMetrics, count_metrics, out_of_fold

__all__ = [
    "BetaSVMClassifier",
    "BlockedKFold",
    "CountMetrics",
    "CountRegressor",
    "FunctionalRegressor",
    "HuberLossRegressor",
    "SuperSparseRegressor",
    "blocked_quantile",
    "conformal_quantile",
    "count_interval",
    "count_metrics",
    "count_scale",
    "normalised_scores",
    "out_of_fold",
    "prototype_path",
]
