import cv2
import numpy as np
import pytest

from features.foreground import Segmenter
from features.ghosts import behind_ghosts, without_ghosts
from features.images import median_of
from tests.features.test_foreground import HEIGHT, PERSON, ROI, WIDTH, overlap, person_mask
from tests.features.test_standing import EMPTY, HEIGHTS, N_FRAMES, noisy, with_somebody

#: Somebody is there in two thirds of the frames: before he leaves, after he has come, and but for a while.
STAYS = {
    "leaves": range(40),
    "comes": range(20, N_FRAMES),
    "is away": [*range(18), *range(38, N_FRAMES)],
}


def ghosts_in(frames, person_height=PERSON):
    return behind_ghosts(frames, median_of(frames), np.full_like(HEIGHTS, person_height))


def with_box(shown=range(40), size=(30, 18), sways=0.0, colour=(40, 60, 170)):
    """Frames with something put down in some of them, which sways by so many pixels from side to side."""
    rng, frames = np.random.default_rng(2), []
    for number in range(N_FRAMES):
        image = EMPTY.copy()
        if number in shown:
            left = 70 + round(rng.normal(0, sways))
            image[60 : 60 + size[0], left : left + size[1]] = colour
        frames.append(noisy(image, rng))
    return np.stack(frames)


class TestGhosts:
    @pytest.mark.parametrize("stays", STAYS.values(), ids=STAYS)
    @pytest.mark.parametrize("seed", range(3))
    def test_show_who_is_not_there_in_a_part_of_the_footage(self, stays, seed):
        frames, masks = with_somebody(stays=stays, seed=seed)
        ghosts, behind, noise = ghosts_in(frames)
        usual = masks[list(stays)].mean(axis=0) > 0.5
        assert overlap(ghosts, usual) > 0.5
        assert np.abs(behind[usual & ghosts].astype(int) - EMPTY[usual & ghosts]).mean() < 3
        assert np.array_equal(behind[~ghosts], median_of(frames)[~ghosts])
        assert np.median(noise[ghosts]) == pytest.approx(2 / 0.55)  # of two grey levels
        assert not noise[~ghosts].any()

    def test_go_where_people_pass(self):
        frames, masks = with_somebody(stays=STAYS["leaves"], passers=4)
        ghosts, behind, _ = ghosts_in(frames)
        usual = masks[:40].mean(axis=0) > 0.5
        assert overlap(ghosts, usual) > 0.5
        assert np.median(np.abs(behind[usual & ghosts].astype(int) - EMPTY[usual & ghosts])) < 3

    @pytest.mark.parametrize("stays", [range(20), range(N_FRAMES), ()], ids=["minority", "always", "never"])
    def test_are_none_of_who_is_there_for_less_than_half_or_all_of_it(self, stays):
        frames, _ = with_somebody(stays=stays, passers=2)
        ghosts, behind, noise = ghosts_in(frames)
        assert not ghosts.any()
        assert np.array_equal(behind, median_of(frames))
        assert not noise.any()

    @pytest.mark.parametrize(("sways", "expected"), [(0.0, False), (1.5, True)])
    def test_are_none_of_what_is_quite_still(self, sways, expected):
        """A bag that is put down, a patch of light: only who stands there is never at rest."""
        ghosts, *_ = ghosts_in(with_box(sways=sways))
        assert ghosts.any() == expected

    @pytest.mark.parametrize(("persons", "expected"), [(0.4, False), (1.0, True), (4.0, False)])
    def test_have_the_size_of_people(self, persons, expected):
        """What sways is 30 x 18 pixels, .34 of a person's squared height."""
        ghosts, *_ = ghosts_in(with_box(sways=1.5), PERSON * persons)
        assert ghosts.any() == expected

    def test_are_none_of_what_differs_by_less_than_people(self):
        around = np.median(EMPTY[60:90, 70:88], axis=(0, 1))
        ghosts, *_ = ghosts_in(with_box(sways=1.5, colour=around + 8))
        assert not ghosts.any()


