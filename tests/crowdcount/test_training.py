import math
import re
import shutil
import sys
from dataclasses import asdict, replace
from itertools import chain, count
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

import benchmarks
from crowdcount import profile, scene
from crowdcount.counting import open_counting
from crowdcount.errors import DatasetError, ModelError
from crowdcount.learning import cache, fitting, measuring, recordings, regressors, reports
from crowdcount.learning.audit import audit_labels
from crowdcount.learning.datasets import Dataset, load_dataset
from crowdcount.learning.fitting import MIN_LABELS, N_BLOCKS, Fitting, Validated, measure_labelled
from crowdcount.learning.measuring import FeatureTable, measure, n_lost_labels
from crowdcount.learning.recalibration import recalibrate
from crowdcount.learning.regressors import (
    LOCAL_SHARE,
    N_REFINEMENTS,
    TEXTURE_WEIGHT,
    HuberLossSetting,
    RbfSetting,
    RobustKernelSetting,
)
from crowdcount.learning.reports import (
    audit_report,
    evaluation_report,
    recalibration_report,
    training_report,
)
from crowdcount.learning.training import evaluate, train
from crowdcount.model import default_model, load_model
from crowdcount.pipeline import Pipeline
from crowdcount.scene import scene_from
from models import Copies, count_interval, count_metrics, hlr, later_quantile, robust_kernel
from models.kernels import DUAL_ROWS
from tests.crowdcount.helpers import quantile_of_blocks
from tests.crowdcount.numbered_frames import blank

CODE = Path(profile.__file__).parent


def table(counts, features, views=("size", "edges", "texture"), first=1):
    """A data set of ready-made features, frames numbered from `first`."""
    n_columns = features.shape[1]
    return Dataset(
        name="table",
        numbers=np.arange(first, len(counts) + first),
        counts=np.asarray(counts, float),
        features=features,
        feature_names=tuple(f"column{k}" for k in range(n_columns)),
        feature_views=tuple(views[k % len(views)] for k in range(n_columns)),
    )


@pytest.fixture(scope="module")
def linear():
    """200 rows whose counts are linear in three columns of six, but for noise of 0.2 people."""
    rng = np.random.default_rng(0)
    features = rng.uniform(0, 10, (200, 6))
    dataset = table(features @ [1, 0, 0.5, 0, 0.3, 0] + rng.normal(0, 0.2, 200), features)
    for shared in (dataset.counts, dataset.features):
        shared.setflags(write=False)
    return dataset


@pytest.fixture(scope="module")
def of_linear(linear):
    """A counter trained on all of `linear`."""
    return train(linear)


@pytest.fixture(scope="module")
def of_150(linear):
    """A counter trained on the first 150 frames of `linear`."""
    return train(linear, frames="1-150")


def coverage(dataset, training, frames):
    """Share of the frames whose label lies in the interval, and its mean width."""
    evaluation = evaluate(dataset, training.model, frames=frames)
    low, high = count_interval(evaluation.predictions, training.model.quantile)
    return ((evaluation.labels >= low) & (evaluation.labels <= high)).mean(), (high - low).mean()


def others(first, last, total):
    """The frames of 1 … total that are not in first … last, as text."""
    ranges = [(1, first - 1), (last + 1, total)]
    return ",".join(f"{low}-{high}" for low, high in ranges if low <= high)


