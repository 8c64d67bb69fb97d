"""The depth coordinate, densities over it from dots and boxes, and profiles in models and files."""

import json
from dataclasses import replace

import cv2
import numpy as np
import pytest
from pyarrow import parquet

from crowdcount.counting import open_counting
from crowdcount.errors import DatasetError, ModelError
from crowdcount.learning import profile_training
from crowdcount.learning.datasets import Dataset
from crowdcount.learning.profile_training import fit_profile, label_profiles
from crowdcount.model import load_model
from crowdcount.overlay import draw_overlay
from crowdcount.plots import plot_counts
from crowdcount.profile import N_BANDS, Depth, Profile, density, depth_distance, open_profiles, scaled_to
from crowdcount.results import FrameCount, read_counts
from crowdcount.scene import scene_from
from features.perspective import depth_cells
from models import BlockedKFold
from samples.make import write_clip
from samples.scenes import preset
from tests.crowdcount.helpers import run

pytestmark = pytest.mark.usefixtures("few_kernels")

SIZE = WIDTH, HEIGHT = 200, 160
LEVEL = scene_from(SIZE, persons=[(100, 60, 40.0), (100, 150, 40.0)])  # people are 40 pixels tall everywhere
STEEP = scene_from(SIZE, persons=[(100, 40, 15.0), (100, 150, 60.0)])
MIDDLE_ROWS = ((0, 40), (199, 40), (199, 119), (0, 119))
WINDOW = scene_from(SIZE, polygons=[MIDDLE_ROWS], persons=[(9, 9, 40), (9, 99, 40)])


def dataset(counts, points=None, boxes=None):
    counts = np.array(counts, float)
    return Dataset("a", np.arange(len(counts)), counts, points=points, boxes=boxes)


class TestDepth:
    def test_without_perspective_it_is_the_share_of_rows(self):
        depth = Depth.of(LEVEL)
        np.testing.assert_allclose(depth.by_row, np.arange(HEIGHT + 1) / HEIGHT, atol=1e-6)
        # the middle of a body of 40 pixels is 20 below the head and 20 above the feet
        np.testing.assert_allclose(depth.of_heads(np.array([[5.0, 60.0]])), 80 / HEIGHT, atol=1e-6)
        np.testing.assert_allclose(depth.of_feet(np.array([[5.0, 100.0]])), 80 / HEIGHT, atol=1e-6)

    def test_it_is_that_of_the_depth_cells(self):
        depth = Depth.of(STEEP)
        cells = depth_cells(STEEP.person_height, STEEP.roi, 5, 1)[:, 0]
        middles = (depth.by_row[1:] + depth.by_row[:-1]) / 2
        np.testing.assert_array_equal(np.floor(middles * 5), cells)

    def test_head_and_feet_of_a_person_agree(self):
        depth = Depth.of(STEEP)
        feet = np.array([[90.0, row] for row in (60.0, 90.0, 120.0)])
        slope = 45 / 110
        heads = feet - [0, 1] * (slope * feet[:, 1:] + 15 - slope * 40)
        np.testing.assert_allclose(depth.of_heads(heads), depth.of_feet(feet), atol=0.02)

    def test_rows_outside_of_the_region_have_no_depth(self):
        depth = Depth.of(WINDOW)
        np.testing.assert_allclose(depth.rows(4), [40, 60, 80, 100, 120], atol=1.0)
        assert depth.of_feet(np.array([[9.0, 10.0], [9.0, 159.0]])).tolist() == [0.0, 1.0]
        rows = Depth.of(STEEP).rows(8)
        assert (np.diff(rows) > 0).all()
        assert np.diff(rows)[-1] > 2 * np.diff(rows)[0]  # near bands take more rows


class TestDensities:
    def test_the_integral_is_the_number_of_people(self):
        depths = np.array([0.0, 0.1, 0.1, 0.99, 1.0])
        assert density(depths, 4).mean() == 5
        np.testing.assert_array_equal(density(depths, 4), [12, 0, 0, 8])

    def test_scaling_keeps_the_shape_and_has_the_counts_as_integrals(self):
        given = np.array([[1.0, 3.0], [0.0, 0.0], [2.0, 2.0]])
        scaled = scaled_to(given, np.array([4.0, 3.0, 0.0]), np.array([1.0, 2.0]))
        np.testing.assert_allclose(scaled, [[2, 6], [2, 4], [0, 0]])
        np.testing.assert_allclose(scaled_to(given[1:2], np.array([3.0]), np.zeros(2)), [[3, 3]])

    def test_the_distance_is_the_depth_that_people_have_to_be_moved(self):
        here, there = np.eye(4)[[0]] * 7, np.eye(4)[[3]] * 2
        assert depth_distance(here, there) == pytest.approx(0.75)
        assert depth_distance(here, 9 * here) == 0


