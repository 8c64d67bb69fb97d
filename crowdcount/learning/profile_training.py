"""Learning where in the depth of a scene people are, from dots or boxes."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from models import (
    BlockedKFold,
    CountMetrics,
    CurvePredictor,
    CurveRegressor,
    FunctionalRegressor,
    count_metrics,
    out_of_fold,
)
from models.losses import usual_threshold

from ..errors import DatasetError
from ..profile import N_BANDS, Depth, density, depth_distance, scaled_to
from ..scene import Scene
from .datasets import Dataset

#: What is tried by blocked cross-validation: coef0 of the quadratic kernel (x·z / d + coef0)², and the weight
#: of the norm. At the best of these the Huber losses are tried too.
COEF0S = (1.0, 3.0, 10.0)
LAMBDAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
#: Laplacian output kernel exp(-OUTPUT_GAMMA |depth - depth'|): neighbouring bands inform each other.
OUTPUT_GAMMA = 10.0
#: Relative duality gap and iterations at most: while settings are compared, and of the fit; densities are
#: known far less exactly.
ROUGHLY, SOLVED = (1e-3, 1_000), (1e-4, 20_000)


@dataclass(frozen=True)
class ProfileErrors:
    """Errors of density profiles in frames with people.

    Attributes
    ----------
    distance : float
        By how much depth a person is misplaced on average; see `crowdcount.profile.depth_distance`.
    baseline : float
        The same of the mean profile of the training frames.
    """

    distance: float
    baseline: float


@dataclass(frozen=True)
class ProfileSetting:
    """Settings of a profile's regressor; `p` and `kappa` of the Huber loss, None with the square loss."""

    coef0: float
    lam: float
    p: int | None = None
    kappa: float | None = None

    def regressor(self, tol: float, max_iter: int) -> CurveRegressor:
        huber = {} if self.p is None else {"loss": "huber", "p": self.p, "kappa": self.kappa}
        return CurveRegressor(
            FunctionalRegressor(
                kernel="poly",
                kernel_params={"degree": 2, "coef0": self.coef0},
                output_kernel_params={"gamma": OUTPUT_GAMMA},
                lam=self.lam,
                tol=tol,
                max_iter=max_iter,
                **huber,
            )
        )


@dataclass(frozen=True, eq=False)
class ProfileFit:
    """A trained profile with what was found on the way.

    Attributes
    ----------
    predictor : CurvePredictor
        From a frame's features to its density over depth.
    integral : CountMetrics
        Held-out error of the profile's own integral as a count, before it is scaled to the model's count.
    errors : ProfileErrors
        Held-out error of the profile.
    setting : ProfileSetting
        Chosen by blocked cross-validation.
    """

    predictor: CurvePredictor
    integral: CountMetrics
    errors: ProfileErrors
    setting: ProfileSetting

    def facts(self) -> dict:
        """What is known of the training, JSON-able."""
        return {
            "bands": len(self.predictor.center),
            "integral": asdict(self.integral),
            "errors": asdict(self.errors),
            "setting": asdict(self.setting),
        }


def label_profiles(dataset: Dataset, rows: Sequence[int], scene: Scene, n_bands: int = N_BANDS) -> np.ndarray:
    """Densities (n, n_bands) of the people annotated in some frames, NaN where it is unknown where they are.

    People are taken by their heads' points or their boxes' feet; those outside of the region of interest (of
    boxes: whose middle is outside) are left out, and the density is scaled to the frame's labelled count.
    """
    depth = Depth.of(scene)
    profiles = np.full((len(rows), n_bands), np.nan)
    for profile, row in zip(profiles, rows, strict=True):
        count = dataset.counts[row]
        heads, boxes = dataset.people(row, scene.roi)
        if np.isnan(count) or (heads is None and boxes is None):
            continue
        if heads is not None:
            depths = depth.of_heads(heads)
        else:
            depths = depth.of_feet(boxes[:, :2] + boxes[:, 2:] * [0.5, 1.0])
        if len(depths):
            profile[:] = density(depths, n_bands) * (count / len(depths))
        elif count == 0:
            profile[:] = 0.0
    return profiles


def fit_profile(
    features: np.ndarray, profiles: np.ndarray, folds: BlockedKFold, name: str = "the data set"
) -> ProfileFit:
    """Fit densities over depth to features, every setting chosen by blocked cross-validation.

    Parameters
    ----------
    features : (n, d) float64
    profiles : (n, m) float64
        See `label_profiles`; frames without one are left out.
    folds : BlockedKFold
    name : str
        Of the data set, for messages.

    Raises
    ------
    DatasetError
        When fewer frames than two for each fold tell where people are, for want of labels or of people.
    """
    known = np.isfinite(profiles).all(axis=1)
    found, least = (profiles > 0).any(axis=1).sum(), 2 * folds.get_n_splits()
    if found < least:
        raise DatasetError(
            f"expected at least {least} frames in which {name} tells where people are, found {found}; "
            "train the profile on a Mall or UCSD folder, on dots, or on boxes (--mot)"
        )
    features, profiles = features[known], profiles[known]

    def judged(setting: ProfileSetting):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # nearly solved is enough to compare
            held_out = out_of_fold(setting.regressor(*ROUGHLY), features, profiles, folds)
        return float(np.mean((held_out - profiles) ** 2)), held_out, setting

    def error(tried):
        return tried[0]

    best = min((judged(ProfileSetting(*pair)) for pair in product(COEF0S, LAMBDAS)), key=error)
    _, held_out, square = best
    residuals = held_out - profiles
    robust = {1: usual_threshold(residuals), 2: np.median(np.sqrt((residuals**2).mean(axis=1)))}
    tried = [replace(square, p=p, kappa=float(kappa)) for p, kappa in robust.items() if kappa]
    best = min([best, *map(judged, tried)], key=error)
    _, held_out, setting = best

    counts = profiles.mean(axis=1)
    people = counts > 0
    means = np.empty_like(profiles)
    for train, test in folds.split(profiles):
        means[test] = profiles[train].mean(axis=0)
    typical = profiles.mean(axis=0)
    distances = [
        float(depth_distance(scaled_to(each[people], counts[people], typical), profiles[people]).mean())
        for each in (held_out, means)
    ]
    predictor = setting.regressor(*SOLVED).fit(features, profiles).predictor_
    return ProfileFit(
        predictor, count_metrics(counts, held_out.mean(axis=1)), ProfileErrors(*distances), setting
    )