class Counter:
    """A progress callback that counts its calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, done, total):
        self.calls.append((done, total))


def counted(monkeypatch, owner, name):
    """A list that grows with each call of a method, which works as before."""
    calls, method = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *arguments: calls.append(1) or method(*arguments))
    return calls


class TestTrain:
    def test_recovers_the_counts_of_a_drawn_street(self, street, trained):
        spread = np.abs(street.counts - street.counts.mean()).mean()
        assert trained.metrics.n == len(street.counts)
        assert trained.metrics.mae < 0.15 * spread
        assert abs(trained.metrics.bias) < 0.2
        assert len(trained.block_biases) == N_BLOCKS
        assert np.average(trained.block_biases, weights=[12] * 5) == pytest.approx(trained.metrics.bias)
        assert trained.n_unlabelled == 0
        assert trained.seconds > 0

    def test_the_model_knows_what_belongs_to_it(self, street, trained):
        model = trained.model
        assert model.scene.size_wh == street.scene.size_wh
        assert model.scene.line == street.scene.line
        assert model.rate == 1.0
        assert not model.per_cell
        assert model.level == 0.9
        assert len(model.columns) == model.regressor.n_columns
        assert model.facts["labelled_frames"] == len(street.counts)
        assert model.facts["cross_validation"]["mae"] == trained.metrics.mae
        assert (model.facts["coef0"], model.facts["lam"]) == (trained.setting.coef0, trained.setting.lam)

    def test_frames_choose_by_the_data_sets_own_numbers(self, linear):
        training = train(linear, frames="51-150")
        assert training.metrics.n == 100
        assert training.model.facts["labelled_frames"] == 100
        with pytest.raises(DatasetError, match="201"):
            train(linear, frames="151-201")

    def test_of_long_footage_few_frames_without_label_are_measured(self, street, monkeypatch):
        monkeypatch.setattr(fitting, "MAX_UNLABELLED", 10)
        measured = counted(monkeypatch, Pipeline, "measure")
        counts = np.where(np.arange(len(street.counts)) < 20, street.counts, np.nan)
        training = train(replace(street.dataset(), counts=counts), scene=street.scene)
        assert training.metrics.n == 20
        assert training.n_unlabelled == 10
        assert len(measured) == 30

    def test_frames_without_label_take_part(self, linear):
        counts = linear.counts.copy()
        counts[::3] = np.nan
        training = train(replace(linear, counts=counts))
        assert training.n_unlabelled == np.isnan(counts).sum()
        assert training.metrics.n == np.isfinite(counts).sum()
        assert training.metrics.mae < 0.4
        of_few = measure_labelled(replace(linear, counts=counts), "51-150")
        np.testing.assert_array_equal(of_few.rows, np.arange(50, 150))

    def test_corrupted_labels_are_named(self, linear):
        wrong = np.array([17, 55, 56, 102, 140, 181])
        counts = linear.counts.copy()
        counts[wrong - 1] += [9, -7, 12, 8, 15, -6]
        training = train(replace(linear, counts=counts))
        removed = {label.number: label for label in training.removed}
        assert set(wrong) <= set(removed)
        assert len(removed) <= len(wrong) + 3
        for number in wrong:
            assert removed[number].label == counts[number - 1]
            assert removed[number].prediction == pytest.approx(linear.counts[number - 1], abs=2)
            assert removed[number].refinement >= 1
        refinements = [label.refinement for label in training.removed]
        assert refinements == sorted(refinements)
        clean = evaluate(linear, training.model)
        assert clean.metrics.mae < 0.3

    def test_clean_labels_stay(self, of_linear):
        assert len(of_linear.removed) <= 2

    def test_robust_regression_withstands_wrong_labels_and_leaves_out_missing_ones(self, linear, tmp_path):
        counts = linear.counts.copy()
        counts[::10] += 15
        counts[5::10] = np.nan
        training = train(replace(linear, counts=counts), regressor="r3")
        assert training.removed == ()
        assert training.n_unlabelled == 20
        assert training.metrics.n == 180
        assert training.model.facts["regressor"] == "r3"
        assert training.model.facts["switch"] == training.setting.switch
        assert training.setting.description.startswith("quadratic kernel with coef0")
        clean = evaluate(linear, training.model)
        assert clean.metrics.mae < 0.5
        training.model.save(tmp_path / "m.npz")
        loaded = load_model(tmp_path / "m.npz")
        np.testing.assert_array_equal(
            loaded.predict(linear.features), training.model.predict(linear.features)
        )

    @pytest.mark.parametrize("regressor", ["hlr", "r3"])
    def test_a_slip_of_the_keyboard_changes_no_model(self, linear, regressor):
        """What is wrong by a hundred times the people is not what the loss, or the centre, goes by."""
        counts = linear.counts.copy()
        counts[30] *= 101
        model, other = (
            train(replace(linear, counts=labels), regressor=regressor, frames="1-150").model
            for labels in (linear.counts, counts)
        )
        rows = linear.features[150:]
        np.testing.assert_allclose(other.predict(rows), model.predict(rows), atol=0.3)
        assert other.most == pytest.approx(model.most, abs=1)
        alike = np.corrcoef(other.fullness.weights, model.fullness.weights)[0, 1]
        assert alike > 0.99  # the slip alone had told what looks full

    def test_a_rush_is_no_slip_of_the_keyboard(self):
        """Of a gate before which 3 to 5 people wait, but for rushes of 60 to 79."""
        rng = np.random.default_rng(0)
        counts = rng.integers(3, 6, 100).astype(float)
        for start in (8, 28, 48, 68, 88):
            counts[start : start + 2] = rng.integers(60, 80, 2)
        features = counts[:, None] * rng.uniform(0.5, 2, 6) + rng.normal(0, 0.3, (100, 6))
        training = train(table(counts, features))
        assert training.model.most > counts.max()
        assert not training.model.is_outside(features).any()

    def test_people_who_are_seldom_there_stay_in_a_model(self, monkeypatch):
        """Their correct labels were pruned to the last, as other blocks know of nobody: it counted no one."""
        rng = np.random.default_rng(1)
        counts = np.zeros(80)
        counts[42:45] = [1, 2, 1]
        features = counts[:, None] * rng.uniform(0.5, 2, 6) + rng.normal(0, 1, (80, 6))
        training = train(table(counts, features))
        assert training.kept_range == (0, 2)
        assert training.model.predict(features[42:45]).sum() > 3

        monkeypatch.setattr("crowdcount.learning.fitting._LEAST_SPREAD", 0.0)
        assert train(table(counts, features)).kept_range == (0, 0)  # what cross-validation alone would choose

    def test_of_few_features_good_settings_are_averaged_and_columns_weighted(self, tmp_path):
        """One column follows the count; each of the others did so a little, in one block and then another."""
        rng = np.random.default_rng(3)
        counts = rng.uniform(5, 25, 200)
        block = np.arange(200) // 40
        drift = (rng.integers(0, 5, 24) == block[:, None]) * counts[:, None] / 5
        features = np.column_stack([counts + rng.normal(0, 1, 200), drift + rng.normal(size=(200, 24))])
        training = train(table(counts, features))
        assert training.setting.by_precision
        assert training.n_averaged > 1
        assert training.model.facts["averaged"] == training.n_averaged
        assert training.model.facts["by_precision"]
        chosen = next(line for line in training_report(training, "m.npz") if line.startswith("chosen by it"))
        assert "columns weighted by their precision" in chosen
        assert f"averaged with {training.n_averaged - 1} other" in chosen
        views = [np.arange(view, 25, 3) for view in range(3)]
        known = FeatureTable(np.arange(200), features, tuple("abc"), views)
        fitting = Fitting(known, table(counts, features))
        alone = fitting.validated(replace(training.setting, by_precision=False))
        assert training.metrics.mae < 0.9 * alone.metrics.mae
        assert len(training.model.regressor.expansions) == 3
        training.model.save(tmp_path / "m.npz")
        assert (load_model(tmp_path / "m.npz").predict(features) == training.model.predict(features)).all()

    @pytest.mark.parametrize("may_prune", [True, False])
    def test_averaged_are_those_as_good_that_weight_columns_and_prune_alike(self, monkeypatch, may_prune):
        random, counts = np.random.default_rng(0), np.arange(100.0)
        errors = {}

        def judged(fitting, settings):
            errors.update((setting, random.uniform(1, 1.4)) for setting in settings)
            return [
                Validated(one, count_metrics(counts, counts + errors[one]), counts + errors[one])
                for one in settings
            ]

        monkeypatch.setattr(Fitting, "validated_each", judged)
        features = np.zeros((100, 6))
        known = FeatureTable(np.arange(100), features, tuple("abcdef"), [np.arange(6)])
        best = Fitting(known, table(counts, features)).choose(may_prune=may_prune)
        least = min(errors, key=lambda one: one.handicap * errors[one])
        assert best.setting == least
        as_good = [one for one in errors if errors[one] <= 1.2 * errors[least]]
        alike = [
            one
            for one in as_good
            if (one.by_precision, one.n_refinements) == (least.by_precision, least.n_refinements)
        ]
        assert len(errors) > len(as_good) > len(alike) > 1
        assert set(best.averaged) == set(alike)
        np.testing.assert_allclose(best.predictions, counts + np.mean([errors[one] for one in alike]))
        assert best.metrics.mae == pytest.approx(best.predictions[0])
        assert any(one.n_refinements for one in errors) == may_prune
        assert not any(one.takes_unlabelled for one in errors)  # there are none without a label

    def test_the_oddest_label_is_told_first(self):
        """Pruned in an earlier refinement, or else farther from what the other blocks predict."""
        counts, features = np.arange(10.0), np.zeros((10, 6))
        known = FeatureTable(np.arange(10), features, tuple("abcdef"), [np.arange(6)])
        removed_at = np.array([-1, 2, 1, -1, 1, 1, -1, 2, -1, -1])
        pruned = SimpleNamespace(regressor_=SimpleNamespace(removed_at_=removed_at))
        predictions = counts + np.array([9, 8, 1, 9, -3, 2, 9, -9, 9, 9])
        removed = Fitting(known, table(counts, features)).removed(pruned, predictions)
        assert [(one.label, one.prediction, one.refinement) for one in removed] == [
            (4, 1, 1), (5, 7, 1), (2, 3, 1), (7, -2, 2), (1, 9, 2)
        ]  # fmt: skip
        assert {one.recording for one in removed} == {None}

    def test_from_pixels_one_setting_is_chosen_and_texture_counts_for_less(self, trained):
        assert trained.n_averaged == 1
        assert not trained.setting.by_precision
        assert trained.setting.texture_weight == TEXTURE_WEIGHT
        size, edges, texture = trained.setting.regressor([[0], [1], [2]]).view_weights
        assert texture == pytest.approx(TEXTURE_WEIGHT * size)
        assert edges == size
        assert size**2 + edges**2 + texture**2 == pytest.approx(1 / 3)
        assert trained.setting.by_grid
        assert trained.model.facts["by_grid"]

    @pytest.mark.parametrize("regressor", ["hlr", "r3"])
    def test_few_labels_teach_more_where_the_grids_have_their_shares(self, street, regressor):
        """The whole region's columns tell the count, but it is one of 37 regions."""
        rng = np.random.default_rng(4)
        people = rng.poisson(0.5, (220, 30)).astype(float)
        coarse = people.reshape(220, 6, 5).sum(axis=2)
        regions = np.hstack([people.sum(axis=1, keepdims=True), coarse, people])
        features = np.repeat(regions, 3, axis=1) + rng.normal(0, 1.0, (220, 111))
        grids = ["1x1"] + ["3x2"] * 6 + ["6x5"] * 30
        columns = [f"{grid}_{k}_0.{name}" for k, grid in enumerate(grids) for name in "abc"]
        dataset = table(regions[:, 0], features)
        views = [np.arange(view, 111, 3) for view in range(3)]
        known = FeatureTable(np.arange(20), features[:20], tuple(columns), views, scene=street.scene)
        fitting = Fitting(known, dataset)
        setting = fitting.choose(regressor).setting
        weighted, alike = (
            count_metrics(regions[20:, 0], fitting.fit(one).predict(features[20:])).mae
            for one in (setting, replace(setting, by_grid=False))
        )
        assert weighted < 0.8 * alike

    def test_columns_of_similarities_are_not_weighted(self):
        setting = RbfSetting(0.1, 1e-4)
        assert setting.from_pixels is setting
        assert not setting.by_grid

    def test_no_setting_is_judged_twice_where_pruning_wins(self, linear, monkeypatch):
        """Or it would count twice in a mean of good ones."""
        random = np.random.default_rng(1)
        counts = linear.counts[:100].copy()
        counts[random.choice(100, 15, replace=False)] *= 3
        judged, validated = [], Fitting.validated_each

        def spy(fitting, settings):
            judged.extend(settings)
            return validated(fitting, settings)

        monkeypatch.setattr(Fitting, "validated_each", spy)
        training = train(table(counts, linear.features[:100]))
        assert training.setting.n_refinements > 0
        assert sum(setting.n_refinements > 0 for setting in judged) > 2
        assert len(judged) == len(set(judged))

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ({"regressor": "magic"}, "expected a regressor of hlr, r3, found 'magic'"),
            ({"kernel": "rbf", "regressor": "r3"}, "expected a regressor of hlr, found 'r3'"),
            ({"kernel": "cubic"}, "expected a kernel of poly, rbf, found 'cubic'"),
            ({"target": "Profile"}, "expected a target of count, profile, found 'Profile'"),
            ({"level": 1}, "expected a level between 0 and 1, found 1"),
        ],
    )
    def test_an_unknown_choice_is_an_error(self, linear, wrong, told, monkeypatch):
        monkeypatch.setattr("crowdcount.learning.training.measure_recordings", None)  # told before any work
        with pytest.raises(ValueError, match=told):
            train(linear, **wrong)

    def test_too_few_labels_are_an_error(self, linear):
        counts = linear.counts.copy()
        counts[MIN_LABELS:] = np.nan
        assert train(replace(linear, counts=counts)).metrics.n == MIN_LABELS
        counts[3] = np.nan
        with pytest.raises(DatasetError, match=f"{MIN_LABELS} or more labelled frames") as caught:
            train(replace(linear, counts=counts))
        assert "\n" not in str(caught.value)
        with pytest.raises(DatasetError, match=r"found 5 .* by these with crowdcount recalibrate$"):
            train(linear, frames="1-5")
        with pytest.raises(DatasetError, match=r"found 2 .*; label more frames$"):
            train(linear, frames="1-2")

    def test_too_few_labels_are_told_before_frames_are_measured(self, street, monkeypatch):
        measured = counted(monkeypatch, Pipeline, "measure")
        counts = np.where(np.arange(len(street.counts)) < MIN_LABELS - 1, street.counts, np.nan)
        with pytest.raises(DatasetError, match=f"{MIN_LABELS} or more labelled frames"):
            train(replace(street.dataset(), counts=counts), scene=street.scene)
        assert not measured

    def test_of_thousands_of_labels_evenly_spread_ones_are_learnt_from(self, linear, monkeypatch):
        """All fits that hold a matrix over the labelled frames then have one that the memory takes."""
        others = fitting.MAX_UNLABELLED + measuring.MOST_COPIES + 1  # and the empty scene
        assert recordings.MOST_LABELS + others <= DUAL_ROWS
        for module in (recordings, reports):
            monkeypatch.setattr(module, "MOST_LABELS", 50)
        for module in (hlr, robust_kernel):
            monkeypatch.setattr(module, "DUAL_ROWS", 50)
        n_labels = np.isfinite(linear.counts).sum()
        told = f"{n_labels - 50} labels left out, between these: more than 50 take long and tell little more"
        for regressor, kernel in (("r3", "poly"), ("hlr", "rbf")):
            training = train(linear, regressor=regressor, kernel=kernel)
            assert (training.metrics.n, training.n_spared_labels) == (50, n_labels - 50)
            assert f"{told}; choose others to learn from with --frames" in training_report(training, "m.npz")
            assert evaluate(linear, training.model).is_learnt
        audit = audit_labels(linear)
        assert (len(audit.labels), np.ptp(np.diff(audit.numbers)) <= 1) == (50, True)
        assert f"{told}; choose others to audit with --frames" in audit_report(audit, [])
        assert train(linear, frames="1-40", regressor="r3").n_spared_labels == 0

    def test_no_data_set_at_all(self):
        with pytest.raises(DatasetError, match="expected a data set to learn from, or several, found none"):
            train([])

    def test_labels_that_are_all_alike_are_an_error(self, linear):
        """As of an empty yard: every frame would be counted the same, in an interval of no width."""
        same = replace(linear, counts=np.where(np.arange(200) < 120, 9.0, np.nan))
        with pytest.raises(DatasetError, match="all 120 labels are 9, and so would be every count; label"):
            train(same)
        with pytest.raises(DatasetError, match="all 20 labels are 9"):
            train(replace(same, counts=np.where(np.arange(200) < 100, 9.0, linear.counts)), frames="1-20")

    @pytest.mark.parametrize(
        ("frames", "is_local"), [("1-49", True), ("1-51", False), ("1-20,90-120", False)]
    )
    def test_labels_of_one_stretch_are_told(self, linear, frames, is_local):
        training = train(linear, frames=frames)
        assert training.is_local == is_local
        told = "the labels lie within 25% of the footage: error and interval may not hold"
        assert (told in "".join(training_report(training, "m.npz"))) == is_local

    def test_labels_of_frames_that_do_not_decode_do_not_count(self, make_street, tmp_path):
        street = make_street(tmp_path, n_frames=14, labelled=slice(0, 11))
        for k in (1, 5, 6, 7, 8, 9, 10):
            (street.frames / f"{k:04}.jpg").write_bytes(b"no image")
        with pytest.raises(DatasetError, match="labelled frames"):
            train(street.dataset(), scene=street.scene)

    def test_evaluates_no_frame_that_does_not_decode(self, make_street, tmp_path, trained):
        street = make_street(tmp_path, n_frames=10, labelled=slice(3, 5))
        for k in (3, 4):
            (street.frames / f"{k:04}.jpg").write_bytes(b"no image")
        with pytest.raises(DatasetError, match="labelled frames"):
            evaluate(street.dataset(), trained.model)

    def test_trains_around_a_frame_that_does_not_decode(self, make_street, tmp_path):
        street = make_street(tmp_path, n_frames=24, labelled=slice(2, 22))
        (street.frames / "0009.jpg").write_bytes(b"no image")
        training = train(street.dataset(), scene=street.scene)
        assert training.metrics.n == 19
        assert training.n_unlabelled == 4

    def test_a_level_makes_wider_intervals(self, linear):
        narrow, wide = train(linear, level=0.5).model, train(linear, level=0.95).model
        assert narrow.quantile < wide.quantile
        assert (narrow.level, wide.level) == (0.5, 0.95)

    def test_a_day_unlike_the_others_makes_wider_intervals(self):
        """Of features that tell nothing, the mean count of the other four days is predicted on each."""
        training = train(table(np.repeat([16.0, 16.0, 36.0, 16.0, 16.0], 40), np.ones((200, 6))))
        odd = (36 - 16) / 16**0.5  # in units of the square root of what is predicted
        usual = (21 - 16) / 21**0.5
        blocked = odd * odd / usual
        assert training.block_biases == pytest.approx((5, 5, -20, 5, 5))
        # as the odd day lies outside of what the others would have promised, so may the next one
        assert training.model.quantile == pytest.approx(later_quantile(blocked, 0.9, 0.0))

    def test_intervals_allow_for_later_footage_by_how_long_labels_go_on(self, street, trained, monkeypatch):
        spans = []

        def quantile(blocked, level, span_s):
            spans.append((blocked, span_s))
            return later_quantile(blocked, level, span_s)

        monkeypatch.setattr("crowdcount.learning.training.later_quantile", quantile)
        counts = street.dataset().counts
        few = replace(street.dataset(), counts=np.where(np.arange(len(counts)) % 3 == 1, counts, np.nan))
        model = train(few, scene=street.scene).model
        [(blocked, span_s)] = spans
        assert span_s == 57 / model.rate
        assert model.quantile == later_quantile(blocked, 0.9, span_s) > blocked

    def test_evaluation_tells_how_often_the_interval_holds(self, linear, of_150):
        model = of_150.model
        found = evaluate(linear, model, frames="151-200")
        lows, highs = count_interval(found.predictions, model.quantile)
        held = np.mean((lows <= found.labels) & (found.labels <= highs))
        assert (found.level, found.coverage) == (0.9, held)
        assert held > 0.7
        narrow = evaluate(linear, replace(model, quantile=quantile_of_blocks(model) / 20), frames="151-200")
        assert narrow.coverage < 0.3
        assert np.isnan(evaluate(linear, replace(model, quantile=np.inf)).coverage)

    def test_hardly_any_frame_like_the_training_ones_is_outside_its_range(self, linear, of_150):
        model = of_150.model
        assert model.is_outside(linear.features[150:]).mean() < 0.1
        outside = model.outside(linear.features[150:]) > model.usual_outside
        assert outside.mean() < 0.1
        assert (model.outside(linear.features[150:] + 20) > model.usual_outside).all()
        assert model.is_outside(linear.features[150:] + 20).all()

    def test_fuller_frames_than_all_that_it_learnt_from_are_outside_its_range(self):
        """Though no single column is: more people, each column of them with noise of its own."""
        rng = np.random.default_rng(3)
        counts = np.repeat([4, 6, 8, 5, 7, 14], 40) + rng.integers(0, 2, 240)
        features = counts[:, None] * rng.uniform(0.5, 2, 60) + rng.normal(0, 12, (240, 60))
        model = train(table(counts, features), frames="1-200").model
        fuller = features[200:]
        assert (model.outside(fuller) <= model.usual_outside).mean() > 0.8
        assert model.is_outside(fuller).mean() > 0.9
        assert model.is_outside(features[:200]).mean() <= 0.01
        found = evaluate(table(counts, features), model, frames="201-240")
        assert found.outside == model.is_outside(fuller).mean()
        assert f"{found.outside:.0%} of the frames are unlike those" in "\n".join(evaluation_report(found))
        among_taught = evaluate(table(counts, features), model, frames="1-200")
        assert "unlike" not in "\n".join(evaluation_report(among_taught))


