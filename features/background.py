"""The empty scene: what a camera shows where nobody is, learnt from frames with people.

It is the per-pixel median of frames spread over the footage with a per-pixel noise level
(`MedianBackground`), so that people who stand still from the first frame on are foreground; for counts in any
scene, where crowds pass, it is what is seen between them (`settle`). In long footage it is learnt anew from
the last twenty minutes now and then, never updated frame by frame: on Mall the leak of half-detected people
into a running average cost a third of the accuracy, and an adaptive mixture of Gaussians (Zivkovic 2004)
costs far more time and counts no better (docs/decisions/2026-11-20-speed.md).
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from .camera import CameraWatch
from .captions import captions
from .images import largest_channel, largest_difference, median_of, narrowest_of, noise_of
from .light import Light, LightMeter, shows_nothing
from .shadows import is_shadow, is_shadow_at
from .standing import never_at_rest
from .states import other_states
from .steadying import Steadier
from .tones import SATURATED

#: A person who stands still melts into the background after about this time, seconds.
ABSORPTION_S = 600.0
#: A background is learnt from this many frames at the most, at the least this many.
LEARNING_FRAMES, MIN_LEARNING_FRAMES = 60, 8
#: Footage of up to this length is seen to its end in the scene that was learnt from all of it, seconds: fine
#: detail drifts, and from an earlier scene frames differ more (docs/decisions/2026-11-22-empty-scene.md).
ONE_SCENE_S = 3600.0
#: Where the noise is larger than this, grey levels, the median of the frames may be that of passers-by.
RESTLESS = 8.0
#: A pixel is foreground beyond so many standard deviations of its noise, in a model of one camera.
DEVIATIONS = 3.5
#: Nor is it within so many steps of what was decoded, see `MedianBackground.step`: the noise that is learnt
#: can be less than one.
_LEAST_STEPS = 5
#: What hides the known scene in all frames is somebody, not something that was put there, where more than
#: this share of it, within a square of so many pixels around, is restless and was not in the known scene.
RESTLESS_SHARE, _RESTLESS_AROUND = 0.1, (31, 31)
#: What noise adds to a difference from the empty scene: so many times its excess over the usual one.
PER_NOISE = 6.0
#: A scene is learnt in the light of the known one, whose changes a model knows, where it is brighter or
#: darker by more than this share; but not where so little is left of the light that it is mostly noise.
OTHER_LIGHT, DARKNESS = 0.1, 1 / 7

#: In frames that are shifted back, so much farther of the way to its neighbours is a pixel no foreground.
_SHIFTED_LEEWAY = 0.3

#: Brightness on a scale of ratios, above what a dark pixel has of noise.
_BRIGHTNESS = np.round(255 * np.log1p(np.arange(256) / 30) / np.log1p(255 / 30)).astype(np.uint8)
#: The empty scene is seen where whole pieces of this size differ from it by so many grey levels at the most.
_PIECE, _SEEN_WITHIN = np.ones((5, 5), np.uint8), 15
_NEIGHBOURS = np.ones((3, 3), np.uint8)
#: What is saturated may be any brighter than white: in less light it can still be white. So may the channels
#: beside one that is saturated be which are that bright: coding spreads colours over their neighbours.
_BEYOND_WHITE, _NEARLY_WHITE = 5 * 255, 240
#: The threshold where nothing is foreground.
_ANYTHING = 255
#: Of so many rows and columns one is looked at to tell how clearly people stand out.
_EACH = 4
#: Half a window: frames that are kept between one learning and the next.
_HALF = LEARNING_FRAMES // 2
#: Pixels whose frames are compared at a time: what is computed for them takes little memory.
_AT_A_TIME = 1 << 12


@dataclass(frozen=True, eq=False)
class EmptyScene:
    """What a camera shows where nobody is.

    Attributes
    ----------
    image_bgr : (H, W, 3) uint8
    threshold : (H, W) uint8
        By how many grey levels any channel of a pixel must differ to be foreground.
    is_proven : (H, W) bool or None
        Where most frames showed people, and annotations told which did not: later footage in which somebody
        is there all the time does not change it. None: nowhere.
    others_bgr : sequence of (H, W, 3) uint8
        The scene in its other states, see `features.states`.
    """

    image_bgr: np.ndarray
    threshold: np.ndarray
    is_proven: np.ndarray | None = None
    others_bgr: Sequence[np.ndarray] = ()

    @cached_property
    def changing(self) -> np.ndarray | None:
        """(H, W) bool: where it has several states; None: nowhere."""
        if not len(self.others_bgr):
            return None
        return np.any([(other != self.image_bgr).any(axis=2) for other in self.others_bgr], axis=0)

    def resized(self, size_wh: tuple[int, int]) -> "EmptyScene":
        """The same in a picture of another size."""
        proven = self.is_proven
        if proven is not None:
            proven = cv2.resize(proven.view(np.uint8), size_wh, interpolation=cv2.INTER_NEAREST).view(bool)
        image, threshold, *others = (
            cv2.resize(one, size_wh) for one in (self.image_bgr, self.threshold, *self.others_bgr)
        )
        return EmptyScene(image, threshold, proven, others)

    def light_of(self, image_bgr: np.ndarray) -> Light:
        """The light of an image (H, W, 3) uint8 against it."""
        return self._meter.measure(image_bgr)

    @cached_property
    def _meter(self) -> LightMeter:
        return LightMeter(self.image_bgr, leave_out=self.changing)

    def is_shown_in(self, image_bgr: np.ndarray) -> bool:
        """Whether an image (H, W, 3) uint8 of any size is of this view, people or not; True where the scene
        has too little texture to tell."""
        height, width = self.image_bgr.shape[:2]
        return CameraWatch(self.image_bgr).recognises(cv2.resize(image_bgr, (width, height)))

    def is_recoloured_in(self, image_bgr: np.ndarray) -> bool:
        """Whether an image (H, W, 3) uint8 of any size is grey where this scene has colours, as by infrared
        light, or the other way round."""
        height, width = self.image_bgr.shape[:2]
        return self.light_of(cv2.resize(image_bgr, (width, height))).is_recoloured

    def in_grey(self) -> "EmptyScene":
        """The same without its colours."""
        grey, *others = (
            cv2.merge([cv2.cvtColor(one, cv2.COLOR_BGR2GRAY)] * 3)
            for one in (self.image_bgr, *self.others_bgr)
        )
        return EmptyScene(grey, self.threshold, self.is_proven, others)


class MedianBackground:
    """Per-pixel median with a per-pixel noise level, learnt anew from a moving window of frames.

    Parameters
    ----------
    rate : float
        Frames per second, for the speed of absorption.
    any_scene : bool
        Look for the empty scene between passers-by, see `settle`, in half a window of frames or more, and let
        its edges be a little beside where they were: counts in any scene gain by both, those of a model of
        one camera do not (docs/decisions/2026-11-22-any-scene.md).
    person_height : (H, W) float32, optional
        Pixels: look for other states of the scene, see `other_states`, in half a window of frames or more.

    Attributes
    ----------
    empty : EmptyScene or None
        As last learnt; None before.
    meter : LightMeter or None
        Of that; None before.
    known : EmptyScene or None
        Stays wherever it is still seen when the scene is learnt anew, see `still_seen`; that is learnt in its
        light.
    is_coarse : bool
        Whether the frames to learn from are coded coarsely, see `noise_of`: counts in any scene gain where it
        is allowed for (docs/decisions/2026-11-29-coarse.md).
    step : float or (H, 1) float64
        To how many grey levels one has grown of what was decoded, as where haze is taken away.
    n_frames : int
        Frames seen so far: each `window_step`-th is kept.
    least_contrast : float
        By what share of its brightness half of the scene must differ, or more, to be foreground, in the light
        in which a frame was segmented last; 0 before.
    """

    def __init__(
        self, rate: float, any_scene: bool = False, person_height: np.ndarray | None = None
    ):
        self._rate, self._any_scene, self._person_height = rate, any_scene, person_height
        # a pixel is foreground beyond so many standard deviations of its noise, at least so many grey levels,
        # and besides beyond so much of the way to its darkest and its brightest neighbour
        self._deviations, self._least, self._leeway = (3.0, 8, 0.2) if any_scene else (DEVIATIONS, 10, 0.0)
        self._window = deque(maxlen=LEARNING_FRAMES)
        self._window_step = window_step(rate)
        self._n_kept, self._due = 0, MIN_LEARNING_FRAMES  # since it was learnt of other frames; the next time
        self.empty = self.known = self.meter = self._steadier = None
        self.is_coarse, self.step = False, 1.0
        self.n_frames, self.least_contrast = 0, 0.0

    def steadied(self, frames: np.ndarray) -> np.ndarray:
        """Frames (n, H, W, 3) uint8 to learn from, each in the place of those that were the first."""
        if self._steadier is None:
            self._steadier = Steadier(frames)
        if not self._steadier.is_needed:  # no second copy of them all
            return frames
        return np.stack([self.steady(frame) for frame in frames])

    def steady(self, frame_bgr: np.ndarray) -> np.ndarray:
        """A frame (H, W, 3) uint8 in the place of those that were learnt first, if the camera sways.

        What became of thin things as it was reduced depends on where they were, but little once blurred.
        """
        if self._steadier is None or not self._steadier.is_needed:
            return frame_bgr
        return cv2.GaussianBlur(self._steadier.steady(frame_bgr), (3, 3), 0)

    def as_seen(self, mask: np.ndarray) -> np.ndarray:
        """A mask (H, W) bool of the frame that was brought into its place last, where it was before."""
        return mask if self._steadier is None else self._steadier.as_seen(mask)

    def learn(self, frames: np.ndarray, length_s: float = 0.0, for_now: bool = False) -> None:
        """Learn the empty scene; frames that were kept before are forgotten.

        Parameters
        ----------
        frames : (n, H, W, 3) uint8
            Of comparable brightness.
        length_s : float
            Seconds of footage that they are spread over, and that begins now; 0 where unknown. Up to
            `ONE_SCENE_S`, the scene of a model of one camera is not learnt anew before the end of it.
        for_now : bool
            The frames are of one moment, so that who stands in them leaves a ghost behind later: the scene is
            learnt anew from the first `MIN_LEARNING_FRAMES` that are kept, then each time that twice as many
            are, until the window is full.
        """
        self._window.clear()
        self._n_kept = 0
        self._due = MIN_LEARNING_FRAMES if for_now else LEARNING_FRAMES
        if length_s <= ONE_SCENE_S and not self._any_scene:
            n_halves = math.ceil(length_s * self._rate / (self._window_step * _HALF))
            self._due = max(self._due, n_halves * _HALF)
        self._learn(frames, length_s)

    def _learn(self, frames, length_s: float = 0.0) -> None:
        image = median_of(frames)
        known, light = as_coloured(self.known, image)
        if known is not None and _is_another(light):
            frames = np.stack([light.evened_out(frame) for frame in frames])
            image = median_of(frames)
        is_coarse = self._any_scene and self.is_coarse
        noise = noise_of(frames, image, is_coarse)
        restless = np.flatnonzero(noise > RESTLESS)
        if self._any_scene and len(restless) and len(frames) >= _HALF:
            settle(image, frames, restless)
            noise = noise_of(frames, image, is_coarse)
        others = ()
        if self._person_height is not None and len(frames) >= _HALF:
            others = other_states(frames, image, noise, self._person_height)
        least = np.maximum(self._least, _LEAST_STEPS * self.step)
        threshold = np.clip(self._deviations * noise, least, 80).astype(np.uint8)
        standing = None
        if self._any_scene:
            threshold[captions(frames, image)] = _ANYTHING
            if self._person_height is not None and len(frames) >= _HALF:
                standing, threshold = never_at_rest(frames, image, threshold, self._person_height, length_s)
        empty = EmptyScene(image, threshold, others_bgr=others)
        self.take(empty if known is None else still_seen(known, empty, frames), frames, standing)

    def take(
        self, empty: EmptyScene, frames: Iterable[np.ndarray] = (), standing: np.ndarray | None = None
    ) -> None:
        """Compare frames with this empty scene from now on.

        Parameters
        ----------
        empty : EmptyScene
        frames : iterable of (H, W, 3) uint8
            Their noise and colours are the usual ones, see `LightMeter`.
        standing : (H, W) bool, optional
            Where people stand all the time: foreground in every frame.
        """
        self.empty = empty
        self._standing = standing
        self.meter = LightMeter(empty.image_bgr, frames, empty.changing)
        self._is_grey = self._any_scene and self.meter.is_grey  # models of one camera learn what is left
        self.loosen(False)

    def loosen(self, is_shifted: bool) -> None:
        """Let edges be farther beside where they were, as in frames that are shifted back, or no longer: from
        now on, until the scene is learnt again."""
        self._leeway_now = self._leeway + _SHIFTED_LEEWAY * is_shifted
        self._extremes = self._extremes_of(self.empty.image_bgr)
        self._limits = self._limits_at(self.empty.threshold, self._extremes)
        self._light = None

    def _extremes_of(self, image_bgr) -> list[np.ndarray]:
        """The darkest and brightest images (H, W, 3) uint8 of a scene whose edges may lie beside."""
        leeway = self._leeway_now
        return [
            cv2.addWeighted(image_bgr, 1 - leeway, extreme, leeway, 0)
            for extreme in (cv2.erode(image_bgr, _NEIGHBOURS), cv2.dilate(image_bgr, _NEIGHBOURS))
        ]

    def _limits_at(self, threshold, extremes) -> tuple[np.ndarray, np.ndarray]:
        """The least and the most that may pass for the scene, (H, W, 3) int16 each: its darkest and brightest
        images less and plus a threshold (H, W) uint8."""
        darkest, brightest = extremes
        threshold = cv2.merge([threshold] * 3)
        # not saturated: in less light white is darker than what may pass for white, in haze black is brighter
        most = cv2.add(brightest, threshold, dtype=cv2.CV_16S)
        is_white = (brightest >= _NEARLY_WHITE) & (largest_channel(brightest) >= SATURATED)[..., None]
        most[is_white | (threshold == _ANYTHING)] = _BEYOND_WHITE
        return cv2.subtract(darkest, threshold, dtype=cv2.CV_16S), most

    def _widened(self, excess_noise: float) -> np.ndarray:
        """The threshold (H, W) uint8 in more than the usual noise: squares of what is independent add up."""
        threshold = np.hypot(self.empty.threshold, np.float32(PER_NOISE * excess_noise))
        return np.minimum(threshold, 255).astype(np.uint8)

    def for_another_view(self) -> "MedianBackground":
        """One that has learnt nothing, but has seen as many frames."""
        other = MedianBackground(self._rate, self._any_scene, self._person_height)
        other.n_frames, other.is_coarse, other.step = self.n_frames, self.is_coarse, self.step
        return other

    def resume(self, n_frames: int, n_kept: int) -> None:
        """Go on as if `n_frames` frames had been seen; the last `n_kept` of those that are kept of them are
        still to be given to `keep`."""
        self.n_frames = n_frames
        self._n_kept = n_frames // self._window_step - n_kept
        self._due = max(self._due, self._n_kept + LEARNING_FRAMES)

    def learns_anew(self, n_frames: int) -> bool:
        """Whether the scene just learnt, before any frame was seen, is learnt anew within so many frames."""
        return n_frames // self._window_step >= self._due

    def see(self) -> bool:
        """Count one more frame; whether it is its turn to be kept for learning."""
        self.n_frames += 1
        return self.n_frames % self._window_step == 0

    def keep(self, evened_bgr: np.ndarray) -> None:
        """Put an evened (H, W, 3) uint8 frame into the window, and learn from that when it is due.

        Frames that show nothing, as black ones, take their places in the window, but are not learnt from.
        """
        self._window.append(evened_bgr)
        self._n_kept += 1
        if self._n_kept < self._due:
            return
        shown = [frame for frame in self._window if not shows_nothing(frame)]
        if len(shown) >= MIN_LEARNING_FRAMES:  # the signal may be lost for hours
            self._learn(np.stack(shown))
        is_full = len(self._window) == LEARNING_FRAMES
        self._due = self._due + _HALF if is_full else min(2 * self._due, LEARNING_FRAMES)

    def segment(self, frame_bgr: np.ndarray, light: Light) -> tuple[np.ndarray, np.ndarray]:
        """Segment a (H, W, 3) uint8 frame seen in some light: (H, W) uint8, 1 in the foreground, else 0; and
        the frame with the scene in its first state, in which that is."""
        if light is not self._light:
            self._see_in(light)
        frame_bgr = self._in_first_state(frame_bgr)
        changed = np.flatnonzero(cv2.inRange(frame_bgr, *self._range) == 0)
        mask = np.zeros(frame_bgr.shape[:2], np.uint8)
        is_shade = is_shadow_at(changed, frame_bgr, self._lit, light.black_at(changed), self._is_grey)
        mask.ravel()[changed] = ~is_shade
        if self._steadier is not None:
            self._steadier.cut(mask)  # people would be seen to come through the picture's edge
        if self._standing is not None:
            mask[self._standing] = 1
        return mask, frame_bgr

    def _see_in(self, light) -> None:
        """Bring the scene and its limits to a light, so that frames in it need not be evened out."""
        self._light = light
        images, extremes = (self.empty.image_bgr, *self.empty.others_bgr), self._extremes
        threshold, limits = self.empty.threshold, self._limits
        if light.blur:
            images = [cv2.GaussianBlur(image, (0, 0), light.blur) for image in images]
            extremes = self._extremes_of(images[0])
        if light.excess_noise:
            threshold = self._widened(light.excess_noise)
        if light.tones is not None:
            least = np.minimum(_LEAST_STEPS * light.tones.steps(len(threshold)), 255)
            threshold = np.maximum(threshold, least).astype(np.uint8)
        if threshold is not self.empty.threshold or extremes is not self._extremes:
            limits = self._limits_at(threshold, extremes)
        self._lit, *others = map(light.cast_on, images)
        # behind haze all is brighter, but not by what people differ from it
        seen = self._lit if light.tones is None else self.empty.image_bgr
        brightness = cv2.cvtColor(seen[::_EACH, ::_EACH], cv2.COLOR_BGR2GRAY)
        self.least_contrast = float(np.median(threshold[::_EACH, ::_EACH] / np.maximum(brightness, 1.0)))
        least, most = light.cast_on(limits[0], np.minimum), light.cast_on(limits[1], np.maximum)
        # what should be brighter than white is seen as white, or by the threshold darker than that
        self._range = cv2.min(least, cv2.merge([255 - threshold] * 3)), most
        if others:
            usual = cv2.merge([self.empty.threshold] * 3)
            states = self._lit, *others
            self._state_ranges = [(cv2.subtract(one, usual), cv2.add(one, usual)) for one in states]

    def _in_first_state(self, frame_bgr) -> np.ndarray:
        """A frame as it were if the scene was in its first state."""
        if self.empty.changing is None:
            return frame_bgr
        is_first, *are_others = (cv2.inRange(frame_bgr, *limits).view(bool) for limits in self._state_ranges)
        is_other = np.any(are_others, axis=0) & self.empty.changing & ~is_first
        return np.where(is_other[..., None], self._lit, frame_bgr)


def window_step(rate: float) -> int:
    """Of every so many frames, at `rate` per second, a background keeps one to learn from."""
    return max(1, round(2 * ABSORPTION_S * rate / LEARNING_FRAMES))


def kept_frames(n_frames: int, rate: float) -> list[int]:
    """Which of the first `n_frames` frames, numbered from 0, `Segmenter.resume` needs: 89 at the most.

    They are those from which the background was learnt last, and those that were kept since.
    """
    step = window_step(rate)
    n_kept = n_frames // step
    first = _HALF * max(0, (n_kept - LEARNING_FRAMES) // _HALF)
    return [step * (k + 1) - 1 for k in range(first, n_kept)]


def settle(image_bgr: np.ndarray, frames: np.ndarray, places: np.ndarray) -> None:
    """Replace the median by the mean of the quarter of the frames whose brightnesses lie closest together.

    Where people pass most of the time, the median is some mixture of their clothes. Those are of any colour,
    but the floor is always of the same. Closeness is that of ratios: black clothes differ by few grey levels.
    Leaves that sway show what is behind them as often, but never a piece of it as large as `_PIECE`: the
    median stays where no tenth of the frames does.

    Parameters
    ----------
    image_bgr : (H, W, 3) uint8
        The median, which is changed.
    frames : (n, H, W, 3) uint8
    places : (k,) int
        Pixels to look at, numbered row by row.
    """
    settled = image_bgr.copy()
    for first in range(0, len(places), _AT_A_TIME):
        some = places[first : first + _AT_A_TIME]
        pixels = frames.reshape(len(frames), -1, 3)[:, some]
        grey = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
        members = narrowest_of(_BRIGHTNESS[grey], -(-len(frames) // 4))
        settled.reshape(-1, 3)[some] = np.mean(pixels, axis=0, where=members[..., None])
    chosen = places[_is_seen(settled, frames).ravel()[places]]
    image_bgr.reshape(-1, 3)[chosen] = settled.reshape(-1, 3)[chosen]


def still_seen(known: EmptyScene, empty: EmptyScene, frames: np.ndarray) -> EmptyScene:
    """An empty scene with what is known in the places of what hides it most of the time, but not always.

    That is where the two differ, and a little around it; elsewhere the latest holds, as light and leaves are
    never quite the same again. It holds too where the known one is a shadow on it: the sun came out. What is
    proven stays, and what restless things hide is known even where they always do: in footage of seconds or a
    few minutes they are people, who stand or follow each other, while a car or a bench is still. States are
    those of the latest, or if it has none the known ones.

    Parameters
    ----------
    known, empty : EmptyScene
        As it was, and as it has just been learnt.
    frames : (n, H, W, 3) uint8
        In the light of `empty`, of which that was learnt.
    """
    light = known.light_of(empty.image_bgr)
    image = light.cast_on(known.image_bgr)
    is_known = _is_seen(image, frames)
    is_shade = is_shadow(image.reshape(-1, 3), empty.image_bgr.reshape(-1, 3)).reshape(is_known.shape)
    differs = differing(image, empty.image_bgr)
    is_hidden = differs & ~is_shade & (is_known | _hidden_by_people(differs, known, empty))
    if known.is_proven is not None:
        is_hidden |= known.is_proven
    seen = np.where(is_hidden[..., None], image, empty.image_bgr)
    threshold = np.where(is_hidden, known.threshold, empty.threshold)
    states, changing = (empty.image_bgr, *empty.others_bgr), empty.changing
    if changing is None:  # in all of the frames it may be in the second of its known states, or the third
        states, changing = [image, *(light.cast_on(other) for other in known.others_bgr)], known.changing
    others = () if changing is None else [np.where(changing[..., None], state, seen) for state in states]
    return EmptyScene(seen, threshold, known.is_proven, others)


def _hidden_by_people(differs, known: EmptyScene, empty: EmptyScene) -> np.ndarray:
    """(H, W) bool: where what differs from a known scene is restless around, see `RESTLESS_SHARE`."""
    least = DEVIATIONS * RESTLESS
    restless = differs & (empty.threshold >= least) & (known.threshold < least)
    n_restless, n_differing = (
        cv2.boxFilter(pixels.astype(np.float32), -1, _RESTLESS_AROUND, normalize=False)
        for pixels in (restless, differs)
    )
    return n_restless > RESTLESS_SHARE * n_differing


def differing(image_bgr: np.ndarray, other_bgr: np.ndarray, least: int = _SEEN_WITHIN) -> np.ndarray:
    """(H, W) bool: where whole pieces of two pictures (H, W, 3) uint8 differ by more than so many grey
    levels, and a little around them."""
    differs = cv2.compare(largest_difference(image_bgr, other_bgr), least, cv2.CMP_GT)
    return cv2.dilate(cv2.morphologyEx(differs, cv2.MORPH_OPEN, _PIECE), _PIECE, iterations=2).view(bool)


def _is_seen(image_bgr, frames) -> np.ndarray:
    """(H, W) bool: where a tenth of the frames or more show whole pieces of an image."""
    n_seen = np.zeros(image_bgr.shape[:2], np.uint8)
    for frame in frames:
        is_seen = cv2.inRange(largest_difference(frame, image_bgr), 0, _SEEN_WITHIN)
        n_seen += cv2.morphologyEx(is_seen, cv2.MORPH_OPEN, _PIECE) & 1
    return n_seen >= len(frames) / 10


def as_coloured(known: EmptyScene | None, image_bgr) -> tuple[EmptyScene | None, Light | None]:
    """A known scene as an image (H, W, 3) uint8 has colours or none, and the light of that against it; None
    where nothing is known, or not the colours."""
    if known is None:
        return None, None
    light = known.light_of(image_bgr)
    if light.is_recoloured:
        known = known.in_grey()
        light = known.light_of(image_bgr)
    return (None, None) if light.is_recoloured else (known, light)


def _is_another(light: Light) -> bool:
    """Whether a scene differs from the known one in its light, and is light enough to be brought to that."""
    is_other = light.tones is not None or np.abs(np.log(light.brightness)).max() > OTHER_LIGHT
    return is_other and light.brightness.min() >= DARKNESS