class TestFormerScene:
    """As it was learnt before, tells what is behind who is there in all of the frames since."""

    NOISE = np.full((HEIGHT, WIDTH), 1.5)
    IMAGE = EMPTY.round().astype(np.uint8)

    def ghosts_in(self, frames, former_bgr=IMAGE):
        return behind_ghosts(frames, median_of(frames), HEIGHTS, (former_bgr, self.NOISE))

    @pytest.mark.parametrize("n", [8, N_FRAMES])
    @pytest.mark.parametrize("seed", range(3))
    def test_shows_what_is_behind_who_came(self, n, seed):
        frames, masks = with_somebody(passers=0, seed=seed)
        ghosts, behind, noise = self.ghosts_in(frames[:n])
        usual = masks[:n].mean(axis=0) > 0.5
        assert overlap(ghosts, usual) > 0.5
        assert np.array_equal(behind[ghosts], self.IMAGE[ghosts])
        assert (noise[ghosts] == 1.5).all()
        assert not noise[~ghosts].any()
        assert not behind_ghosts(frames[:n], median_of(frames[:n]), HEIGHTS)[0].any()

    def test_tells_nothing_of_what_no_frame_shows(self):
        """The scene may be a mixture of what passes."""
        rng, former = np.random.default_rng(0), np.full_like(self.IMAGE, 140)
        frames = np.repeat(former[None], N_FRAMES, axis=0)
        frames[:, 60:90, 70:88] = rng.choice(np.uint8([30, 250]), (N_FRAMES, 30, 18, 1))
        assert not self.ghosts_in(frames, former)[0].any()

    def test_is_given_up_where_somebody_left(self):
        frames, _ = with_somebody(stays=())
        there, _ = with_somebody(passers=0)
        assert not self.ghosts_in(frames, median_of(there))[0].any()

    def test_is_given_up_where_something_was_put_down(self):
        assert not self.ghosts_in(with_box(shown=range(N_FRAMES)))[0].any()


class TestStanding:
    SHAPE = 40, 60

    def rectangle(self, left, width):
        mask = np.zeros(self.SHAPE, bool)
        mask[10:30, left : left + width] = True
        return mask

    @pytest.mark.parametrize(("n_ghost", "n_left"), [(0, 10), (4, 6), (5, 0), (10, 0)])
    def test_is_not_who_is_a_ghost_by_half(self, n_ghost, n_left):
        other = self.rectangle(40, 8)
        standing = self.rectangle(10, 10) | other
        left = without_ghosts(standing, self.rectangle(20 - n_ghost, n_ghost))
        assert left[other].all()
        assert np.count_nonzero(left & ~other) == 20 * n_left

    def test_is_nobody_where_nobody_stands(self):
        nobody = np.zeros(self.SHAPE, bool)
        assert not without_ghosts(nobody, self.rectangle(5, 9)).any()