class TestCoverage:
    """Intervals of 90 % hold about 90 % of the labels of blocks that took no part in training."""

    def test_on_a_drawn_street(self, make_street, tmp_path):
        street = make_street(tmp_path, n_frames=100, seed=5)
        dataset = street.dataset()
        measured = measure(dataset, np.ones(100, bool), scene=street.scene)
        measured = table(dataset.counts, measured.features)
        found, of_blocks = [], []
        for first in (1, 51):
            training = train(measured, frames=others(first, first + 49, 100))
            model = training.model
            narrower = replace(training, model=replace(model, quantile=quantile_of_blocks(model)))
            found.append(coverage(measured, training, f"{first}-{first + 49}"))
            of_blocks.append(coverage(measured, narrower, f"{first}-{first + 49}"))
        shares, widths = np.mean(of_blocks, axis=0)
        assert 0.8 <= shares <= 0.99
        assert widths < 2
        later_shares, later_widths = np.mean(found, axis=0)
        assert shares <= later_shares
        assert widths < later_widths < 2.5

    @pytest.mark.parametrize("name", ["mall/mall_feat.mat", "ucsd/ucsd_peds1_features.npz"])
    def test_on_published_features(self, data_dir, name):
        """Four blocks of 200 frames, each predicted from the others: within 0.1 of the level."""
        dataset = load_dataset(data_dir / name)
        numbers = dataset.numbers[np.isfinite(dataset.counts)]
        dataset = table(dataset.counts[numbers - 1], dataset.features[numbers - 1])
        shares = []
        for first in range(1, 801, 200):
            training = train(dataset, frames=others(first, first + 199, 800))
            shares.append(coverage(dataset, training, f"{first}-{first + 199}")[0])
        assert np.mean(shares) == pytest.approx(0.9, abs=0.1)

    def test_on_malls_later_frames(self, data_dir):
        dataset = load_dataset(data_dir / "mall" / "mall_feat.mat")
        share, width = coverage(dataset, train(dataset, frames="1-600"), "601-800")
        assert share == pytest.approx(0.9, abs=0.1)
        assert width < dataset.counts[600:800].mean()


