"""Beta-SVM: a support vector machine learnt from missing, wrong, averaged or disputed labels.

Source: V. Zantedeschi, R. Emonet and M. Sebban, "beta-risk: a New Surrogate Risk for Learning from Weakly
Labeled Data", NIPS 2016 (the paper below).
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .kernels import Expansion, Kernel, evaluate
from .labels import check_labels
from .parameters import check_integers, check_numbers

STARTS = ("semi-supervised", "standard", "k-nn", "proportions", "experts")
KERNELS = ("linear", "poly", "rbf")
SCALE_ROWS = 2000  # rows whose mean distance is the Gaussian kernel's scale at most
_UNDECIDED = 0.5
_NOTHING = 1e-12  # confidence that is rounding error


@dataclass(frozen=True, eq=False)
class Separator:
    """The minimizer h of problem P1 for given confidences.

    Attributes
    ----------
    expansion : Expansion
        h without its offset.
    intercept : float
    objective : float
        |theta|^2 / 2 + sum_i c_i sum_sigma beta_i^sigma hinge(sigma h(x_i)).
    gap : float
        Objective less that of the dual solution, in units of the objective of h = 0 (the sum of all costs):
        how far from the minimum h can be at most.
    """

    expansion: Expansion
    intercept: float
    objective: float
    gap: float

    def decide(self, rows: np.ndarray) -> np.ndarray:
        """h (n,) float64 at `rows` (n, d) float64: above 0 for the positive class."""
        return evaluate([self.expansion], rows) + self.intercept


def separate(
    rows: np.ndarray, confidence: np.ndarray, costs: np.ndarray, kernel: Kernel, solver_tol: float = 1e-6
) -> Separator:
    """Problem P1: a support vector machine on every row twice, with either label at its confidence.

    rows: (n, d) float64; confidence (n,) float64: beta^{+1}, from 0 to 1; costs (n,) float64 > 0: c of each
    row; solver_tol: violation of the optimality conditions. Where all confidence is in one class, h is
    that class's sign everywhere.
    """
    n = len(rows)
    signs = np.repeat([1.0, -1.0], n)
    bounds = np.concatenate([costs * confidence, costs * (1 - confidence)])  # of the multipliers alpha
    present = np.flatnonzero(bounds > _NOTHING * costs.max())
    coefficients, intercept, alphas = np.zeros(n), signs[present[0]], 0.0
    if np.ptp(signs[present]) > 0:
        machine = SVC(
            C=1.0, kernel=kernel.name, gamma=kernel.gamma, coef0=kernel.coef0, degree=kernel.degree,
            tol=solver_tol,
        )  # fmt: skip
        machine.fit(rows[present % n], signs[present], sample_weight=bounds[present])
        np.add.at(coefficients, present[machine.support_] % n, machine.dual_coef_[0])
        intercept, alphas = machine.intercept_[0], np.abs(machine.dual_coef_).sum()
    support = np.flatnonzero(coefficients)
    expansion = Expansion(np.arange(rows.shape[1]), kernel, rows[support], coefficients[support])
    values = evaluate([expansion], rows)
    norm = coefficients @ values
    objective = norm / 2 + costs @ risk(values + intercept, confidence)
    gap = max(0.0, objective - (alphas - norm / 2)) / costs.sum()
    return Separator(expansion, float(intercept), float(objective), float(gap))


def risk(decision: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Terms (n,) of the beta-risk with the hinge: either label's loss, weighted by its confidence."""
    return confidence * np.maximum(0, 1 - decision) + (1 - confidence) * np.maximum(0, 1 + decision)