class TestSegmenter:
    """Of a model for any scene."""

    def foreground(self, frames, length_s=0.0, **options):
        segmenter = Segmenter(1.0, ROI, **{"any_scene": True, "person_height": HEIGHTS} | options)
        segmenter.learn(list(frames), length_s)
        return np.stack([segmenter.apply(frame).mask for frame in frames])

    @pytest.mark.parametrize("stays", STAYS.values(), ids=STAYS)
    @pytest.mark.parametrize("seed", range(3))
    def test_sees_somebody_when_he_is_there_and_then_alone(self, stays, seed):
        frames, masks = with_somebody(stays=stays, passers=0, seed=seed)
        found = self.foreground(frames)
        there = np.isin(np.arange(N_FRAMES), stays)
        assert np.mean([overlap(found[n], masks[n]) for n in np.flatnonzero(there)]) > 0.6
        usual = masks[there].mean(axis=0) > 0.5
        assert found[~there][:, usual].mean() < 0.2

    @pytest.mark.parametrize(("length_s", "is_seen"), [(19.0, False), (20.0, True)])
    def test_looks_for_ghosts_from_twenty_seconds_on(self, length_s, is_seen):
        """Before, all that is there in a part are those who pass."""
        frames, masks = with_somebody(stays=STAYS["leaves"], passers=0)
        usual = masks[:40].mean(axis=0) > 0.5
        found = self.foreground(frames, length_s)[45:, usual]
        assert (found.mean() < 0.05) == is_seen

    def test_keeps_a_scene_of_several_states(self):
        """A door that opens to and fro is no ghost of anybody in its other state."""
        frames, masks = with_somebody(stays=STAYS["leaves"], passers=0)
        rng = np.random.default_rng(1)
        for number, frame in enumerate(frames):
            is_open = number // 5 % 2
            frame[10:58, 4:52] = (30, 30, 35) if is_open else (170, 150, 140)
            frame[10:58, 4:52] = noisy(frame[10:58, 4:52], rng)
        found = self.foreground(frames)
        assert found[:, 12:56, 6:50].mean() < 0.01
        assert found[45:, masks[:40].mean(axis=0) > 0.5].mean() < 0.05
        assert np.mean([overlap(found[n], masks[n]) for n in range(40)]) > 0.6

    def test_goes_on_seeing_who_has_come_to_stay(self):
        """As of a stream: the scene is learnt at once, and anew after 20, 40, 75, 150, 300 and 600 frames."""
        frames, masks = with_somebody(passers=0)
        empty, _ = with_somebody(stays=(), passers=0)
        segmenter = Segmenter(1.0, ROI, any_scene=True, person_height=HEIGHTS)
        for frame in empty[:30]:
            segmenter.apply(frame)
        found = [segmenter.apply(frames[n % N_FRAMES]).mask for n in range(30, 700)]
        for after in (20, 60, 100, 200, 400, 660):
            assert overlap(found[after], masks[(after + 30) % N_FRAMES]) > 0.7
        left = segmenter.apply(empty[40]).mask
        assert left[masks.mean(axis=0) > 0.5].mean() < 0.05

    def test_soon_takes_what_is_put_down_for_the_scene(self):
        """When it has been there for most of what was seen: that is learnt from after 40 and 75 seconds."""
        segmenter = Segmenter(1.0, ROI, any_scene=True, person_height=HEIGHTS)
        for frame in with_box(shown=())[:30]:
            segmenter.apply(frame)
        frames = with_box(shown=range(N_FRAMES))
        found = [segmenter.apply(frames[n % N_FRAMES]).mask for n in range(30, 400)]
        assert found[40][60:90, 70:88].mean() > 0.8
        assert found[60][60:90, 70:88].mean() < 0.05
        assert found[-1][60:90, 70:88].mean() < 0.05

    def test_leaves_a_caption_alone(self):
        """Digits that change are drawn over whoever is there."""
        frames, _ = with_somebody(stays=STAYS["leaves"], passers=0)
        for number, frame in enumerate(frames):
            cv2.putText(frame, f"{number:02d}:{7 * number % 60:02d}", (4, 14), 0, 0.4, (255, 255, 255), 1)
        assert self.foreground(frames)[:, :18, :60].mean() < 0.01

    @pytest.mark.parametrize("options", [{"person_height": None}, {"any_scene": False}])
    def test_does_not_of_one_camera(self, options):
        frames, masks = with_somebody(stays=STAYS["leaves"], passers=0)
        usual = masks[:40].mean(axis=0) > 0.5
        assert self.foreground(frames, **options)[45:, usual].mean() > 0.3


def test_a_large_picture_has_no_ghost_of_a_passing_crowd():
    """In every part others are there."""
    rng, frames = np.random.default_rng(4), []
    for _ in range(N_FRAMES):
        image = EMPTY.copy()
        for x, foot in rng.uniform((0, 40), (WIDTH, HEIGHT + 10), (8, 2)):
            image[person_mask(x, foot)] = rng.uniform(0, 255, 3)
        frames.append(noisy(image, rng))
    assert not ghosts_in(np.stack(frames))[0].any()