class TestCache:
    @pytest.fixture
    def small(self, make_street, tmp_path):
        return make_street(tmp_path / "street", n_frames=16)

    def features(self, street, cache, **options):
        """Features of all frames, and how many were measured for them."""
        dataset, progress = street.dataset(), Counter()
        wanted = options.pop("wanted", np.ones(len(dataset.counts), bool))
        options = {"scene": street.scene} | options
        measured = measure(dataset, wanted, cache=cache, progress=progress, **options)
        return measured, len(progress.calls)

    def test_the_second_run_measures_nothing(self, small, tmp_path):
        plain, n_plain = self.features(small, None)
        first, n_first = self.features(small, tmp_path / "new" / "cache")
        second, n_second = self.features(small, tmp_path / "new" / "cache")
        assert (n_plain, n_first, n_second) == (16, 16, 0)
        for each in (first, second):
            assert (each.features == plain.features).all()
            assert (each.rows == plain.rows).all()
            assert each.columns == plain.columns
            assert each.views == plain.views
        assert len(list((tmp_path / "new" / "cache").iterdir())) == 1

    def test_it_is_found_by_content_not_by_name(self, small, tmp_path):
        self.features(small, tmp_path / "cache")
        moved = replace(small, frames=tmp_path / "moved")
        shutil.copytree(small.frames, moved.frames)
        assert self.features(moved, tmp_path / "cache")[1] == 0
        image = cv2.imread(str(moved.frames / "0003.jpg"))
        cv2.imwrite(str(moved.frames / "0003.jpg"), 255 - image)
        assert self.features(moved, tmp_path / "cache")[1] == 16

    def test_folders_that_match_a_pattern_are_known_by_their_content(self, make_street, tmp_path):
        cache = tmp_path / "cache"
        street = make_street(tmp_path / "one", n_frames=16)
        other = make_street(tmp_path / "two", n_frames=16, seed=1)
        (other.frames / "0003.jpg").unlink()
        (other.frames / "0003.jpg").symlink_to("missing")  # a frame that cannot be decoded
        one, two = (replace(each, frames=f"{each.frames.parent}/f*/*.jpg") for each in (street, other))
        assert self.features(one, cache)[1] == 16
        assert self.features(two, cache)[1] == 16
        assert self.features(street, cache)[1] == 0

    def test_another_scene_frames_cells_or_size_are_measured_anew(self, small, cell_model, tmp_path):
        cache = tmp_path / "cache"
        self.features(small, cache)
        persons = [(100, row, 0.25 * row + 12) for row in (60, 180)]
        assert self.features(small, cache, scene=scene_from(small.scene.size_wh, persons=persons))[1] == 16
        some = np.arange(16) < 9
        assert self.features(small, cache, wanted=some)[1] == 9
        larger = replace(cell_model, person_height=24.0)
        assert self.features(small, cache, model=larger)[1] == 16
        cells, n_measured = self.features(small, cache, model=cell_model)
        assert n_measured == 16
        again, n_again = self.features(small, cache, model=cell_model)
        assert n_again == 0
        assert (again.features == cells.features).all()

    @pytest.mark.parametrize("module", [measuring, scene, profile])
    def test_other_code_measures_anew(self, small, tmp_path, monkeypatch, module):
        self.features(small, tmp_path / "cache")
        read = Path.read_bytes
        ending = {Path(module.__file__): b"#"}
        monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + ending.get(path, b""))
        assert self.features(small, tmp_path / "cache")[1] == 16

    @pytest.mark.parametrize("library", ["cv2", "np"])
    def test_other_libraries_measure_anew(self, small, tmp_path, monkeypatch, library):
        self.features(small, tmp_path)
        monkeypatch.setattr(f"crowdcount.learning.cache.{library}.__version__", "0.1")
        assert self.features(small, tmp_path)[1] == 16

    def test_all_code_that_measures_is_known(self, small, monkeypatch):
        heads = tuple(boxes[:, :2] + boxes[:, 2:] * [0.5, 0] for boxes in small.boxes)
        dataset, ran = replace(small.dataset(), points=heads), set()

        def kept(folder, source, scene, settings, measured):
            sys.setprofile(lambda frame, event, _: ran.add(Path(frame.f_code.co_filename)))
            try:
                return measured()
            finally:
                sys.setprofile(None)

        monkeypatch.setattr(measuring, "kept", kept)
        measure(dataset, np.ones(16, bool), scene=small.scene)
        ours = {path for path in ran if {CODE, CODE.parent / "features"} & set(path.parents)}
        assert Path(profile.__file__) in ours
        assert ours <= set(cache._code())

    def test_its_arrays_are_documented(self, small, tmp_path):
        self.features(small, tmp_path)
        [file] = tmp_path.glob("features-*.npz")
        formats = (CODE.parent / "docs/formats.md").read_text(encoding="utf-8")
        _, _, section = formats.partition("\n## Cache\n")
        for_training, _, _ = section.partition("for an alarm")
        with np.load(file) as arrays:
            assert {*arrays} - {"meta"} <= set(re.findall("`([a-z_]+)`", for_training))

    def test_a_damaged_one_is_told(self, small, tmp_path):
        self.features(small, tmp_path / "cache")
        file = next((tmp_path / "cache").iterdir())
        file.write_bytes(file.read_bytes()[:1000])
        with pytest.raises(DatasetError, match="damaged") as caught:
            self.features(small, tmp_path / "cache")
        assert file.name in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_training_and_evaluation_share_it(self, small, tmp_path):
        dataset, progress = small.dataset(), Counter()
        training = train(dataset, scene=small.scene, cache=tmp_path, progress=progress)
        assert progress.calls[-1] == (16, 16)
        evaluation = evaluate(dataset, training.model, cache=tmp_path, progress=progress)
        assert len(progress.calls) == 16
        assert evaluation.metrics.n == 16
        other = replace(training.model.scene.view, image_bgr=training.model.scene.view.image_bgr // 2)
        model = replace(training.model, scene=replace(training.model.scene, view=other))
        for _ in range(2):  # known from other footage: measured once more, and kept too
            evaluate(dataset, model, cache=tmp_path, progress=progress)
            assert len(progress.calls) == 32
        assert len(list(tmp_path.glob("features-*.npz"))) == 2


class TestMeasure:
    def test_a_model_of_other_columns_is_refused_before(self, street, trained):
        model, progress = replace(trained.model, columns=trained.model.columns[::-1]), Counter()
        with pytest.raises(ModelError, match="other columns of features"):
            evaluate(street.dataset(), model, progress=progress)
        assert not progress.calls

    def test_frames_in_between_are_seen_but_not_kept(self, street):
        dataset, progress = street.dataset(), Counter()
        wanted = np.zeros(len(dataset.counts), bool)
        wanted[[10, 14, 15, 20]] = True
        some = measure(dataset, wanted, scene=street.scene, progress=progress)
        assert some.rows.tolist() == [10, 14, 15, 20]
        assert progress.calls == [(k, 11) for k in range(1, 12)]
        every = measure(dataset, np.arange(len(wanted)) < 21, scene=street.scene)
        np.testing.assert_array_equal(some.features, every.features[some.rows])

    def test_pictures_of_another_shape_are_left_out(self, make_street, tmp_path):
        """As their dots are in other pixels; a smaller one of the same shape shows the same."""
        drawn = make_street(tmp_path, n_frames=12)
        images = [(path, cv2.imread(str(path))) for path in sorted(drawn.frames.iterdir())]

        def resize(k, size_wh):
            cv2.imwrite(str(images[k][0]), cv2.resize(images[k][1], size_wh))

        resize(5, (120, 90))
        resize(7, (120, 60))
        dataset, wanted = drawn.dataset(), np.arange(12) < 9
        table = measure(dataset, wanted, scene=drawn.scene)
        assert table.rows.tolist() == [0, 1, 2, 3, 4, 5, 6, 8]
        assert n_lost_labels(dataset, "0-8", table.rows) == 1
        resize(0, (120, 60))
        with pytest.raises(DatasetError, match=r"most of .* another shape than 120x60 of its first one"):
            measure(dataset, wanted)

    def test_of_frames_in_between_nothing_is_measured_that_no_count_needs(
        self, make_street, cell_model, tmp_path, monkeypatch
    ):
        """At 24 frames/s every fourth one is looked at, and steadies the counts of 7 frames before and
        behind; the light falls meanwhile."""
        drawn = make_street(tmp_path, n_frames=120)
        for k, path in enumerate(sorted(drawn.frames.iterdir())):
            cv2.imwrite(str(path), cv2.convertScaleAbs(cv2.imread(str(path)), alpha=1 - k / 400))
        dataset = replace(drawn.dataset(), fps=24.0)
        measured = counted(monkeypatch, Pipeline, "measure")
        wanted = np.isin(np.arange(120), [2, 61, 119])
        some = measure(dataset, wanted, scene=drawn.scene, model=cell_model)
        assert len(measured) == 3 + 5 + 2
        every = measure(dataset, np.ones(120, bool), scene=drawn.scene, model=cell_model)
        np.testing.assert_array_equal(some.features, every.features[some.rows])
        np.testing.assert_array_equal(some.estimated, every.estimated[some.rows])

    def test_views_cover_every_column_once(self, street):
        measured = measure(street.dataset(), np.arange(len(street.counts)) < 2, scene=street.scene)
        assert sorted(chain(*measured.views)) == list(range(len(measured.columns)))
        assert measured.features.shape == (2, len(measured.columns))

    def test_ready_made_features_are_taken_as_they_are(self, linear):
        measured = measure(linear, np.arange(200) % 2 == 0)
        assert (measured.features == linear.features[::2]).all()
        assert measured.views == [[0, 3], [1, 4], [2, 5]]
        assert (measured.scene, measured.rate) == (None, None)

    def test_without_a_scene_it_is_estimated(self, street):
        measured = measure(street.dataset(), np.arange(len(street.counts)) < 2)
        assert measured.scene.height_origin in ("estimated", "assumed")


@pytest.fixture(scope="module")
def write_clip(make_street, tmp_path_factory):
    """write_clip(change): the data set of a clip of 120 frames, each changed, with its counts."""
    root = tmp_path_factory.mktemp("copies")
    drawn = make_street(root / "drawn", n_frames=120)
    numbers = count()

    def write(change=lambda image: image):
        path = root / f"{next(numbers)}.avi"
        video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10.0, drawn.scene.size_wh)
        video.set(cv2.VIDEOWRITER_PROP_QUALITY, 95)
        for image in sorted(drawn.frames.iterdir()):
            video.write(change(cv2.imread(str(image))))
        video.release()
        return load_dataset(path, counts=drawn.labels)

    return write