class TestLabels:
    def test_heads_count_where_the_middle_of_the_body_is(self):
        points = np.array([[5.0, 10.0], [5.0, 110.0]])
        labelled = label_profiles(dataset([2.0], points=(points,)), [0], LEVEL, 4)
        np.testing.assert_array_equal(labelled, [[4, 0, 0, 4]])  # middles in rows 30 and 130

    def test_boxes_count_by_their_feet(self):
        boxes = np.array([[10.0, 20.0, 10.0, 40.0], [10.0, 80.0, 10.0, 70.0]])  # feet in rows 60 and 150
        labelled = label_profiles(dataset([2.0], boxes=(boxes,)), [0], LEVEL, 4)
        np.testing.assert_array_equal(labelled, [[0, 4, 0, 4]])

    def test_people_outside_are_left_out_and_the_count_is_kept(self):
        points = np.array([[5.0, 45.0], [5.0, 5.0], [500.0, 50.0]])
        labelled = label_profiles(dataset([3.0], points=(points,)), [0], WINDOW, 4)
        assert labelled.mean() == 3
        assert (labelled > 0).sum() == 1

    def test_what_is_not_known_is_nan(self):
        nobody = np.zeros((0, 2))
        points = (None, nobody, nobody, nobody)
        labelled = label_profiles(dataset([1.0, 0.0, 2.0, np.nan], points=points), range(4), LEVEL, 4)
        assert np.isnan(labelled).all(axis=1).tolist() == [True, False, True, True]
        np.testing.assert_array_equal(labelled[1], 0)
        assert np.isnan(label_profiles(dataset([1.0]), [0], LEVEL)).all()


@pytest.fixture(scope="module")
def crowd():
    """A crowd that walks up and down, in features that see it roughly: (80, 6) and (80, 8)."""
    random = np.random.default_rng(0)
    place = 0.5 + 0.35 * np.sin(np.arange(80) / 5)
    people = random.poisson(20, 80)
    profiles = np.stack(
        [density(random.normal(p, 0.1, n).clip(0, 1), 8) for p, n in zip(place, people, strict=True)]
    )
    counts = profiles.mean(axis=1)
    noise = random.normal(size=(80, 2))
    return np.column_stack([counts, counts * place, counts * place**2, place, noise]), profiles


@pytest.fixture
def _few_choices(monkeypatch):
    monkeypatch.setattr(profile_training, "COEF0S", (1.0, 3.0))
    monkeypatch.setattr(profile_training, "LAMBDAS", (1e-3, 1e-2))


@pytest.mark.usefixtures("_few_choices")
class TestFit:
    def test_it_is_nearer_than_the_mean_profile_in_blocks_it_has_not_seen(self, crowd):
        fit = fit_profile(*crowd, BlockedKFold(5))
        assert fit.errors.distance < 0.3 * fit.errors.baseline
        assert fit.integral.mae < 3  # negative densities are cut off, which adds people
        assert json.loads(json.dumps(fit.facts()))["bands"] == 8

    def test_its_baseline_is_the_mean_profile_of_blocks_without_the_frame(self):
        """Five people are far away in four blocks and near in the fifth; in every third frame nobody is."""
        far, near = 20 * np.eye(4)[[0, 3]]
        profiles = np.repeat([far, far, far, far, near], 3, axis=0)
        profiles[2::3] = 0.0
        fit = fit_profile(np.random.default_rng(0).normal(size=(15, 2)), profiles, BlockedKFold(5))
        # far ones are expected near in a quarter of the cases, and near ones never: 3/4 of the depth apart
        assert fit.errors.baseline == pytest.approx((4 * 0.25 + 1.0) / 5 * 0.75)

    def test_its_integral_is_judged_on_blocks_that_it_has_not_seen(self):
        """Each block's count is told by a column of its own, and guessed from the others' without it."""
        block = np.repeat(np.arange(5), 4)
        counts = 4.0 + 4.0 * block
        features, profiles = np.eye(5)[block], np.tile(counts[:, None], 4)
        fit = fit_profile(features, profiles, BlockedKFold(5))
        assert np.abs(fit.predictor.predict(features).mean(axis=1) - counts).max() < 0.1
        assert fit.integral.mae == pytest.approx((10 + 5 + 0 + 5 + 10) / 5, abs=0.1)

    @pytest.mark.parametrize("p", [1, 2])
    def test_of_wrong_dots_a_robust_loss_learns_less(self, crowd, p):
        """In every tenth band far too many people stand, or every fifth frame is upside down."""
        features, profiles = crowd
        if p == 1:
            wrong = profiles + 200 * (np.random.default_rng(0).random(profiles.shape) < 0.1)
        else:
            wrong = np.where(np.arange(80)[:, None] % 5 == 0, profiles[:, ::-1], profiles)
        fit = fit_profile(features, wrong, BlockedKFold(5))
        assert fit.setting.p == p
        square = replace(fit.setting, p=None).regressor(*profile_training.SOLVED).fit(features, wrong)
        error, without = (
            np.abs(each.predict(features) - profiles).mean() for each in (fit.predictor, square.predictor_)
        )
        assert error < 0.95 * without

    def test_frames_without_a_profile_take_no_part(self, crowd):
        features, profiles = crowd
        more = np.vstack([features, features + 100])
        fit = fit_profile(more, np.vstack([profiles, np.full_like(profiles, np.nan)]), BlockedKFold(5))
        assert fit.setting == fit_profile(*crowd, BlockedKFold(5)).setting

    def test_too_few_frames_are_refused(self, crowd):
        features, profiles = crowd
        profiles = np.where(np.arange(80)[:, None] < 9, profiles, np.nan)
        with pytest.raises(DatasetError, match=r"at least 10 frames in which hall tells where.*found 9"):
            fit_profile(features, profiles, BlockedKFold(5), "hall")

    def test_frames_with_nobody_tell_nothing_of_where_people_are(self):
        profiles = np.zeros((20, 4))
        profiles[:9] = 1
        with pytest.raises(DatasetError, match="found 9"):
            fit_profile(np.random.default_rng(0).normal(size=(20, 2)), profiles, BlockedKFold(5))


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """A simulated clip of 60 frames with its boxes and scene."""
    folder = tmp_path_factory.mktemp("clip")
    spec = preset("plaza", seed=3, size_wh=(320, 240), n_frames=60, people=6.0)
    write_clip(spec, folder / "hall.avi")
    return folder / "hall.avi"


