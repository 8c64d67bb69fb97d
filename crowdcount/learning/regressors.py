"""The regressors that training can fit, and what blocked cross-validation tries for each of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import comb
from typing import Protocol

import numpy as np
from sklearn.base import RegressorMixin

from models import HuberLossRegressor, RobustKernelRegressor
from models.labels import without_slips

#: HLR: coef0 of the views' quadratic kernels (x·z / d + coef0)², the larger the more linear, and lam in
#: proportion to it. A choice between purely linear and quadratic kernels was a toss-up in cross-validation
#: (PETS 2009, frames 0-299) that moved the error on later frames by half. What is nearly linear holds better
#: beyond the frames that it was learnt from (docs/decisions/2026-11-22-mixture.md).
COEF0S = (3.0, 10.0)
LAMBDAS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
#: From pixels these are taken unless the error of others is less by LEAST_GAIN: less is chance. On other
#: frames the error of counts is then 2 % less on average of ten sets, from 10 labels to 200
#: (docs/decisions/2026-11-27-usual-kernels.md).
USUAL_COEF0, USUAL_LAMBDA = 10.0, 1e-3
LEAST_GAIN = 0.15
#: Then, at the best of these, whether to prune labels. HLR stops by itself when no residual stands out, so
#: that the number only bounds the work; but good labels of rare situations can stand out too. Where pruning
#: helps, the kernels are chosen once more, with it: wrong labels had a say in the first choice.
N_REFINEMENTS = 10
#: Then, where frames without a label take part, the weight of the manifold term relative to lam; 0 leaves
#: them out. On Mall's 1,200 they did not help (2.09 MAE without, 2.16 at .01, 2.67 at .1).
RELATIVE_GAMMAS = (0.001, 0.01)
#: From pixels the texture's function counts for less than those of size and edges: it changes most with light
#: and crowd. The error of the mean of whole and local counts in the last quarter of the frames, predicted
#: from the others, with a weight of 1 and of .5: Mall 1.51 and 1.41, PETS 2009, frames 0-399, .37 and .35.
TEXTURE_WEIGHT = 0.5
#: Where all views' quadratic features are at most so many, as of ready-made features of the whole frame,
#: models are small and quickly fitted: more of them are tried, with the columns weighted by how precisely
#: each measures the count or not, and all those are averaged whose error exceeds the least one's by at most
#: this share: which one is best in cross-validation is partly chance. From pixels, whose columns measure
#: parts of the frame, neither gains (Mall, PETS 2009).
FEW_FEATURES = 1000
FEW_FEATURES_COEF0S = (1.0, 3.0)
FEW_FEATURES_LAMBDAS = (1e-6, 3e-6, *LAMBDAS)
AS_GOOD = 0.2
#: HLR with RBF kernels: their gamma times the columns of the view, and lam.
WIDTHS = (0.01, 0.03, 0.1, 0.3)
RBF_LAMBDAS = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
#: Where dots say in which cell of the finest grid people stand, each cell's HLR, whose sum has this share of
#: the count, the whole's HLR the rest. In the frames after those learnt from, the error on six clips is 26 %
#: less than of the whole's alone, 3 % less than of the sum alone (docs/decisions/2026-11-22-mixture.md).
LOCAL_SHARE = 0.6
#: The whole alone counts only where its error is less than so many times the mixture's: which of them is less
#: in cross-validation is chance where they are close, and the mixture is better in other frames.
ALONE = 0.8
LOCAL_COEF0 = 3.0
LOCAL_LAMBDAS = (3e-4, 1e-3, 3e-3, 1e-2)
#: R3: the same of one kernel over all columns. Its lam weighs against a sum over the labels, not their mean.
ROBUST_COEF0S = (3.0, 10.0)
ROBUST_LAMBDAS = (0.01, 0.03, 0.1, 0.3, 1.0)
#: The error from which the loss is linear and, last, the tube without loss, in standard deviations of the
#: labels; the first switch goes with the choice of the kernel, the others are compared at the best one, each
#: with these changes of lam.
SWITCHES = (0.15, 0.05, 0.5)
LAMBDA_CHANGES = (1.0, 0.3)
TUBE = 0.1


class Setting(Protocol):
    """A regressor's settings, a frozen dataclass of numbers and texts.

    Attributes
    ----------
    takes_unlabelled : bool
        Whether frames without a label take part in the fit.
    by_precision : bool
        Whether the columns are weighted by how precisely each measures the count.
    by_grid : bool
        Whether the columns, measured from pixels, are weighted by `grid_weights`.
    n_refinements : int
        0: no label is pruned.
    handicap : float
        What its error is multiplied with where it is compared with others'.
    """

    takes_unlabelled: bool = False
    by_precision: bool = False
    by_grid: bool = False
    n_refinements: int = 0
    handicap: float = 1.0

    @property
    def description(self) -> str:
        """The settings, for people."""

    @property
    def unpruned(self) -> str:
        """Why no label was pruned, for people."""

    @property
    def from_pixels(self) -> "Setting":
        """The same for columns that are measured from pixels, in the views of size, edges and texture."""
        return self

    def regressor(self, views: Sequence[np.ndarray]) -> RegressorMixin:
        """The regressor, not fitted, for standardised columns in `views` (index arrays)."""


@dataclass(frozen=True)
class HuberLossSetting(Setting):
    """Huber loss regression (HLR).

    Attributes
    ----------
    coef0, lam, gamma : float
        Of the views' quadratic kernels, and HLR's weights.
    n_refinements : int
        0: no label is pruned.
    texture_weight : float
        The weight of the last of three views, the texture, relative to those of size and edges; 1 for other
        views.
    by_precision, by_grid : bool
        See `Setting`.
    """

    coef0: float
    lam: float
    n_refinements: int = 0
    gamma: float = 0.0
    by_precision: bool = False
    texture_weight: float = 1.0
    by_grid: bool = False

    @property
    def takes_unlabelled(self) -> bool:
        return self.gamma > 0

    @property
    def handicap(self) -> float:
        is_usual = (self.coef0, self.lam) == (USUAL_COEF0, USUAL_COEF0 * USUAL_LAMBDA)
        return 1 / (1 - LEAST_GAIN) if self.by_grid and not is_usual else 1.0

    @property
    def description(self) -> str:
        weights = ", columns weighted by their precision" if self.by_precision else ""
        return f"quadratic kernels with coef0 {self.coef0:g}, lam {self.lam:g}, gamma {self.gamma:g}{weights}"

    @property
    def unpruned(self) -> str:
        if self.n_refinements:
            return "no label was pruned: none stands out from what the others tell"
        return "no label was pruned: pruning did not lower the cross-validation error"

    @property
    def from_pixels(self) -> "HuberLossSetting":
        return replace(self, texture_weight=TEXTURE_WEIGHT, by_grid=True)

    def regressor(self, views: Sequence[np.ndarray] | None) -> HuberLossRegressor:
        weights = None
        if self.texture_weight != 1:  # of the length of equal ones, 1/3 each
            weights = np.array([1.0, 1.0, self.texture_weight])
            weights /= np.sqrt(3) * np.linalg.norm(weights)
        return HuberLossRegressor(
            views=views,
            kernel="poly",
            kernel_params={"degree": 2, "coef0": self.coef0},
            view_weights=weights,
            lam=self.lam,
            gamma=self.gamma,
            between_views=None,
            n_refinements=self.n_refinements,
        )


@dataclass(frozen=True)
class RbfSetting(Setting):
    """Huber loss regression with RBF kernels.

    Attributes
    ----------
    width : float
        The kernels' gamma times the number of columns of their view.
    lam : float
        HLR's weight.
    n_refinements : int
        0: no label is pruned.
    """

    width: float
    lam: float
    n_refinements: int = 0

    unpruned = HuberLossSetting.unpruned

    @property
    def description(self) -> str:
        return f"RBF kernels of gamma {self.width:g} / columns of the view, lam {self.lam:g}"

    def regressor(self, views: Sequence[np.ndarray]) -> HuberLossRegressor:
        return HuberLossRegressor(
            views=views,
            kernel="rbf",
            kernel_params=[{"gamma": self.width / len(view)} for view in views],
            lam=self.lam,
            gamma=0.0,
            n_refinements=self.n_refinements,
        )


@dataclass(frozen=True)
class RobustKernelSetting(Setting):
    """Robust regularized kernel regression (R3).

    Attributes
    ----------
    coef0, lam : float
        Of the quadratic kernel, and R3's weight.
    switch, epsilon : float
        People: the error from which the loss is linear, and half the width of the tube without loss.
    by_grid : bool
        See `Setting`.
    """

    coef0: float
    lam: float
    switch: float
    epsilon: float = 0.0
    by_grid: bool = False

    @property
    def description(self) -> str:
        tube = f", no loss within {self.epsilon:.2g}" if self.epsilon else ""
        return (
            f"quadratic kernel with coef0 {self.coef0:g}, lam {self.lam:g}, "
            f"loss linear beyond an error of {self.epsilon + self.switch:.2g} people{tube}"
        )

    @property
    def unpruned(self) -> str:
        return "no label is pruned: however wrong, none pulls harder than where the loss becomes linear"

    @property
    def from_pixels(self) -> "RobustKernelSetting":
        return replace(self, by_grid=True)

    def regressor(self, views: Sequence[np.ndarray]) -> RobustKernelRegressor:
        return RobustKernelRegressor(
            loss="huber_epsilon_insensitive" if self.epsilon else "huber",
            kernel="poly",
            kernel_params={"degree": 2, "coef0": self.coef0},
            lam=self.lam,
            switch=self.switch,
            epsilon=self.epsilon,
        )


#: Settings to try next, from the best so far (None at first) and the labels (n_labels,).
Question = Callable[[Setting | None, np.ndarray], Iterable[Setting]]


def _kernels(best: None, labels: np.ndarray) -> Iterator[HuberLossSetting]:
    return (HuberLossSetting(coef0, coef0 * lam) for coef0, lam in product(COEF0S, LAMBDAS))


def _rbf_kernels(best: None, labels: np.ndarray) -> Iterator[RbfSetting]:
    return (RbfSetting(width, lam) for width, lam in product(WIDTHS, RBF_LAMBDAS))


def _pruning(best: HuberLossSetting | RbfSetting, labels: np.ndarray) -> Iterator[Setting]:
    yield replace(best, n_refinements=N_REFINEMENTS)


def _small_kernels(best: None, labels: np.ndarray) -> Iterator[HuberLossSetting]:
    tried = product(FEW_FEATURES_COEF0S, FEW_FEATURES_LAMBDAS, (False, True))
    return (HuberLossSetting(coef0, coef0 * lam, by_precision=weighted) for coef0, lam, weighted in tried)


def _again_with_pruning(kernels: Question) -> Question:
    """What `kernels` tries, with pruning, where that helped."""

    def question(best: HuberLossSetting, labels: np.ndarray) -> Iterator[HuberLossSetting]:
        if best.n_refinements:
            yield from (replace(setting, n_refinements=N_REFINEMENTS) for setting in kernels(None, labels))

    return question


def _unlabelled(best: HuberLossSetting, labels: np.ndarray) -> Iterator[HuberLossSetting]:
    return (replace(best, gamma=share * best.lam) for share in RELATIVE_GAMMAS)


def _robust_kernels(best: None, labels: np.ndarray) -> Iterator[RobustKernelSetting]:
    switch = SWITCHES[0] * _spread(labels)
    return (
        RobustKernelSetting(coef0, coef0 * lam, switch)
        for coef0, lam in product(ROBUST_COEF0S, ROBUST_LAMBDAS)
    )


def _switches(best: RobustKernelSetting, labels: np.ndarray) -> Iterator[RobustKernelSetting]:
    return (
        replace(best, switch=switch * _spread(labels), lam=change * best.lam)
        for switch, change in product(SWITCHES[1:], LAMBDA_CHANGES)
    )


def _tube(best: RobustKernelSetting, labels: np.ndarray) -> Iterator[RobustKernelSetting]:
    yield replace(best, epsilon=TUBE * _spread(labels))


def _spread(labels: np.ndarray) -> float:
    """Standard deviation of the labels in people, 1 where they do not differ."""
    return float(without_slips(labels).std()) or 1.0


#: The questions that cross-validation answers for each regressor, one after the other, by kind of kernels.
QUESTIONS: dict[str, dict[str, tuple[Question, ...]]] = {
    "poly": {
        "hlr": (_kernels, _pruning, _again_with_pruning(_kernels), _unlabelled),
        "r3": (_robust_kernels, _switches, _tube),
    },
    "rbf": {"hlr": (_rbf_kernels, _pruning)},
}
#: HLR's where the quadratic features are few.
FEW_FEATURES_QUESTIONS = (_small_kernels, _pruning, _again_with_pruning(_small_kernels), _unlabelled)


def has_few_features(views: Sequence[np.ndarray]) -> bool:
    """Whether the quadratic features of all views (index arrays) are few."""
    return sum(comb(len(view) + 2, 2) for view in views) <= FEW_FEATURES