@pytest.fixture(scope="module")
def clip(write_clip):
    """The clip as it is."""
    return write_clip()


class TestCopies:
    """Frames of video are learnt from once more, a little blurred or sharpened."""

    def test_are_none_where_no_labelled_frame_can_be_decoded(
        self, write_clip, street, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(regressors, "COEF0S", (10.0,))  # fewer to try: another is not what it is about
        dataset = write_clip()
        blank(dataset.source, range(14, 34))
        is_lost = np.isin(np.arange(120), range(20, 30))
        dataset = replace(dataset, counts=np.where(is_lost, dataset.counts, np.nan))
        some = replace(dataset, counts=np.where(np.arange(120) < 10, 4.0, dataset.counts))
        given = {"scene": street.scene, "cache": tmp_path}
        training = train(some, **given)
        left_out = "labels left out, of frames that are missing, damaged or of another shape"
        assert (training.metrics.n, training.n_lost_labels) == (10, 10)
        assert f"10 {left_out}" in training_report(training, "m.npz")
        evaluation = evaluate(some, training.model, frames="0-24", cache=tmp_path)
        assert (evaluation.metrics.n, evaluation.n_lost_labels) == (10, 5)
        assert f"5 {left_out}" in evaluation_report(evaluation)
        audit = audit_labels(some, **given)
        found = recalibrate(some, training.model, frames="0-24", cache=tmp_path)
        for n_left, n_lost, report in (
            (len(audit.labels), audit.n_lost_labels, audit_report(audit, [])),
            (found.before.n, found.n_lost_labels + 5, recalibration_report(found, "m.npz")),
        ):
            assert (n_left, n_lost) == (10, 10)
            assert f"10 {left_out}" in report or f"5 {left_out}" in report
        measured = measure(dataset, np.ones(120, bool), scene=street.scene, with_copies=True)
        assert 80 < len(measured.rows) < 110
        assert measured.copies is None
        with pytest.raises(DatasetError, match="can be decoded, found 0"):
            train(dataset, scene=street.scene)

    def test_are_of_labelled_frames_evenly_spread(self, clip, street, monkeypatch):
        monkeypatch.setattr(measuring, "MOST_COPIES", 10)
        dataset = replace(clip, counts=np.where(np.arange(120) < 40, np.nan, clip.counts))
        wanted = np.arange(120) >= 20
        plain, table = (
            measure(dataset, wanted, scene=street.scene, with_copies=copies) for copies in (False, True)
        )
        assert plain.copies is None
        np.testing.assert_array_equal(table.features, plain.features)
        assert table.rows[table.copies.of].tolist() == list(range(40, 120, 8))
        assert table.copies.X.shape == (10, table.features.shape[1])
        assert (table.features[table.copies.of] != table.copies.X).any(axis=1).all()

    def test_there_are_none_of_pictures_now_and_then(self, street):
        wanted = np.arange(len(street.counts)) < 12
        assert measure(street.dataset(), wanted, scene=street.scene, with_copies=True).copies is None

    def test_are_kept_in_the_cache(self, clip, street, tmp_path):
        dataset, wanted, progress = clip, np.arange(120) < 20, Counter()
        first, again = (
            measure(dataset, wanted, scene=street.scene, with_copies=True, cache=tmp_path, progress=progress)
            for _ in range(2)
        )
        assert len(progress.calls) == 20
        np.testing.assert_array_equal(first.copies.X, again.copies.X)
        np.testing.assert_array_equal(first.copies.of, again.copies.of)

    def test_a_camera_out_of_focus_counts_the_same_people(
        self, write_clip, clip, street, monkeypatch, tmp_path
    ):
        blurred = write_clip(lambda image: cv2.GaussianBlur(image, (0, 0), 1.2))
        for name, only in (("COEF0S", 10.0), ("LAMBDAS", 1e-5)):  # kernels that learn fine details
            monkeypatch.setattr(regressors, name, (only,))

        def change(training):
            found = [
                evaluate(data, training.model, scene=training.model.scene, cache=tmp_path)
                for data in (clip, blurred)
            ]
            return np.abs(found[0].predictions - found[1].predictions).mean()

        with_copies = train(clip, scene=street.scene, cache=tmp_path)
        monkeypatch.setattr(measuring, "LOW_RATE_FPS", 100.0)
        assert change(with_copies) < 0.75 * change(train(clip, scene=street.scene, cache=tmp_path))
        assert with_copies.metrics.n == 120


class TestEvaluate:
    def test_tells_that_the_camera_was_moved(self, street, trained, tmp_path, turned_away):
        in_place = evaluate(street.dataset(), trained.model)
        assert in_place.is_learnt
        assert not in_place.camera_moved
        for path in street.frames.iterdir():
            cv2.imwrite(str(tmp_path / path.name), turned_away(cv2.imread(str(path))))
        evaluation = evaluate(replace(street.dataset(), source=tmp_path), trained.model)
        assert evaluation.camera_moved
        assert not evaluation.is_learnt
        assert "another view" in evaluation_report(evaluation)[-1]

    def test_intervals_are_those_of_counting_by_night_too(self, make_street, cell_model, tmp_path):
        street = make_street(tmp_path / "night", n_frames=30, lights=0.3)
        with open_counting(street.frames, model=cell_model, scene=street.scene) as counting:
            rows = [item.row for item in counting.frames()]
        highest = np.array([row.high for row in rows])
        by_day = np.array([cell_model.interval(row.count, street.scene)[1] for row in rows])
        assert (highest > by_day).sum() > 20  # of nobody they are as narrow
        between = replace(street.dataset(), counts=(highest + by_day) / 2)
        assert evaluate(between, cell_model, scene=street.scene).coverage == 1

    def test_frames_without_interval_tell_nothing_of_coverage(self, make_street, cell_model, tmp_path):
        street = make_street(tmp_path / "covered", n_frames=40)
        for number in range(20, 30):
            path = street.frames / f"{number:04}.jpg"
            cv2.imwrite(str(path), np.zeros_like(cv2.imread(str(path))))
        with open_counting(street.frames, model=cell_model, scene=street.scene) as counting:
            rows = [item.row for item in counting.frames()]
        is_seen = np.array([row.high < np.inf for row in rows])
        assert {number for number, row in enumerate(rows) if "blank" in row.flags} == set(range(20, 30))
        dataset = replace(street.dataset(), counts=np.where(is_seen, [row.count for row in rows], 1000.0))
        assert evaluate(dataset, cell_model, scene=street.scene).coverage == 1
        blank_alone = evaluate(dataset, cell_model, frames="20-29", scene=street.scene)
        assert math.isnan(blank_alone.coverage)
        assert "interval" not in "\n".join(evaluation_report(blank_alone))

    def test_tells_that_the_scene_is_another_than_the_model_learnt_in(self, street, trained):
        own = trained.model.scene
        assert evaluate(street.dataset(), trained.model, frames="0-9", scene=own).is_models_scene
        other = replace(own, person_height=1.5 * own.person_height, line=None)
        evaluation = evaluate(street.dataset(), trained.model, frames="0-9", scene=other)
        assert (evaluation.is_models_scene, evaluation.outside) == (False, 1.0)
        assert "heights are not those in which the model learnt" in "".join(evaluation_report(evaluation))

    @pytest.mark.parametrize("is_moved", [False, True])
    def test_tells_so_of_few_pictures_of_which_no_empty_scene_can_be_learnt(
        self, street, trained, tmp_path, turned_away, is_moved
    ):
        for path in sorted(street.frames.iterdir())[:3]:
            image = cv2.imread(str(path))
            cv2.imwrite(str(tmp_path / path.name), turned_away(image) if is_moved else image)
        evaluation = evaluate(replace(street.dataset(), source=tmp_path), trained.model, frames="0-2")
        assert evaluation.camera_moved is is_moved

    def test_takes_a_model_or_its_file(self, linear, of_150, tmp_path):
        file = tmp_path / "m.npz"
        of_150.model.save(file)
        metrics = evaluate(linear, of_150.model, frames="121-200").metrics
        assert evaluate(linear, str(file), frames="121-200").metrics == metrics
        assert recalibrate(linear, file, frames="121-200").before == metrics

    def test_equals_the_metrics_by_hand(self, linear, of_150):
        model = of_150.model
        counts = linear.counts.copy()
        counts[150:160] = np.nan
        counts[170] = 0
        evaluation = evaluate(replace(linear, counts=counts), model, frames="121-200")
        numbers = [k for k in range(121, 201) if not 151 <= k <= 160]
        assert evaluation.numbers.tolist() == numbers
        rows = np.array(numbers) - 1
        assert (evaluation.labels == counts[rows]).all()
        assert evaluation.predictions == pytest.approx(model.predict(linear.features[rows]))
        errors = [p - y for p, y in zip(evaluation.predictions, evaluation.labels, strict=True)]
        metrics = evaluation.metrics
        assert metrics.n == 70
        assert metrics.mae == pytest.approx(sum(map(abs, errors)) / 70)
        assert metrics.mse == pytest.approx(sum(e * e for e in errors) / 70)
        assert metrics.rmse == pytest.approx(math.sqrt(metrics.mse))
        assert metrics.bias == pytest.approx(sum(errors) / 70)
        positive = [(e, y) for e, y in zip(errors, evaluation.labels, strict=True) if y > 0]
        assert len(positive) == 69
        assert metrics.mre == pytest.approx(sum(abs(e) / y for e, y in positive) / 69)

    def test_on_footage_with_the_models_own_scene(self, street, trained):
        evaluation = evaluate(street.dataset(), trained.model, frames="10-19")
        assert evaluation.numbers.tolist() == list(range(10, 20))
        assert (evaluation.labels == street.counts[10:20]).all()
        assert evaluation.metrics.mae < 0.5

    def test_a_model_for_any_scene_counts_cells(self, street, cell_model):
        evaluation = evaluate(street.dataset(), cell_model, frames="10-29", scene=street.scene)
        assert np.corrcoef(evaluation.labels, evaluation.predictions)[0, 1] > 0.9
        assert evaluation.camera_moved is False  # it knows no view

    def test_without_labels_is_an_error(self, linear, of_linear):
        with pytest.raises(DatasetError, match="labelled frames"):
            evaluate(replace(linear, counts=np.full(200, np.nan)), of_linear.model)

    def test_a_model_of_other_features_is_an_error(self, street, trained, linear, of_linear, cell_model):
        for dataset, model, problem in (
            (linear, trained.model, "other columns"),
            (street.dataset(), of_linear.model, "trained on ready-made features"),
            (linear, cell_model, "holds ready-made features"),
        ):
            with pytest.raises(ModelError, match=problem) as caught:
                evaluate(dataset, model)
            assert "\n" not in str(caught.value)

    def test_the_bundled_model_counts_people_of_nine_pixels(self, data_dir, tmp_path):
        """It counted 4.5 of 6.0, and 2.0 where they are six pixels tall, in narrow intervals."""
        source = cv2.VideoCapture(str(data_dir / "pets2009" / "vtest.avi"))
        small = cv2.VideoWriter(str(tmp_path / "a.avi"), cv2.VideoWriter.fourcc(*"FFV1"), 10, (77, 58))
        for _ in range(400):
            small.write(cv2.resize(source.read()[1], (77, 58), interpolation=cv2.INTER_AREA))
        small.release()
        labels = load_dataset(
            data_dir / "pets2009" / "vtest.avi",
            mot=data_dir / "pets2009" / "PETS09-S2L1_gt_001-400.txt",
            annotated="1-400",
        ).counts[:400]
        with open_counting(tmp_path / "a.avi") as counting:
            counts = [item.row.count for item in counting.frames(images=False)]
        assert np.abs(counts - labels).mean() < 1.1

    def test_the_bundled_model_counts_whom_an_eye_sees(self, data_dir):
        """The ground truth of this clip leaves people out."""
        by_eye = Path(benchmarks.__file__).with_name("vtest.by-eye.csv")
        dataset = load_dataset(data_dir / "pets2009" / "vtest.avi", counts=by_eye)
        metrics = evaluate(dataset, default_model()).metrics
        assert metrics.n == 40
        assert metrics.mae < 0.85

    def test_a_model_of_an_earlier_version_is_an_error(self, street, trained):
        with pytest.raises(ModelError, match="as an earlier version measured it; train it again"):
            evaluate(street.dataset(), replace(trained.model, person_height=None))


def in_four_cells(people, features):
    """A data set, its table and the people (n, 4) themselves: of the features (n, d), of size, edges and
    texture in turn, the first twelve are those of four cells."""
    dataset = table(people.sum(axis=1), features)
    n_rows, n_columns = features.shape
    views = [np.arange(view, n_columns, 3) for view in range(3)]
    cell_views = [[np.array([3 * cell + view]) for view in range(3)] for cell in range(4)]
    columns = tuple(dataset.feature_names)
    return dataset, FeatureTable(np.arange(n_rows), features, columns, views, cell_views=cell_views), people


class TestLocalCounts:
    """Of four cells with three columns each, only the cells' own columns tell of their people."""

    @pytest.fixture
    def measured(self):
        rng = np.random.default_rng(5)
        people = rng.poisson([4.0, 1.0, 7.0, 2.0], (150, 4)).astype(float)
        noise = iter(rng.normal(0, [[0.4], [1.0], [1.0]], (4, 3, 150)))
        cells = [np.column_stack(np.array([n, n**2 / 4, 0 * n]) + next(noise)) for n in people.T]
        features = np.hstack([*cells, rng.normal(size=(150, 12))])
        return in_four_cells(people, features)

    def test_are_mixed_with_the_whole_where_they_lower_the_error(self, measured):
        dataset, known, people = measured
        fitting = Fitting(known, dataset, people)
        whole = fitting.validated(HuberLossSetting(1.0, 1e-2))
        both = fitting.with_local(whole)
        assert both.local is not None
        assert (whole.facts()["local"], both.facts()["local"]) == (None, asdict(both.local))
        assert both.metrics.mae < 0.95 * whole.metrics.mae
        mixture = fitting.predictor(both)[1].predict(known.features)
        assert count_metrics(dataset.counts, mixture).mae < both.metrics.mae
        local = fitting.fit_local(both.local).predict(known.features)
        alone = fitting.fit(both.setting).predict(known.features)
        np.testing.assert_allclose(mixture, (1 - LOCAL_SHARE) * alone + LOCAL_SHARE * local)

    @pytest.mark.parametrize(("share", "is_mixed"), [(0.85, True), (0.75, False)])
    def test_are_left_out_where_the_whole_alone_is_much_better(self, measured, share, is_mixed):
        dataset, known, people = measured
        fitting = Fitting(known, dataset, people)
        whole = fitting.validated(HuberLossSetting(1.0, 1e-2))
        mae = share * fitting.with_local(whole).metrics.mae
        better = replace(whole, metrics=replace(whole.metrics, mae=mae))
        assert (fitting.with_local(better).local is not None) == is_mixed

    def test_are_left_out_where_they_mislead(self, measured):
        dataset, known, people = measured
        shuffled = np.random.default_rng(6).permutation(people.ravel()).reshape(150, 4)
        fitting = Fitting(known, dataset, 3 * shuffled)
        whole = fitting.validated(HuberLossSetting(1.0, 1e-2))
        assert fitting.with_local(whole) is whole

    def test_are_of_the_setting_with_the_lowest_error(self, measured, monkeypatch):
        dataset, known, people = measured
        fitting = Fitting(known, dataset, people)
        whole = fitting.validated(HuberLossSetting(1.0, 1e-2))
        bad, errors = replace(whole, metrics=replace(whole.metrics, mae=1e6)), {}
        for lam in (100.0, 1e-3, 10.0):
            monkeypatch.setattr("crowdcount.learning.fitting.LOCAL_LAMBDAS", (lam,))
            errors[lam] = fitting.with_local(bad).metrics.mae
        monkeypatch.setattr("crowdcount.learning.fitting.LOCAL_LAMBDAS", tuple(errors))
        assert fitting.with_local(bad).local.lam == min(errors, key=errors.get) == 1e-3

    @pytest.mark.parametrize("setting", [RobustKernelSetting(3.0, 0.1, 1.0), RbfSetting(0.1, 1e-4)])
    def test_are_of_polynomial_hlr_alone(self, measured, setting):
        dataset, known, people = measured
        fitting = Fitting(known, dataset, people)
        whole = fitting.validated(setting)
        assert fitting.with_local(whole) is whole

    def test_need_dots(self, measured):
        dataset, known, _ = measured
        fitting = Fitting(known, dataset)
        whole = fitting.validated(HuberLossSetting(1.0, 1e-2))
        assert fitting.with_local(whole) is whole

    def test_of_a_drawn_street_are_learnt_from_boxes_and_saved_with_the_model(self, street, tmp_path):
        dataset = street.dataset()
        training = train(replace(dataset, boxes=street.boxes), scene=street.scene)
        assert training.metrics.mae < 0.15 * np.abs(street.counts - street.counts.mean()).mean()
        training.model.save(tmp_path / "street.npz")
        assert load_model(tmp_path / "street.npz").facts["local"] == (
            None if training.local is None else asdict(training.local)
        )

    def test_of_a_region_so_small_that_cells_are_empty(self, street):
        width, height = street.scene.size_wh
        x, y = width // 2, height // 2
        tiny = street.scene.redrawn([((x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1))])
        dataset = replace(street.dataset(), boxes=street.boxes)
        assert train(dataset, scene=tiny).metrics.n == len(street.counts)


class TestFitting:
    """What a setting is judged by, and what it is fitted to."""

    @pytest.fixture
    def unrelated(self):
        """15 rows of noise, and people in four cells of three columns each who have nothing to do with it."""
        rng = np.random.default_rng(8)
        return in_four_cells(rng.poisson(3.0, (15, 4)).astype(float), rng.normal(size=(15, 12)))

    def test_local_counts_are_judged_on_blocks_that_they_have_not_seen(self, unrelated):
        dataset, known, people = unrelated
        fitting = Fitting(known, dataset, people)
        whole = fitting.validated(HuberLossSetting(1.0, 1e-2))
        worse = replace(whole, metrics=replace(whole.metrics, mae=1e6), predictions=np.zeros(15))
        local = fitting.with_local(worse)
        assert np.corrcoef(local.predictions, dataset.counts)[0, 1] < 0.0
        fitted = fitting.fit_local(local.local).predict(known.features)
        assert np.corrcoef(fitted, dataset.counts)[0, 1] > 0.4

    @pytest.mark.parametrize(("best", "chosen"), [(0.86, "usual"), (0.84, "best")])
    @pytest.mark.parametrize("n_refinements", [0, N_REFINEMENTS])
    def test_from_pixels_other_kernels_are_taken_where_much_is_gained(
        self, street, monkeypatch, best, n_refinements, chosen
    ):
        """The usual kernels have an error of 1, others of `best`; pruning, where it helps, of .01 less."""
        settings = {"usual": (10.0, 10.0 * 1e-3), "best": (3.0, 3.0 * 3e-3)}
        errors = {settings["usual"]: 1.0, settings["best"]: best}

        def validated_each(fitting, settings):
            return [validated(setting) for setting in settings]

        def validated(setting):
            gain = 0.01 * bool(setting.n_refinements) * (1 if n_refinements else -1)
            error = errors.get((setting.coef0, setting.lam), 2.0) - gain
            return Validated(setting, count_metrics(np.zeros(20), np.full(20, error)), np.full(20, error))

        monkeypatch.setattr(Fitting, "validated_each", validated_each)
        columns = [f"1x1_0_0.{number}" for number in range(90)]
        known = FeatureTable(
            np.arange(20), np.zeros((20, 90)), columns, np.split(np.arange(90), 3), scene=street.scene
        )
        setting = Fitting(known, table(np.zeros(20), np.zeros((20, 90)))).choose().setting
        assert (setting.coef0, setting.lam) == settings[chosen]
        assert setting.n_refinements == n_refinements

    def test_of_ready_made_features_no_kernels_have_a_handicap(self):
        settings = [HuberLossSetting(coef0, lam) for coef0, lam in [(10.0, 0.01), (3.0, 0.01), (10.0, 0.1)]]
        assert {one.handicap for one in settings} == {1.0}
        assert [one.from_pixels.handicap > 1 for one in settings] == [False, True, True]

    def test_copies_have_the_labels_of_what_they_are_copies_of(self, linear):
        counts = np.where(np.arange(200) < 90, np.nan, linear.counts)
        dataset = replace(linear, counts=counts)
        known = measure(dataset, np.ones(200, bool))
        labelled = np.arange(90, 200)
        copied = replace(known, copies=Copies(linear.features[labelled], labelled))
        setting = HuberLossSetting(1.0, 1e-3)
        alone, twice = (Fitting(one, dataset).validated(setting).metrics.mae for one in (known, copied))
        assert twice < 1.1 * alone

    def test_the_mean_of_those_that_are_averaged_predicts(self, linear):
        fitting = Fitting(measure(linear, np.ones(200, bool)), linear)
        best = fitting.choose()
        assert best.n_averaged > 1
        each = [fitting.fit(setting).predict(linear.features) for setting in best.averaged]
        assert np.ptp(each, axis=0).max() > 0.01
        found = fitting.predictor(best)[1].predict(linear.features)
        np.testing.assert_allclose(found, np.mean(each, axis=0))

    def test_copies_are_learnt_from(self, linear):
        """Blurred, a frame shows two thirds of what it showed, but the same people."""
        known = measure(linear, np.ones(200, bool))
        blurred = linear.features / 1.5
        copied = replace(known, copies=Copies(blurred, np.arange(200)))
        setting = HuberLossSetting(1.0, 1e-3)
        alone, both = (Fitting(one, linear).fit(setting).predict(blurred) for one in (known, copied))
        alone, both = (count_metrics(linear.counts, found).mae for found in (alone, both))
        assert both < 0.5 * alone

    @pytest.mark.parametrize("every", [1, 3])
    def test_settings_that_take_frames_without_label_are_tried_where_there_are_some(
        self, linear, monkeypatch, every
    ):
        judged, validated = [], Fitting.validated_each

        def spy(fitting, settings):
            judged.extend(settings)
            return validated(fitting, settings)

        monkeypatch.setattr(Fitting, "validated_each", spy)
        dataset = replace(linear, counts=np.where(np.arange(200) % every == 0, linear.counts, np.nan))
        Fitting(measure(dataset, np.ones(200, bool)), dataset).choose()
        assert any(setting.takes_unlabelled for setting in judged) == (every > 1)

    @pytest.mark.parametrize("gamma", [0.0, 1e-6])
    @pytest.mark.parametrize("n_copies", [0, 40])
    def test_a_pruned_label_is_named_by_its_frame(self, linear, gamma, n_copies):
        counts = np.where(np.arange(200) % 3 == 0, np.nan, linear.counts)
        counts[101] += 15
        dataset = replace(linear, counts=counts)
        known = measure(dataset, np.ones(200, bool))
        of = np.flatnonzero(np.isfinite(counts))[:n_copies]
        fitting = Fitting(replace(known, copies=Copies(linear.features[of], of)), dataset)
        setting = HuberLossSetting(1.0, 1e-3, n_refinements=3, gamma=gamma)
        fitted = fitting.fit(setting)
        removed = fitting.removed(fitted, fitting.validated(setting).predictions)
        assert (removed[0].number, removed[0].label) == (dataset.numbers[101], counts[101])
        assert removed[0].prediction == pytest.approx(linear.counts[101], abs=2)