@pytest.fixture(scope="module")
def trained(clip):
    """The model file, and what training printed as JSON."""
    model = clip.with_name("profile.npz")
    labels = ["--mot", clip.with_suffix(".gt.txt"), "--annotated", "1-60"]
    scene = ["--scene", clip.with_suffix(".scene.json")]
    result = run("train", clip, *labels, *scene, "-m", model, "--target", "profile", "--json", "-q")
    assert result.exit_code == 0, result.output
    return model, json.loads(result.stdout)


class TestModel:
    def test_training_tells_the_profiles_errors(self, trained):
        profile = trained[1]["profile"]
        assert profile["bands"] == N_BANDS
        assert 0 < profile["errors"]["distance"] < profile["errors"]["baseline"]
        assert profile["integral"]["n"] == 60

    def test_it_is_kept_in_the_models_file(self, trained, tmp_path):
        model = load_model(trained[0])
        assert model.facts["profile"]["bands"] == N_BANDS
        features = np.random.default_rng(0).uniform(0, 5, (3, len(model.columns)))
        counts = np.array([3.0, 0.0, 7.5])
        densities = model.predict_profile(features, counts)
        np.testing.assert_allclose(densities.mean(axis=1), counts)
        model.save(tmp_path / "again.npz")
        again = load_model(tmp_path / "again.npz")
        np.testing.assert_array_equal(again.predict_profile(features, counts), densities)
        bare = replace(model, profile=None)
        with pytest.raises(ModelError, match="--target profile"):
            bare.predict_profile(features, counts)

    def test_a_profile_of_other_columns_is_refused(self, trained, tmp_path):
        replace(load_model(trained[0]), per_cell=True, fullness=None, edges=None).save(tmp_path / "m.npz")
        with pytest.raises(ModelError, match="the profile does not fit the"):
            load_model(tmp_path / "m.npz")

    def test_counts_alone_do_not_tell_where_people_are(self, street, tmp_path):
        result = run("train", street.frames, "--counts", street.labels, "-m", tmp_path / "m.npz", "--target",
                     "profile", "-q")  # fmt: skip
        assert result.exit_code == 1
        assert "does not tell where people are" in result.output
        assert "dots (--counts)" in result.output
        assert not (tmp_path / "m.npz").exists()

    def test_ready_made_features_do_not_either(self, data_dir, tmp_path):
        file = data_dir / "mall" / "mall_feat.mat"
        result = run("train", file, "-m", tmp_path / "m.npz", "--target", "profile", "-q")
        assert result.exit_code == 1
        assert "does not tell where people are" in result.output


