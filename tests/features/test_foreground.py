import copy
import itertools
from dataclasses import replace

import cv2
import numpy as np
import pytest

from features import background
from features.background import LEARNING_FRAMES, MIN_LEARNING_FRAMES, kept_frames
from features.empty_scene import EmptyScene
from features.foreground import Segmenter, look_step
from features.view import CAMERA_SHIFT_CHECKS

WIDTH, HEIGHT = 160, 120
ROI = np.ones((HEIGHT, WIDTH), bool)
PERSON = 44
#: Frames per second of still images taken now and then, and of video.
LOW, HIGH = 1.0, 10.0
both_rates = pytest.mark.parametrize("rate", [LOW, HIGH], ids=["stills", "video"])


def tiles(seed=0):
    """An empty scene (H + 60, W + 60, 3) float32 with corners everywhere, larger than the view."""
    rng = np.random.default_rng(seed)
    scene = cv2.resize(rng.uniform(90, 150, (8, 10, 3)).astype(np.float32), (WIDTH + 60, HEIGHT + 60))
    for _ in range(150):
        x, y, w, h = rng.integers(0, (WIDTH + 50, HEIGHT + 50, 25, 25)).tolist()
        cv2.rectangle(scene, (x, y), (x + w + 4, y + h + 4), rng.uniform(70, 170, 3).tolist(), -1)
    return scene


SCENE = tiles()


def person_mask(middle_x, foot_y, height=PERSON):
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.circle(mask, (round(middle_x), round(foot_y - 0.9 * height)), round(0.09 * height), 1, -1)
    cv2.ellipse(mask, (round(middle_x), round(foot_y - 0.58 * height)),
                (round(0.17 * height), round(0.27 * height)), 0, 0, 360, 1, -1)  # fmt: skip
    left = round(middle_x - 0.12 * height)
    mask[round(foot_y - 0.45 * height) : round(foot_y), max(0, left) : left + round(0.24 * height)] = 1
    return mask.astype(bool)


RANDOM = np.random.default_rng(1)
#: Of all cameras: it takes long to draw.
NOISE = RANDOM.normal(0, 2, (8, HEIGHT, WIDTH, 3)).astype(np.float32)


class Camera:
    """Draws frames with noise of 2 grey levels: people, their cast shadows, light and a view that shifts."""

    def __init__(self):
        self._rng = copy.deepcopy(RANDOM)

    def __call__(self, *people, shadows=(), gain=1.0, shift=(0, 0)):
        """Frame (H, W, 3) uint8; people and shadows are masks, gain a number or (H, W, 1)."""
        dx, dy = shift
        image = SCENE[30 - dy : 30 - dy + HEIGHT, 30 - dx : 30 - dx + WIDTH].copy()
        for shadow in shadows:
            image[shadow] *= 0.7
        for number, mask in enumerate(people):
            image[mask] = [(20, 30, 60), (210, 205, 215), (60, 20, 30), (15, 15, 15)][number % 4]
        image = image * np.float32(gain) + NOISE[self._rng.integers(len(NOISE))]
        return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def walk(camera, n_frames, **options):
    """Frames and true masks of one who walks across and one who comes nearer."""
    for k in range(n_frames):
        share = k / n_frames
        across, nearer = person_mask(12 + 136 * share, 56), person_mask(130 - 90 * share, 75 + 40 * share)
        yield camera(across, nearer, **options), across | nearer


def in_grey(frame):
    """As a camera shows it that has switched to infrared: (H, W, 3) uint8 without colours."""
    return cv2.merge([cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)] * 3)


def overlap(found, truth):
    return (found & truth).sum() / (found | truth).sum()


def learnt(rate, frames, roi=ROI):
    segmenter = Segmenter(rate, roi)
    segmenter.learn(list(frames))
    return segmenter


@pytest.fixture
def empty_scene():
    """A segmenter that knows the empty scene and has just seen it, and the camera that showed it."""

    def make(rate):
        camera = Camera()
        segmenter = learnt(rate, (camera() for _ in range(20)))
        assert segmenter.apply(camera()).flags == ()
        return segmenter, camera

    return make


class TestMasks:
    @both_rates
    def test_fit_people_who_walk(self, rate):
        clip = list(walk(Camera(), 60))
        segmenter = learnt(rate, (frame for frame, _ in clip))
        overlaps = []
        for frame, truth in clip:
            found = segmenter.apply(frame)
            assert found.flags == ()
            assert found.mask.dtype == bool
            overlaps.append(overlap(found.mask, truth))
        assert min(overlaps) > 0.7
        assert np.mean(overlaps) > 0.85

    @both_rates
    def test_of_frames_in_between_fit_too_and_leave_no_trace(self, rate):
        clip = list(walk(Camera(), 60))
        segmenter, other = (learnt(rate, (frame for frame, _ in clip)) for _ in range(2))
        overlaps = []
        for (frame, _), (between, truth) in zip(clip[::2], clip[1::2], strict=True):
            mask = segmenter.apply(frame).mask
            np.testing.assert_array_equal(mask, other.apply(frame).mask)
            overlaps.append(overlap(segmenter.in_between(between).mask, truth))
        assert min(overlaps) > 0.7
        assert np.mean(overlaps) > 0.85
        assert not segmenter.in_between(np.zeros_like(between)).mask.any()  # a cable failed
        assert not Segmenter(rate, ROI).in_between(between).mask.any()

    @both_rates
    def test_leave_out_most_of_a_cast_shadow(self, empty_scene, rate):
        segmenter, camera = empty_scene(rate)
        person, shadow = person_mask(50, 90), np.zeros_like(ROI)
        shadow[80:91, 58:100] = True
        found = segmenter.apply(camera(person, shadows=[shadow])).mask
        assert overlap(found, person) > 0.7
        assert found[shadow & ~person].mean() < 0.2

    @both_rates
    def test_lie_inside_the_region_of_interest(self, rate):
        roi = ROI.copy()
        roi[:, 80:] = False
        camera = Camera()
        segmenter = learnt(rate, (camera() for _ in range(20)), roi)
        found = segmenter.apply(camera(person_mask(40, 90), person_mask(120, 90))).mask
        assert not (found & ~roi).any()
        assert overlap(found, person_mask(40, 90)) > 0.7

    @both_rates
    def test_hold_who_stands_from_the_first_frame_on_and_leaves_later(self, rate):
        camera, person = Camera(), person_mask(70, 100)
        clip = [camera(person) if k < 40 else camera() for k in range(120)]
        found = learnt(rate, clip).apply(clip[0])
        assert overlap(found.mask, person) > 0.7

    @pytest.mark.parametrize("any_scene", [False, True])
    def test_show_people_where_others_pass_most_of_the_time(self, any_scene):
        camera, rng = Camera(), np.random.default_rng(3)
        path, clip = (slice(50, 110), slice(20, 140)), []
        for _ in range(LEARNING_FRAMES):  # clothes, mostly dark, hide two thirds of the path
            frame = camera()
            for left in rng.permutation(np.arange(20, 140, 10))[:8]:
                frame[path[0], left : left + 10] = rng.uniform(0, 85) + rng.integers(0, 20, 3)
            clip.append(frame)
        segmenter = Segmenter(HIGH, ROI, any_scene)
        segmenter.learn(clip)
        person = person_mask(80, 105)
        found = segmenter.apply(camera(person)).mask
        assert (overlap(found, person) > 0.7) == any_scene
        if any_scene:
            assert segmenter.apply(camera()).mask.mean() < 0.02

    def test_leaves_that_sway_are_no_people_who_pass(self):
        camera, rng = Camera(), np.random.default_rng(4)
        tree, leaf = (slice(10, 70), slice(40, 120)), np.array([20, 60, 30], np.uint8)
        clip = []
        for _ in range(LEARNING_FRAMES):  # leaves of two pixels hide half of what is behind them
            frame = camera()
            leaves = rng.random((30, 40)).repeat(2, axis=0).repeat(2, axis=1) < 0.5
            frame[tree][leaves] = leaf + rng.integers(0, 40, (leaves.sum(), 1), dtype=np.uint8)
            clip.append(frame)
        shares = []
        for any_scene in (False, True):
            segmenter = Segmenter(HIGH, ROI, any_scene)
            segmenter.learn(clip)
            shares.append(np.mean([segmenter.apply(frame).mask[tree].mean() for frame in clip[::6]]))
        assert shares[1] <= shares[0] + 0.05

    def test_edges_may_be_a_little_beside_where_they_were_in_any_scene(self):
        camera, shares = Camera(), []
        for any_scene in (False, True):
            segmenter = Segmenter(HIGH, ROI, any_scene)
            segmenter.learn([camera() for _ in range(20)])
            beside = cv2.warpAffine(camera(), np.float32([[1, 0, 0.4], [0, 1, 0]]), (WIDTH, HEIGHT))
            shares.append(segmenter.apply(beside).mask.mean())
        assert shares[0] > 0.002
        assert shares[1] == 0

    @pytest.mark.parametrize("in_colours", [True, False])
    def test_without_colours_half_as_dark_is_no_shadow_in_any_scene(self, in_colours):
        """Clothes that leave .6 of the light: with colours a shadow leaves as much."""
        camera, shade, person = Camera(), person_mask(50, 90), person_mask(110, 90)

        def frame(*darker):
            image = camera()
            for mask, share in zip((person, shade), darker, strict=False):
                image[mask] = np.rint(share * image[mask])
            return image if in_colours else in_grey(image)

        segmenter = Segmenter(HIGH, ROI, any_scene=True)
        segmenter.learn([frame() for _ in range(20)])
        found = segmenter.apply(frame(0.6, 0.8)).mask
        assert found[shade].mean() < 0.2
        assert (found[person].mean() > 0.8) != in_colours

    def test_are_about_the_same_in_empty_places_of_any_scene(self):
        clip = list(walk(Camera(), 60))
        plain, through = Segmenter(HIGH, ROI), Segmenter(HIGH, ROI, any_scene=True)
        for segmenter in (plain, through):
            segmenter.learn([frame for frame, _ in clip])
        for frame, truth in clip[::10]:
            assert overlap(through.apply(frame).mask, truth) >= overlap(plain.apply(frame).mask, truth) - 0.02

    @pytest.mark.parametrize("n_frames", [16, 24, 60])
    def test_fit_who_is_in_a_place_most_of_the_time_in_any_scene(self, n_frames):
        """In dark clothes of all colours: another one in each of 5 frames of 8."""
        camera, rng, place = Camera(), np.random.default_rng(4), person_mask(80, 100)
        frames = [camera() for _ in range(n_frames)]
        is_there = np.arange(n_frames) % 8 % 3 < 2
        is_there[::8] = False
        for frame in itertools.compress(frames, is_there):
            frame[place] = rng.uniform(0, 80, 3)
        segmenter = Segmenter(HIGH, ROI, any_scene=True)
        segmenter.learn(frames)
        found = np.array([segmenter.apply(frame).mask[place].mean() for frame in frames])
        assert found[~is_there].max() < 0.05
        assert found[is_there].mean() > 0.9

    @both_rates
    def test_are_the_same_on_a_second_run(self, rate):
        clip = [frame for frame, _ in walk(Camera(), 20)]
        first, second = learnt(rate, clip), learnt(rate, clip)
        assert all((first.apply(frame).mask == second.apply(frame).mask).all() for frame in clip)