def reconsider(decision: np.ndarray, confidence: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Problem P2: the confidences (n,) in the positive class that suit h best under the paper's constraint.

    y_i is the label that was more probable before; where both were as likely, the one that h decides for.

    decision: (n,) float64, h at the rows; confidence (n,) float64: beta^{+1} before; costs (n,) float64 > 0.
    """
    labels = np.where(confidence == _UNDECIDED, decision >= 0, confidence > _UNDECIDED)
    margins = np.where(labels, decision, -decision)
    doubts = doubt(margins, costs, np.where(labels, 1 - confidence, confidence))
    return np.where(labels, 1 - doubts, doubts)


def doubt(margins: np.ndarray, costs: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Confidences u (n,) in the labels' opposites: the linear program of P2, solved by sorting.

    Minimizes sum_i c_i u_i (hinge(-z_i) - hinge(z_i)) subject to sum_i c_i u_i z_i = 0 and 0 <= u <= 1, for
    margins z_i = y_i h(x_i). With the multiplier t of the constraint, a row is doubted when its price
    (hinge(-z) - hinge(z)) / z is below t and z > 0, or above t and z < 0: t rises through the sorted prices
    until the two sums of margins balance. Rows at that very price (all with |z| <= 1 have the price 2) are
    free to share what is left between them: of all the minimizers this is the one nearest to `before`.

    margins, costs (> 0), before (0 to 1): (n,) float64. Rows with z = 0 stay as they were.
    """
    if not len(margins):
        return before
    size = np.abs(margins)
    prices = 1 + 1 / np.maximum(size, 1)
    order = np.argsort(prices, kind="stable")
    levels, first = np.unique(prices[order], return_index=True)
    mass = (costs * margins)[order]
    gained, lost = (np.add.reduceat(part, first) for part in (np.maximum(mass, 0), np.minimum(mass, 0)))
    # Below level k: the positive margins of lower prices and the negative ones of higher prices are doubted.
    balance = np.append(0.0, np.cumsum(gained)[:-1]) + np.append(np.cumsum(lost[:0:-1])[::-1], 0.0)
    turning = np.flatnonzero(balance + gained >= 0)[0]  # the last level at the latest: nothing is above it
    level = levels[turning]
    doubts = np.where(margins > 0, prices < level, prices > level).astype(float)
    tied = (prices == level) & (margins != 0)
    doubts[tied] = _nearest(before[tied], margins[tied], costs[tied], -balance[turning])
    doubts[margins == 0] = before[margins == 0]
    return doubts


def _nearest(before: np.ndarray, margins: np.ndarray, costs: np.ndarray, total: float) -> np.ndarray:
    """The u (k,) within 0 and 1 nearest to `before` in the costs' norm with sum_i c_i u_i z_i = `total`.

    u = clip(before - s z) for the one s at which the decreasing, piecewise linear sum meets the total.
    """
    if not len(margins):
        return before

    def clipped(shift):
        return np.clip(before - shift * margins, 0, 1)

    def summed(shift):
        return (costs * margins) @ clipped(shift)

    kinks = np.unique(np.concatenate([before / margins, (before - 1) / margins]))
    low, high = 0, len(kinks) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if summed(kinks[middle]) >= total else (low, middle)
    above, below = summed(kinks[low]), summed(kinks[high])
    share = np.clip((above - total) / (above - below), 0, 1) if above > below else 0.0
    return clipped(kinks[low] + share * (kinks[high] - kinks[low]))


def _balance(confidence: np.ndarray) -> np.ndarray:
    """Weights (n,) of mean 1: of rows of confidence 0 or 1 those with which both classes weigh the same."""
    share = confidence.mean()
    if not 0 < share < 1:
        return np.ones(len(confidence))
    return confidence / (2 * share) + (1 - confidence) / (2 * (1 - share))


def neighbour_share(
    rows: np.ndarray, positive: np.ndarray, labelled: np.ndarray, n_neighbors: int
) -> np.ndarray:
    """Share (n,) of positive ones among the nearest labelled rows of each row, itself left out.

    rows: (n, d) float64; positive, labelled: (n,) bool. Without another labelled row: one half.
    """
    known = np.flatnonzero(labelled)
    n_neighbors = min(n_neighbors, len(known) - 1)
    if n_neighbors < 1:
        return np.full(len(rows), _UNDECIDED)
    search = NearestNeighbors(n_neighbors=n_neighbors).fit(rows[known])
    share = np.empty(len(rows))
    share[known] = positive[known][search.kneighbors(return_distance=False)].mean(axis=1)
    if not labelled.all():
        others = search.kneighbors(rows[~labelled], return_distance=False)
        share[~labelled] = positive[known][others].mean(axis=1)
    return share


class BetaSVMClassifier(ClassifierMixin, BaseEstimator):
    """A support vector machine that learns how far to believe each label of two classes.

    Alternates (paper, section 3) between P1, an SVM on every row twice, once per label, each weighted by the
    confidence beta in it, and P2, a linear program that chooses beta given the SVM, until beta settles.

    Parameters
    ----------
    C : float
        Weight c of a row with a label, share or vote; one without weighs C times the share of those with
        (the paper's c2 = c1 m_l / m).
    balanced : bool
        Whether rows weigh in proportion to how rare their class is: of labels that are certain, both classes
        the same together. A row between them, at the confidence of the start, weighs as the mean of both, and
        keeps its confidence. C is the mean weight then. Not in the paper.
    kernel : "linear", "poly" or "rbf"
    kernel_params : dict or None
        gamma, coef0, degree with scikit-learn's meaning. By default gamma is 1 / the mean distance between
        rows for "rbf" (the paper's), 1 / number of columns for "poly".
    start : str
        What y is, and the confidence that it gives at the start:

        - "semi-supervised", "standard": labels, NaN (None among other objects) where missing; confidence 1 in
          the label, one half in either class where it is missing.
        - "k-nn": labels as above; shares of the labels of the nearest labelled rows.
        - "proportions": for each row the share (0 to 1) of class 1 in the bag that it belongs to, NaN where
          unknown.
        - "experts": for each row the votes (n, n_experts), 0 or 1, NaN for no vote; their mean.
    keep_certain : bool or None
        Whether rows that start with confidence 0 or 1 keep it. None: only with the start "semi-supervised".
    n_neighbors : int
        Neighbours of the start "k-nn".
    max_iter : int
        Rounds at most, each an SVM; 1: the SVM of the start.
    tol : float
        The end: no confidence changes by more.
    solver_tol : float
        Largest violation of each SVM's optimality conditions. Where confidences lie between 0 and 1 and the
        kernel is linear, an SVM of 240 rows takes 80 times as long to 1e-6 as to 1e-3.

    Attributes
    ----------
    classes_ : ndarray of shape (2,), or (1,) when y holds one class only
        Negative class, positive class; 0 and 1 with "proportions" and "experts".
    confidence_ : ndarray of shape (n,)
        Confidence in the positive class that the last SVM was fitted with.
    expansion_, intercept_ : Expansion, float
        The decision function.
    objective_path_ : ndarray of shape (n_iter_,)
        Objective of each round's SVM: |theta|^2 / 2 plus the weighted beta-risk. It never rises.
    optimality_ : float
        Duality gap of the last SVM, in units of the objective of a decision function that is 0.
    n_iter_ : int
        Rounds done.

    Notes
    -----
    The paper leaves open what P2's label y_i is where both are as likely (here: what the SVM decides), which
    of P2's minimizers to take (here: the one nearest to the confidence before; with the hinge, rows with a
    margin of at most 1 cost all the same), and whether a row is its own neighbour (here: not). P2's
    constraint may exclude the confidence before, so that a round can raise the objective: such a round is
    dropped and the fit ends. The constraint balances doubted wrong decisions with doubted right ones, and it
    is the surest of these that P2 gives up. P2 weighs each row by its cost here, as the SVM does; in the
    paper all rows cost the same.

    The estimator neither scales nor centres.
    """

    def __init__(
        self,
        *,
        C=1.0,
        balanced=False,
        kernel="rbf",
        kernel_params=None,
        start="semi-supervised",
        keep_certain=None,
        n_neighbors=4,
        max_iter=20,
        tol=1e-3,
        solver_tol=1e-6,
    ):
        self.C = C
        self.balanced = balanced
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.start = start
        self.keep_certain = keep_certain
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.solver_tol = solver_tol

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X, y):
        """Fit to X (n, d) and y, (n,) or (n, n_experts) as `start` says."""
        X = validate_data(self, X, dtype=np.float64)
        self._check_parameters()
        kernel = self._resolve_kernel(X)
        confidence, known = self._begin(X, y)
        costs = self.C * np.where(known, 1.0, known.mean())
        if self.balanced:
            costs[known] *= _balance(confidence[known])
        keep_certain = self.start == "semi-supervised" if self.keep_certain is None else self.keep_certain
        free = np.ones(len(X), bool)
        if keep_certain:
            free = (confidence > 0) & (confidence < 1)
        separator = separate(X, confidence, costs, kernel, self.solver_tol)
        path = [separator.objective]
        while len(path) < self.max_iter:
            changed = confidence.copy()
            changed[free] = reconsider(separator.decide(X[free]), confidence[free], costs[free])
            if np.abs(changed - confidence).max() <= self.tol:
                break
            candidate = separate(X, changed, costs, kernel, self.solver_tol)
            if candidate.objective > separator.objective:
                break
            confidence, separator = changed, candidate
            path.append(separator.objective)
        self.confidence_ = confidence
        self.expansion_, self.intercept_ = separator.expansion, separator.intercept
        self.optimality_ = separator.gap
        self.objective_path_ = np.array(path)
        self.n_iter_ = len(path)
        return self

    def decision_function(self, X):
        """Values (n,) float64 for X (n, d), above 0 for the positive class; the margin lies at -1 and 1."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return evaluate([self.expansion_], X) + self.intercept_

    def predict(self, X):
        """Classes (n,) for X (n, d)."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def _begin(self, X: np.ndarray, y) -> tuple[np.ndarray, np.ndarray]:
        """Confidence (n,) in the positive class at the start, and which rows y says anything of."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        if self.start == "experts":
            votes = check_array(y, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y")
            check_consistent_length(X, votes)
            return self._mean(votes, "votes 0, 1 or NaN")
        if self.start == "proportions":
            return self._mean(check_labels(X, y)[:, None], "shares from 0 to 1 or NaN")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        known = ~_is_missing(y)
        if not known.any():
            raise ValueError("expected at least one label, but y is missing (NaN or None) everywhere")
        labels = y[known] if y.dtype.kind != "O" else np.array(y[known].tolist())
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: expected two "
                f"classes, got {len(self.classes_)}"
            )
        confidence = np.full(len(X), _UNDECIDED if len(self.classes_) == 2 else 0.0)
        confidence[known] = numbers
        if self.start == "k-nn" and len(self.classes_) == 2:
            confidence = neighbour_share(X, confidence == 1, known, self.n_neighbors)
        return confidence, known

    def _mean(self, shares: np.ndarray, expected: str) -> tuple[np.ndarray, np.ndarray]:
        """Mean (n,) of what is known of each row of `shares` (n, k), one half where nothing is."""
        self.classes_ = np.array([0, 1])
        given = ~np.isnan(shares)
        known = given.any(axis=1)
        if not known.any():
            raise ValueError("expected at least one vote, but y is NaN everywhere")
        low, high = np.nanmin(shares), np.nanmax(shares)
        if low < 0 or high > 1:
            raise ValueError(f"expected {expected} in y, got values from {low:g} to {high:g}")
        totals = np.where(given, shares, 0).sum(axis=1)
        return np.where(known, totals / np.maximum(given.sum(axis=1), 1), _UNDECIDED), known

    def _resolve_kernel(self, X: np.ndarray) -> Kernel:
        given = dict(self.kernel_params or {})
        if self.kernel not in KERNELS:
            raise ValueError(f"expected a kernel among {', '.join(KERNELS)}, got {self.kernel!r}")
        if self.kernel == "rbf" and given.get("gamma") is None:
            given["gamma"] = 1 / mean_distance(X)
        return Kernel.resolve(self.kernel, given, X.shape[1])

    def _check_parameters(self):
        check_numbers(self, C="> 0", tol="> 0", solver_tol="> 0")
        check_integers(self, n_neighbors=1, max_iter=1)
        if self.start not in STARTS:
            raise ValueError(f"expected a start among {', '.join(STARTS)}, got {self.start!r}")
        if self.keep_certain not in (True, False, None):
            raise ValueError(f"expected keep_certain True, False or None, got {self.keep_certain!r}")


def mean_distance(rows: np.ndarray) -> float:
    """Mean Euclidean distance between the rows, over 2,000 evenly spaced ones at most; 1 where it is 0."""
    spaced = rows[np.linspace(0, len(rows) - 1, min(len(rows), SCALE_ROWS)).astype(int)]
    distances = pdist(spaced)
    return float(distances.mean() if len(distances) else 0.0) or 1.0


def _is_missing(y: np.ndarray) -> np.ndarray:
    """(n,) bool: NaN, or None among objects."""
    if y.dtype.kind == "O":
        return np.array([label is None or label != label for label in y], bool)
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), bool)