class TestCounting:
    def test_the_files_integrals_are_the_counts(self, clip, trained, tmp_path):
        counts, profile = tmp_path / "c.csv", tmp_path / "p.parquet"
        result = run("count", clip, "-m", trained[0], "-o", counts, "--profile", profile, "--start-time",
                     "2024-05-01T08:00:00", "--end", "20", "--plot", tmp_path / "p.png", "--overlay",
                     tmp_path / "o.avi", "-q")  # fmt: skip
        assert result.exit_code == 0, result.output
        rows = read_counts(counts)
        table = parquet.read_table(profile)
        assert table.column_names[:4] == ["frame", "time_s", "time", "count"]
        densities = np.column_stack([table[f"density_{k}"].to_numpy() for k in range(1, N_BANDS + 1)])
        np.testing.assert_allclose(densities.mean(axis=1), [row.count for row in rows], atol=2e-4)
        assert (densities >= 0).all()
        assert densities.std(axis=1).min() > 0
        assert table["frame"].to_pylist() == [row.frame for row in rows]
        assert (tmp_path / "p.png").stat().st_size > 20_000
        assert (tmp_path / "o.avi").exists()

    def test_bands_are_where_a_moved_camera_shows_them(self, clip, trained, tmp_path):
        video = cv2.VideoCapture(str(clip))
        for k in range(20):
            image = video.read()[1]
            cv2.imwrite(str(tmp_path / f"{k:04}.png"), np.vstack([image[24:], image[:24]]))
        video.release()
        options = {"model": trained[0], "fps": 8.0}
        with open_counting(clip, **options) as before, open_counting(tmp_path, **options) as moved:
            in_place, shifted = next(before.frames()), next(moved.frames())
        assert "shifted_back" in shifted.row.flags
        expected = np.clip(in_place.profile.rows - 24, 0, 240)
        np.testing.assert_allclose(shifted.profile.rows, expected, atol=0.5)

    def test_a_frame_that_cannot_be_decoded_has_no_density(self, tmp_path):
        with open_profiles(tmp_path / "p.csv", 2, None) as write:
            profile = Profile(np.array([2.0, 4.0]), np.arange(3.0), 9.0)
            write(FrameCount(0, 0.0, 3.0, 2.0, 4.0), profile)
            write(FrameCount(1, 0.5, np.nan, np.nan, np.nan, ("undecodable",)), None)
        lines = (tmp_path / "p.csv").read_text().splitlines()
        assert lines == ["frame,time_s,count,density_1,density_2", "0,0.0,3.0,2.0,4.0", "1,0.5,,,"]

    def test_a_model_without_profile_is_refused_before_counting(self, clip, tmp_path):
        result = run("count", clip, "-o", tmp_path / "c.csv", "--profile", tmp_path / "p.parquet")
        assert result.exit_code == 1
        assert "knows no density over depth; train one with --target profile" in result.output
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(("name", "code", "message"), [
        ("c.csv", 2, "two results would be written to"),
        ("p.txt", 1, r"expected a name ending in .csv or .jsonl or .parquet"),
    ])  # fmt: skip
    def test_wrong_names_are_refused(self, clip, trained, tmp_path, name, code, message):
        result = run("count", clip, "-m", trained[0], "-o", tmp_path / "c.csv", "--profile", tmp_path / name)
        assert result.exit_code == code
        assert message in result.output
        assert not list(tmp_path.iterdir())


class TestPictures:
    PROFILE = Profile(np.array([0.0, 20.0, 5.0]), np.array([30.0, 60.0, 90.0, 150.0]), 20.0)
    ROW = FrameCount(0, 0.0, 8.0, 7.0, 9.0)

    def test_the_strip_stands_beside_the_rows_of_its_bands(self):
        frame = np.full((160, 200, 3), 90, np.uint8)
        roi = np.ones((160, 200), bool)
        plain = draw_overlay(frame, roi, None, self.ROW)
        strip = draw_overlay(frame, roi, None, self.ROW, self.PROFILE).astype(int)
        rows, columns = np.nonzero((strip != plain).any(axis=2))
        assert columns.min() > 150
        assert (rows.min(), rows.max()) == (28, 151)
        far, middle, near = (strip[row, columns.max() - 5].sum() for row in (45, 75, 120))
        assert far < near < middle

    def test_the_plot_leaves_gaps_and_groups_many_frames(self, tmp_path):
        rows = [FrameCount(k, k / 10, 8.0, 7.0, 9.0) for k in range(2500)]
        profiles = [None if k < 500 else self.PROFILE for k in range(2500)]
        plot_counts(rows, tmp_path / "a.png", "a", profiles=profiles)
        plot_counts(rows, tmp_path / "b.png", "b", profiles=[None] * 2500)
        with_strip, without = (cv2.imread(str(tmp_path / f"{name}.png")).shape[0] for name in "ab")
        assert with_strip > without