class TestStandingPeople:
    ABSORPTION_S = 30.0

    @both_rates
    def test_stay_for_the_stated_time_and_are_absorbed_in_the_end(self, monkeypatch, empty_scene, rate):
        monkeypatch.setattr(background, "ABSORPTION_S", self.ABSORPTION_S)
        segmenter, camera = empty_scene(rate)
        person = person_mask(70, 100)
        seen = []
        for _ in range(round(2.3 * self.ABSORPTION_S * rate)):
            found = segmenter.apply(camera(person))
            assert found.flags == ()
            seen.append(found.mask[person].mean())
        until = [round(share * self.ABSORPTION_S * rate) for share in (0.8, 2.1)]
        assert min(seen[: until[0]]) > 0.8
        assert max(seen[until[1] :]) < 0.1


class TestKnownScene:
    """One sits somewhere most of the time."""

    SITTER = person_mask(110, 100)

    def known(self, gain=1.0):
        return learnt(HIGH, (Camera()(gain=gain) for _ in range(20))).empty

    def clip(self, n_frames, share, gain=1.0):
        """Frames in `share` of which the sitter is there; someone walks by."""
        camera = Camera()
        for k in range(n_frames):
            walker = person_mask(2 * k % 60, 60)
            there = (k * 7 % n_frames) < share * n_frames
            yield camera(walker, *([self.SITTER] if there else []), gain=gain)

    @pytest.mark.parametrize("gain", [0.7, 1.0, 1.2])
    @pytest.mark.parametrize(
        ("share", "any_scene", "stays"), [(0.8, False, True), (0.8, True, False), (0.95, False, False)]
    )
    def test_stays_where_it_is_seen_in_a_tenth_of_the_frames(self, share, any_scene, stays, gain):
        segmenter = Segmenter(HIGH, ROI, any_scene, self.known())
        segmenter.learn(list(self.clip(60, share)))
        camera, walker = Camera(), person_mask(40, 60)
        found = segmenter.apply(camera(walker, self.SITTER, gain=gain))
        assert overlap(found.mask & ~self.SITTER, walker & ~self.SITTER) > 0.7
        assert (found.mask[self.SITTER].mean() > 0.7) == stays
        assert found.flags == ()
        empty = segmenter.apply(camera(gain=gain)).mask
        assert (empty[self.SITTER].mean() < 0.1) == stays  # where the sitter was learnt, a ghost

    @pytest.mark.parametrize("share", [0.0, 0.8, 1.0])
    def test_stays_where_it_is_proven_however_long_it_is_hidden(self, share):
        proven = replace(self.known(), is_proven=self.SITTER)
        segmenter = Segmenter(HIGH, ROI, known=proven)
        for _ in range(2):  # what is learnt of the footage is proven there too
            segmenter.learn(list(self.clip(60, share)))
            found = segmenter.apply(Camera()(self.SITTER)).mask
            assert found[self.SITTER].mean() > 0.7
            assert segmenter.apply(Camera()()).mask.mean() < 0.01
            assert (segmenter.first.is_proven == self.SITTER).all()

    @pytest.mark.parametrize(
        ("of_known", "of_footage"), [(np.copy, in_grey), (in_grey, np.copy)], ids=["by day", "by night"]
    )
    @pytest.mark.parametrize("gain", [0.7, 1.0])
    def test_lends_no_colours_to_grey_footage_nor_takes_them(self, of_known, of_footage, gain):
        known = replace(self.known(), image_bgr=of_known(self.known().image_bgr), is_proven=self.SITTER)
        segmenter = Segmenter(HIGH, ROI, known=known)
        segmenter.learn([of_footage(frame) for frame in self.clip(60, 0.3, gain)])
        camera, walker = Camera(), person_mask(40, 60)
        found = segmenter.apply(of_footage(camera(walker, self.SITTER, gain=gain)))
        assert found.flags == ()
        assert overlap(found.mask, walker | self.SITTER) > 0.7
        assert segmenter.apply(of_footage(camera(gain=gain))).mask.mean() < 0.01

    @pytest.mark.parametrize(
        ("of_known", "of_footage"), [(np.copy, in_grey), (in_grey, np.copy)], ids=["by day", "by night"]
    )
    def test_that_frames_have_other_colours_than_it_is_told(self, of_known, of_footage):
        known = replace(self.known(), image_bgr=of_known(self.known().image_bgr))
        for of_learnt in (None, of_known, of_footage):
            segmenter = Segmenter(HIGH, ROI, known=known)
            if of_learnt is not None:
                segmenter.learn([of_learnt(frame) for frame in self.clip(60, 0.3)])
            for of_frames, is_recoloured in [(of_known, False), (of_footage, True)] * 2:
                for _ in range(look_step(HIGH)):
                    segmenter.apply(of_frames(Camera()()))
                assert segmenter.is_recoloured == is_recoloured

    def test_without_colours_tells_of_grey_footage_what_is_behind_who_stays(self):
        proven = replace(self.known(), is_proven=self.SITTER)
        segmenter = Segmenter(HIGH, ROI, known=proven)
        segmenter.learn([in_grey(frame) for frame in self.clip(60, 1.0)])
        assert segmenter.apply(in_grey(Camera()(self.SITTER))).mask[self.SITTER].mean() > 0.7
        assert segmenter.apply(in_grey(Camera()())).mask.mean() < 0.01

    def test_proven_places_go_with_the_picture(self):
        smaller = replace(self.known(), is_proven=self.SITTER).resized((WIDTH // 2, HEIGHT // 2))
        assert (smaller.is_proven == self.SITTER[::2, ::2]).mean() > 0.99
        assert self.known().resized((20, 10)).is_proven is None

    @pytest.mark.parametrize("cloudy", [0.15, 0.3])
    def test_gives_way_to_the_sun(self, cloudy):
        camera, sunny = Camera(), np.ones((HEIGHT, WIDTH, 1), np.float32)
        sunny[40:100, 30:90] = 1.5
        segmenter = Segmenter(HIGH, ROI, known=self.known())
        segmenter.learn([camera(gain=1.0 if k < 60 * cloudy else sunny) for k in range(60)])
        assert segmenter.apply(camera(gain=sunny)).mask.mean() < 0.02

    def test_is_not_the_one_after_a_move(self):
        camera = Camera()
        segmenter = learnt(HIGH, (camera() for _ in range(20)))
        for _ in range(200):
            segmenter.apply(camera(shift=(25, -20)))
        assert np.abs(segmenter.empty.image_bgr - camera().astype(int)).mean() > 8
        assert np.abs(segmenter.first.image_bgr - camera().astype(int)).mean() < 4

    def test_is_seen_from_the_first_frame_on_until_one_is_learnt(self):
        camera, segmenter = Camera(), Segmenter(HIGH, ROI, known=self.known())
        for _ in range(100):
            found = segmenter.apply(camera(self.SITTER))  # there from the beginning
            assert (found.flags, found.mask[self.SITTER].mean() > 0.7) == ((), True)
        assert segmenter.apply(camera(gain=0.8)).mask.mean() < 0.01

    def test_is_seen_in_one_grey_frame(self):
        found = Segmenter(HIGH, ROI, known=self.known()).apply(in_grey(Camera()(self.SITTER)))
        assert (found.flags, overlap(found.mask, self.SITTER) > 0.7) == ((), True)

    @pytest.mark.parametrize(("shift", "any_scene"), [((25, -20), False), ((0, 0), True)])
    def test_is_not_seen_in_another_view_nor_by_a_model_of_any_scene(self, shift, any_scene):
        found = Segmenter(HIGH, ROI, any_scene, self.known()).apply(Camera()(self.SITTER, shift=shift))
        assert not found.mask.any()
        assert ("camera_moved" in found.flags) != any_scene
        assert "learning" in found.flags

    @pytest.mark.parametrize("moves", [True, False])
    def test_stays_where_the_restless_hide_it_all_the_time(self, moves):
        """Who fidgets is somebody, what is still was put there."""
        camera, segmenter = Camera(), Segmenter(HIGH, ROI, known=self.known())

        def frame(k):
            clothes = 1 + 0.5 * np.sin(k * np.arange(HEIGHT) / 3)[:, None, None] * self.SITTER[..., None]
            return camera(self.SITTER, gain=clothes if moves else 1.0)

        segmenter.learn([frame(k) for k in range(20)])
        assert (segmenter.apply(frame(20)).mask[self.SITTER].mean() > 0.7) == moves
        assert segmenter.apply(camera()).mask.mean() < 0.01 or not moves  # where it was put, a ghost

    def test_is_told_by_its_own_noise_there_alone(self):
        known = self.known()
        known.threshold[:] = 60
        segmenter = Segmenter(HIGH, ROI, known=known)
        segmenter.learn(list(self.clip(60, 0.8)))
        elsewhere = np.zeros_like(ROI)
        elsewhere[80:100, 20:60] = True
        lighter = Camera()().astype(int) + 40 * (self.SITTER | elsewhere)[..., None]
        found = segmenter.apply(lighter.clip(0, 255).astype(np.uint8)).mask
        assert not found[self.SITTER].any()
        assert found[elsewhere].mean() > 0.95

    @pytest.mark.parametrize("for_now", [False, True])
    def test_is_the_one_learnt_first_but_of_one_moment(self, monkeypatch, for_now):
        monkeypatch.setattr(background, "ABSORPTION_S", 30.0)  # every tenth frame is kept
        camera, segmenter = Camera(), Segmenter(HIGH, ROI)
        segmenter.learn([camera() for _ in range(MIN_LEARNING_FRAMES)], for_now=for_now)
        for k in range(620):
            segmenter.apply(camera(*([self.SITTER] if k % 50 >= 10 else [])))
        found = segmenter.apply(camera(self.SITTER)).mask
        assert (found[self.SITTER].mean() > 0.7) == (not for_now)

    def test_of_one_moment_is_learnt_anew_within_seconds(self):
        camera, segmenter = Camera(), Segmenter(HIGH, ROI, any_scene=True)
        segmenter.learn([camera(self.SITTER) for _ in range(MIN_LEARNING_FRAMES)], for_now=True)
        ghosts = [segmenter.apply(camera()).mask[self.SITTER].mean() for _ in range(round(25 * HIGH))]
        assert ghosts[0] > 0.7
        assert ghosts[-1] == 0

    @pytest.mark.parametrize(("learns", "seconds"), [(False, [20, 40]), (True, [])])
    def test_that_is_seen_at_once_is_learnt_anew_within_seconds(self, learns, seconds):
        """As of a camera; of a recording the scene is learnt beforehand."""
        camera, segmenter = Camera(), Segmenter(HIGH, ROI, known=self.known())
        if learns:
            segmenter.learn([camera() for _ in range(20)])
        scenes = []
        for _ in range(round(50 * HIGH)):
            segmenter.apply(camera())
            scenes.append(segmenter.empty)
        changed = [n / HIGH for n, pair in enumerate(itertools.pairwise(scenes), 2) if pair[0] is not pair[1]]
        assert [second for second in changed if second > 5] == pytest.approx(seconds, abs=0.2)

    @pytest.mark.parametrize(("rate", "seconds"), [(2.0, [20, 40, 75, 150, 300, 600, 1200, 1800, 2400]),
                                                   (0.1, [160, 320, 600, 1200, 1800, 2400])])  # fmt: skip
    def test_of_one_moment_is_learnt_anew_from_all_that_followed(self, monkeypatch, rate, seconds):
        learnt = []
        model = background.MedianBackground(rate)
        monkeypatch.setattr(model, "_learn", lambda frames, *_, **__: learnt.append(frames[:, 0, 0, 0]))
        monkeypatch.setattr(background, "shows_nothing", lambda frame: False)
        model.learn(np.zeros((8, 1, 1, 3)), for_now=True)
        for number in range(1, round(2500 * rate)):
            if model.see():
                model.keep(np.full((1, 1, 3), number / rate))
        assert [round(one[-1]) for one in learnt[1:]] == seconds
        for seen_s in learnt[1:]:
            assert seen_s[0] <= max(seen_s[-1] - 1200, 0) + 20
            assert np.ptp(np.diff(seen_s)) <= 1 / rate


class TestResuming:
    @both_rates
    def test_goes_on_as_if_all_frames_had_been_seen(self, monkeypatch, rate):
        """In a light that waxes and wanes: every 4th frame is kept, between looks, and learnt from at 240."""
        monkeypatch.setattr(background, "ABSORPTION_S", 120 / rate)
        camera = Camera()
        gains = 1 + 0.1 * np.sin(np.arange(280) / 7)
        clip = [camera(person_mask(k % 150, 100), gain=gain) for k, gain in enumerate(gains)]
        whole, part = (learnt(rate, clip[::5]) for _ in range(2))
        for frame in clip[:260]:
            whole.apply(frame)
        part.resume(260, [clip[k] for k in kept_frames(260, rate)])
        np.testing.assert_array_equal(part.reference_bgr, whole.reference_bgr)
        for frame in clip[260:]:
            np.testing.assert_array_equal(part.apply(frame).mask, whole.apply(frame).mask)

    def test_learns_once_of_what_was_kept(self, monkeypatch):
        monkeypatch.setattr(background, "ABSORPTION_S", 30 / HIGH)  # every frame is kept
        camera, learnings = Camera(), []
        segmenter = learnt(HIGH, [camera() for _ in range(20)])
        learn = background.MedianBackground._learn

        def counted(*given, **named):
            learnings.append(1)
            learn(*given, **named)

        monkeypatch.setattr(background.MedianBackground, "_learn", counted)
        segmenter.resume(1000, [camera() for _ in kept_frames(1000, HIGH)])
        assert len(learnings) == 1
        for k in range(1001, 1050):
            segmenter.apply(camera())
            assert len(learnings) == (1 if k < 1020 else 2)

    def test_frames_of_a_camera_that_was_moved_twice_are_learnt_from_in_its_place(self, monkeypatch):
        monkeypatch.setattr(background, "ABSORPTION_S", 30 / HIGH)  # every frame is kept
        camera = Camera()
        segmenter = learnt(HIGH, [camera() for _ in range(20)])
        n_kept = len(kept_frames(1000, HIGH))
        segmenter.resume(1000, [camera(shift=(5, -3) if k < 4 else (-6, 4)) for k in range(n_kept)])
        inner = np.s_[8:-8, 8:-8]
        assert np.abs(segmenter.reference_bgr - camera().astype(int))[inner].mean() < 4
        assert segmenter.apply(camera(shift=(-6, 4))).flags == ("shifted_back",)

    def test_a_scene_that_was_learnt_in_another_view_is_not_brought_back(self):
        camera = Camera()
        segmenter = Segmenter(HIGH, ROI, known=learnt(HIGH, [camera() for _ in range(20)]).empty)
        segmenter.learn([camera(shift=(-28, 25)) for _ in range(20)])
        segmenter.resume(1000, [camera(shift=(5, -3))])
        assert not segmenter.is_shifted
        assert segmenter.apply(camera(shift=(-28, 25))).flags == ("camera_moved",)

    @pytest.mark.parametrize(
        ("length_s", "any_scene", "learnt_at"),
        [(0.0, False, [240, 360]), (24.1, False, [360]), (90.1, False, [240, 360]), (24.1, True, [240, 360])],
        ids=["unknown length", "short", "long", "any scene"],
    )
    def test_short_footage_has_one_scene(self, monkeypatch, length_s, any_scene, learnt_at):
        """Every 4th frame is kept, so 60 of the first 240 frames, and 30 more of each 120."""
        monkeypatch.setattr(background, "ABSORPTION_S", 120 / HIGH)
        monkeypatch.setattr(background, "ONE_SCENE_S", 90.0)
        camera, segmenter = Camera(), Segmenter(HIGH, ROI, any_scene)
        segmenter.learn([camera() for _ in range(20)], length_s)
        found, empty = [], segmenter.empty
        for k in range(400):
            segmenter.apply(camera())
            if segmenter.empty is not empty:
                found.append(k + 1)
                empty = segmenter.empty
        assert found == learnt_at

    def test_in_footage_longer_than_told_it_learns_when_all_of_that_is_over(self, monkeypatch):
        """Every 4th frame is kept; of 400 frames it is told 300, so the scene is learnt anew at 360."""
        monkeypatch.setattr(background, "ABSORPTION_S", 120 / HIGH)
        camera = Camera()
        clip = [camera(person_mask(k % 150, 100), gain=1 + k / 5000) for k in range(400)]
        whole, part = Segmenter(HIGH, ROI), Segmenter(HIGH, ROI)
        for segmenter in (whole, part):
            segmenter.learn(clip[:100:5], length_s=300 / HIGH)
        first = whole.empty
        learnt_at = []
        for k, frame in enumerate(clip):
            before = whole.empty
            whole.apply(frame)
            if whole.empty is not before:
                learnt_at.append(k + 1)
        assert learnt_at == [360]
        part.resume(330, [clip[k] for k in kept_frames(330, HIGH)])
        assert np.array_equal(part.reference_bgr, first.image_bgr)
        for frame in clip[330:]:
            part.apply(frame)
        np.testing.assert_array_equal(part.reference_bgr, whole.reference_bgr)


class TestLeastContrast:
    def test_is_the_threshold_as_a_share_of_the_brightness(self, empty_scene):
        assert Segmenter(10, ROI).least_contrast == 0
        segmenter, _ = empty_scene(10)
        brightness = cv2.cvtColor(segmenter.reference_bgr, cv2.COLOR_BGR2GRAY)
        expected = np.median(segmenter.empty.threshold / brightness)
        assert segmenter.least_contrast == pytest.approx(expected, rel=0.1)
        assert 0.05 < expected < 0.2

    @pytest.mark.parametrize(("gain", "noise", "times"), [(0.6, 0.0, (1.5, 1.8)), (1.0, 12.0, (1.5, 6.0))])
    def test_grows_as_it_gets_dark_and_noisy(self, empty_scene, gain, noise, times):
        segmenter, camera = empty_scene(10)
        by_day, random = segmenter.least_contrast, np.random.default_rng(0)
        for share in np.linspace(0, 1, 80):
            frame = camera(gain=1 + share * (gain - 1))
            frame = frame + random.normal(0, share * noise, frame.shape)
            segmenter.apply(np.clip(frame, 0, 255).astype(np.uint8))
        assert times[0] < segmenter.least_contrast / by_day < times[1]

    def test_grows_as_haze_gathers(self, empty_scene):
        """In which all is brighter, and some levels that were decoded are one of the scene."""
        segmenter, camera = empty_scene(10)
        clear = segmenter.least_contrast
        for share in np.linspace(0, 0.85, 120):
            segmenter.apply((camera() * (1 - share) + 190 * share).round().astype(np.uint8))
        brightness = cv2.cvtColor(segmenter.reference_bgr, cv2.COLOR_BGR2GRAY)
        assert segmenter.least_contrast == pytest.approx(np.median(5 / 0.15 / brightness), rel=0.1)
        assert segmenter.least_contrast > 2 * clear


def test_within_a_few_steps_of_what_was_decoded_nothing_is_foreground(empty_scene):
    """Where contrast is raised, noise that no frame to learn from has can be some steps, here fewer below."""
    segmenter, camera = empty_scene(10)
    segmenter.expect(False, np.where(np.arange(HEIGHT) < HEIGHT // 2, 6.0, 3.0)[:, None])
    segmenter.learn([camera() for _ in range(20)])
    threshold = segmenter.empty.threshold
    assert threshold[: HEIGHT // 2].min() == 30
    assert threshold[HEIGHT // 2 :].min() == 15


class TestLight:
    @both_rates
    @pytest.mark.parametrize("where", ["everywhere", "left to right", "a corner"])
    def test_slow_drift_is_no_foreground(self, rate, where):
        x = np.linspace(-1, 1, WIDTH, dtype=np.float32)[None, :, None]
        y = np.linspace(-1, 1, HEIGHT, dtype=np.float32)[:, None, None]
        field = {"everywhere": np.ones_like(x), "left to right": x,
                 "a corner": np.exp(-2 * ((x - 1) ** 2 + (y - 1) ** 2))}[where]  # fmt: skip
        camera, person = Camera(), person_mask(100, 100)
        gains = [1 + 0.2 * field * drift for drift in np.linspace(-1, 1, 80)]
        clip = [camera(gain=gain) for gain in gains]
        segmenter = learnt(rate, clip)
        for frame in clip:
            found = segmenter.apply(frame)
            assert found.flags == ()
            assert found.mask.mean() < 0.01
        found = segmenter.apply(camera(person, gain=gains[-1]))
        assert overlap(found.mask, person) > 0.7

    @both_rates
    @pytest.mark.parametrize("tones", ["haze", "fog", "shadows"])
    def test_haze_that_gathers_and_another_contrast_are_no_foreground(self, rate, tones):
        """Grass leaves no blue, and white paint saturates: no gain makes these in haze what they were."""
        levels = np.arange(256) / 255
        thickness = np.linspace(0.75, 0.2, HEIGHT)[:, None, None]

        def in_tones(share, image):
            image = image.copy()
            image[90:, :60, 0] = 0
            image[90:, 100:] = 255
            if tones == "fog":
                return (image + (190 - image.astype(float)) * thickness * share).round().astype(np.uint8)
            curve = levels ** (1 + 0.3 * share)
            if tones == "haze":
                curve = (1 - 0.3 * share) * levels + 0.2 * share
            return cv2.LUT(image, (255 * curve).round().astype(np.uint8))

        camera, person = Camera(), person_mask(80, 85)
        segmenter = learnt(rate, [in_tones(0, camera()) for _ in range(20)])
        for share in np.linspace(0, 1, 150):
            found = segmenter.apply(in_tones(share, camera()))
            assert found.flags == ()
            assert found.mask.mean() < 0.01
        for _ in range(look_step(rate)):
            found = segmenter.apply(in_tones(1, camera(person)))
        assert overlap(found.mask, person) > 0.7

    @both_rates
    def test_in_thick_haze_who_wears_black_is_no_shadow(self, rate):
        """Which is all that is left of black: a scene of 100 grey levels is 150 there, and black 118."""
        camera, shadow = Camera(), person_mask(40, 85)
        people = [person_mask(20 + 40 * k, 110) for k in range(3)] + [person_mask(120, 55)]

        def hazy(*people, shadows=()):
            return (0.4 * camera(*people, shadows=shadows) + 110).round().astype(np.uint8)

        segmenter = Segmenter(rate, ROI, known=learnt(rate, [camera() for _ in range(20)]).empty)
        segmenter.learn([hazy() for _ in range(20)])
        for _ in range(look_step(rate)):
            found = segmenter.apply(hazy(*people, shadows=[shadow]))
        black = people[3]
        assert found.mask[black].mean() > 0.8
        assert found.mask[shadow & ~np.any(people, axis=0)].mean() < 0.1

    @both_rates
    def test_what_is_white_in_less_light_too_is_no_foreground(self, rate):
        camera, person, lamp = Camera(), person_mask(80, 85), np.zeros((HEIGHT, WIDTH), bool)
        lamp[20:90, 60:100] = True

        def lit(gain, *people):
            image = camera(*people, gain=gain)
            image[~np.any([~lamp, *people], axis=0)] = 255
            return image

        segmenter = learnt(rate, [lit(1.0) for _ in range(20)])
        for gain in np.linspace(1, 0.8, 40):
            found = segmenter.apply(lit(gain))
            assert found.flags == ()
            assert found.mask.mean() < 0.01
        assert overlap(segmenter.apply(lit(0.8, person)).mask, person) > 0.7

    @both_rates
    def test_what_is_white_in_the_lights_of_all_pieces_is_no_foreground(self, rate):
        """As a recorder that is triggered by motion puts them together."""
        camera, lamp = Camera(), np.zeros((HEIGHT, WIDTH), bool)
        lamp[20:90, 60:100] = True

        def lit(gain):
            image = camera(gain=gain)
            image[lamp] = 255
            return image

        segmenter = learnt(rate, [lit(gain) for gain in (0.94, 1.06) for _ in range(20)])
        for gain in (0.94, 1.06, 1.0):
            for _ in range(look_step(rate)):
                found = segmenter.apply(lit(gain))
            assert found.flags == ()
            assert found.mask.mean() < 0.01

    @pytest.mark.parametrize("white", [(253, 250, 245), (240, 240, 240)])
    def test_what_is_white_by_another_white_balance_is_no_foreground(self, white):
        """It saturates in some channels of one of the lights; encoded, that is 252 as well as 255."""
        camera, van, person = Camera(), np.zeros((HEIGHT, WIDTH), bool), person_mask(80, 85)
        van[20:90, 20:60] = True

        def lit(gains, *people):
            image = camera(*people, gain=np.float32(gains))
            image[van] = np.minimum(np.multiply(white, gains), 255) - rng.integers(0, 4, (van.sum(), 1))
            return image

        rng, lights = np.random.default_rng(0), ((1, 1, 1), (0.75, 1, 1.25))
        segmenter = Segmenter(HIGH, ROI, any_scene=True)
        segmenter.learn([lit(gains) for gains in lights for _ in range(21)])
        for gains in lights:
            for _ in range(look_step(HIGH)):
                found = segmenter.apply(lit(gains))
            assert found.mask.mean() < 0.005
            assert overlap(segmenter.apply(lit(gains, person)).mask, person) > 0.7

    @pytest.mark.parametrize("any_scene", [False, True])
    def test_out_of_focus_the_edges_of_the_scene_are_no_foreground(self, any_scene):
        camera, person = Camera(), person_mask(80, 85)
        segmenter = Segmenter(HIGH, ROI, any_scene=any_scene)
        segmenter.learn([camera() for _ in range(20)])
        for blur in (0.1, 2.0, 0.1, 1.2):
            for _ in range(look_step(HIGH)):
                found = segmenter.apply(cv2.GaussianBlur(camera(), (0, 0), blur))
            assert found.mask.mean() < 0.01
            assert found.flags == ()
            found = segmenter.apply(cv2.GaussianBlur(camera(person), (0, 0), blur))
            assert overlap(found.mask, person) > 0.6

    @pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
    def test_of_footage_that_was_out_of_focus_for_a_while_the_rest_is_learnt(self, share):
        camera = Camera()
        clip = [camera() for _ in range(40)]
        for k in range(int(share * 40)):
            clip[k] = cv2.GaussianBlur(clip[k], (0, 0), 2.0)
        segmenter = learnt(HIGH, clip)
        sharp = learnt(HIGH, clip[-12:])
        assert np.abs(segmenter.reference_bgr.astype(int) - sharp.reference_bgr).mean() < 1
        for frame in (clip[0], clip[-1]):
            for _ in range(look_step(HIGH)):
                found = segmenter.apply(frame)
            assert found.mask.mean() < 0.01

    def test_a_scene_that_was_learnt_out_of_focus_is_learnt_anew(self):
        camera, person = Camera(), person_mask(80, 85)
        segmenter = learnt(HIGH, [cv2.GaussianBlur(camera(), (0, 0), 2.0) for _ in range(20)])
        flags = [segmenter.apply(camera()).flags for _ in range(60)]
        assert ("light_change",) in flags[: look_step(HIGH) + 1]
        assert flags[-1] == ()
        found = segmenter.apply(camera(person))
        assert overlap(found.mask, person) > 0.7

    def test_what_an_exposure_that_hunts_makes_white_is_no_foreground(self):
        """Coding spreads the colours around: in a channel it is hardly as white as in the others."""
        camera, sign, person = Camera(), np.zeros((HEIGHT, WIDTH), bool), person_mask(80, 85)
        sign[20:90, 20:60] = True

        def lit(gain, *people):
            image = camera(*people, gain=gain)
            image[sign] = (253, 252, 229) if gain == 1 else (254, 255, 246)
            return image

        segmenter = Segmenter(HIGH, ROI, any_scene=True)
        segmenter.learn([lit(gain) for gain in (1.35, 1.35, 1.35, 1, 1) for _ in range(10)])
        for gain in (1, 1.35):
            for _ in range(look_step(HIGH)):
                found = segmenter.apply(lit(gain))
            assert found.mask.mean() < 0.005
            assert overlap(segmenter.apply(lit(gain, person)).mask, person) > 0.7

    @both_rates
    def test_darkness_at_a_clips_beginning_is_no_sudden_change(self, rate):
        camera = Camera()
        clip = [camera(gain=gain) for gain in np.linspace(0.65, 1.2, 60)]
        segmenter = learnt(rate, clip)
        assert [segmenter.apply(frame).flags for frame in clip[:10]] == [()] * 10

    def test_a_smaller_step_is_evened_out_between_looks(self, empty_scene):
        segmenter, camera = empty_scene(HIGH)
        found = segmenter.apply(camera(gain=1.15))
        assert found.flags == ()
        assert found.mask.mean() < 0.01

    @both_rates
    @pytest.mark.parametrize("gain", [0.6, 1.4])
    def test_a_sudden_change_is_flagged_learnt_and_over(self, empty_scene, rate, gain):
        segmenter, camera = empty_scene(rate)
        person = person_mask(70, 100)
        flagged = [segmenter.apply(camera(gain=gain)).flags for _ in range(look_step(rate))]
        assert flagged[-1] == ("light_change",)
        learning = (MIN_LEARNING_FRAMES + 1) * max(1, round(rate / 2))
        flags = [segmenter.apply(camera(gain=gain)).flags for _ in range(learning)]
        assert flags[0] == ("light_change",)
        assert flags[-1] == ()
        for _ in range(look_step(rate)):
            found = segmenter.apply(camera(person, gain=gain))
            assert found.flags == ()
            assert overlap(found.mask, person) > 0.7

    @both_rates
    @pytest.mark.parametrize("gain", [0.6, 1.4])
    def test_a_scene_that_a_change_leaves_as_it_is_has_no_ghost_of_who_stands_there(
        self, empty_scene, rate, gain
    ):
        segmenter, camera = empty_scene(rate)
        person, scene = person_mask(70, 100), segmenter.empty
        for _ in range((MIN_LEARNING_FRAMES + 2) * max(1, round(rate / 2)) + look_step(rate)):
            segmenter.apply(camera(person, gain=gain))
        found = segmenter.apply(camera(person, gain=gain))
        assert found.flags == ()
        assert overlap(found.mask, person) > 0.7
        assert segmenter.apply(camera(gain=gain)).mask.mean() < 0.01
        assert segmenter.empty is scene

    @both_rates
    @pytest.mark.parametrize("gain", [0.4, 1.5])
    def test_a_lamp_over_a_part_of_the_scene_is_flagged_and_no_foreground(self, empty_scene, rate, gain):
        segmenter, camera = empty_scene(rate)
        people = person_mask(120, 100), person_mask(40, 100)
        lamp = np.ones((HEIGHT, WIDTH, 1), np.float32)
        lamp[:, 85:] = gain
        found = [
            segmenter.apply(camera(*people, gain=lamp))
            for _ in range((MIN_LEARNING_FRAMES + 2) * max(1, round(rate / 2)) + look_step(rate))
        ]
        assert found[0].flags == ("light_change",)
        assert found[-1].flags == ()
        assert overlap(found[-1].mask, people[0] | people[1]) > 0.7
        assert segmenter.apply(camera(gain=lamp)).mask.mean() < 0.02

    @pytest.mark.parametrize("any_scene", [True, False])
    @pytest.mark.parametrize("seconds", [10, 20])
    def test_a_clouds_shadow_is_followed_while_it_comes_and_goes(self, seconds, any_scene):
        camera, person = Camera(), person_mask(100, 100)
        segmenter = Segmenter(HIGH, ROI, any_scene)
        segmenter.learn([camera() for _ in range(20)])
        across = (np.arange(WIDTH)[None, :, None] + 0.4 * np.arange(HEIGHT)[:, None, None]) / WIDTH
        masks, overlaps = [], []
        for k in range(round(2 * seconds * HIGH)):
            begin, end = (1.5 * (k / HIGH - 1 - past) / seconds - 0.2 for past in (0, 0.6 * seconds))
            shade = [1 / (1 + np.exp(np.clip(15 * (across - edge), -50, 50))) for edge in (begin, end)]
            cloud = 1 - 0.4 * (shade[0] - shade[1])
            found = segmenter.apply(camera(person, gain=cloud))
            overlaps.append(overlap(found.mask, person))
            masks.append((found.mask & ~person).mean())
        assert max(masks) < 0.05
        assert np.mean(overlaps) > 0.75

    def test_a_crowd_in_dark_clothes_is_no_lack_of_light(self, empty_scene):
        segmenter, camera = empty_scene(HIGH)
        crowd = np.any([person_mask(x, 110, 100) for x in range(90, 170, 8)], axis=0)
        found = segmenter.apply(camera(crowd))
        assert found.flags == ()
        assert overlap(found.mask, crowd) > 0.8

    @both_rates
    @pytest.mark.parametrize("tones", [lambda x: 0.35 * x, lambda x: 0.6 * x + 60], ids=["dusk", "fog"])
    def test_another_days_light_is_brought_to_the_known_one(self, rate, tones):
        """Whoever differs from the scene differs as much as on the day that is known."""
        camera, person = Camera(), person_mask(80, 100)
        known = learnt(rate, [camera() for _ in range(20)])
        frames = [tones(camera().astype(float)).round().astype(np.uint8) for _ in range(20)]
        grey = camera().astype(float)
        grey[person] += 30
        seen = tones(grey.clip(0, 255)).round().astype(np.uint8)
        segmenter = Segmenter(rate, ROI, known=known.empty)
        segmenter.learn(frames)
        assert np.abs(segmenter.reference_bgr.astype(int) - known.reference_bgr).mean() < 2
        found = segmenter.apply(seen)
        assert found.flags == ()
        assert overlap(found.mask, person) > 0.9
        assert np.abs(found.light.evened_out(seen).astype(int) - grey).mean() < 4
        assert overlap(learnt(rate, frames).apply(seen).mask, person) < 0.5

    def test_a_known_light_that_is_about_the_same_changes_nothing(self):
        camera = Camera()
        frames = [camera(gain=1.05) for _ in range(20)]
        known = learnt(LOW, [camera() for _ in range(20)])
        segmenter = Segmenter(LOW, ROI, known=known.empty)
        segmenter.learn(frames)
        np.testing.assert_array_equal(segmenter.reference_bgr, learnt(LOW, frames).reference_bgr)

    @both_rates
    @pytest.mark.parametrize("any_scene", [True, False])
    def test_a_camera_that_switches_to_infrared_and_back_is_flagged_learnt_and_over(self, rate, any_scene):
        camera, person = Camera(), person_mask(70, 100)
        segmenter = Segmenter(rate, ROI, any_scene)
        segmenter.learn([camera() for _ in range(20)])
        assert segmenter.apply(camera()).flags == ()
        for of_night in (in_grey, np.copy):
            flagged = [segmenter.apply(of_night(camera())).flags for _ in range(look_step(rate))]
            assert flagged[-1] == ("light_change",)
            for _ in range((MIN_LEARNING_FRAMES + 1) * max(1, round(rate / 2))):
                segmenter.apply(of_night(camera()))
            for _ in range(2 * look_step(rate)):
                found = segmenter.apply(of_night(camera(person)))
                assert found.flags == ()
                assert overlap(found.mask, person) > 0.7

    @pytest.mark.parametrize(("n_grey", "is_learnt"), [(4, False), (5, True)])
    def test_another_light_in_which_a_few_frames_seem_grey_is_explained(self, empty_scene, n_grey, is_learnt):
        """As in haze, which leaves hardly any colour."""
        segmenter, camera = empty_scene(LOW)
        known = segmenter.empty
        assert segmenter.apply(camera(gain=0.7)).flags == ("light_change",)
        for k in range(MIN_LEARNING_FRAMES):
            frame = camera(gain=0.7)
            faded = cv2.addWeighted(in_grey(frame), 0.93, frame, 0.07, 0)
            segmenter.apply(faded if k < n_grey else frame)
        assert (segmenter.empty is not known) == is_learnt

    @both_rates
    @pytest.mark.parametrize("n_first", [10, 30, 50])
    def test_of_footage_of_day_and_night_the_beginning_is_learnt(self, rate, n_first):
        camera, person = Camera(), person_mask(70, 100)
        segmenter = learnt(rate, [in_grey(camera()) if k < n_first else camera() for k in range(60)])
        found = segmenter.apply(in_grey(camera(person)))
        assert found.flags == ()
        assert overlap(found.mask, person) > 0.7
        assert segmenter.apply(in_grey(camera())).mask.mean() < 0.01

    @both_rates
    @pytest.mark.parametrize("gain", [1 / 8, 1 / 12, 1 / 20])
    def test_a_lamp_that_goes_out_is_flagged_once_and_noise_in_the_dark_is_not(self, empty_scene, rate, gain):
        segmenter, camera = empty_scene(rate)
        learning = MIN_LEARNING_FRAMES * max(1, round(rate / 2))
        flags = [segmenter.apply(camera(gain=gain)).flags for _ in range(400)]
        assert flags[0] == ("light_change",)
        assert not any(flags[learning:])
        assert segmenter.apply(camera()).flags == ("light_change",)

    @both_rates
    @pytest.mark.parametrize("gains", [(1 / 12, 1.0), (1 / 2, 1 / 6)], ids=["flickers", "one by one"])
    def test_lamps_that_change_while_the_scene_is_learnt_leave_no_mixture(self, empty_scene, rate, gains):
        segmenter, camera = empty_scene(rate)
        step = max(1, round(rate / 2))
        for _ in range(4 * step):
            assert segmenter.apply(camera(gain=gains[0])).flags == ("light_change",)
        for _ in range((MIN_LEARNING_FRAMES - 1) * step):
            assert segmenter.apply(camera(gain=gains[1])).flags == ("light_change",)
        for _ in range(look_step(rate) + step):
            found = segmenter.apply(camera(person_mask(70, 100), gain=gains[1]))
        assert found.flags == ()
        assert overlap(found.mask, person_mask(70, 100)) > 0.7

    @pytest.mark.parametrize("any_scene", [True, False])
    def test_bands_of_a_lamp_that_flickers_are_no_foreground(self, any_scene):
        camera, rows = Camera(), np.arange(HEIGHT)[:, None, None] / HEIGHT
        people = [person_mask(x, y) for x, y in ((20, 100), (60, 105), (100, 95), (140, 100))]
        segmenter = Segmenter(HIGH, ROI, any_scene)
        segmenter.learn([camera() for _ in range(20)])
        for k in range(60):
            bands = 1 + 0.07 * np.sin(2 * np.pi * (1.5 * rows + 0.37 * k)) if k >= 20 else 1.0
            found = segmenter.apply(camera(*people, gain=bands))
            if k > 20 + look_step(HIGH):
                assert found.flags == ()
                assert overlap(found.mask, np.any(people, axis=0)) > 0.8

    def test_an_exposure_that_hunts_is_looked_at_in_each_frame(self, empty_scene):
        segmenter, camera = empty_scene(HIGH)
        masks = []
        for k in range(300):
            found = segmenter.apply(camera(gain=1 + 0.25 * np.sin(2 * np.pi * k / 40)))
            masks.append(found.mask.mean())
        assert max(masks[2 * look_step(HIGH) :]) < 0.01
        assert found.flags == ()

    @both_rates
    def test_a_lamp_over_most_of_the_scene_is_learnt(self, empty_scene, rate):
        segmenter, camera = empty_scene(rate)
        lamp = np.ones((HEIGHT, WIDTH, 1), np.float32)
        lamp[:, 40:] = np.linspace(1.4, 1.9, WIDTH - 40)[None, :, None]
        found = [segmenter.apply(camera(gain=lamp)) for _ in range(round(8 * max(rate, 2)))]
        assert found[0].flags == ("light_change",)
        assert found[-1].flags == ()
        assert found[-1].mask.mean() < 0.01

    def test_it_may_come_and_go(self, empty_scene):
        segmenter, camera = empty_scene(LOW)
        for gain in (0.6, 1.0, 0.6):
            found = [segmenter.apply(camera(gain=gain)) for _ in range(MIN_LEARNING_FRAMES + 2)]
            assert found[0].flags == ("light_change",)
            assert found[-1].flags == ()
            assert found[-1].mask.mean() < 0.01

    def test_a_beacon_is_learnt_in_the_end(self, empty_scene):
        segmenter, camera = empty_scene(HIGH)
        found = [segmenter.apply(camera(gain=1.0 if k % 6 < 3 else 0.6)) for k in range(600)]
        learnt_now = [not one.flags for one in found[200:]]
        assert np.mean(learnt_now) > 0.1
        assert max(one.mask.mean() for one in found[200:] if not one.flags) < 0.05


class TestNoise:
    @pytest.fixture
    def noisy(self):
        """Adds noise of some spread to a frame, other noise each time."""
        rng = np.random.default_rng(3)

        def add(frame, spread):
            return np.clip(np.rint(frame + rng.normal(0, spread, frame.shape)), 0, 255).astype(np.uint8)

        return add

    def test_a_noisier_picture_leaves_no_foreground_but_people(self, empty_scene, noisy):
        segmenter, camera = empty_scene(HIGH)
        person = person_mask(70, 100)
        for k in range(60):
            found = segmenter.apply(noisy(camera(person), 6 if k >= 20 else 0))
            assert found.flags == ()
            assert overlap(found.mask, person) > 0.65
        assert segmenter.apply(noisy(camera(), 6)).mask.mean() < 0.001

    def test_much_noise_is_flagged_until_it_is_over(self, empty_scene, noisy):
        segmenter, camera = empty_scene(HIGH)
        flags = [segmenter.apply(noisy(camera(), 20 if 20 <= k < 40 else 0)).flags for k in range(60)]
        assert set(flags[20:40]) == {("noisy",)}
        assert flags[:20] == [()] * 20
        assert flags[40:] == [()] * 20

    def test_is_learnt_with_the_scene(self, empty_scene, noisy):
        segmenter, camera = empty_scene(HIGH)
        segmenter.learn([noisy(camera(), 20) for _ in range(20)])
        assert segmenter.apply(noisy(camera(), 20)).flags == ()


class TestRain:
    """Drops or flakes are somewhere else in each frame; people walk a pixel or two."""

    PEOPLE = person_mask(40, 100), person_mask(110, 90)

    def clip(self, n_frames, drops):
        """Frames with so many streaks, and masks of two who walk about."""
        camera, rng = Camera(), np.random.default_rng(7)
        for k in range(n_frames):
            step = round(10 * np.sin(k / 8))
            people = [np.roll(person, step, axis=1) for person in self.PEOPLE]
            frame = camera(*people)
            for x, y in rng.integers(0, (WIDTH, HEIGHT), (drops, 2)).tolist():
                cv2.line(frame, (x, y), (x + 1, y + 8), (225, 225, 225), 2)
            yield frame, people[0] | people[1]

    @pytest.mark.parametrize("any_scene", [True, False])
    def test_leaves_no_foreground_but_people(self, any_scene):
        segmenter, camera = Segmenter(HIGH, ROI, any_scene), Camera()
        segmenter.learn([camera() for _ in range(20)])
        found = [segmenter.apply(frame) for frame, _ in self.clip(60, 30)]
        truths = [people for _, people in self.clip(60, 30)]
        unseen = [overlap(segmenter.apply_again(frame).mask, people) for frame, people in self.clip(3, 30)]
        assert max(unseen) < 0.65
        settled = list(zip(found[2:], truths[1:], strict=False))
        assert min(overlap(one.mask, people) for one, people in settled) > 0.8
        assert not any(one.flags for one, _ in settled)
        *_, (between, people), (_, _), (following, _) = self.clip(63, 30)
        twin = copy.deepcopy(segmenter)
        assert overlap(segmenter.in_between(between).mask, people) > 0.8
        np.testing.assert_array_equal(segmenter.apply(following).mask, twin.apply(following).mask)

    def test_is_over_when_it_is(self, empty_scene):
        segmenter, _ = empty_scene(HIGH)
        for frame, _ in self.clip(50, 30):
            found = segmenter.apply(frame)
        assert found.image_bgr is not frame
        for frame, _ in self.clip(50, 0):
            found = segmenter.apply(frame)
        assert found.image_bgr is frame

    @pytest.mark.parametrize(("drops", "rate"), [(0, HIGH), (3, HIGH), (30, LOW)])
    def test_frames_stay_as_they_are_otherwise(self, empty_scene, drops, rate):
        segmenter, _ = empty_scene(rate)
        for frame, _ in self.clip(50, drops):
            assert segmenter.apply(frame).image_bgr is frame

    def test_a_time_lapse_is_none(self, empty_scene):
        """In which everybody is somewhere else in the next frame."""
        segmenter, camera = empty_scene(HIGH)
        rng = np.random.default_rng(3)
        for _ in range(50):
            frame = camera(*(person_mask(x, y) for x, y in rng.integers((10, 48), (150, 118), (6, 2))))
            assert segmenter.apply(frame).image_bgr is frame

    def test_a_crowd_that_walks_is_none(self, empty_scene):
        segmenter, camera = empty_scene(HIGH)
        places = np.random.default_rng(3).integers(0, WIDTH, 14)
        for k in range(50):
            people = [person_mask((x + (-1) ** n * 2 * k) % WIDTH, 48 + 5 * n) for n, x in enumerate(places)]
            frame = camera(*people)
            assert segmenter.apply(frame).image_bgr is frame


class TestCamera:
    moves = pytest.mark.parametrize(
        ("shift", "flag"),
        [((5, -3), "shifted_back"), ((-25, 20), "camera_moved")],
        ids=["knocked", "turned away"],
    )

    @both_rates
    @moves
    def test_a_move_is_flagged_until_it_comes_back(self, empty_scene, rate, shift, flag):
        segmenter, camera = empty_scene(rate)
        learning = MIN_LEARNING_FRAMES * max(1, round(rate / 2))
        noticing = CAMERA_SHIFT_CHECKS * look_step(rate)
        person = person_mask(70, 100)
        for place, settled in ((shift, (flag,)), ((0, 0), ())):
            for _ in range(2 * learning + noticing + 1):  # it may pass for a change of light first
                found = segmenter.apply(camera(shift=place))
            assert found.flags == settled
            for _ in range(look_step(rate)):
                found = segmenter.apply(camera(person, shift=place))
                assert found.flags == settled
                assert overlap(segmenter.as_seen(found.mask), person) > 0.7

    def test_the_view_before_a_move_does_not_come_back(self, monkeypatch, empty_scene):
        monkeypatch.setattr(background, "ABSORPTION_S", float(LEARNING_FRAMES))
        segmenter, camera = empty_scene(LOW)
        for _ in range(2 * LEARNING_FRAMES - 20):  # it keeps every second one
            segmenter.apply(camera())
        found = [segmenter.apply(camera(shift=(25, -20))) for _ in range(5 * LEARNING_FRAMES)]
        settled = found[3 + MIN_LEARNING_FRAMES :]
        assert {flags for one in settled for flags in one.flags} == {"camera_moved"}
        assert max(one.mask.mean() for one in settled) < 0.01

    @both_rates
    def test_the_scene_is_known_when_the_camera_comes_back(self, empty_scene, rate):
        segmenter, camera = empty_scene(rate)
        back = 4 * CAMERA_SHIFT_CHECKS * look_step(rate)
        moving = (MIN_LEARNING_FRAMES + 4 * CAMERA_SHIFT_CHECKS) * look_step(rate)
        for _ in range(moving):
            segmenter.apply(camera(shift=(-25, 20)))
        person = person_mask(70, 100)  # who stands there would be learnt, and leave a ghost
        found = [segmenter.apply(camera(person)) for _ in range(back)]
        settled = [one.flags for one in found].index(())
        assert settled <= 2 * CAMERA_SHIFT_CHECKS * look_step(rate)
        for one in found[settled:]:
            assert one.flags == ()
            assert overlap(one.mask, person) > 0.7

    @both_rates
    @moves
    def test_of_footage_in_which_it_moves_the_view_before_is_learnt(self, rate, shift, flag):
        camera, person = Camera(), person_mask(70, 100)
        segmenter = learnt(rate, [camera(shift=place) for place in 30 * [(0, 0)] + 30 * [shift]])
        for _ in range(2 * look_step(rate)):
            found = segmenter.apply(camera(person))
            assert found.flags == ()
            assert overlap(found.mask, person) > 0.7
        found = [segmenter.apply(camera(person, shift=shift)) for _ in range(5 * look_step(rate))]
        assert flag in found[-1].flags

    @both_rates
    @pytest.mark.parametrize(
        ("shift", "gain", "flags"),
        [
            ((0, 0), 1.0, ()),
            ((0, 0), 0.4, ()),
            ((5, -3), 1.0, ("shifted_back",)),
            ((-25, 20), 1.0, ("camera_moved",)),
        ],
        ids=["in place", "in the dark", "knocked", "turned away"],
    )
    def test_a_move_before_the_footage_is_told_by_the_known_view(self, rate, shift, gain, flags):
        camera, person = Camera(), person_mask(70, 100)
        segmenter = Segmenter(rate, ROI, known=EmptyScene(camera(), np.full(ROI.shape, 10, np.uint8)))
        segmenter.learn([camera(shift=shift, gain=gain) for _ in range(20)])
        for _ in range(4 * CAMERA_SHIFT_CHECKS * look_step(rate)):  # nor is anything learnt anew
            found = segmenter.apply(camera(person, shift=shift, gain=gain))
            assert found.flags == flags
            assert overlap(segmenter.as_seen(found.mask), person) > 0.7
        if flags:
            for _ in range(2 * (MIN_LEARNING_FRAMES + CAMERA_SHIFT_CHECKS) * look_step(rate)):
                found = segmenter.apply(camera())
            assert found.flags == ()

    @both_rates
    @pytest.mark.parametrize("gain", [1.0, 1.6], ids=["same light", "another"])
    @pytest.mark.parametrize(("back", "flags"), [((0, 0), ()), ((-4, 6), ("shifted_back",))])
    def test_turned_away_and_nearly_back_it_shows_the_view_before(self, empty_scene, rate, gain, back, flags):
        """Knocked before: where it pointed then tells nothing of where it points now."""
        segmenter, camera = empty_scene(rate)
        person, learning = person_mask(70, 100), MIN_LEARNING_FRAMES * max(1, round(rate / 2))
        n_frames = learning + 2 * CAMERA_SHIFT_CHECKS * look_step(rate)
        for _ in range(look_step(rate)):
            assert segmenter.apply(camera(shift=(5, -3))).flags == ("shifted_back",)
        for _ in range(n_frames):
            found = segmenter.apply(camera(shift=(-28, 25), gain=gain))
        assert found.flags == ("camera_moved",)
        for _ in range(n_frames):
            found = segmenter.apply(camera(person, shift=back))
        assert found.flags == flags
        assert overlap(segmenter.as_seen(found.mask), person) > 0.7

    @pytest.mark.parametrize(("is_coarse", "step"), [(True, 1.0), (False, 4.0)])
    def test_another_view_is_learnt_as_of_frames_that_are_coded_alike(self, is_coarse, step):
        rng = np.random.default_rng(0)
        frames = 100 + 12 * (rng.random((60, 20, 30, 1)) < 0.35) * np.ones(3, np.uint8)
        here, unknowing = (background.MedianBackground(LOW, any_scene=True) for _ in range(2))
        here.is_coarse, here.step = is_coarse, step
        there = here.for_another_view()
        for one in (here, unknowing, there):
            one.learn(frames.astype(np.uint8))
        assert (there.empty.threshold == here.empty.threshold).all()
        assert there.empty.threshold.mean() > 1.5 * unknowing.empty.threshold.mean()

    def test_back_in_its_place_it_is_judged_as_sharply_as_before(self, empty_scene):
        """Brought back, edges may be farther beside where they were."""
        (segmenter, camera), (other, _) = empty_scene(HIGH), empty_scene(HIGH)
        for shift in ((5, -3), (-28, 25), (0, 0)):
            for _ in range(MIN_LEARNING_FRAMES * round(HIGH / 2) + 6 * look_step(HIGH)):
                found = segmenter.apply(camera(shift=shift))
        assert found.flags == ()
        frame = camera(person_mask(70, 100), gain=1.05, shadows=[person_mask(100, 100)])
        frame = cv2.GaussianBlur(frame, (5, 5), 0)
        np.testing.assert_array_equal(segmenter.in_between(frame).mask, other.in_between(frame).mask)

    def test_moved_before_the_first_frame_it_is_judged_as_if_later(self, empty_scene):
        segmenter, camera = empty_scene(HIGH)
        began = Segmenter(HIGH, ROI, known=segmenter.empty)
        moved, frame = camera(shift=(5, -3)), camera(person_mask(70, 100), shift=(5, -3))
        assert segmenter.apply(moved).flags == began.apply(moved).flags == ("shifted_back",)
        frame = cv2.GaussianBlur(frame, (3, 3), 0)
        np.testing.assert_array_equal(segmenter.in_between(frame).mask, began.in_between(frame).mask)

    @both_rates
    @pytest.mark.parametrize("any_scene", [False, True])
    def test_moved_before_the_first_frame_and_seen_in_other_colours_it_stays_shifted_back(
        self, empty_scene, rate, any_scene
    ):
        """The scene is learnt from frames that are brought back already."""
        segmenter, camera = empty_scene(rate)
        known = replace(segmenter.empty, image_bgr=in_grey(segmenter.empty.image_bgr))
        segmenter = Segmenter(rate, ROI, any_scene, known)
        for _ in range((MIN_LEARNING_FRAMES + 2) * max(1, round(rate / 2))):
            assert "shifted_back" in segmenter.apply(camera(shift=(5, -3))).flags
        person = person_mask(70, 100)
        found = segmenter.apply(camera(person, shift=(5, -3)))
        assert found.flags == ("shifted_back",)
        assert overlap(segmenter.as_seen(found.mask), person) > 0.7

    @pytest.mark.parametrize("any_scene", [False, True])
    def test_what_is_out_of_the_picture_for_long_is_known_when_it_is_back(self, monkeypatch, any_scene):
        monkeypatch.setattr(background, "ABSORPTION_S", float(LEARNING_FRAMES))  # it keeps every second one
        camera, segmenter = Camera(), Segmenter(LOW, ROI, any_scene)
        segmenter.learn([camera() for _ in range(LEARNING_FRAMES)])
        first = segmenter.empty
        for _ in range(3 * LEARNING_FRAMES):
            found = segmenter.apply(camera(shift=(-18, 12)))
        assert segmenter.empty is not first
        assert found.flags == ("shifted_back",)
        found = segmenter.apply(camera())
        assert (found.flags, found.mask.mean() < 0.02) == ((), True)

    def test_who_is_at_the_edge_of_a_picture_that_is_brought_back_does_not_go_on_beyond_it(self, empty_scene):
        segmenter, camera = empty_scene(HIGH)
        person = person_mask(2, 100)
        for _ in range(2 * look_step(HIGH)):
            found = segmenter.apply(camera(person, shift=(-18, 12)))
        assert found.flags == ("shifted_back",)
        assert not found.mask[:, :17].any()
        assert overlap(segmenter.as_seen(found.mask), person) > 0.7

    def test_of_footage_in_which_it_moves_the_known_view_is_learnt(self):
        """Moved by so little, it could be taken for one that sways, in a place between both."""
        camera, person, shift = Camera(), person_mask(70, 100), (3, -2)
        segmenter = Segmenter(HIGH, ROI, known=EmptyScene(camera(), np.full(ROI.shape, 10, np.uint8)))
        segmenter.learn([camera(shift=place) for place in 30 * [(0, 0)] + 30 * [shift]])
        for place, flags in (((0, 0), ()), (shift, ("shifted_back",))):
            for _ in range(2 * look_step(HIGH)):
                found = segmenter.apply(camera(person, shift=place))
            assert found.flags == flags
            assert overlap(segmenter.as_seen(found.mask), person) > 0.7

    def test_a_knock_is_flagged_as_long_as_it_lasts(self, empty_scene):
        """Where the camera points is looked for once a second."""
        segmenter, camera = empty_scene(HIGH)
        person = person_mask(70, 100)
        for k in range(80):
            swing = [(0, 0), (6, -4), (-3, 2), (0, 0), (4, 4)][k % 20 - 2] if 3 <= k % 20 <= 6 else (0, 0)
            found = segmenter.apply(camera(person, shift=swing))
            expected = "camera_moved" if k % 20 > 3 else "shifted_back"
            assert found.flags == (() if swing == (0, 0) else (expected,))
            if found.flags != ("camera_moved",):
                assert overlap(segmenter.as_seen(found.mask), person) > 0.7

    def test_a_scene_that_was_learnt_while_the_camera_sagged_is_learnt_anew_in_its_place(self, empty_scene):
        segmenter, camera = empty_scene(HIGH)
        segmenter._model.learn(np.stack([camera(shift=(5, -3)) for _ in range(20)]))
        person, learning = person_mask(70, 100), MIN_LEARNING_FRAMES * round(HIGH / 2)
        found = [segmenter.apply(camera(shift=(5, -3))) for _ in range(2 * learning)]
        assert "camera_moved" in {flag for one in found for flag in one.flags}
        assert (found[-1].flags, found[-1].mask.mean() < 0.01) == (("shifted_back",), True)
        mask = segmenter.as_seen(segmenter.apply(camera(person, shift=(5, -3))).mask)
        assert overlap(mask, person) > 0.7

    def test_who_steps_before_the_lens_does_not_move_the_camera(self, empty_scene):
        segmenter, camera = empty_scene(HIGH)
        near = np.ones_like(ROI)
        near[:, :100] = False
        for k in range(40):
            found = segmenter.apply(camera(*([near] if k % 20 in (3, 4, 6) else [])))
            assert found.flags == ()
            assert (found.mask[:, 110:150].mean() > 0.7) == (k % 20 in (3, 4, 6))

    @both_rates
    def test_a_crowd_is_no_move(self, empty_scene, rate):
        segmenter, camera = empty_scene(rate)
        rng = np.random.default_rng(5)
        covered = []
        for _ in range(20):
            crowd = [person_mask(x, y) for x, y in rng.uniform((0, 40), (WIDTH, HEIGHT + 20), (30, 2))]
            covered.append(np.any(crowd, axis=0).mean())
            frame = camera(*crowd)
            for _ in range(max(1, round(rate / 2))):
                assert segmenter.apply(frame).flags == ()
        assert np.mean(covered) > 0.4


class TestWithoutSamples:
    @both_rates
    def test_the_first_frames_are_for_learning(self, rate):
        segmenter = Segmenter(rate, ROI)
        clip = list(walk(Camera(), (MIN_LEARNING_FRAMES + 4) * max(1, round(rate / 2))))
        found = [segmenter.apply(frame) for frame, _ in clip]
        n_learning = sum(one.flags == ("learning",) for one in found)
        assert n_learning == (MIN_LEARNING_FRAMES - 1) * max(1, round(rate / 2))
        assert not any(one.mask.any() for one in found[:n_learning])
        assert all(one.flags == () for one in found[n_learning:])
        assert overlap(found[-1].mask, clip[-1][1]) > 0.7

    @both_rates
    def test_who_stood_there_then_leaves_no_ghost_for_long(self, monkeypatch, rate):
        monkeypatch.setattr(background, "ABSORPTION_S", 60.0)
        camera, person = Camera(), person_mask(70, 100)
        segmenter = Segmenter(rate, ROI)
        for _ in range(MIN_LEARNING_FRAMES * max(1, round(rate / 2))):
            segmenter.apply(camera(person))
        ghost = [segmenter.apply(camera()).mask[person].mean() for _ in range(round(60 * rate))]
        assert ghost[0] > 0.8
        learnt_after = 2 * 60.0 * rate * (MIN_LEARNING_FRAMES + 1) / LEARNING_FRAMES
        assert max(ghost[round(learnt_after) :]) < 0.1

    @both_rates
    def test_what_is_put_there_later_joins_the_empty_scene(self, monkeypatch, rate):
        monkeypatch.setattr(background, "ABSORPTION_S", 30.0)
        segmenter, camera = learnt(rate, [Camera()()] * 8), Camera()
        crate = person_mask(70, 100)
        before = segmenter.reference_bgr
        for _ in range(round(70 * rate)):
            segmenter.apply(camera(crate))
        moved = np.abs(segmenter.reference_bgr.astype(int) - before).max(axis=-1) > 30
        assert overlap(moved, crate) > 0.7


class TestLostSignal:
    """Black frames, white ones, and the blue that a recorder shows tell nothing of scene or light."""

    LOST = ((0, 0, 0), (255, 255, 255), (255, 0, 0))

    def lost(self, colour):
        return np.full((HEIGHT, WIDTH, 3), colour, np.uint8)

    @pytest.mark.parametrize("colour", LOST)
    @pytest.mark.parametrize("gain", [1.0, 0.7])
    def test_between_others_they_change_nothing(self, empty_scene, colour, gain):
        segmenter, camera = empty_scene(10.0)
        for _ in range(20):
            segmenter.apply(camera(gain=gain))
        for _ in range(60):  # learns, if it must, in that light
            before = segmenter.apply(camera(gain=gain)).flags
        assert before == ()
        for _ in range(3):
            found = segmenter.apply(self.lost(colour))
            assert found.flags == ()
            assert not found.mask.any()
        person = person_mask(80, 75)
        for _ in range(20):
            found = segmenter.apply(camera(person, gain=gain))
            assert found.flags == ()
            assert overlap(found.mask, person) > 0.8

    def test_a_grey_title_before_and_behind_the_footage_is_not_its_scene(self):
        camera, person = Camera(), person_mask(80, 75)
        title = self.lost((0, 0, 0))
        cv2.putText(title, "CAMERA 4", (10, 60), cv2.FONT_HERSHEY_SIMPLEX, 0.9, (200, 200, 200), 2)
        segmenter = Segmenter(10.0, ROI, any_scene=True)
        segmenter.learn([title] * 6 + [camera() for _ in range(46)] + [title] * 8)
        assert [segmenter.apply(title) for _ in range(40)][-1].flags != ()
        found = [segmenter.apply(camera(person)) for _ in range(40)][-1]
        assert found.flags == ()
        assert overlap(found.mask, person) > 0.8

    @pytest.mark.parametrize("colour", LOST)
    @pytest.mark.parametrize("any_scene", [False, True])
    def test_among_those_to_learn_from_they_are_left_out(self, colour, any_scene):
        camera, person = Camera(), person_mask(80, 75)
        segmenter = Segmenter(10.0, ROI, any_scene)
        segmenter.learn([self.lost(colour)] * 40 + [camera() for _ in range(20)])
        found = segmenter.apply(camera(person))
        assert found.flags == ()
        assert overlap(found.mask, person) > 0.8

    def test_at_the_beginning_of_a_stream_it_is_waited_for_others(self):
        camera, person = Camera(), person_mask(80, 75)
        segmenter = Segmenter(10.0, ROI)
        for frame in [self.lost((0, 0, 0))] * 60 + [camera() for _ in range(50)]:
            found = segmenter.apply(frame)
        assert found.flags == ()
        assert overlap(segmenter.apply(camera(person)).mask, person) > 0.8

    def test_hours_of_them_are_not_learnt(self, empty_scene):
        segmenter, camera = empty_scene(1 / 20)  # each frame is kept
        for _ in range(200):
            assert segmenter.apply(self.lost((0, 0, 0))).flags == ()
        person = person_mask(80, 75)
        found = segmenter.apply(camera(person))
        assert found.flags == ()
        assert overlap(found.mask, person) > 0.8

    @pytest.mark.parametrize("n_shown", [MIN_LEARNING_FRAMES - 1, MIN_LEARNING_FRAMES])
    def test_a_few_others_among_hours_of_them_are_not_learnt(self, n_shown):
        model = background.MedianBackground(LOW)
        frames = np.full((LEARNING_FRAMES, 20, 30, 3), 100, np.uint8)
        model.learn(frames)
        known = model.empty
        for k in range(LEARNING_FRAMES):
            model.keep(frames[k] + np.uint8(40) if k < n_shown else np.zeros_like(frames[k]))
        assert (model.empty is known) == (n_shown < MIN_LEARNING_FRAMES)

    def test_where_all_are_black_nobody_is_found(self):
        segmenter = learnt(10.0, [self.lost((0, 0, 0))] * 20)
        assert not segmenter.apply(self.lost((0, 0, 0))).mask.any()
